/** Whether the browser keeps cookies for this page: sounds and answers need them. */

/**
 * Asks the browser for a cookie, rather than trusting what it says of itself.
 * @returns {boolean}
 */
export function cookiesWork() {
  document.cookie = "earnest_probe=1; SameSite=Lax; path=/";
  const kept = document.cookie.includes("earnest_probe=1");
  document.cookie = "earnest_probe=; Max-Age=0; SameSite=Lax; path=/";
  return kept;
}
