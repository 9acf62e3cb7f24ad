"""How much of a judge's scores is the clip, and how much changes from one answer to the next."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ClipStability:
    """The repeats of one clip."""

    clip: str
    n: int
    mean: float
    sd: float | None  # ddof 1; None with one repeat
    range: float


@dataclass(frozen=True)
class Stability:
    """All clips together. Only clips with two repeats or more count, but in `clips`."""

    clips: tuple[ClipStability, ...]
    n_clips: int  # with two repeats or more
    equal: float | None  # share of these whose repeats are all equal
    sd_within: float | None  # square root of the mean variance inside clips
    sd_between: float | None  # of the clips' true means, as one-way analysis of variance sees them
    icc: float | None  # ICC(1): share of the variance of one answer that is the clip's
    icc_mean: float | None  # ICC(1, k): the same for the mean of k answers
    k: float | None  # repeats per clip; where clips differ, the mean that ANOVA uses


def stability(repeats: Mapping[str, Sequence[float]]) -> Stability:
    """Clip -> its repeated scores, any number each, as a report.

    Intraclass correlations of the one-way random model (Shrout and Fleiss 1979), with a negative
    variance between clips set to 0; None where they are undefined (fewer than two clips with
    repeats, or no variance at all).
    """
    clips = tuple(
        ClipStability(
            clip,
            len(scores),
            statistics.fmean(scores),
            statistics.stdev(scores) if len(scores) > 1 else None,
            max(scores) - min(scores),
        )
        for clip, scores in repeats.items()
        if scores
    )
    groups = [list(scores) for scores in repeats.values() if len(scores) > 1]
    if not groups:
        return Stability(clips, 0, None, None, None, None, None, None)
    within, between, k = variances(groups)
    equal = sum(max(group) == min(group) for group in groups) / len(groups)
    total = None if between is None else between + within
    return Stability(
        clips,
        len(groups),
        equal,
        math.sqrt(within),
        None if between is None else math.sqrt(between),
        between / total if total and between is not None else None,
        between / (between + within / k) if total and between is not None and k else None,
        k,
    )


def variances(groups: Sequence[Sequence[float]]) -> tuple[float, float | None, float | None]:
    """Variance inside groups, between them, and the size of groups that links the two.

    One-way analysis of variance, unbalanced; every group has two values or more. Between is None
    with a single group.
    """
    sizes = [len(group) for group in groups]
    means = [statistics.fmean(group) for group in groups]
    total = sum(sizes)
    inside = sum(
        (value - mean) ** 2 for group, mean in zip(groups, means, strict=True) for value in group
    ) / (total - len(groups))
    if len(groups) < 2:
        return inside, None, None
    grand = sum(size * mean for size, mean in zip(sizes, means, strict=True)) / total
    across = sum(n * (mean - grand) ** 2 for n, mean in zip(sizes, means, strict=True))
    k = (total - sum(size**2 for size in sizes) / total) / (len(groups) - 1)
    return inside, max(0.0, (across / (len(groups) - 1) - inside) / k), k
