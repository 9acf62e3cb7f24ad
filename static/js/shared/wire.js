/**
 * What the server sends, what it is sent, and what a browser keeps between two page loads: JSON, whose
 * keys are written with underscores. All other names of our scripts are camelCase; ESLint reads here
 * which keys may have an underscore, tsc sees a key that is misspelt. No page fetches this file.
 */

/**
 * The state of a session.
 *
 * @typedef {object} Study
 * @property {string} title
 * @property {string} language
 * @property {string} contact
 * @property {number} break_every
 *
 * @typedef {object} Option
 * @property {string} value
 * @property {string} text
 *
 * @typedef {Option & {hotkey: string}} CheckOption
 *
 * @typedef {object} CheckTrial one sound of a check
 * @property {string} clip
 * @property {string} question
 * @property {CheckOption[]} options
 *
 * @typedef {object} Check one attempt of a check
 * @property {string} key
 * @property {string} title
 * @property {string} text
 * @property {string} kind
 * @property {number} attempt
 * @property {number} attempts
 * @property {string} feedback
 * @property {string} clip
 * @property {CheckTrial[]} trials
 *
 * @typedef {object} Question
 * @property {string} key
 * @property {string} question
 * @property {string} help
 * @property {string} kind
 * @property {Option[]} options
 * @property {boolean} required
 * @property {number | null} low
 * @property {number | null} high
 * @property {number} longest
 * @property {{question: string, answers: string[]} | null} show_if
 * @property {string} [script] the module of a plug-in's kind of question
 * @property {string} [style] and its style sheet
 *
 * @typedef {object} Questionnaire
 * @property {string} key
 * @property {string} title
 * @property {string} text
 * @property {Question[]} questions
 * @property {string} [place] how far the rater is, where it comes between trials
 *
 * @typedef {{label: string, text: string, hotkey: string, apart: boolean}} Step
 *
 * @typedef {object} Scale
 * @property {string} widget
 * @property {Step[]} steps
 * @property {[low: number, high: number, step: number] | null} span
 * @property {number} longest
 *
 * @typedef {{index: number, question: string, help: string, scale: Scale, words?: string[]}} Criterion
 *   words: of the trial's clip, where raters mark them
 *
 * @typedef {object} JustificationRules
 * @property {boolean} required
 * @property {number} min_chars
 * @property {string} prompt
 * @property {string[]} good
 * @property {string[]} poor
 *
 * @typedef {{clip: string, name: string, caption: string}} Example
 *
 * @typedef {object} PlaybackRules how clips are to be heard
 * @property {number | null} share of each clip before an answer; null: its first seconds
 * @property {boolean} restart a press starts a clip at the beginning
 * @property {number} [plays] how often a clip may be played; without it as often as one likes
 * @property {boolean} [reference_first] this and the next three: where clips play together
 * @property {boolean} [hidden_reference]
 * @property {boolean} [waveform] of the reference
 * @property {boolean} [needs_top] one of the rated clips must get the highest grade
 *
 * @typedef {object} Task
 * @property {number} index
 * @property {string} title
 * @property {string} instructions
 * @property {string} screen
 * @property {boolean} heard_out
 * @property {boolean} several
 * @property {PlaybackRules} playback
 * @property {boolean} autoplay
 * @property {Example[]} examples
 * @property {Criterion[]} criteria
 * @property {JustificationRules | null} justification
 * @property {string} [script] the module of a plug-in's own scale
 *
 * @typedef {object} Line
 * @property {string} role
 * @property {number} start_s
 * @property {number} end_s
 * @property {string | null} text
 *
 * @typedef {{name: string, role: string, lines: Line[]}} Part
 *
 * @typedef {object} Trial
 * @property {string} id
 * @property {number} position
 * @property {number} task
 * @property {string[]} clips
 * @property {Part[]} parts
 * @property {string | null} text
 * @property {string | null} [caption] the description that the clip was made from
 * @property {string} [dimension] the kind of the clip, where a question names it
 * @property {{label: string, text: string, hotkey: string, apart: boolean}[]} [alternatives] that the clip brings
 * @property {string[]} [words] of its text, where raters mark them
 * @property {string} [question] that the clip brings
 * @property {{n: number, total: number} | null} training
 * @property {boolean} [held] questions come before it: its clips may be fetched, and no more
 *
 * @typedef {object} End
 * @property {string} outcome
 * @property {string} code
 * @property {string} next what becomes of place and pay
 * @property {string} button
 * @property {string | null} return_url
 * @property {string} text
 * @property {string} debrief
 * @property {string} comment_prompt
 * @property {boolean} comment
 * @property {boolean} withdrawable
 *
 * @typedef {object} Session what all stages share
 * @property {boolean} preview
 * @property {Study} study
 * @property {{done: number, total: number}} progress
 * @property {Task[]} tasks
 * @property {Trial[]} trials
 *
 * @typedef {{stage: "check", check: Check, questionnaire: null, end: null}} AtCheck
 * @typedef {{stage: "questionnaire", check: null, questionnaire: Questionnaire, end: null}} AtQuestionnaire
 * @typedef {{stage: "trial", check: null, questionnaire: null, end: null}} AtTrial
 * @typedef {{stage: "end", check: null, questionnaire: null, end: End}} AtEnd
 * @typedef {Session & (AtCheck | AtQuestionnaire | AtTrial | AtEnd)} State
 */

