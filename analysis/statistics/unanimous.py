"""Where nearly all answers are equal: an interval and a test that count each rater once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.binomial import effective, exact_bounds, sign_test

UNANIMOUS = "Clopper-Pearson, every rater (or item) one answer"
_FEWEST = 6  # the fewest raters, or items, that decide by a sign test at .05 if all are of one mind
_NEARLY = 0.9


@dataclass(frozen=True)
class Edge:
    """Bounds and two-sided p of a mean of nearly equal scores that are worth ``groups`` answers."""

    low: float
    high: float
    p: float
    groups: float
    equal: bool  # all scores are

    @property
    def note(self) -> str:
        """What was done, in words."""
        equal = "all answers are equal" if self.equal else "nearly all answers are equal"
        return f"{equal}: every rater, or item, counts as one answer ({self.groups:.3g} in all)"


def equal_bounds(
    y: Floats, rater: Codes, item: Codes, level: float, ends: tuple[float, float]
) -> tuple[float, float, str] | None:
    """Bounds of the mean of scores (n,) that are all c, on a scale with ``ends``, and a note.

    As `edge_of`, but whoever would say something else is taken to say what is farthest: the share
    of c is at least Clopper and Pearson's bound of as many answers as raters (or items, whichever
    are fewer), and the rest lies at an end. None with one rater or one item.
    """
    if min(len(np.unique(rater)), len(np.unique(item))) < 2:
        return None
    c, groups = float(y[0]), min(effective(rater), effective(item))
    rest = 1 - exact_bounds(1.0, groups, level)[0]
    edge = Edge(c - rest * (c - ends[0]), c + rest * (ends[1] - c), 1.0, groups, equal=True)
    return edge.low, edge.high, edge.note


def edge_of(y: Floats, rater: Codes, item: Codes, level: float, farthest: float) -> Edge | None:
    """Bounds and p (against 0) of the mean of scores (n,) that hardly differ; None where they do.

    They hardly differ where 90 % or more are one and the same, c, and fewer than 6 raters, or fewer
    than 6 items, ever gave another: how these differ cannot be estimated then, and a variance of
    what was seen is far too small, or 0. Instead all answers of a rater (or of an item, whichever
    leaves fewer) are taken for one: Korn and Graubard's (1998) effective number of answers at its
    least, n²/Σn_g² where some gave more than others. The bounds are Clopper and Pearson's of the
    share of c, other scores counting as -c, none beyond ``farthest``, the largest size of a score
    that anybody gave; p is the exact sign test of so many answers. None too with one rater or item.
    """
    if min(len(np.unique(rater)), len(np.unique(item))) < 2 or farthest <= 0:
        return None
    scores, counts = np.unique(y, return_counts=True)
    common, share = float(scores[counts.argmax()]), float(counts.max()) / len(y)
    other = y != common
    differing = min(len(np.unique(rater[other])), len(np.unique(item[other])))
    if differing >= _FEWEST or share < _NEARLY:
        return None
    groups, mean = min(effective(rater), effective(item)), float(y.mean())
    step = (1 - exact_bounds(share, groups, level)[0]) * (2 * abs(common) or farthest)
    low, high = max(common - step, -farthest), min(common + step, farthest)
    p = sign_test(share, groups) if common else 1.0
    return Edge(min(low, mean), max(high, mean), p, groups, not other.any())
