// A page asked for again by a script that shows what changed.

/**
 * The page at that address as it is now; null when the server does not answer.
 * @param {string} url
 * @returns {Promise<Document | null>}
 */
export async function pageAt(url) {
  try {
    const answer = await fetch(url, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return null;
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    return null;
  }
}
