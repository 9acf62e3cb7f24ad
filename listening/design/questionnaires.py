"""Visible questions of a questionnaire, answers that fit them, and rules of screening out.

Ready-made questions about raters are those that a study names instead of writing them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from listening.design.questions import Unfit, question_kind
from listening.design.questions.question_kind import Question, Sentence, Translate
from listening.design.spoken_languages import OTHER, SPOKEN, THIS_LANGUAGE, spoken
from listening.methods.method import gettext_noop

TITLES = {
    "demographics": gettext_noop("About you"),
    "hearing": gettext_noop("Your hearing"),
    "device": gettext_noop("How you listen"),
    "native_languages": gettext_noop("Your languages"),
    "fluent_languages": gettext_noop("Your languages"),
}
SEVERAL_TITLE = gettext_noop("A few questions")  # for a questionnaire that joins some, or its own

_LANGUAGES = [{"value": tag, "text": name} for tag, name in SPOKEN.items()]
_AGE_BANDS = ("18–24", "25–34", "35–44", "45–54", "55–64")

READY_MADE: dict[str, tuple[dict[str, Any], ...]] = {
    "demographics": (
        {
            "key": "gender",
            "question": gettext_noop("What is your gender?"),
            "kind": "one",
            "options": [
                {"value": "woman", "text": gettext_noop("Woman")},
                {"value": "man", "text": gettext_noop("Man")},
                {"value": "other", "text": gettext_noop("Non-binary or another gender")},
            ],
            "prefer_not": True,
        },
        {
            "key": "age",
            "question": gettext_noop("How old are you?"),
            "kind": "one",
            "options": [
                {"value": "under_18", "text": gettext_noop("Under 18")},
                *({"value": band.replace("–", "-"), "text": band} for band in _AGE_BANDS),
                {"value": "65+", "text": gettext_noop("65 or older")},
            ],
            "prefer_not": True,
        },
        {
            "key": "native_speaker",
            "question": gettext_noop("Is the language of this study your first language?"),
            "help": gettext_noop("A first language is one that you grew up with."),
            "kind": "one",
            "options": [
                {"value": "yes", "text": gettext_noop("Yes")},
                {"value": "no", "text": gettext_noop("No")},
            ],
            "prefer_not": True,
        },
        {
            "key": "first_language",
            "question": gettext_noop("Which language did you grow up with?"),
            "help": gettext_noop("If there were several, name them all."),
            "kind": "text",
            "longest": 120,
            "required": False,
            "show_if": {"question": "native_speaker", "answers": ["no"]},
        },
    ),
    "hearing": (
        {
            "key": "hearing",
            "question": gettext_noop("Is your hearing normal?"),
            "kind": "one",
            "options": [
                {"value": "normal", "text": gettext_noop("Yes, as far as I know")},
                {"value": "loss", "text": gettext_noop("No, I hear less well on one or both ears")},
                {"value": "unsure", "text": gettext_noop("I am not sure")},
            ],
            "prefer_not": True,
        },
    ),
    "device": (
        {
            "key": "listening_device",
            "question": gettext_noop("What do you listen with?"),
            "kind": "one",
            "options": [
                {"value": "in_ear", "text": gettext_noop("Earphones or earbuds, in the ear")},
                {"value": "over_ear", "text": gettext_noop("Headphones, on or over the ear")},
                {"value": "loudspeaker", "text": gettext_noop("Loudspeakers")},
            ],
        },
        {
            "key": "place",
            "question": gettext_noop("How quiet is it where you are?"),
            "kind": "one",
            "options": [
                {"value": "quiet", "text": gettext_noop("Quiet")},
                {"value": "some_noise", "text": gettext_noop("There is some noise")},
                {"value": "noisy", "text": gettext_noop("Noisy")},
            ],
        },
    ),
    "native_languages": (
        {
            "key": "native_languages",
            "question": gettext_noop("Which languages did you grow up with?"),
            "help": gettext_noop("Choose all that apply."),
            "kind": "many",
            "options": _LANGUAGES,
            "prefer_not": True,
        },
    ),
    "fluent_languages": (
        {
            "key": "fluent_languages",
            "question": gettext_noop("Which languages do you speak fluently?"),
            "help": gettext_noop("Choose all that apply, with those that you grew up with."),
            "kind": "many",
            "options": _LANGUAGES,
            "prefer_not": True,
        },
    ),
}


PREFER_NOT = "prefer_not"
OTHER_TEXT = gettext_noop("Other")
SPECIFY = gettext_noop("Please say which.")
LONGEST_OTHER = 120
UNTOLD = ("screen_out", "screen_out_unless")  # the rater's page must not betray them
NOT_ON_PAGE = (*UNTOLD, "other", "covariate")
PREFER_NOT_TEXT = gettext_noop("I prefer not to say")

MISSING = gettext_noop("Please answer this question.")
CHOOSE = gettext_noop("Please choose one of the answers.")

Questionnaire = Mapping[str, Any]


class Incorrect(ValueError):
    """Answers that do not fit: one sentence for each question that needs another look."""

    def __init__(self, sentences: Mapping[str, Sentence]) -> None:
        self.sentences = dict(sentences)
        super().__init__("; ".join(f"{key}: {text}" for key, text in self.fields.items()))

    @property
    def fields(self) -> dict[str, str]:
        return self.translated_fields(str)

    def translated_fields(self, translate: Translate) -> dict[str, str]:
        """The sentences, in the rater's language."""
        return {key: sentence.translated(translate) for key, sentence in self.sentences.items()}


