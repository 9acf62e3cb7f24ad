/** What only some parallel tasks need, fetched before their first trial: their boards, and the waveform. */

/**
 * @typedef {import("./rankboard.js").RankingBoard | import("./sliderboard.js").SlidersBoard | import("./bestworstboard.js").BestWorstBoard} AnyBoard
 * @typedef {typeof import("./rankboard.js").RankingBoard | typeof import("./sliderboard.js").SlidersBoard | typeof import("./bestworstboard.js").BestWorstBoard} Kind
 */

/** By the widget that each of them is. @type {Map<string, Kind>} */
const kinds = new Map();

/** @type {typeof import("./waveform.js").drawWave | null} */
export let drawWave = null;

/** @param {import("../shared/wire.js").Task} task */
export async function fetchFor(task) {
  const has = (/** @type {string} */ widget) => task.criteria.some(({ scale }) => scale.widget === widget);
  if (has("sliders")) kinds.set("sliders", (await import("./sliderboard.js")).SlidersBoard);
  if (has("ranking")) kinds.set("ranking", (await import("./rankboard.js")).RankingBoard);
  if (has("best_worst")) kinds.set("best_worst", (await import("./bestworstboard.js")).BestWorstBoard);
  if (task.playback.waveform) ({ drawWave } = await import("./waveform.js"));
}

/** Whether a criterion is answered on a board. @param {import("../shared/wire.js").Criterion} plan */
export function isBoard(plan) {
  return kinds.has(plan.scale.widget);
}

/**
 * The board on which a criterion is answered.
 * @param {Element} criteria holds the server's markup of the task
 * @param {import("../shared/wire.js").Criterion} plan of a board
 * @param {import("./deck.js").Deck} deck
 * @param {import("./deck.js").Track[]} rated
 * @returns {AnyBoard}
 */
export function boardFor(criteria, plan, deck, rated) {
  const kind = /** @type {Kind} */ (kinds.get(plan.scale.widget));
  const place = `fieldset[data-criterion="${plan.index}"]`;
  return new kind(/** @type {HTMLFieldSetElement} */ (criteria.querySelector(place)), plan, deck, rated);
}
