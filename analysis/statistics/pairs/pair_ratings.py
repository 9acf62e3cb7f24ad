"""Ratings of pairs as arrays: which two conditions met, what came of it, which was heard second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Codes, Floats
from analysis.ratings.breakdowns import items_of
from analysis.ratings.estimands import Estimand, estimand_of
from analysis.statistics.comparisons.test_result import Undefined

if TYPE_CHECKING:
    import pandas as pd

HEARD_SECOND = {"versus": 1.0, "rated": -1.0}  # what came first -> whether `condition` was second
_FAMILY = ("study", "task", "method", "criterion", "estimand")


@dataclass(frozen=True)
class PairRatings:
    """n ratings of pairs: condition a (n,) against b (n,), codes of ``names``.

    ``y`` (n,) is above 0 where a is the better one, 0 for a tie, at most ``reach``; ``order`` (n,)
    is 1 where a was heard second, -1 where it was heard first, 0 where that is unknown; ``rater``
    and ``item`` (n,) are codes. ``covariates`` (n, q) are differences a - b of what is known of the
    two clips, such as their durations, and ``covariate_names`` name them.
    """

    names: tuple[str, ...]
    a: Codes
    b: Codes
    y: Floats
    order: Floats
    rater: Codes
    item: Codes
    reach: float = 0.0
    covariates: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    covariate_names: tuple[str, ...] = ()

    @property
    def outcome(self) -> Codes:
        """0 where a won, 1 where b did, 2 for a tie (n,)."""
        return np.where(self.y > 0, 0, np.where(self.y < 0, 1, 2)).astype(np.int64)

    @property
    def orders_known(self) -> bool:
        """Whether some trials had a first and some had it second."""
        return bool(np.any(self.order > 0) and np.any(self.order < 0))

    def subset(self, rows: NDArray[np.bool_]) -> PairRatings:
        """The ratings of some rows (n,), with all names."""
        return replace(
            self,
            a=self.a[rows],
            b=self.b[rows],
            y=self.y[rows],
            order=self.order[rows],
            rater=self.rater[rows],
            item=self.item[rows],
            covariates=self.covariates[rows] if self.covariate_names else self.covariates,
        )

    def among(self, codes: Sequence[int]) -> PairRatings:
        """The ratings between some conditions only, which alone are named."""
        rows = np.isin(self.a, codes) & np.isin(self.b, codes)
        place = np.full(len(self.names), -1, dtype=np.int64)
        place[list(codes)] = np.arange(len(codes))
        subset = self.subset(rows)
        names = tuple(self.names[code] for code in codes)
        return replace(subset, names=names, a=place[subset.a], b=place[subset.b])


def pair_ratings(
    condition: Sequence[str],
    versus: Sequence[str],
    y: Sequence[float],
    order: Sequence[float],
    rater: Sequence[str],
    item: Sequence[str],
    reach: float | None = None,
) -> PairRatings:
    """Plain columns of n rows as `PairRatings`; names in alphabetical order.

    ``reach`` is how far scores can be from 0, by default as far as they are.

    Raises Undefined if there is no row, a score is missing, or a condition meets itself.
    """
    if not len(y):
        raise Undefined("no ratings of pairs yet")
    scores = np.asarray(y, dtype=np.float64)
    if not np.all(np.isfinite(scores)):
        raise Undefined("a rating of a pair has no score: leave it out")
    both = np.concatenate([np.asarray(condition, dtype=object), np.asarray(versus, dtype=object)])
    names, codes = np.unique(both, return_inverse=True)
    a, b = codes[: len(scores)].astype(np.int64), codes[len(scores) :].astype(np.int64)
    if np.any(a == b):
        raise Undefined(f"{names[a[a == b][0]]!r} is compared with itself: leave such rows out")
    return PairRatings(
        tuple(str(name) for name in names),
        a,
        b,
        scores,
        np.sign(np.asarray(order, dtype=np.float64)),
        _codes(rater),
        _codes(item),
        float(np.abs(scores).max()) if reach is None else reach,
    )


def pairs_of(table: pd.DataFrame) -> PairRatings:
    """The rated pairs of a ratings table that holds one family of pairs of which one is preferred.

    Traps and empty scores are left out; AB scores (1, 0.5, 0) are centred at 0.5. Raises Undefined
    for another method, for several tasks or criteria at once, or if nothing is left.
    """
    from analysis.ratings.table import rated

    use = rated(table)
    if not len(use):
        raise Undefined("no ratings of pairs yet")
    several = [name for name in _FAMILY if use[name].nunique() > 1]
    if several:
        raise Undefined(f"several values of {', '.join(several)}: take one family at a time")
    estimand = estimand_of(str(use["estimand"].iloc[0]))
    if not estimand.prefers or bool((use["versus_condition"] == "").any()):
        raise Undefined(f"{estimand.name} is no comparison of two conditions that prefers one")
    return pair_ratings(
        use["condition"].tolist(),
        use["versus_condition"].tolist(),
        estimand.centred(use["score"].to_numpy(dtype=np.float64)).tolist(),
        [HEARD_SECOND.get(first, 0.0) for first in use["presented_first"]],
        use["rater"].tolist(),
        items_of(use).tolist(),
        reach_of(estimand, use["score"].to_numpy(dtype=np.float64)),
    )


def reach_of(estimand: Estimand, scores: Floats) -> float:
    """How far scores (n,) of a comparison can be from its neutral one."""
    ends = estimand.scale_for(float(scores.min()), float(scores.max())) or (0.0, 0.0)
    return float(np.abs(estimand.centred(np.array(ends))).max())


def _codes(column: Sequence[str]) -> Codes:
    return np.unique(np.asarray(column, dtype=object), return_inverse=True)[1].astype(np.int64)
