"""How much work each order of elimination would be, so that the least is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from analysis.statistics.mixed.crossed_counts import Cells, Side, cells_inside, cells_of
from analysis.statistics.mixed.sufficient_statistics import Codes

MOST_VALUES = 1.2e8  # held at once: 1 GB

# what a step costs, in floating-point operations of a large product of matrices
CALL, _PLACE = 1e7, 4e6  # of one evaluation, and of one condition, however small
_PAIR, _ENTRY = 300.0, 300.0  # of a pair of entries in a sparse product, of a value that is moved


class Plan(NamedTuple):
    """An order of elimination: which side goes first, condition by condition or whole.

    ``work`` is that of one evaluation of the likelihood, in floating-point operations.
    """

    work: float
    by_condition: bool
    first: int


def least(sides: Sequence[Side], condition: Codes) -> Plan:
    """The order that is the least work; infinite work where none fits into memory.

    ``sides`` are one or two, ``condition`` (N,) codes.
    """
    plans = [Plan(np.inf, by_condition=False, first=0)]
    for first, out in enumerate(sides):
        kept = sides[1 - first] if len(sides) > 1 else None
        if kept is None:
            return Plan(CALL, by_condition=False, first=first)
        plans.append(_whole(cells_of(out), cells_of(kept), first))
        inside = [cells_inside(side, condition) for side in (out, kept)]
        plans.append(_by_condition(inside[0], inside[1], condition, first))
    return min(plans)


def _whole(out: Cells, kept: Cells, first: int) -> Plan:
    n = float(kept.n)
    pairs = _pairs(out.code, kept.code)
    if out.parent is not None:
        pairs += _pairs(out.parent[out.code], kept.code)
    made = min(_PAIR * pairs, (out.n + out.n_parents) * n**2)
    work = n**3 / 3 + _ENTRY * n**2 + made + CALL
    return Plan(work if 2 * n**2 < MOST_VALUES else np.inf, by_condition=False, first=first)


def _by_condition(out: Cells, kept: Cells, condition: Codes, first: int) -> Plan:
    border = float(out.n_parents + kept.n_parents)
    home = np.zeros(kept.n, dtype=np.int64)
    home[kept.code] = condition
    sizes = np.bincount(home).astype(np.float64)
    each = 1.5 * sizes**3 + 3.0 * _ENTRY * sizes**2 + _PLACE
    made = min(_PAIR * _pairs(out.code, kept.code), out.n * float(sizes.max()) ** 2)
    work = border**3 / 3 + _ENTRY * border**2 + float(each.sum()) + made + CALL
    held = 2 * border**2 + 3 * float(sizes.max()) ** 2
    return Plan(work if held < MOST_VALUES else np.inf, by_condition=True, first=first)


def _pairs(out: Codes, kept: Codes) -> float:
    """How many pairs of kept levels meet at the same level that is eliminated."""
    joined = np.unique(out * (int(kept.max(initial=0)) + 1) + kept)
    met = np.bincount(joined // (int(kept.max(initial=0)) + 1)).astype(np.float64)
    return float((met**2).sum())
