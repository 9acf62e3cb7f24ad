"""The clips of a study whose audio is odd, by the kind of warning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metrics.input_warnings import TITLES
from metrics.metric import Metric
from metrics.models import MetricScore

AT_ONCE = 5_000  # hashes in one query
MOST = 20  # clips of one kind that are named


@dataclass(frozen=True)
class WarnedClip:
    """A clip with a warning: its words, and how many of its scores carry it."""

    stimulus: str
    condition: str
    words: str
    scores: int


@dataclass(frozen=True)
class Warned:
    """One kind of warning with its clips."""

    code: str
    title: str
    clips: list[WarnedClip]

    @property
    def shown(self) -> list[WarnedClip]:
        return self.clips[:MOST]

    @property
    def more(self) -> int:
        return max(0, len(self.clips) - MOST)


def warned_clips(stimuli: Sequence[tuple[Mapping[str, Any], Any]]) -> list[Warned]:
    """The kinds of warnings of a study's present scores, those of most clips first."""
    found: dict[str, dict[str, list[str]]] = {}  # by code: words by audio
    for sha256, warnings in _stored(sorted({row["sha256"] for row, _ in stimuli})):
        for code, words in warnings.items():
            found.setdefault(code, {}).setdefault(sha256, []).append(words)
    kinds = [
        Warned(
            code,
            TITLES.get(code, code),
            [
                WarnedClip(row["stimulus"], row["condition"], told[0], len(told))
                for row, _ in stimuli
                if (told := by_audio.get(row["sha256"]))
            ],
        )
        for code, by_audio in found.items()
    ]
    return sorted(kinds, key=lambda kind: (-len(kind.clips), kind.code))


def _stored(hashes: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """(sha256, warnings) of the scores by the present versions of metrics."""
    versions = {
        output.key: metric.version
        for metric in Metric.registry.values()
        for output in metric.outputs()[:1]
    }
    stored: list[tuple[str, dict[str, str]]] = []
    for start in range(0, len(hashes), AT_ONCE):
        scores = MetricScore.objects.filter(sha256__in=hashes[start : start + AT_ONCE])
        told = scores.exclude(warnings={}).order_by("metric", "pk")
        rows = told.values_list("metric", "version", "sha256", "warnings")
        stored += [
            (sha256, warnings)
            for metric, version, sha256, warnings in rows
            if versions.get(metric) == version
        ]
    return stored
