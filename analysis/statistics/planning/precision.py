"""Standard errors, half widths and power of a design; and assurance, where nothing is certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.arrays import Floats
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.planning.study_design import BETWEEN, RANDOM, Design, PlanningError
from analysis.statistics.planning.variance_components import TERMS, Components

MEAN, DIFFERENCE = "mean", "difference"
FEWEST_CLIPS = 10  # rated ones of a condition, for a metric's help: else its slope costs too much


def standard_error(design: Design, components: Components) -> float:
    """The standard error (score units) of a condition's mean over new raters and new items.

    sqrt[(sd_rater^2 + sd_rc^2) u / R + (sd_item^2 + sd_stim^2) / T + sd_e^2 / n], n the ratings
    of a condition, u = 1 + uneven^2 (Kish 1965 design effect of unequal loads; Searle et al.
    1992, sect. 4.5 for the balanced case).
    """
    rater = components.rater**2 + components.rater_condition**2
    item = components.item**2 + components.stimulus**2
    variance = rater * _per_rater(design) + item / design.items
    return float((variance + components.residual**2 / design.ratings_per_condition) ** 0.5)


def standard_error_of_difference(design: Design, components: Components) -> float:
    """The standard error (score units) of the difference of two conditions' means.

    sqrt(2 [sd_rc^2 / R + sd_stim^2 / T + sd_e^2 / n]); plus 2 sd_rater^2 / R when raters differ
    between conditions, and plus 2 sd_rater^2 / n when clips are drawn from the mixed pool (each
    rater then hears more of one condition by chance: a multinomial draw). Items are the same for
    both. As in section 5 of the project's statistics notes; variance of a contrast in a crossed
    design, e.g. Westfall, Kenny and Judd (2014), J. Exp. Psychol. Gen. 143, Table 2.
    """
    n = design.ratings_per_condition
    variance = components.rater_condition**2 * _per_rater(design)
    variance += components.stimulus**2 / design.items + components.residual**2 / n
    if design.assignment == BETWEEN:
        variance += components.rater**2 * _per_rater(design)
    if design.assignment == RANDOM:
        variance += components.rater**2 / n
    return float((2 * variance) ** 0.5)


def half_width(
    design: Design, components: Components, *, of: str = MEAN, level: float = 0.95
) -> float:
    """Half of the expected interval (score units) of a ``mean`` or a ``difference``.

    t times the standard error, as in a report (`degrees_of`): for one of several comparisons give
    the level of each (`shared_level`). Raises PlanningError with fewer than two raters or items.
    """
    degrees = degrees_of(design, components, of)
    return float(stats.t.ppf((1 + level) / 2, degrees)) * standard_error_of(of, design, components)


def saved_by_metric(
    design: Design, components: Components, correlation: float, *, of: str = MEAN
) -> float:
    """The share of the variance that a metric replaces (0 to 1), with many clips nobody rates.

    ``correlation`` (-1 to 1) is that of the metric with the clips' true quality within a
    condition. The clips' share of the variance times R², adjusted for the slope that is estimated
    from the design's items; 0 with fewer than `FEWEST_CLIPS`. Cochran (1977),
    chapter 12: a metric knows nothing of raters or of the noise of an answer.
    """
    if design.items < FEWEST_CLIPS:
        return 0.0
    clips = components.stimulus**2 / design.items
    clips = 2 * clips if of == DIFFERENCE else clips + components.item**2 / design.items
    explained = 1 - (1 - correlation**2) * (design.items - 1) / (design.items - 2)
    variance = standard_error_of(of, design, components) ** 2
    return max(0.0, explained) * clips / variance if variance > 0 else 0.0


def shared_level(level: float, comparisons: int) -> float:
    """The level of one comparison when several hold at ``level`` at once (Šidák 1967)."""
    return float(level ** (1 / comparisons))


def degrees_of(design: Design, components: Components, of: str) -> float:
    """The degrees of freedom that a report of this design has for a ``mean`` or ``difference``.

    As `clustered_variance.variances_and_df` for a balanced design: Satterthwaite's of
    components pooled over the conditions, at most 2 (G - 1) and at least G - 1, G the fewer of
    raters and items. Of one condition nothing is pooled.
    """
    r, t, c, n = design.raters, design.items, design.conditions, design.ratings_per_condition
    least = _degrees(design)
    two = 2 if of == DIFFERENCE else 1
    noise = two * components.residual**2 / n
    rater, item = components.rater_condition**2, components.stimulus**2
    if of == MEAN:
        rater, item = rater + components.rater**2, item + components.item**2
    elif design.assignment == BETWEEN:
        rater += components.rater**2
    by_rater, by_item = two * rater * _per_rater(design) + noise, two * item / t + noise
    variance = by_rater + by_item - noise
    if variance <= 0:
        return float(least)
    shared = 0 if design.assignment == BETWEEN else r - 1
    of_raters = max(c * r - c - shared * (c > 1), 1)
    of_items = max(c * t - c - (t - 1) * (c > 1), 1)
    spread = by_rater**2 / of_raters + by_item**2 / of_items
    if c > 1:
        spread += noise**2 / max(c * n - c - design.raters_in_all - t + 2, 1)
    df = variance**2 / spread
    return float(max(min(df, 2 * least) if c > 1 else df, least))


def minimal_difference(se: float, *, power: float = 0.8, level: float = 0.95) -> float:
    """The smallest true difference (unit of ``se``) found with this power: 2.8 se by default.

    (z(1 - alpha/2) + z(power)) se, two-sided. Cohen (1988). Raises PlanningError unless se > 0 and
    0 < power < 1.
    """
    if not se > 0 or not 0 < power < 1:
        raise PlanningError(f"standard error {se} and power {power}: give above 0, and 0 to 1")
    return float(stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(power)) * se


def power(
    difference: float, se: float, *, degrees: float = float("inf"), level: float = 0.95
) -> float:
    """The chance (0..1) that a true difference is told from 0, two-sided, both tails.

    Noncentral t with ``degrees``, the normal when infinite. Raises PlanningError unless se > 0.
    """
    if not se > 0:
        raise PlanningError(f"the standard error is {se}; give one above 0")
    shift = abs(difference) / se
    if not np.isfinite(degrees):
        z = float(stats.norm.ppf((1 + level) / 2))
        return float(stats.norm.sf(z - shift) + stats.norm.cdf(-z - shift))
    t = float(stats.t.ppf((1 + level) / 2, degrees))
    wrong_side = 0.0  # under 1e-8 when the shift is large, where scipy's tail can be NaN
    if shift < 5:
        wrong_side = float(stats.nct.cdf(-t, degrees, shift))
    return min(1.0, float(stats.nct.sf(t, degrees, shift)) + wrong_side)


def power_of(
    design: Design,
    components: Components,
    difference: float,
    *,
    of: str = DIFFERENCE,
    level: float = 0.95,
) -> float:
    """The power (0..1) of a design: two conditions apart, or a ``mean`` away from a fixed value.

    Noncentral t with the degrees of `half_width`; 0 for designs too small for an interval.
    """
    if min(design.raters, design.items) < 2:
        return 0.0
    degrees = degrees_of(design, components, of)
    se = standard_error_of(of, design, components)
    return power(difference, se, degrees=degrees, level=level)


def power_curve(
    designs: Sequence[Design],
    components: Components,
    differences: Sequence[float],
    *,
    of: str = DIFFERENCE,
    level: float = 0.95,
) -> Floats:
    """The power (D, K) of D designs for K true differences (see `power_of`)."""
    rows = [
        [power_of(design, components, each, of=of, level=level) for each in differences]
        for design in designs
    ]
    return np.asarray(rows, dtype=np.float64).reshape(len(designs), len(differences))


def _per_rater(design: Design) -> float:
    """1 / (raters that count): unequal loads, and never more raters than ratings."""
    effective = min(design.raters, design.ratings_per_condition)
    return (1 + design.uneven**2) / effective


def _degrees(design: Design) -> int:
    degrees = min(design.raters, design.items) - 1
    if degrees < 1:
        raise PlanningError("a clustered interval needs two raters and two items, or more")
    return degrees


def standard_error_of(of: str, design: Design, components: Components) -> float:
    """The standard error (score units) of a ``mean`` or a ``difference``."""
    if of not in (MEAN, DIFFERENCE):
        raise PlanningError(f"precision of {of!r}? choose {MEAN} or {DIFFERENCE}")
    make = standard_error if of == MEAN else standard_error_of_difference
    return make(design, components)


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
