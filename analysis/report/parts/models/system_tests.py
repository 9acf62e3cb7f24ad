"""Tests of the systems alone, where references and anchors vary otherwise than they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.statistics.comparisons.systems_under_test import Candidates, candidates
from analysis.statistics.mixed.family_model import Modelled, uneven
from analysis.statistics.mixed.model_contrasts import Means, Pairs, means, pair_matrix, pairs
from analysis.statistics.mixed.reml import RemlFit
from analysis.statistics.mixed.sufficient_statistics import Codes
from analysis.statistics.mixed.table_model import Arrays, arrays_of
from analysis.statistics.options import Options

ALONE = (
    "The model is of the systems alone: it takes all conditions to vary alike, which the reference "
    "and the anchors at the ends of the scale do not"
)


@dataclass(frozen=True)
class Tested:
    """What REML is made of: ``arrays``, and the codes of their conditions among all ``size``."""

    arrays: Arrays
    codes: Codes
    size: int

    def means(self, fit: RemlFit, level: float) -> Means:
        """The means of all conditions; NaN for those that are not in the fit."""
        estimates = means(fit, level=level)
        return replace(estimates, **_spread_out(vars(estimates), self.codes, self.size))

    def pairs(self, fit: RemlFit, level: float) -> Pairs:
        """The differences of all pairs of conditions; NaN for those that are not in the fit."""
        contrasts = pairs(fit, level=level)
        first, second, _ = pair_matrix(self.size)
        place = np.zeros((self.size, self.size), dtype=np.int64)
        place[first, second] = np.arange(len(first))
        where = place[self.codes[contrasts.first], self.codes[contrasts.second]]
        wide = _spread_out(vars(contrasts), where, len(first)) | {"first": first, "second": second}
        return replace(contrasts, **wide)


def tested(modelled: Modelled, options: Options) -> tuple[Candidates, Tested]:
    """Who is a candidate, and what REML compares: all, on a large scale the systems alone."""
    among = candidates(modelled.table, modelled.names, options.reference)
    every = np.arange(len(modelled.names))
    if not (uneven(modelled) and among.told and any(among.ranked)):
        return among, Tested(modelled.arrays, every, len(every))
    systems = [name for name, ranked in zip(modelled.names, among.ranked, strict=True) if ranked]
    table = modelled.table[modelled.table["condition"].isin(systems)]
    return among, Tested(arrays_of(table), every[np.array(among.ranked)], len(every))


def _spread_out(
    values: dict[str, object], where: Codes | Sequence[int], size: int
) -> dict[str, Any]:
    wide: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray) and name not in ("first", "second"):
            wide[name] = np.full(size, np.nan)
            wide[name][where] = value
    return wide
