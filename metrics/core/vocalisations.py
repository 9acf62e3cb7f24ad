"""Target and predicted nonverbal vocalisations: types, places in the text, and agreement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from listening.methods.vocalisation_types import TAXONOMY as TAXONOMY
from listening.methods.vocalisation_types import TYPES as TYPES
from listening.methods.vocalisation_types import canonical as canonical
from listening.methods.vocalisation_types import has_marks as has_marks
from listening.methods.vocalisation_types import marked

TARGET = "nvv_target"  # the attribute of a clip that says what was asked for
N_TYPES = 45  # of the taxonomy of NVV-SuperBench
TOLERANCE = 1  # units of text; the paper leaves its delta open
_LISTED = re.compile(r"\s*(?P<type>[^@;,]+?)\s*@\s*(?P<position>\d+|\?)\s*")


class VocalisationError(ValueError):
    """A text that is neither a marked transcript nor a list of types with places."""


@dataclass(frozen=True)
class Vocalisation:
    """One vocalisation: its type, and how many units of the text come before it."""

    type: str  # in canonical spelling
    position: int | None  # None: heard, but nobody said where; it matches nothing


def parse(text: str, language: str) -> tuple[Vocalisation, ...]:
    """The vocalisations of "laugh@3; sigh@7", or of a transcript with markers such as "[laugh]".

    Places are counted in units before the marker: words, or characters in languages such as
    Chinese (`listening.methods.text_units`). A "?" as place says that nobody knows where. A
    transcript without a marker, or the word none, holds none. Raises VocalisationError for a broken
    list.
    """
    if has_marks(text):
        return parse_marked(text, language)[1]
    parts = [part for part in re.split(r"[;,]", text) if part.strip()]
    listed = [_LISTED.fullmatch(part) for part in parts]
    if not any(listed):
        return ()
    for part, match in zip(parts, listed, strict=True):
        if not match:
            raise VocalisationError(f"{part.strip()!r} is not TYPE@PLACE, such as laugh@3")
    return tuple(
        Vocalisation(canonical(m["type"]), None if m["position"] == "?" else int(m["position"]))
        for m in listed
        if m
    )


def parse_marked(text: str, language: str) -> tuple[str, tuple[Vocalisation, ...]]:
    """The transcript without its markers, and the vocalisations that they named."""
    plain, markers = marked(text, language)
    return plain, tuple(Vocalisation(name, place) for name, place in markers)


def without_marks(text: str, language: str) -> str:
    """The transcript without its markers."""
    return parse_marked(text, language)[0]


@dataclass(frozen=True)
class Comparison:
    """What was asked for in one utterance against what was found in it."""

    pairs: tuple[tuple[Vocalisation, Vocalisation], ...] = ()  # (asked for, found), matched
    missed: tuple[Vocalisation, ...] = ()  # asked for, no match
    spurious: tuple[Vocalisation, ...] = ()  # predicted without a match
    length: int = 0  # units of the transcript

    @property
    def hits(self) -> int:
        """True positives."""
        return len(self.pairs)

    @property
    def distance(self) -> float | None:
        """Mean |place found - place asked for| / length over the matches; None without a match."""
        if not self.pairs or not self.length:
            return None
        return sum(units_apart(*pair) for pair in self.pairs) / (len(self.pairs) * self.length)


def compare(
    target: Sequence[Vocalisation],
    predicted: Sequence[Vocalisation],
    length: int,
    tolerance: int = TOLERANCE,
) -> Comparison:
    """Match each prediction to at most one target: same type, places at most `tolerance` apart.

    Of the matchings with the most pairs, one with the smallest sum of distances. A prediction of
    the right type beyond the tolerance counts twice: as spurious and as a miss (NVV-SuperBench).
    ``length``: units of the transcript without markers.
    """
    pairs = [
        pair
        for name in sorted({v.type for v in target})
        for pair in _match_pairs(
            [i for i, v in enumerate(target) if v.type == name and v.position is not None],
            [i for i, v in enumerate(predicted) if v.type == name and v.position is not None],
            target,
            predicted,
            tolerance,
        )
    ]
    matched_targets, matched_predictions = {t for t, _ in pairs}, {p for _, p in pairs}
    return Comparison(
        tuple((target[t], predicted[p]) for t, p in sorted(pairs)),
        tuple(v for i, v in enumerate(target) if i not in matched_targets),
        tuple(v for i, v in enumerate(predicted) if i not in matched_predictions),
        length,
    )


def _match_pairs(
    target_indices: list[int],
    predicted_indices: list[int],
    target: Sequence[Vocalisation],
    predicted: Sequence[Vocalisation],
    tolerance: int,
) -> list[tuple[int, int]]:
    """Index pairs of one type within the tolerance: as many as can be, as near as can be.

    On a line the best pairs need never cross, so both sides are traversed in their order.
    """
    target_indices = sorted(target_indices, key=lambda t: target[t].position or 0)
    predicted_indices = sorted(predicted_indices, key=lambda p: predicted[p].position or 0)
    # best[h]: (pairs, distances below zero, the pairs) of the targets so far and h predictions
    best: list[tuple[int, int, tuple[tuple[int, int], ...]]] = [(0, 0, ())] * (
        len(predicted_indices) + 1
    )
    for t in target_indices:
        now = [best[0]]
        for h, p in enumerate(predicted_indices):
            best_here = max(best[h + 1], now[h], key=lambda each: each[:2])
            far = units_apart(target[t], predicted[p])
            if far <= tolerance:
                pairs, near, chosen = best[h]
                paired = (pairs + 1, near - far, (*chosen, (t, p)))
                best_here = max(best_here, paired, key=lambda each: each[:2])
            now.append(best_here)
        best = now
    return list(best[-1][2])


def units_apart(one: Vocalisation, other: Vocalisation) -> int:
    """How many units of text lie between the places of two vocalisations that have one."""
    if one.position is None or other.position is None:
        raise ValueError("a vocalisation without a place is nowhere near another")
    return abs(one.position - other.position)


@dataclass(frozen=True)
class Controllability:
    """How well vocalisations came as asked for, over one utterance or many; None: undefined."""

    tp: int
    fp: int
    fn: int
    distance: float | None  # normalised tag distance: mean over the utterances with a match
    target_types: tuple[str, ...] = field(default=())  # types that were asked for
    hit_types: tuple[str, ...] = field(default=())  # types matched at least once

    @property
    def precision(self) -> float | None:
        """TP / (TP + FP), 0 to 1."""
        return ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """TP / (TP + FN), 0 to 1."""
        return ratio(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float | None:
        """2 TP / (2 TP + FP + FN), 0 to 1."""
        return ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)


def controllability(comparisons: Iterable[Comparison]) -> Controllability:
    """Counts summed over utterances; the distance averaged over those with a match.

    Formulas: NVV-SuperBench (2026), section 2.4.1. An utterance with several matches counts in
    the distance once, by their mean.
    """
    known = list(comparisons)
    distances = [c.distance for c in known if c.distance is not None]
    return Controllability(
        tp=sum(c.hits for c in known),
        fp=sum(len(c.spurious) for c in known),
        fn=sum(len(c.missed) for c in known),
        distance=sum(distances) / len(distances) if distances else None,
        target_types=tuple(
            sorted({v.type for c in known for v in (*(t for t, _ in c.pairs), *c.missed)})
        ),
        hit_types=tuple(sorted({t.type for c in known for t, _ in c.pairs})),
    )


def ratio(part: int, whole: int) -> float | None:
    """part / whole; None when there is nothing to divide by."""
    return part / whole if whole else None


def coverage(supported: Iterable[str], n_types: int = N_TYPES) -> float:
    """Share of the taxonomy's types that a system supports: distinct types / n_types, 0 to 1.

    Types outside the taxonomy do not count while ``n_types`` is the taxonomy's 45.
    """
    names = {canonical(name) for name in supported}
    if n_types == N_TYPES:
        names &= set(TYPES)
    return len(names) / n_types
