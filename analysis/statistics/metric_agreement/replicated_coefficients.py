"""Coefficients of metrics with people: as found, and in all replicates of a sample."""

from __future__ import annotations

import numpy as np
from scipy import stats

from analysis.arrays import Codes, Floats
from analysis.statistics.metric_agreement import weighted_correlations as by_weight
from analysis.statistics.metric_agreement.resampled_units import FEWEST, Sample, without_dust
from analysis.statistics.metric_agreement.two_way_resampling import OF_ERRORS, replicates_for

_MOST_PAIRS = 4000  # of conditions, for tau in each replicate


def coefficient(name: str, x: Floats, y: Floats) -> float | None:
    """SRCC, PLCC or KRCC (tau-b) of x and y (n,); None where undefined."""
    flat = any(np.ptp(v) <= 1e-12 * np.abs(v).max(initial=1e-300) for v in (x, y))
    return None if len(x) < FEWEST or flat else scipy_test(name, x, y)[0]


def scipy_test(name: str, x: Floats, y: Floats) -> tuple[float, float]:
    """The coefficient of x and y (n,) and its p, as scipy has them."""
    if name == "plcc":
        pearson = stats.pearsonr(x, y)
        return float(pearson.statistic), float(pearson.pvalue)
    rank_test = stats.spearmanr(x, y) if name == "srcc" else stats.kendalltau(x, y)
    return float(rank_test.statistic), float(rank_test.pvalue)


def replicates(name: str, sample: Sample, pairs: tuple[Codes, Codes] | None) -> Floats:
    """A coefficient of all metrics in all replicates (B, M), the conditions as they are."""
    if sample.redrawn is None:
        if name == "krcc":
            assert pairs is not None
            b = replicates_for(len(sample.y), len(sample.h), OF_ERRORS)
            values = by_weight.kendall(sample.x, sample.h[:b], sample.w[:b], pairs)
        else:
            function = by_weight.pearson if name == "plcc" else by_weight.spearman
            values = function(sample.x, sample.h, sample.w)
        few = (sample.w[: len(values), : sample.n] > 0).sum(axis=1) < FEWEST
        values[few] = np.nan
        return values
    return of_conditions(name, sample.redrawn, sample.h, sample.w, pairs)


def replicates_over_conditions(
    name: str, sample: Sample, pairs: tuple[Codes, Codes] | None
) -> Floats:
    """The same with conditions drawn too; empty where units are no conditions."""
    if sample.redrawn is None:
        return np.empty((0, 0))
    places = sample.places
    x = np.take_along_axis(sample.redrawn, places[:, None, :], axis=2)
    h, w = (np.take_along_axis(each, places, axis=1) for each in (sample.h, sample.w))
    return of_conditions(name, x, h, w, pairs)


def of_conditions(
    name: str, x: Floats, h: Floats, w: Floats, pairs: tuple[Codes, Codes] | None
) -> Floats:
    """A coefficient (B, M) of x (B, M, C) and h (B, C); NaN where a condition was not drawn."""
    full = np.asarray((w > 0).all(axis=1))[:, None]
    if name == "krcc" and pairs is not None:
        some = np.linspace(0, len(pairs[0]) - 1, min(len(pairs[0]), _MOST_PAIRS)).astype(int)
        i, j = (each[some] for each in pairs)
        up = np.sign(h[:, i] - h[:, j])
        room, cross = np.empty(x.shape[:2]), np.empty(x.shape[:2])
        for m in range(x.shape[1]):  # one metric at a time, so that memory stays small
            across = np.sign(x[:, m, i] - x[:, m, j])
            room[:, m] = np.abs(across).sum(axis=1) * np.abs(up).sum(axis=1)
            cross[:, m] = (across * up).sum(axis=1)
        fits = full & (room > 0)
        return np.where(fits, cross / np.sqrt(np.where(fits, room, 1.0)), np.nan)
    if name == "srcc":
        x, h = stats.rankdata(x, axis=2), stats.rankdata(h, axis=1)
    x = without_dust(x - x.mean(axis=2, keepdims=True))
    h = without_dust(h - h.mean(axis=1, keepdims=True))
    room = (x**2).sum(axis=2) * (h**2).sum(axis=1)[:, None]
    cross = np.einsum("bmc,bc->bm", x, h)
    fits = full & (room > 0)
    r = np.clip(cross / np.sqrt(np.where(fits, room, 1.0)), -1.0, 1.0)
    return np.asarray(np.where(fits, r, np.nan), dtype=np.float64)
