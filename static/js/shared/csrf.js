/** The token by which the server knows its own pages; a log-in in another tab changes it while a page stays open. */

/**
 * The token that fits the cookie which goes along with the next request; that of the page where no cookie can be read.
 * @param {Document} [page]
 * @returns {string}
 */
export function csrfToken(page = document) {
  const cookies = new Map(page.cookie.split("; ").map((each) => [each.split("=")[0] ?? "", each.slice(each.indexOf("=") + 1)]));
  const names = ["__Host-csrftoken", "__Secure-csrftoken", "csrftoken"];
  const cookie = names.map((name) => cookies.get(name)).find((value) => value);
  if (cookie) return decodeURIComponent(cookie);
  return csrfField(page)?.value ?? "";
}

/** @param {ParentNode} form a form or a page */
export function csrfField(form) {
  return /** @type {HTMLInputElement | null} */ (form.querySelector('input[name="csrfmiddlewaretoken"]'));
}
