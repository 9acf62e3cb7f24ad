/**
 * The places (data-part) of the templates that scripts clone and fill, so that tsc sees a misspelt one.
 * A test compares them with templates/. No page fetches this file.
 */

/**
 * @template {string} N
 * @typedef {Record<N, HTMLElement>} Plain places of which it does not matter what element they are
 */

/**
 * @template P
 * @typedef {<N extends keyof P & string>(name: N) => P[N]} Finder finds a place of a view
 */

/**
 * @template P
 * @typedef {{root: HTMLElement, part: Finder<P>}} View
 */

/**
 * Templates of the page.
 *
 * @typedef {Plain<"attempt" | "title" | "feedback" | "feedback-text" | "text" | "text-fold" |
 *   "text-again" | "player" | "lock" | "entry" | "missing"> & {next: HTMLButtonElement}}
 *   CheckTrialsParts
 *
 * @typedef {Plain<"question" | "options">} CheckChoiceParts
 *
 * @typedef {Plain<"text" | "key"> & {input: HTMLInputElement}} CheckOptionParts
 *
 * @typedef {Plain<"question"> & {field: HTMLInputElement}} CheckDigitsParts
 *
 * @typedef {Plain<"title" | "instructions-fold" | "instructions" | "caption-box" | "caption" | "text" | "deck" | "body" | "wave" |
 *   "wave-name" | "toggle-name" | "now" | "status" | "time" | "line" | "marks" | "loop" | "open" |
 *   "problem" | "problem-text" | "words-box" | "words" | "lock" | "lock-text" | "hint" | "hint-top" |
 *   "criteria" | "justification" | "missing"> & {toggle: HTMLButtonElement, seek: HTMLInputElement, "loop-from":
 *   HTMLInputElement, "loop-to": HTMLInputElement, repeat: HTMLButtonElement, clear:
 *   HTMLButtonElement, retry: HTMLButtonElement, skip: HTMLButtonElement, next: HTMLButtonElement}}
 *   ParallelParts
 *
 * @typedef {Plain<"letter" | "says">} ClipButtonParts
 *
 * @typedef {Plain<"title" | "text" | "questions" | "missing"> & {send: HTMLButtonElement}}
 *   QuestionnaireParts
 *
 * @typedef {Plain<"question" | "optional" | "help" | "limits" | "error" | "error-text" | "ends" |
 *   "low-end" | "high-end" | "answer" | "apart"> & {clear: HTMLButtonElement}} QuestionParts
 *
 * @typedef {Plain<"text"> & {box: HTMLInputElement}} QuestionOptionParts
 *
 * @typedef {Plain<"number" | "text"> & {box: HTMLInputElement}} QuestionStepParts
 *
 * @typedef {Plain<"words" | "score"> & {slider: HTMLInputElement}} QuestionSliderParts
 *
 * @typedef {Plain<"eyebrow" | "title" | "instructions" | "examples-title" | "examples"> & {start:
 *   HTMLButtonElement}} IntroParts
 *
 * @typedef {Plain<"title" | "text" | "player" | "missing"> & {confirm: HTMLButtonElement}} CheckParts
 *
 * @typedef {Plain<"player" | "caption">} ExampleParts
 *
 * @typedef {Plain<"title" | "practice" | "instructions-fold" | "instructions" | "lines" | "players" |
 *   "caption-box" | "caption" | "text" | "lock" | "lock-text" | "criteria" | "justification" |
 *   "missing"> & {next:
 *   HTMLButtonElement}} TrialParts
 *
 * @typedef {Plain<"role" | "words">} LineParts
 *
 * @typedef {Plain<"toggle-name" | "name" | "status" | "time" | "progress-box" | "marks" | "now" |
 *   "said" | "again-name" | "segments" | "problem" | "problem-text" | "skip-help"> & {toggle:
 *   HTMLButtonElement, progress: HTMLProgressElement, again: HTMLButtonElement, retry:
 *   HTMLButtonElement, skip: HTMLButtonElement}} PlayerParts
 *
 * @typedef {Plain<"name" | "key" | "says"> & {progress: HTMLProgressElement}} SegmentParts
 *
 * @typedef {Plain<"prompt" | "count" | "good-box" | "good" | "poor-box" | "poor"> &
 *   {fieldset: HTMLFieldSetElement, text: HTMLTextAreaElement, examples: HTMLDetailsElement}} JustificationParts
 *
 * @typedef {Plain<"title" | "text"> & {retry: HTMLButtonElement}} WaitParts
 *
 * @typedef {Plain<"eyebrow" | "title" | "text" | "clips"> & {next: HTMLButtonElement}} FeedbackParts
 *
 * @typedef {Plain<"title" | "text"> & {next: HTMLButtonElement}} BreakParts
 *
 * @typedef {Plain<"mark" | "title" | "text" | "next" | "code-box" | "code-name" | "code" |
 *   "copied" | "debrief-box" | "debrief" | "comment-box" | "comment-fields" | "comment-name" |
 *   "comment-told"> & {return: HTMLAnchorElement, copy: HTMLButtonElement, comment:
 *   HTMLTextAreaElement, "comment-send": HTMLButtonElement}} EndParts
 *
 * @typedef {Plain<"title" | "text"> & {retry: HTMLButtonElement}} TroubleParts
 *
 * @typedef {{
 *   "view-check-trials": CheckTrialsParts,
 *   "view-check-choice": CheckChoiceParts,
 *   "view-check-option": CheckOptionParts,
 *   "view-check-digits": CheckDigitsParts,
 *   "view-parallel": ParallelParts,
 *   "view-clip-button": ClipButtonParts,
 *   "view-questionnaire": QuestionnaireParts,
 *   "view-question": QuestionParts,
 *   "view-question-option": QuestionOptionParts,
 *   "view-question-slider": QuestionSliderParts,
 *   "view-question-step": QuestionStepParts,
 *   "view-intro": IntroParts,
 *   "view-check": CheckParts,
 *   "view-example": ExampleParts,
 *   "view-trial": TrialParts,
 *   "view-line": LineParts,
 *   "view-player": PlayerParts,
 *   "view-segment": SegmentParts,
 *   "view-justification": JustificationParts,
 *   "view-wait": WaitParts,
 *   "view-feedback": FeedbackParts,
 *   "view-break": BreakParts,
 *   "view-end": EndParts,
 *   "view-trouble": TroubleParts,
 * }} Views by the id of the template
 */

