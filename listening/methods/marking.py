"""One clip: the rater marks wrong words of its text, or errors on its waveform, and their kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from listening.methods.error_spans import HeardPart, finds_spans, read_spans
from listening.methods.estimand import Estimand
from listening.methods.marks import NO_ERRORS, finds_marks, read_marks
from listening.methods.method import (
    MARKS,
    SPANS,
    DefaultCriterion,
    Method,
    Options,
    Scale,
    Step,
    gettext_noop,
)
from listening.methods.text_units import in_characters, units
from listening.methods.transcript_scores import SpokenText
from listening.methods.vocalisation_types import has_marks, marked

KINDS = {
    "mispronounced": gettext_noop("Mispronounced"),
    "stress": gettext_noop("Wrong stress"),
    "pause": gettext_noop("Unnatural pause"),
    "glitch": gettext_noop("Glitch"),
    "noise": gettext_noop("Noise"),
    "missing": gettext_noop("Missing"),
    "other": gettext_noop("Other"),
}
WORDS, WAVEFORM = PLACES = ("words", "waveform")  # where errors are marked: the option `mark`
ERRORS_PER_MINUTE = Estimand(
    key="errors_per_minute",
    name="Errors per minute",
    phrase="the number of marked errors per minute of audio",
    axis="Errors per minute, 0 is the best",
    ends=(0.0, 60.0),  # one each second; scores above it are taken as they are
    lowest_is_best=True,
    continuous=True,
    ceilings=False,
    decimals=1,
)
MOST_KINDS = 9  # one for each of the keys 1 to 9
_KIND = re.compile(r"[a-z0-9_-]{1,20}")


class Marking(Method):
    key = "marking"
    title = "Marking errors"
    estimand = Estimand(
        key="errors_per_100_words",
        name="Errors per 100 words",
        phrase="the number of marked errors per 100 words",
        axis="Errors per 100 words, 0 is the best",
        ends=(0.0, 100.0),
        lowest_is_best=True,
        continuous=True,
        ceilings=False,
        decimals=1,
    )
    other_estimands = (ERRORS_PER_MINUTE,)
    standard = (
        "Error marking (Rapid Prosody Transcription, Gutierrez et al. 2021): places and kinds of "
        "errors, marked by listeners without training"
    )
    default_question = gettext_noop("Which words sound wrong?")
    span_question = gettext_noop("Where do you hear errors?")
    default_criteria = (("marked_words", default_question, {}),)
    marks_errors = True
    scores_by_text = True
    labels_refused = gettext_noop("A mark is outside the clip. Please mark the errors again.")

    def estimand_for(self, options: Options) -> Estimand:
        return ERRORS_PER_MINUTE if self.marks_time(options) else self.estimand

    def needs_text(self, options: Options) -> bool:
        return not self.marks_time(options)

    def marks_time(self, options: Options) -> bool:
        return bool(options.get("mark", WORDS) == WAVEFORM)

    def question_for(self, options: Options) -> str:
        return self.span_question if self.marks_time(options) else self.default_question

    def criteria_for(self, options: Options) -> tuple[DefaultCriterion, ...]:
        if self.marks_time(options):
            return (("marked_spans", self.span_question, {}),)
        return self.default_criteria

    def scale(self, options: Options) -> Scale:
        if options.get("mark", WORDS) not in PLACES:
            raise ValueError(f'mark is "words" or "waveform", not {options["mark"]!r}')
        kinds = error_kinds(options)
        steps = [
            Step(kind, None, words, str(place))
            for place, (kind, words) in enumerate(kinds.items(), start=1)
        ]
        none = gettext_noop("I hear no errors")
        widget = SPANS if self.marks_time(options) else MARKS
        return Scale((*steps, Step(NO_ERRORS, 0.0, none, "0", apart=True)), widget)

    def words_to_mark(self, spoken: SpokenText) -> list[str]:
        return words_to_mark(spoken.text, spoken.language)

    def text_score(self, label: str, spoken: SpokenText, options: Options) -> float | None:
        """Marks per 100 words; ValueError of a mark behind the last word."""
        marks = read_marks(label)
        count = len(self.words_to_mark(spoken))
        if marks and marks[-1].last > count:
            raise ValueError(f"the text has {count} words, and a mark is on word {marks[-1].last}")
        return 100.0 * len(marks) / count if count else None

    def time_score(self, label: str, heard: HeardPart) -> float | None:
        """Marks per minute of the part of the clip that raters hear."""
        return 60.0 * len(read_spans(label)) / heard.duration_s

    def passes(self, label: str, expected: Sequence[str], scale: Scale) -> bool:
        kinds = scale.labels
        if scale.widget == SPANS:
            spans = read_spans(label, kinds)
            return any(finds_spans(spans, read_spans(each, kinds)) for each in expected)
        marks = read_marks(label, kinds)
        return any(finds_marks(marks, read_marks(each, kinds)) for each in expected)

    def in_words(self, label: str, scale: Scale, spoken: SpokenText) -> str:
        """The words of each mark and its kind: “ill disposed” (Glitch)."""
        text = {step.label: step.text or step.label for step in scale.steps}
        words = self.words_to_mark(spoken)
        joint = "" if in_characters(spoken.language) else " "
        return "; ".join(
            f"“{joint.join(words[mark.first - 1 : mark.last])}” ({text[mark.kind]})"
            for mark in read_marks(label, scale.labels)
        ) or text.get(label, label)


def spans_in_words(label: str, scale: Scale, later_s: float) -> str:
    """The times of each span, so much later, and its kind: 1.2–1.5 s (Glitch)."""
    text = {step.label: step.text or step.label for step in scale.steps}
    return "; ".join(
        f"{max(span.start_s + later_s, 0):.1f}–{max(span.end_s + later_s, 0):.1f} s"
        f" ({text[span.kind]})"
        for span in read_spans(label, scale.labels)
    ) or text.get(label, label)


def error_kinds(options: Options) -> dict[str, str]:
    """The kinds of errors that raters choose from, and their words; ValueError of a wrong list."""
    kinds = options.get("kinds", KINDS)
    if isinstance(kinds, list | tuple):
        kinds = {kind: KINDS.get(kind, kind) if isinstance(kind, str) else "" for kind in kinds}
    if not isinstance(kinds, Mapping) or not 1 <= len(kinds) <= MOST_KINDS:
        raise ValueError(f'kinds is a list of 1 to {MOST_KINDS}, like ["glitch", "noise"]')
    for kind, words in kinds.items():
        if not _KIND.fullmatch(str(kind)) or not isinstance(words, str) or not words.strip():
            raise ValueError(
                f"the kind {kind!r} needs a name of letters a-z, digits, - and _, and words, like "
                '{ flat = "Flat melody" }'
            )
    return dict(kinds)


def words_to_mark(text: str, language: str) -> list[str]:
    """The words of a text with their punctuation, or its characters in languages without spaces.

    As many as `units` has: what holds no letter or digit joins the word before it, or the first.
    Marks such as [laugh] are left out.
    """
    if has_marks(text):
        text = marked(text, language)[0]
    pieces = list("".join(text.split())) if in_characters(language) else text.split()
    words: list[str] = []
    before, joint = "", "" if in_characters(language) else " "
    for piece in pieces:
        if units(piece, language):
            words.append(before + piece)
            before = ""
        elif words:
            words[-1] += joint + piece
        else:
            before += piece + joint
    return words
