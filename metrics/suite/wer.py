"""Word error rate of a recogniser's transcript, for languages with spaces between words.

What it shares with the character error rate (`cer`) is here, too.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metrics.core import texts, vocalisations
from metrics.core.metric import (
    Input,
    Material,
    Metric,
    ParameterError,
    Parameters,
    Score,
    Sharing,
    Take,
    check_bounds,
    undefined,
)
from metrics.core.precision import Precisions
from metrics.core.published_models import PublishedModel
from metrics.networks.recognisers import recogniser as recognisers

PRECISIONS = ("float32", "float16", "bfloat16", "int8")
WINDOW_S = 30.0
WINDOW_CPU_S = {"large-v3": 27.0, "tiny.en": 0.9}  # the first from its 3.8 TFLOP, not measured


@dataclass(frozen=True)
class ErrorRateParameters(Parameters):
    """The recogniser and its model, and how both texts are made comparable."""

    recogniser: str = "faster_whisper"
    model: str = ""  # a folder, or a name that the recogniser knows; empty: its default
    normalisation: str = texts.UNICODE
    beam: int = 5
    precision: str = "float32"

    def __post_init__(self) -> None:
        known = recognisers.Recogniser.registry
        if self.recogniser not in known:
            raise ParameterError(
                f"recogniser {self.recogniser!r} is not known; there are {', '.join(known)}"
            )
        if self.normalisation not in texts.NORMALISATIONS:
            known_rules = " or ".join(texts.NORMALISATIONS)
            raise ParameterError(
                f"normalisation is {self.normalisation!r}; it must be {known_rules}"
            )
        check_bounds(self, "beam", 1, 100)
        if self.precision not in PRECISIONS:
            raise ParameterError(f"precision is {self.precision!r}; use {', '.join(PRECISIONS)}")
        if self.precision == "int8" and self.recogniser != "faster_whisper":
            raise ParameterError("precision int8 is for faster_whisper only")

    def options(self) -> recognisers.Options:
        """Return the recogniser's options."""
        return recognisers.Options(self.model, self.beam, self.precision)