/**
 * Fieldsets of scales and of boards, and the rows of these (templates/widgets).
 *
 * @typedef {Plain<"words" | "score"> & {slider: HTMLInputElement}} SliderParts
 *
 * @typedef {Plain<"prompt" | "kinds" | "list"> & {none: HTMLInputElement, entry: HTMLTemplateElement}}
 *   ErrorParts
 *
 * @typedef {Plain<"words" | "prompt" | "kinds" | "list"> & {none: HTMLInputElement, word:
 *   HTMLTemplateElement, entry: HTMLTemplateElement}} MarksParts
 *
 * @typedef {Plain<"wave" | "marks" | "chosen" | "now" | "time" | "prompt" | "kinds" | "list" | "start-time" | "end-time"> &
 *   {none: HTMLInputElement, entry: HTMLTemplateElement, path: SVGPathElement, start: HTMLInputElement, end:
 *   HTMLInputElement, "start-earlier": HTMLButtonElement, "start-later": HTMLButtonElement, "end-earlier":
 *   HTMLButtonElement, "end-later": HTMLButtonElement, "start-here": HTMLButtonElement, "end-here":
 *   HTMLButtonElement, play: HTMLButtonElement, clear: HTMLButtonElement}} SpansParts
 *
 * @typedef {Plain<"head" | "words" | "rows"> & {sort: HTMLButtonElement}} SlidersParts
 *
 * @typedef {Plain<"button" | "score"> & {slider: HTMLInputElement}} SlidersRowParts
 *
 * @typedef {Plain<"best" | "rows" | "open" | "pool" | "said">} RankingParts
 *
 * @typedef {Plain<"grip" | "place" | "button" | "up-name" | "down-name"> & {up: HTMLButtonElement,
 *   down: HTMLButtonElement}} RankingRowParts
 *
 * @typedef {Plain<"rows" | "said">} BestWorstParts
 *
 * @typedef {Plain<"button" | "best-clip" | "best-name" | "worst-clip" | "worst-name"> & {best:
 *   HTMLButtonElement, worst: HTMLButtonElement}} BestWorstRowParts
 */

export {};
