// The planning page while a job is at work: the pieces that wait are fetched anew, the form is left alone.

const EVERY_MS = 3000;
const PIECES = ["plan", "pilot"];

function waits(page) {
  return page.querySelector("[data-waits]") !== null;
}

/** New sources to choose from, with the choice that was made. */
function offer(fresh) {
  const select = document.querySelector("#source");
  const chosen = select.value;
  select.replaceChildren(...fresh.querySelector("#source").children);
  select.value = chosen;
}

async function look() {
  try {
    const answer = await fetch(location.pathname + location.search, { redirect: "error" });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (PIECES.every((id) => fresh.getElementById(id))) {
      for (const id of PIECES) document.getElementById(id).replaceWith(fresh.getElementById(id));
      offer(fresh);
    }
  } catch {
    // the server is away for a moment; the next look may find it
  }
  if (waits(document)) setTimeout(look, EVERY_MS);
}

if (waits(document)) setTimeout(look, EVERY_MS);
