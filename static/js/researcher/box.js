// Pieces of the page that another address makes: fetched once the page is there; the link stays where that fails.

for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-piece]"))) {
  const { piece = "", from = "" } = box.dataset;
  fetch(from, { redirect: "error" })
    .then(async (answer) => (answer.ok ? answer.text() : ""))
    .then((text) => {
      const found = new DOMParser().parseFromString(text, "text/html").getElementById(piece);
      if (found) box.replaceChildren(...found.childNodes);
    })
    .catch(() => undefined);
}
