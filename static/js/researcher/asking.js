// A request of a page that stays open: JSON, or why there is none.

/** Who asks is logged in no more, or may not. */
export class Refused extends Error {}

/**
 * @param {string} url
 * @param {RequestInit} [how]
 * @returns {Promise<import("../shared/wire.js").DraftNews>}
 */
export async function ask(url, how) {
  const answer = await fetch(url, how);
  if (answer.redirected || answer.status === 403) throw new Refused();
  const known = answer.headers.get("Content-Type")?.includes("json") ? await answer.json() : {};
  if (!answer.ok && answer.status !== 409) throw new Error(known.message ?? "The server reported an error.");
  return known;
}
