"""Least squares of paragraph MOS on the MOS of its sentences by their place (Clark, table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, stats

from analysis.arrays import Floats
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.longform.paragraph_correlations import ParagraphScores

LENGTHS = (2, 3, 4)


@dataclass(frozen=True)
class Slope:
    """A coefficient with its standard error, t and two-sided p."""

    term: str
    value: float
    se: float
    t: float
    p: float


@dataclass(frozen=True)
class Regression:
    """A regression of n paragraphs; ``slopes`` empty where it has none, ``note`` says why.

    ``f`` with ``df1`` and ``df2`` tests all slopes together.
    """

    sentences: int
    n: int
    slopes: tuple[Slope, ...] = ()
    r2: float | None = None
    adjusted_r2: float | None = None
    f: float | None = None
    df1: int | None = None
    df2: int | None = None
    p: float | None = None
    note: str = ""


def by_position(
    several: Sequence[ParagraphScores], lengths: Sequence[int] = LENGTHS
) -> list[Regression]:
    """One regression per number of sentences, over the paragraphs of all the speakers given.

    Give one speaker at a time: pooled, differences between speakers make most of the fit.
    """
    regressions = []
    for length in lengths:
        rows = [
            (y, s)
            for one in several
            for y, s in zip(one.whole, one.sentences, strict=True)
            if len(s) == length
        ]
        y = np.array([row[0] for row in rows])
        x = np.array([row[1] for row in rows]).reshape(len(rows), length)
        try:
            regressions.append(least_squares(y, x))
        except Undefined as why:
            regressions.append(Regression(length, len(rows), note=str(why)))
    return regressions


def least_squares(y: Floats, x: Floats) -> Regression:
    """Ordinary least squares of y (n,) on x (n, k) with an intercept, classical standard errors.

    Raises Undefined without a degree of freedom for the error, for columns that say the same, and
    where the fit is exact.
    """
    n, k = x.shape
    df = n - k - 1
    if df < 1:
        size = f"{n} paragraph{'s' * (n != 1)} of {k} sentences"
        raise Undefined(f"{size}: a regression needs at least {k + 2}")
    design = np.column_stack([np.ones(n), x])
    if np.linalg.matrix_rank(design) < k + 1:
        raise Undefined("sentence scores are constant, or say the same at two places")
    beta = np.asarray(np.linalg.lstsq(design, y, rcond=None)[0], dtype=np.float64)
    error = y - design @ beta
    residual, total = float(error @ error), float(np.sum((y - y.mean()) ** 2))
    if residual <= 1e-20 * max(1.0, float(y @ y)):
        raise Undefined("all paragraphs have the same score, or are foretold exactly: no test")
    se = np.sqrt(np.diag(linalg.inv(design.T @ design)) * residual / df)
    t = beta / se
    p = 2 * stats.t.sf(np.abs(t), df)
    terms = ["intercept", *(f"s{i + 1}" for i in range(k))]
    columns = (terms, beta.tolist(), se.tolist(), t.tolist(), p.tolist())
    r2 = 1 - residual / total
    f = (total - residual) / k / (residual / df)
    return Regression(
        sentences=k,
        n=n,
        slopes=tuple(Slope(*row) for row in zip(*columns, strict=True)),
        r2=r2,
        adjusted_r2=1 - (1 - r2) * (n - 1) / df,
        f=f,
        df1=k,
        df2=df,
        p=float(stats.f.sf(f, k, df)),
    )
