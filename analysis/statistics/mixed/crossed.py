"""The Gaussian likelihood of two crossed sides, raters and texts, each with effects of two levels.

y = X beta + sum of Z_k u_k + e: rater and rater by condition on the one side, item and stimulus on
the other; the finer effect of a side is nested in the coarser. The mixed model equations (Bates et
al. 2015, J. Stat. Software 67(1), eq. 15-18) are solved exactly, in that order of elimination that
is the least work, or whole where they are few.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.statistics.mixed.crossed_counts import (
    Cells,
    Ratios,
    Side,
    cells_inside,
    cells_of,
    ratios_of,
)
from analysis.statistics.mixed.elimination import ByCondition, Parts, Whole
from analysis.statistics.mixed.elimination_cost import CALL, Plan, least
from analysis.statistics.mixed.joint_equations import MOST_LEVELS, Joint, n_levels
from analysis.statistics.mixed.nested import Quadratics
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, checked_codes, residuals


class Crossed:
    """The likelihood of N scores with the effects of one or two sides.

    ``y`` (N,) scores; ``design`` (N, C) of full column rank; ``condition`` (N,) codes, in one of
    which every level of a fine effect must lie. Ratios are ordered by side, the coarse effect
    before the fine one, without those that are not there. ``centre`` (C,), the least-squares
    effects, is what `Quadratics.b` and ``c`` are relative to; ``rank`` is that of the design.
    ``plan`` is the order of elimination, by default the one that is the least work; with at most
    `MOST_LEVELS` levels there is by default none, and all are solved for at once.
    """

    def __init__(
        self,
        y: Floats,
        design: Floats,
        condition: Codes,
        sides: Sequence[Side],
        plan: Plan | None = None,
    ) -> None:
        codes = [x for side in sides for x in (side.coarse, side.fine) if x is not None]
        checked_codes(y, condition, *codes)
        inside = [cells_inside(side, condition) for side in sides]
        solution = np.linalg.lstsq(design, y, rcond=None)
        self.centre, self.rank = np.asarray(solution[0], dtype=np.float64), int(solution[2])
        fixed = np.column_stack([design, residuals(y, design @ self.centre)])
        self._sides = sides
        self._joint: Joint | None = None
        if plan is None and n_levels(codes) <= MOST_LEVELS:
            self.plan = Plan(CALL / 5, by_condition=False, first=0)
            self._joint = Joint(codes, fixed)
            return
        self.plan = plan or least(sides, condition)
        cells = inside if self.plan.by_condition else [cells_of(side) for side in sides]
        out = cells[self.plan.first]
        kept = (
            cells[1 - self.plan.first] if len(cells) > 1 else Cells(np.zeros_like(condition), None)
        )
        self._model = (
            ByCondition(out, kept, condition, fixed)
            if self.plan.by_condition
            else Whole(out, kept, fixed)
        )

    def at(self, ratios: Floats) -> Quadratics:
        """The parts at ``ratios`` (B, K), variance of each effect over the residual's, from 0."""
        if self._joint is not None:
            logdet, fixed = self._joint.at(ratios)
        else:
            parts = [self._one(row) for row in ratios]
            fixed = np.array([part.fixed for part in parts])
            logdet = np.array([part.logdet for part in parts])
        return Quadratics(fixed[:, :-1, :-1], fixed[:, :-1, -1], fixed[:, -1, -1], logdet)

    def _one(self, row: Floats) -> Parts:
        remaining, ratios = iter(row.tolist()), []
        for side in self._sides:
            coarse = 0.0 if side.coarse is None else next(remaining)
            fine = 0.0 if side.fine is None else next(remaining)
            whole = not self.plan.by_condition
            ratios.append(ratios_of(side, coarse, fine) if whole else Ratios(fine, coarse))
        out = ratios[self.plan.first]
        kept = ratios[1 - self.plan.first] if len(ratios) > 1 else Ratios(0.0, 0.0)
        return self._model.at(out, kept)
