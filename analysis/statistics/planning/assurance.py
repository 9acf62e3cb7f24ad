"""Assurance: the chance of success when neither the difference nor the components are certain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.statistics.flat_row import FlatRow
from analysis.statistics.planning.precision import power_of
from analysis.statistics.planning.study_design import Design, PlanningError
from analysis.statistics.planning.variance_components import TERMS, Components

FEWEST_DEGREES = 3.0


@dataclass(frozen=True)
class Assurance(FlatRow):
    """The expected power (0..1) over what may be true, beside the power at the best guess.

    ``low`` and ``high`` hold the middle 80 % of the power over the draws; ``monte_carlo_se`` is
    the simulation error of ``value``.
    """

    value: float
    low: float
    high: float
    monte_carlo_se: float
    power_at_guess: float
    draws: int


def assurance(
    design: Design,
    components: Components,
    difference: float,
    *,
    difference_sd: float = 0.0,
    degrees: Mapping[str, float] | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Assurance:
    """Power averaged over a normal prior of the difference and the components' uncertainty.

    The difference is N(``difference``, ``difference_sd``) in score units; each variance is drawn
    as s^2 v / chi^2(v) with v from ``degrees``, or the components' own (a pilot's), or fixed
    where neither tells. O'Hagan, Stevens and Campbell (2005), Pharmaceutical Statistics 4:187.
    Raises PlanningError for fewer than two raters or items, draws < 2, or a negative SD.
    """
    if min(design.raters, design.items) < 2 or draws < 2 or difference_sd < 0:
        raise PlanningError("give two raters, items and draws or more, and an SD of 0 or more")
    known = degrees if degrees is not None else (components.degrees or {})
    rng = np.random.default_rng(seed)
    effects = rng.normal(difference, difference_sd, draws)
    factors = {
        name: np.sqrt(
            max(known[name], FEWEST_DEGREES)
            / rng.chisquare(max(known[name], FEWEST_DEGREES), draws)
        )
        if name in known
        else np.ones(draws)
        for name in (*TERMS, "residual")
    }
    powers = np.empty(draws)
    for i in range(draws):
        drawn = Components(
            **{name: getattr(components, name) * float(f[i]) for name, f in factors.items()}
        )
        powers[i] = power_of(design, drawn, float(effects[i]), level=level)
    low, high = np.quantile(powers, [0.1, 0.9])
    return Assurance(
        float(powers.mean()),
        float(low),
        float(high),
        float(np.std(powers, ddof=1) / draws**0.5),
        power_of(design, components, difference, level=level),
        draws,
    )