def visible(questions: Sequence[Question], answers: Mapping[str, Any]) -> list[Question]:
    """The questions that these answers lead to, in their order; one that hides hides its own."""
    shown: list[Question] = []
    for question in questions:
        rule = question["show_if"]
        keys = [each["key"] for each in shown]
        if not rule or (rule["question"] in keys and _meets(answers.get(rule["question"]), rule)):
            shown.append(question)
    return shown


def _meets(answer: Any, rule: Mapping[str, Any]) -> bool:
    answers = answer if isinstance(answer, list | tuple) else [answer]
    return any(str(each) in rule["answers"] for each in answers if each is not None)


def checked(questionnaire: Questionnaire, answers: Mapping[str, Any]) -> dict[str, Any]:
    """The answers to store: those to visible questions, as numbers where they are
    numbers; Incorrect when one is missing or does not fit. The others are dropped.
    """
    accepted: dict[str, Any] = {}
    wrong: dict[str, Sentence] = {}
    for question in questionnaire["questions"]:
        if question not in visible(questionnaire["questions"], accepted):
            continue
        key = question["key"]
        try:
            answer = _fitting(question, answers.get(key))
        except Unfit as unfit:
            wrong[key] = unfit.sentence
        else:
            if answer is not None:
                accepted[key] = answer
    if wrong:
        raise Incorrect(wrong)
    return accepted


def screens_out(
    questionnaire: Questionnaire, answers: Mapping[str, Any], language: str = ""
) -> str:
    """Which answers end the session, such as “hearing: loss”; "" when none does.

    ``language`` is that of the rater's pages, which a question may ask for.
    """
    reasons = []
    for question in visible(questionnaire["questions"], answers):
        answer = answers.get(question["key"])
        choices = [str(each) for each in (answer if isinstance(answer, list) else [answer])]
        screening_out = [each for each in choices if each in question["screen_out"]]
        if screening_out:
            reasons.append(f"{question['key']}: {', '.join(screening_out)}")
        elif (needed := needed_answers(question, language)) and not set(choices) & set(needed):
            lacking = f"none of {', '.join(needed)}"
            chosen = "no answer" if answer is None else ", ".join(choices)
            reasons.append(f"{question['key']}: {chosen} ({lacking})")
    return "; ".join(reasons)


def needed_answers(question: Question, language: str) -> list[str]:
    """The answers of which a rater must give one to go on; none where all may go on."""
    needed = list(question.get("screen_out_unless", ()))  # studies of before have no such field
    if THIS_LANGUAGE not in needed:
        return needed
    values = [option["value"] for option in question["options"]]
    own = spoken(language)
    own = own if own in values or OTHER not in values else OTHER
    return [own if each == THIS_LANGUAGE else each for each in needed]


def may_screen_out(question: Question) -> bool:
    """Whether an answer to this question may end the session."""
    return bool(question["screen_out"] or question.get("screen_out_unless"))


def refused_answers(question: Question, language: str) -> list[str]:
    """The answers that end the session, where they are given alone."""
    refused = list(question.get("screen_out", ()))
    if needed := needed_answers(question, language):
        values = [str(option["value"]) for option in question["options"]]
        refused += [value for value in values if value not in needed]
    return refused


def next_part(questionnaire: Questionnaire, answered: Mapping[str, Any] | None) -> Questionnaire:
    """What is asked next of a questionnaire before the trials: who may be screened out is told
    before a long form. `answered` is what is stored of it so far.
    """
    first = _screening(questionnaire)
    if answered is None:
        return {**questionnaire, "questions": first} if first else questionnaire
    answers = answered["answers"]
    rest = [question for question in questionnaire["questions"] if question not in first]
    shown = visible(questionnaire["questions"], answers)
    before = {question["key"] for question in first}
    questions = []
    for question in rest:
        rule = question["show_if"]
        if rule and rule["question"] in before:  # its answer is known by now
            if question not in shown:
                continue
            question = {**question, "show_if": {}}
        questions.append(question)
    return {**questionnaire, "text": "", "questions": questions}


