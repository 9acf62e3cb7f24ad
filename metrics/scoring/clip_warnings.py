"""The clips of a study whose audio is odd, by the kind of warning; and clips chosen by warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from metrics.core.input_warnings import TITLES
from metrics.core.metric import Metric
from metrics.models import MetricScore
from metrics.scoring.study_material import study_stimuli

ANY = "any"  # in place of a code: whatever the warning
ONLY, WITHOUT = "only", "without"  # how addresses and options call both


class NoSuchWarning(ValueError):
    """A code that no warning has."""


@dataclass(frozen=True)
class WarningFilter:
    """Clips with one of ``only`` (empty: all clips) and with none of ``without``, by codes."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.only or self.without)

    def keeps(self, codes: Collection[str]) -> bool:
        """Whether a clip with these warnings is looked at."""
        return (not self.only or _meets(self.only, codes)) and not _meets(self.without, codes)

    @property
    def query(self) -> str:
        """As the end of an address, with its question mark; empty for all clips."""
        pairs = [(ONLY, code) for code in self.only] + [(WITHOUT, code) for code in self.without]
        return f"?{urlencode(pairs)}" if pairs else ""

    @property
    def words(self) -> str:
        """Such as "only those with: clipped; without those with: any warning"."""
        clauses = [f"only those with: {_named(self.only)}"] * bool(self.only)
        return "; ".join(
            [*clauses, *[f"without those with: {_named(self.without)}"] * bool(self.without)]
        )


def warning_filter(
    only: Iterable[str], without: Iterable[str], also: Collection[str] = ()
) -> WarningFilter:
    """The filter of codes as a person gives them: repeated, or with commas between.

    ``also``: codes besides the built-in ones. Raises NoSuchWarning for an unknown code.
    """
    chosen = {}
    for name, texts in ((ONLY, only), (WITHOUT, without)):
        codes = dict.fromkeys(code.strip() for each in texts for code in each.split(","))
        chosen[name] = tuple(code for code in codes if code)
        known = (ANY, *TITLES, *sorted(set(also) - set(TITLES)))
        if unknown := [code for code in chosen[name] if code not in known]:
            raise NoSuchWarning(
                f"{name}: no warning is called {', '.join(unknown)}; there are {', '.join(known)}"
            )
    return WarningFilter(**chosen)


def codes_by_clip(stored: Iterable[tuple[str, Mapping[str, str]]]) -> dict[str, set[str]]:
    """The codes of all warnings of each audio file, from (sha256, warnings) of its scores."""
    codes: dict[str, set[str]] = {}
    for sha256, warnings in stored:
        codes.setdefault(sha256, set()).update(warnings)
    return codes


def _meets(wanted: Collection[str], codes: Collection[str]) -> bool:
    return bool(codes) if ANY in wanted else not set(codes).isdisjoint(wanted)


def _named(codes: Iterable[str]) -> str:
    return ", ".join(
        "any warning" if code == ANY else TITLES.get(code, code).lower() for code in codes
    )


MOST = 20  # clips of one kind that are named

Stimuli = Sequence[tuple[Mapping[str, Any], Any]]


@dataclass(frozen=True)
class WarnedClip:
    """A clip with a warning: its words, and how many of its scores carry it."""

    stimulus: str
    condition: str
    words: str
    scores: int


@dataclass(frozen=True)
class WarningKind:
    """One kind of warning with its clips, and how many of how many clips per condition."""

    code: str
    title: str
    clips: list[WarnedClip]
    by_condition: list[tuple[str, int, int]]

    @property
    def shown(self) -> list[WarnedClip]:
        return self.clips[:MOST]

    @property
    def more(self) -> int:
        return max(0, len(self.clips) - MOST)


def warned_clips(stimuli: Stimuli, names: Mapping[str, str] | None = None) -> list[WarningKind]:
    """The kinds of warnings of a study's present scores, those of most clips first.

    ``names``: what conditions are called, by their keys.
    """
    words_by_code: dict[str, dict[str, list[str]]] = {}  # by code: words by audio
    for sha256, warnings in stored_warnings({row["sha256"] for row, _ in stimuli}):
        for code, words in warnings.items():
            words_by_code.setdefault(code, {}).setdefault(sha256, []).append(words)
    kinds = [
        _warning_kind(code, words_by_audio, stimuli, names or {})
        for code, words_by_audio in words_by_code.items()
    ]
    return sorted(kinds, key=lambda kind: (-len(kind.clips), kind.code))


def _warning_kind(
    code: str, words_by_audio: Mapping[str, list[str]], stimuli: Stimuli, names: Mapping[str, str]
) -> WarningKind:
    rows = [row for row, _ in stimuli if row["sha256"] in words_by_audio]
    counts, totals = (
        Counter(row["condition"] for row in rows),
        Counter(row["condition"] for row, _ in stimuli),
    )
    clips = [
        WarnedClip(
            row["stimulus"],
            names.get(row["condition"], row["condition"]),
            words_by_audio[row["sha256"]][0],
            len(words_by_audio[row["sha256"]]),
        )
        for row in rows
    ]
    by_condition = [(names.get(key, key), n, totals[key]) for key, n in sorted(counts.items())]
    return WarningKind(code, TITLES.get(code, code), clips, by_condition)


def filter_clips(
    stimuli: Sequence[tuple[Mapping[str, Any], Any]], clip_filter: WarningFilter
) -> list[tuple[Mapping[str, Any], Any]]:
    """The stimuli that a filter keeps, by the warnings of any of their present scores."""
    if not clip_filter:
        return list(stimuli)
    codes = codes_by_clip(stored_warnings({row["sha256"] for row, _ in stimuli}))
    return [pair for pair in stimuli if clip_filter.keeps(codes.get(pair[0]["sha256"], ()))]


def study_filter(study: str, only: Iterable[str], without: Iterable[str]) -> WarningFilter:
    """`warning_filter` that knows the codes of metrics from other packages, too."""
    only, without = list(only), list(without)
    try:
        return warning_filter(only, without)
    except NoSuchWarning:
        hashes = {row["sha256"] for row, _ in study_stimuli(study)}
        stored = stored_warnings(hashes)
        return warning_filter(only, without, {code for _, warnings in stored for code in warnings})


def stored_warnings(hashes: Collection[str]) -> list[tuple[str, dict[str, str]]]:
    """(sha256, warnings) of the scores by the present versions of metrics."""
    versions = {
        output.key: metric.version
        for metric in Metric.registry.values()
        for output in metric.outputs()[:1]
    }
    stored: list[tuple[str, dict[str, str]]] = []
    for scores in MetricScore.of_hashes(hashes):
        warned_scores = scores.exclude(warnings={}).order_by("metric", "pk")
        rows = warned_scores.values_list("metric", "version", "sha256", "warnings")
        stored += [
            (sha256, warnings)
            for metric, version, sha256, warnings in rows
            if versions.get(metric) == version
        ]
    return stored
