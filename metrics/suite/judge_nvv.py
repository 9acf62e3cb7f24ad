"""Vocalisations asked for, verified and placed by an audio language model (NVV-SuperBench).

Verified is a given vocalisation by one marker in the unchanged transcript, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metrics.core import texts, vocalisations
from metrics.core.metric import Material, Output, Score, Take, check_bounds, undefined
from metrics.core.vocalisations import Vocalisation
from metrics.judges.client import Reply, no_score_reason
from metrics.judges.judge import Judge, JudgeParameters
from metrics.judges.question import MalformedAnswer, Question, Sound, printable, sound
from metrics.suite.nvv import (
    comparison,
    comparison_details,
    count_outputs,
    counts,
    rates,
    spoken,
    vocalisation_as_json,
)


@dataclass(frozen=True)
class JudgeNvvParameters(JudgeParameters):
    """How far the marker may be from the place that was asked for."""

    rubric: str = "nvv_verification.v1"
    tolerance: int = vocalisations.TOLERANCE  # words, or characters in Chinese

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bounds(self, "tolerance", 0)


@dataclass(frozen=True)
class _Request:
    """A clip's targets, and the text for the judge."""

    target: tuple[Vocalisation, ...]
    text: str
    language: str

    @property
    def types(self) -> list[str]:
        return sorted({vocalisation.type for vocalisation in self.target})


class JudgeNvv(Judge):
    """F1 of a clip: one question per type asked for; whatever else is heard counts as spurious."""

    key = "judge_nvv"
    version = "1"
    description = "F1 of the vocalisations asked for, verified by an audio language model"
    title = "Judge: NVV F1"
    source = "NVV-SuperBench (2026), section 2.4.1; rubric in our own words"
    low, high = 0.0, 1.0
    more_outputs = (
        Output(
            "judge_nvv_present",
            "Share of the types asked for that the judge heard",
            "",
            0,
            1,
            title="Judge: NVV present",
        ),
        Output(
            "judge_nvv_distance",
            "Normalised tag distance of the matches",
            "",
            0,
            1,
            False,
            title="Judge: NVV tag distance",
        ),
        *count_outputs("judge_nvv", "Judge: NVV"),
    )
    needs = ("text", "language", "attributes.nvv_target")
    packages = ("openai", "torch", "numpy", "scipy")
    parameters_type = JudgeNvvParameters
    parameters: JudgeNvvParameters

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One score per take; all questions of the batch are asked together."""
        requests = [self.request_for(take) for take in takes]
        questions = [
            self.verification(heard, known, name)
            for take, known in zip(takes, requests, strict=True)
            if isinstance(known, _Request)
            for heard in (sound(take.wave),)
            for name in known.types
        ]
        replies = iter(self.ask(questions))
        return [
            self.combine_replies(known, [next(replies) for _ in known.types])
            if isinstance(known, _Request)
            else known
            for known in requests
        ]

    def request_for(self, take: Take) -> _Request | Score:
        """What is asked about a take; or why it has no value."""
        material = take.material
        target = requested_vocalisations(material)
        if not target:
            return undefined("the clip has no attribute nvv_target, and its text no marker")
        if not material.language:
            return undefined("no language")
        try:
            wanted = vocalisations.parse(target, material.language)
        except vocalisations.VocalisationError as error:
            return undefined(str(error))
        if not wanted:
            return undefined("no vocalisation was asked for")
        text = spoken(material)
        if not text:
            return undefined("no text")
        return self.unfit(take) or _Request(wanted, text, material.language)

    def verification(self, heard: Sound, known: _Request, target: str) -> Question:
        """The question whether one type is heard, and where in the text."""
        question = self.question(heard, text=known.text, language=known.language, target=target)
        fields = question.check

        def check(answer: Any) -> dict[str, Any]:
            marked = fields(answer)
            check_marked(marked, known.text, target, known.language)
            return marked

        return replace(question, check=check)

    def combine_replies(self, known: _Request, replies: Sequence[Reply]) -> Score:
        """The score from one reply per type; failed unless all of them are answers."""
        details = self.tally(replies)
        answers = [reply.answer for reply in replies if reply.answer is not None]
        if len(answers) < len(replies):
            return Score(None, no_score_reason(details), details, failed=True)
        heard = [answer_vocalisation(answer, known.language) for answer in answers]
        predicted = [v for v in heard if v is not None]
        predicted += other_types(answers, known.types)
        length = len(texts.units(known.text, known.language))
        compared = vocalisations.compare(known.target, predicted, length, self.parameters.tolerance)
        controllability = vocalisations.controllability([compared])
        details |= comparison_details(compared) | {
            "predicted": [vocalisation_as_json(v) for v in predicted]
        }
        also = {
            "judge_nvv_present": sum(v is not None for v in heard) / len(heard),
            "judge_nvv_distance": controllability.distance,
            **counts("judge_nvv", controllability),
        }
        return Score(controllability.f1, details=details, also=also)

    def pooled(self, details: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """Precision, recall, F1 from counts summed over clips; distance over those matched."""
        values = rates(vocalisations.controllability(comparison(row) for row in details))
        return {f"judge_nvv_{name}_pooled": v for name, v in values.items() if v is not None}


def requested_vocalisations(material: Material) -> str:
    """What says which vocalisations were asked for: the attribute nvv_target, else a marked text.

    Empty when neither says anything.
    """
    marked = vocalisations.parse_marked(material.text, material.language)[1]
    return material.attribute("nvv_target") or (material.text if marked else "")


def check_marked(answer: Mapping[str, Any], text: str, target: str, language: str) -> None:
    """Malformed unless the marked text is the text with one <target>, or with none when absent.

    The text without its marker must be the same, character by character; only blanks may differ.
    """
    plain, markers = vocalisations.parse_marked(answer["marked_text"], language)
    if not answer["present"]:
        if markers:
            raise MalformedAnswer("marker although absent")
    elif len(markers) != 1:
        raise MalformedAnswer("no marker" if not markers else "several markers")
    elif markers[0].type != vocalisations.canonical(target):
        raise MalformedAnswer("another marker")
    if remove_blanks(plain) != remove_blanks(text):
        raise MalformedAnswer("transcript changed")


def remove_blanks(text: str) -> str:
    """The text without blanks: a marker may stand before punctuation or between two words."""
    return "".join(text.split())


def answer_vocalisation(answer: Mapping[str, Any], language: str) -> Vocalisation | None:
    """The vocalisation that a checked answer places in the text; None when it is absent."""
    markers = vocalisations.parse_marked(answer["marked_text"], language)[1]
    return markers[0] if markers else None


def other_types(answers: Iterable[Mapping[str, Any]], targets: Iterable[str]) -> list[Vocalisation]:
    """Types beside the targets that the answers report, each once, without a place."""
    target_types = {vocalisations.canonical(target) for target in targets}
    named = {vocalisations.canonical(printable(n)) for answer in answers for n in answer["others"]}
    return [Vocalisation(name, None) for name in sorted(named - target_types - {"none", ""})]