class ErrorRate(Metric):
    """Substitutions, deletions and insertions per unit of the text; the main value of a clip."""

    by_character: ClassVar[bool]
    unit_name: ClassVar[str]  # "words", "characters"
    source = "jiwer (minimum edits); LFS-Bench C.4 for its own normalisation; Whisper or Paraformer"
    low = 0.0
    higher_is_better = False
    sharing = Sharing(
        Input.WINDOWS,
        why="Whisper's 30 s (others: clip by clip); a tie between words may fall otherwise",
    )
    precisions = Precisions(why="its parameter precision says float16, bfloat16 or int8")
    needs = ("text", "language", "attributes.hypothesis")
    parameters_type = ErrorRateParameters
    parameters: ErrorRateParameters

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        recogniser = recognisers.Recogniser.registry[self.parameters.recogniser]
        self.packages = ("torch", "numpy", "jiwer", "zhconv", "zhon", *recogniser.packages)

    def models(self) -> Sequence[PublishedModel]:
        """Those of the recogniser."""
        chosen = self.parameters
        return recognisers.Recogniser.registry[chosen.recogniser](chosen.options()).models()

    def expected_cpu_s(self, clip_s: float) -> float | None:
        """CPU seconds of the recogniser, where it is tabled: of every window of 30 s begun."""
        recogniser = recognisers.Recogniser.registry[self.parameters.recogniser]
        name = (self.parameters.model or recogniser.default_model).rpartition("/")[2]
        cost = WINDOW_CPU_S.get(name.removeprefix("whisper-"))
        return None if cost is None else cost * max(1, math.ceil(clip_s / WINDOW_S))

    def shared_work(self) -> Hashable:
        """One transcript for all error rates by the same recogniser."""
        return self.parameters.recogniser, self.parameters.options()

    def load(self, device: str = "cpu") -> None:
        """Load the recogniser, or take the one that this process has loaded already."""
        super().load(device)
        chosen = self.parameters
        self.recogniser = recognisers.load_recogniser(chosen.recogniser, chosen.options(), device)
        self.weights = dict(self.recogniser.weights)
        self.device_notes = dict(self.recogniser.device_notes)

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One error rate per take; those that have a text are heard together."""
        reasons = [self.no_reference(take.material) for take in takes]
        wanted = [take for take, reason in zip(takes, reasons, strict=True) if not reason]
        heard = iter(self.recogniser.transcripts(wanted))
        return [
            undefined(reason) if reason else self.of_transcript(take.material, next(heard))
            for take, reason in zip(takes, reasons, strict=True)
        ]

    def of_transcript(self, material: Material, heard: recognisers.Transcript) -> Score:
        """The error rate of what was heard."""
        if heard.text is None:
            return undefined(heard.reason)
        return self.of_texts(material.text, heard.text, material.language)

    def no_reference(self, material: Material) -> str:
        """Why there is nothing to compare with; empty when there is."""
        if not material.text.strip():
            return "no text"
        if not material.language.strip():
            return "no language"
        return self.other_metric(material.language) or texts.unsupported_reason(
            material.language, self.parameters.normalisation
        )

    def other_metric(self, language: str) -> str:
        """Why this metric is not for the language; empty when it is."""
        return ""

    def of_texts(self, text: str, heard: str, language: str) -> Score:
        """The error rate of a transcript; markers such as [laugh] in the text are left out."""
        reference = vocalisations.without_marks(text, language)
        chosen = self.parameters.normalisation
        counts, normalised = {}, {}
        for name in texts.NORMALISATIONS:
            if texts.unsupported_reason(language, name):
                continue
            one = texts.normalise_text(reference, language, name)
            other = texts.normalise_text(heard, language, name)
            normalised[name] = (one, other)
            counts[name] = texts.errors(one, other, self.by_character)
        if counts[chosen].rate is None:
            return undefined("no text: nothing of it is left after normalisation", reference=text)
        details = {
            "reference": text,
            "hypothesis": heard,
            "reference_normalised": normalised[chosen][0],
            "hypothesis_normalised": normalised[chosen][1],
            **counts[chosen].as_dict(),
        }
        for name in counts.keys() - {chosen}:
            details[f"under_{name}"] = {"rate": counts[name].rate, **counts[name].as_dict()}
        return Score(counts[chosen].rate, "", details)

    def pooled(self, details: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """Errors over all units of a condition's clips.

        Also under the other normalisation, where it has a rule for the languages of all clips.
        """
        (other,) = set(texts.NORMALISATIONS) - {self.parameters.normalisation}
        own = texts.add_counts(counts_of_details(row) for row in details)
        values = {
            f"{self.key}_pooled": own.rate,
            f"{self.key}_pooled_{self.unit_name}": float(own.length),
        }
        if all(f"under_{other}" in row for row in details):
            under = texts.add_counts(counts_of_details(row[f"under_{other}"]) for row in details)
            values[f"{self.key}_pooled_{other}"] = under.rate
        return {name: value for name, value in values.items() if value is not None}


def counts_of_details(row: Mapping[str, Any]) -> texts.Errors:
    """The counts of a score's details."""
    return texts.Errors(*(int(row[name]) for name in ("hits", "sub", "dele", "ins")))


class WordErrorRate(ErrorRate):
    """(substitutions + deletions + insertions) / words of the text; can exceed 1."""

    key = "wer"
    version = "2"
    description = "Word error rate of a speech recogniser's transcript against the text"
    title = "WER"
    by_character = False
    unit_name = "words"

    def other_metric(self, language: str) -> str:
        """Languages written without spaces have no words to count."""
        return f"language {language}: use cer" if texts.in_characters(language) else ""