/**
 * A preview's state holds all that comes later.
 *
 * @typedef {object} PreviewStage
 * @property {"check" | "questionnaire" | "trial" | "end"} stage
 * @property {Check} [check]
 * @property {Questionnaire} [questionnaire]
 * @property {string[]} [truths]
 * @property {number} [pass_at_least]
 * @property {number} [until] how many trials are done when it ends
 *
 * @typedef {{labels: string[], right: Feedback, wrong: Feedback}} Judged what answers to a practice trial are worth
 * @typedef {Trial & {judged: Judged | null}} PreviewTrial
 *
 * @typedef {object} Previewed
 * @property {PreviewStage[]} preview_stages
 * @property {PreviewTrial[]} preview_trials
 * @property {End} preview_end
 *
 * @typedef {State & Previewed} PreviewState
 */

/**
 * What the page sends.
 *
 * @typedef {object} Reason a justification and how it was typed
 * @property {string} text
 * @property {number} keystrokes
 * @property {number} pasted_chars
 * @property {number} typing_ms
 *
 * @typedef {object} Playback
 * @property {number} stalls
 * @property {number} stalled_ms
 * @property {number} hidden_ms
 * @property {number} sample_rate_hz
 * @property {number} channels
 * @property {number} device_changes
 * @property {number} reloads
 * @property {boolean} driven the browser says that a program drives it
 * @property {number} pointer_jumps clicks of a mouse that did not move there
 * @property {number} scripted_events clicks and keys that no device made
 * @property {number} rate the speed that something forced on a clip; 1: none
 * @property {boolean} translated the browser has translated the page
 * @property {number} blocked
 * @property {number} silent how often no sound came out although the browser played
 * @property {number} skips
 * @property {number} decode_errors
 * @property {number} load_failures
 * @property {boolean} streamed
 * @property {number[]} plays_each
 * @property {number[]} starts_each
 * @property {number[]} heard_s
 * @property {number[]} duration_s
 *
 * @typedef {object} DeckPlayback how clips that play together were listened to
 * @property {string} mixer
 * @property {number} switches
 * @property {number} loops
 * @property {number[]} loop_s
 * @property {number} [reference_heard_ms] the page's time when the reference was heard enough
 * @property {number} [first_rated_ms] and when a rated clip first sounded
 *
 * @typedef {Record<string, string>} Labels the answers of a trial, by the places of their criteria
 *
 * @typedef {object} Answer
 * @property {string} trial
 * @property {Labels} answers
 * @property {Reason | null} justification
 * @property {number} latency_ms
 * @property {number} plays
 * @property {number} heard_fraction
 * @property {Playback & Partial<DeckPlayback>} playback
 *
 * @typedef {object} Skip
 * @property {string} trial
 * @property {"load" | "decode"} reason
 * @property {Playback & Partial<DeckPlayback>} playback
 *
 * @typedef {object} VolumeAnswer
 * @property {boolean} comfortable
 * @property {number} played_s
 * @property {number} plays
 *
 * @typedef {{answers: string[], attempt: number}} TrialsAnswer
 *
 * @typedef {string | string[] | Record<string, string>} AnswerToQuestion
 * @typedef {Record<string, AnswerToQuestion>} Given the answers of a questionnaire
 *
 * @typedef {object} Posts what each door takes
 * @property {{key: string, answer: VolumeAnswer | TrialsAnswer}} checks
 * @property {{key: string, answers: Given}} questionnaires
 * @property {Answer} answers
 * @property {Skip} skips
 * @property {{text: string}} comments
 * @property {{confirm: true}} withdraw
 */

