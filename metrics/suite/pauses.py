"""Where a clip's speech rests: share, number and length of pauses, and how quick the speech is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from metrics.core import texts
from metrics.core.metric import (
    Material,
    Output,
    Parameters,
    Score,
    Take,
    check_bounds,
    undefined,
)
from metrics.signal import speech
from metrics.signal.speech import Segments
from metrics.signal.turns import PAD_S  # pauses get it back

LACKING = {
    "pause_mean_s": "no pause",
    "words_per_s": "no text, no language, or one that is written without spaces",
    "characters_per_s": "no text",
}


@dataclass(frozen=True)
class PausesParameters(Parameters):
    """What counts as a pause."""

    min_pause_s: float = 0.2

    def __post_init__(self) -> None:
        check_bounds(self, "min_pause_s", 0)


class Pauses(speech.SpeechMetric):
    """Rests between the first speech and the last; silence at the ends of a clip is no pause."""

    key = "pauses"
    version = "1"
    cpu_s_per_s = 0.007
    description = "Share of pauses between the first speech of the clip and the last"
    title = "Share of pauses"
    source = (
        "silero-vad with its defaults; a pause is a silence of 0.2 s or more between its segments"
    )
    low = 0.0
    high = 1.0
    more_outputs = (
        Output(
            "pauses_per_minute",
            "Pauses a minute between first and last speech",
            "1/min",
            0.0,
            title="Pauses per minute",
        ),
        Output("pause_mean_s", "Mean length of the pauses", "s", 0.0, title="Mean pause"),
        Output(
            "speech_s",
            "Time between first and last speech without the pauses",
            "s",
            0.0,
            title="Time of speech",
        ),
        Output(
            "words_per_s",
            "Words of the text over the time of speech",
            "1/s",
            0.0,
            title="Words per second",
        ),
        Output(
            "characters_per_s",
            "Letters and digits of the text over that time",
            "1/s",
            0.0,
            title="Characters per second",
        ),
    )
    lacking = LACKING
    needs = ("language", "text")
    parameters_type = PausesParameters
    parameters: PausesParameters

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One score per take; the detector runs over all waves side by side."""
        segments = speech.speech_segments([take.wave.float() for take in takes], self.detector)
        return [self.summary(own, take.material) for own, take in zip(segments, takes, strict=True)]

    def summary(self, segments: Segments, material: Material) -> Score:
        """The pauses between the segments, in samples, and the speed of the text in between."""
        if not segments:
            return undefined("no speech")
        rate_hz = self.sample_rate_hz
        first, last = segments[0][0], segments[-1][1]
        gaps = [
            (end / rate_hz - PAD_S, start / rate_hz + PAD_S)
            for (_, end), (start, _) in pairwise(segments)
        ]
        pauses = [gap for gap in gaps if gap[1] - gap[0] >= self.parameters.min_pause_s]
        span_s = (last - first) / rate_hz
        pause_s = math.fsum(end - start for start, end in pauses)
        speech_s = span_s - pause_s
        also = {
            "pauses_per_minute": len(pauses) / span_s * 60,
            "pause_mean_s": pause_s / len(pauses) if pauses else None,
            "speech_s": speech_s,
            **speech_rates(material, speech_s),
        }
        details: dict[str, Any] = {
            "n_pauses": len(pauses),
            "pauses_s": [list(pause) for pause in pauses],
            "first_speech_s": first / rate_hz,
            "last_speech_s": last / rate_hz,
        }
        return Score(pause_s / span_s, "", details, also=also)


def speech_rates(material: Material, speech_s: float) -> dict[str, float | None]:
    """Words and characters a second; None without a text, or words in an unspaced language."""
    if not material.text:
        return {}
    characters = sum(sign.isalnum() for sign in material.text)
    spaced = material.language and not texts.in_characters(material.language)
    words = len(texts.units(material.text, material.language)) if spaced else 0
    return {
        "words_per_s": words / speech_s if words else None,
        "characters_per_s": characters / speech_s if characters else None,
    }