def is_partly_answered(answered: Mapping[str, Any] | None) -> bool:
    """Whether only the questions that screen out were answered yet."""
    return bool(answered and answered.get("partial"))


def has_screening(questionnaire: Questionnaire) -> bool:
    """Whether some of its questions, but not all, are asked before the rest."""
    return bool(_screening(questionnaire))


def _screening(questionnaire: Questionnaire) -> list[Question]:
    """Questions that may end the session, and those that lead to them; none if these are all."""
    wanted: set[str] = set()
    for question in reversed(questionnaire["questions"]):
        if may_screen_out(question) or question["key"] in wanted:
            wanted.add(question["key"])
            if question["show_if"]:
                wanted.add(question["show_if"]["question"])
    first = [question for question in questionnaire["questions"] if question["key"] in wanted]
    return first if len(first) < len(questionnaire["questions"]) else []


def page(
    questionnaire: Questionnaire, translate: Translate = str, address: Callable[[str], str] = str
) -> dict[str, Any]:
    """The questions for the rater's page, without the answers that screen out.

    ``address`` is that of a static file, such as the script of a plug-in's kind of question.
    """
    ready = set(questionnaire["ready"])
    return {
        "key": questionnaire["key"],
        "title": questionnaire["title"] or translate(default_title(questionnaire["use"])),
        "text": questionnaire["text"],
        "questions": [
            _question_on_page(question, translate if question["key"] in ready else str, translate)
            | _files(question, address)
            for question in questionnaire["questions"]
        ],
    }


def _files(question: Question, address: Callable[[str], str]) -> dict[str, str]:
    kind = question_kind(question)
    named = {"script": kind.script, "style": kind.style}
    return {name: address(file) for name, file in named.items() if file}


def in_words(questionnaire: Questionnaire, words: Mapping[str, Any]) -> dict[str, Any]:
    """The questionnaire with a study's own words of another language; values stay as they are."""
    translations = words.get("questions", {})
    questions = [
        _question_in(q, translations.get(q["key"], {})) for q in questionnaire["questions"]
    ]
    heads = {name: words[name] for name in ("title", "text") if name in words}
    return {**questionnaire, **heads, "questions": questions}


def _question_in(question: Question, words: Mapping[str, Any]) -> dict[str, Any]:
    named = words.get("options", {})
    options = [{**o, "text": named.get(o["value"], o["text"])} for o in question["options"]]
    heads = {name: words[name] for name in ("question", "help") if name in words}
    return {**question, **heads, "options": options}


def other_key(question: Question) -> str:
    """The key of the question in which raters say which other answer they mean."""
    return f"{question['key']}_{OTHER}"


def default_title(use: Sequence[str]) -> str:
    return TITLES[use[0]] if len(use) == 1 else SEVERAL_TITLE


def _question_on_page(question: Question, translate: Translate, ours: Translate) -> dict[str, Any]:
    shown = {name: question[name] for name in question if name not in NOT_ON_PAGE}
    shown |= {name: _translate(question[name], translate) for name in ("question", "help")}
    shown["options"] = [
        o | {"text": _translate(o["text"], ours if _is_ours(question, o) else translate)}
        for o in question["options"]
    ]
    return shown


def _translate(words: str, translate: Translate) -> str:
    return translate(words) if words else ""  # gettext answers "" with its header


def _is_ours(question: Question, option: Mapping[str, str]) -> bool:
    """Whether the words of an option are Earnest's, also in a question of the study's own."""
    return option["value"] == PREFER_NOT or (
        question.get("other", False) and option["value"] == OTHER
    )


def _fitting(question: Question, answer: Any) -> Any:
    """The answer to store, or None when there is none and none is needed."""
    if _empty(answer):
        if question["required"]:
            raise Unfit(MISSING)
        return None
    values = [option["value"] for option in question["options"]]
    kind = question_kind(question)
    if answer == PREFER_NOT and PREFER_NOT in values:
        return [PREFER_NOT] if kind.several else PREFER_NOT
    return kind.judge(question, answer, values)


def _empty(answer: Any) -> bool:
    return (
        answer is None or answer in ("", [], {}) or (isinstance(answer, str) and not answer.strip())
    )


def without_controls(text: str) -> str:
    """What was written, without what no page and no table can show."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    drawn = (c for c in lines if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
    return "".join(drawn).strip()


def today() -> date:
    """The day by which ages are counted."""
    return datetime.now(UTC).date()