/**
 * What the server answers.
 *
 * @typedef {{right: boolean | null, text: string, expected?: string[]}} Feedback
 *
 * @typedef {{stored: boolean, repeat: boolean, feedback: Feedback | null, state: State}} Stored
 *
 * @typedef {object} Refusal
 * @property {string} error
 * @property {string} message
 * @property {State | null} state
 * @property {Record<string, string>} [fields] what is wrong with each answer of a questionnaire
 *
 * @typedef {State | Stored | Refusal} Body
 */

/**
 * What a browser keeps of a trial that is not answered yet, so that a reload costs nothing: written by
 * one version of our scripts and perhaps read by the next.
 *
 * @typedef {{ranges: [number, number][], plays: number, starts?: number}} SoundDraft
 *
 * @typedef {object} DeckDraft
 * @property {SoundDraft[]} [tracks]
 * @property {number} [switches]
 * @property {number} [loops]
 * @property {{on: boolean, from: number, to: number}} [loop]
 * @property {number} [reference_ms]
 * @property {number} [rated_ms]
 *
 * @typedef {object} FactsDraft
 * @property {number} elapsed_ms
 * @property {number} hidden_ms
 * @property {number} device_changes
 * @property {number} reloads
 *
 * @typedef {object} TrialDraft
 * @property {string} trial
 * @property {Labels} answers
 * @property {Reason | null} [justification]
 * @property {SoundDraft[] | DeckDraft} players
 * @property {FactsDraft} [facts]
 * @property {string} [complaint] why the server refused the answer
 *
 * @typedef {{trial: string, answers: string[]}} CheckDraft
 * @typedef {{trial: string, answers: Given}} QuestionnaireDraft
 * @typedef {TrialDraft | CheckDraft | QuestionnaireDraft} Draft
 */

/**
 * What researchers' pages are told.
 *
 * @typedef {object} ScoringRun
 * @property {number} run
 * @property {string} state
 * @property {boolean} works
 * @property {number} total
 * @property {number} done
 * @property {number} failed
 * @property {number} percent
 * @property {number} shards
 * @property {number} workers
 * @property {number} stuck
 * @property {string} doing
 * @property {string} left
 * @property {string} installation how far what metrics need is installed; empty when all is there
 *
 * @typedef {null | string | number | boolean | Json[] | {[key: string]: Json}} Json
 *
 * @typedef {{type: "progress", progress: {[key: string]: Json}}} ProgressMessage
 * @typedef {{type: "heartbeat", counting: boolean}} Heartbeat
 * @typedef {ProgressMessage | Heartbeat} MonitorMessage
 */

/**
 * A draft: what others changed in it meanwhile.
 *
 * @typedef {{field: string, value: string | boolean, by: string}} TheirField
 *
 * @typedef {object} DraftNews
 * @property {number} revision
 * @property {string} [figures] the sidebar
 * @property {TheirField[]} [theirs]
 * @property {TheirField[]} [collisions]
 * @property {string} [message]
 */

export {};
