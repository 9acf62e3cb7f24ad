"""Every metric against the mean human scores of one family, with two-way intervals and p values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from scipy import optimize, stats

from analysis.arrays import Floats
from analysis.statistics.agreement.kappa import rounded_half_up
from analysis.statistics.correlations import fisher_interval, signed_ranks
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.intervals import percentile_interval
from analysis.statistics.metric_agreement import weighted_correlations as by_weight
from analysis.statistics.metric_agreement.metric_units import CONDITION, STIMULUS, WITHIN, Units
from analysis.statistics.metric_agreement.resampled_units import (
    FEWEST_UNITS,
    OF_ERRORS,
    Bools,
    Sample,
    centred_interval,
    p_of,
    replicates_for,
    resample_units,
    samples_of,
    wider_of,
    wider_over,
)
from analysis.statistics.metric_agreement.weighted_correlations import (
    coefficient,
    of_conditions,
    replicates,
    replicates_over_conditions,
    scipy_test,
)

DEGREES = 4  # numbers that the mapping has
FEWEST = 8  # units, below which four numbers fit almost anything
_STEPS = 41
_ROUNDS = 30
_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Cubic:
    """a + b t + c t² + d t³ with t = (x - middle) / half, for x on the range of the data.

    ``coefficients`` (4,) are a to d; outside the range the value at its nearer end is taken.
    """

    coefficients: tuple[float, float, float, float]
    low: float
    high: float

    def __call__(self, x: Floats) -> Floats:
        """The mapped values, of any shape, on the human scale."""
        t = _placed(np.clip(x, self.low, self.high), self.low, self.high)
        a, b, c, d = self.coefficients
        return np.asarray(a + t * (b + t * (c + t * d)), dtype=np.float64)


def monotonic_cubic(x: Floats, y: Floats, increasing: bool = True) -> Cubic:
    """The cubic of least squares of y on x (n,) among those that never turn from min x to max x.

    A convex problem, solved exactly: least squares under f' >= 0 at points, to which the lowest
    point of f' is added until it is nowhere below 0 (Lawson and Hanson 1974, problem LSI). ITU-T
    P.1401 (2020), 7.3. Raises ValueError with the reason for fewer than 8 units or a constant.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(x) < FEWEST:
        raise ValueError(f"{len(x)} of the {FEWEST} or more needed for a mapping with 4 numbers")
    low, high = float(x.min()), float(x.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-300):
        raise ValueError("the metric is constant, so nothing can be mapped")
    sign = 1.0 if increasing else -1.0
    t = _placed(x, low, high)
    design = np.vander(t, DEGREES, increasing=True)
    at = np.linspace(-1, 1, _STEPS)
    for _ in range(_ROUNDS):
        solved = _constrained_fit(design, y, sign * _slopes(at))
        worst = _lowest(sign * solved)
        if sign * float((_slopes(np.array([worst])) @ solved)[0]) >= -_TOLERANCE:
            break
        at = np.append(at, worst)
    a, b, c, d = (float(value) for value in solved)
    return Cubic((a, b, c, d), low, high)


def _placed(x: Floats, low: float, high: float) -> Floats:
    return np.asarray((x - (low + high) / 2) / ((high - low) / 2), dtype=np.float64)


def _slopes(t: Floats) -> Floats:
    """f'(t) of each power (n, 4)."""
    return np.stack([np.zeros_like(t), np.ones_like(t), 2 * t, 3 * t**2], axis=1)


def _constrained_fit(design: Floats, y: Floats, rules: Floats) -> Floats:
    """min |A c - y| with G c >= 0, by its dual: non-negative least squares in the multipliers.

    With A = Q R, c = R^-1 (Q'y + R^-T G' u) for the u >= 0 that makes |Q'y + R^-T G' u| least.
    Where A has not four independent columns the smallest solution is taken, by a little ridge.
    """
    size = np.sqrt(len(y)) * 1e-7
    padded = np.vstack([design, size * np.eye(DEGREES)])
    q, r = np.linalg.qr(padded)
    free = q.T @ np.concatenate([y, np.zeros(DEGREES)])
    turned = np.linalg.solve(r.T, rules.T)
    multipliers, _ = optimize.nnls(turned, -free)
    return np.asarray(np.linalg.solve(r, free + turned @ multipliers), dtype=np.float64)


def _lowest(c: Floats) -> float:
    """Where in -1..1 the slope of the cubic with these coefficients (4,) is least."""
    places = [-1.0, 1.0]
    if c[3] > 0:
        places.append(float(np.clip(-c[2] / (3 * c[3]), -1, 1)))
    slopes = _slopes(np.array(places)) @ c
    return places[int(np.argmin(slopes))]


def mapped_errors(sample: Sample, options: CorrelationOptions) -> Iterator[MetricCorrelation]:
    """PLCC and errors after the mapping, or why there is none."""
    cubics: dict[int, Cubic] = {}
    for m, metric in enumerate(sample.names):
        try:
            cubics[m] = monotonic_cubic(sample.x[m], sample.y, _rises(metric, m, sample, options))
        except ValueError as why:
            yield metric_result(
                metric, sample, "rmse", MAPPED, None, None, note=f"not mapped: {why}"
            )
    if not cubics:
        return
    mapped = np.array([cubic(sample.x[m]) for m, cubic in cubics.items()])
    if sample.redrawn is None:
        drawn = by_weight.pearson(mapped, sample.h, sample.w)
    else:
        again = np.stack([cubic(sample.redrawn[:, m]) for m, cubic in cubics.items()], axis=1)
        drawn = of_conditions("plcc", again, sample.h, sample.w, None)
    for place, m in enumerate(cubics):
        value = coefficient("plcc", mapped[place], sample.y)
        again_of = drawn[:, place]
        bounds = (
            None
            if value is None
            else centred_interval(value, again_of, options.level, wider=_errors_wider(sample))
        )
        note = "the mapped metric is constant" if value is None else ""
        yield metric_result(sample.names[m], sample, "plcc", MAPPED, value, bounds, note=note)
    yield from errors(sample, list(cubics), cubics, options)


def _rises(metric: str, m: int, sample: Sample, options: CorrelationOptions) -> bool:
    """Whether the mapping rises: as the metric's direction says, else as the data go."""
    if metric in options.lower_is_better:
        return False
    value = coefficient("plcc", sample.x[m], sample.y)
    return value is None or value >= 0


def errors(
    sample: Sample, which: Sequence[int], cubics: Mapping[int, Cubic], options: CorrelationOptions
) -> Iterator[MetricCorrelation]:
    """QWK of stimuli, MAE, RMSE and RMSE* of the metrics at these places, mapped or as they are."""
    if not which:
        return
    mapping, d = (MAPPED, DEGREES) if cubics else (AS_IS, 0)
    x = np.array([cubics[m](sample.x[m]) if cubics else sample.x[m] for m in which])
    redrawn = None
    if sample.redrawn is not None:
        redrawn = np.stack(
            [cubics[m](sample.redrawn[:, m]) if cubics else sample.redrawn[:, m] for m in which],
            axis=1,
        )
    once = np.ones((1, len(sample.y)))
    n, wider = len(sample.y), wider_of(sample.groups, options.level)
    if options.steps and sample.unit == STIMULUS:
        yield from _kappas(sample, which, x, mapping, options)
    for name in ERRORS:
        power = 1 if name == "mae" else 2
        spare = sample.spare if name == "rmse_star" else np.zeros(n)
        fits = np.isfinite(spare)
        if fits.sum() <= d or (name == "rmse_star" and not fits.any()):
            why = "no human interval: fewer than two ratings each"
            for m in which:
                yield metric_result(sample.names[m], sample, name, mapping, None, None, note=why)
            continue
        scale = fits.sum() / (fits.sum() - d) if power == 2 else 1.0
        error = by_weight.error(x[:, fits], sample.y[None, fits], once[:, fits], spare[fits], power)
        again = _errors_again(sample, x, redrawn, fits, spare, power)
        for place, m in enumerate(which):
            value, drawn = float(error[0, place]), again[:, place]
            if power == 2:
                value, drawn = (value * scale) ** 0.5, np.sqrt(drawn * scale)
            bounds = centred_interval(value, drawn, options.level, "error", wider)
            yield metric_result(sample.names[m], sample, name, mapping, value, bounds)


def _errors_wider(sample: Sample) -> float:
    return 1.0 if sample.redrawn is None else wider_over(len(sample.y))


def _errors_again(
    sample: Sample, x: Floats, redrawn: Floats | None, fits: Bools, spare: Floats, power: int
) -> Floats:
    if redrawn is None:
        b = replicates_for(len(sample.y), len(sample.h), OF_ERRORS)
        h, w = sample.h[:b, fits], sample.w[:b, fits]
        return by_weight.error(x[:, fits], h, w, spare[fits], power)
    apart = np.maximum(np.abs(redrawn - sample.h[:, None, :])[:, :, fits] - spare[fits], 0.0)
    full = np.asarray((sample.w[:, fits] > 0).all(axis=1))[:, None]
    return np.where(full, (apart**power).mean(axis=2), np.nan)


def _kappas(
    sample: Sample, which: Sequence[int], x: Floats, mapping: str, options: CorrelationOptions
) -> Iterator[MetricCorrelation]:
    steps = options.steps
    own = np.array([rounded_half_up(each, steps) for each in x])
    once = np.ones((1, len(sample.y)))
    human = rounded_half_up(sample.y, steps)
    again = rounded_half_up(sample.h.reshape(-1), steps).reshape(sample.h.shape)
    values = by_weight.weighted_kappa(own, human[None], once, len(steps))[0]
    drawn = by_weight.weighted_kappa(own, again, sample.w, len(steps))
    for place, m in enumerate(which):
        value = float(values[place])
        if not np.isfinite(value):
            why = "undefined: both sides hold one and the same category"
            yield metric_result(sample.names[m], sample, "qwk", mapping, None, None, note=why)
            continue
        bounds = centred_interval(value, drawn[:, place], options.level)
        yield metric_result(sample.names[m], sample, "qwk", mapping, value, bounds)


COEFFICIENTS = ("srcc", "plcc", "krcc")
ERRORS = ("mae", "rmse", "rmse_star")
FEWEST_VALUES = 3
FEW_CONDITIONS = 10  # below which intervals per condition are said to be rough
AS_IS, MAPPED = "as it is", "after the mapping"
TWO_WAY = "bootstrap over raters and items, centred"
THREE_WAY = "bootstrap over conditions, raters and items, percentile"
FISHER = "Fisher's over conditions"


@dataclass(frozen=True)
class MetricCorrelation(FlatRow):
    """One number of one metric against people: a coefficient, kappa or error, and its counts.

    ``unit`` is what was counted (``n`` of them), ``mapping`` whether the metric was mapped first.
    ``low`` and ``high`` hold for other raters and items with these conditions, ``low_conditions``
    and ``high_conditions`` for other conditions too. What is undefined is None; ``note`` says why.
    """

    metric: str
    unit: str
    statistic: str
    mapping: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    n_missing: int
    n_ratings: int
    p: float | None = None
    low_conditions: float | None = None
    high_conditions: float | None = None
    note: str = ""


@dataclass(frozen=True)
class CorrelationOptions:
    """What is computed: level of intervals, replicates, seed, and what is known of the scales.

    ``same_scale`` names the metrics whose values are on the scale of the raters, ``steps`` are
    the steps of that scale (empty: no kappa), ``lower_is_better`` the metrics that fall as people
    like a clip more.
    """

    level: float = 0.95
    replicates: int = 2000
    seed: Sequence[int] = (0,)
    same_scale: frozenset[str] = frozenset()
    steps: tuple[float, ...] = ()
    lower_is_better: frozenset[str] = frozenset()
    mapped: bool = True


def metric_result(
    metric: str,
    sample: Sample,
    statistic: str,
    mapping: str,
    value: float | None,
    bounds: tuple[float, float] | None,
    p: float | None = None,
    note: str = "",
) -> MetricCorrelation:
    low, high = bounds or (None, None)
    counts = (sample.n, sample.n_missing, sample.n_ratings)
    return MetricCorrelation(
        metric, sample.unit, statistic, mapping, value, low, high, *counts, p=p, note=note
    )


_EXACT = 7  # conditions, or systems of pairs, up to which every order is tried
_DRAWN = 9_999  # orders of systems, above
_FEWEST_ORDERS = 20  # of systems: with fewer, no p could be .05


def correlations(
    units: Units, values: Mapping[str, Floats], options: CorrelationOptions | None = None
) -> list[MetricCorrelation]:
    """All numbers of all metrics, ``values`` (S,) each with NaN where there is none.

    Per stimulus, per stimulus within conditions and per condition: SRCC, PLCC, KRCC (tau-b) with
    p, of pairs with sides over both orders (`analysis.statistics.correlations`); for metrics on the
    raters' scale, and for all after the mapping of ITU-T P.1401, QWK, MAE, RMSE and RMSE*
    (epsilon-insensitive). RMSE divides by n less the 4 numbers of the mapping.
    """
    options = options or CorrelationOptions()
    rng = np.random.default_rng(list(options.seed))
    drawn = resample_units(units, replicates_for(len(units.own), options.replicates), rng)
    results: list[MetricCorrelation] = []
    for names, held in _alike(values):
        if held.sum() < FEWEST_UNITS:
            results += [_too_few(name, units, held) for name in names]
            continue
        x = np.array([values[name][held] for name in names])
        for sample in samples_of(units, drawn, held, names, x, options.level, rng):
            own = sample.twice() if units.signed else sample
            results += _of_sample(own, options, rng)
    order = {name: place for place, name in enumerate(values)}
    return sorted(results, key=lambda each: order[each.metric])


def _alike(values: Mapping[str, Floats]) -> list[tuple[list[str], Bools]]:
    """Metrics that have values for the same units, with those units (S,)."""
    groups: dict[bytes, list[str]] = {}
    for name, column in values.items():
        groups.setdefault(np.isfinite(column).tobytes(), []).append(name)
    return [(names, np.isfinite(values[names[0]])) for names in groups.values()]


def _too_few(name: str, units: Units, held: Bools) -> MetricCorrelation:
    n = int(held.sum())
    why = f"undefined: values for {n} of the {FEWEST_UNITS} or more needed"
    ratings = int(units.ratings[held].sum())
    missing = len(held) - n
    return MetricCorrelation(
        name, STIMULUS, "srcc", AS_IS, None, None, None, n, missing, ratings, note=why
    )


def _of_sample(
    sample: Sample, options: CorrelationOptions, rng: np.random.Generator
) -> Iterator[MetricCorrelation]:
    pairs = by_weight.pairs_of(len(sample.y), rng) if len(sample.y) > 1 else None
    coefficients = {name: replicates(name, sample, pairs) for name in COEFFICIENTS}
    apart = {name: replicates_over_conditions(name, sample, pairs) for name in COEFFICIENTS}
    for m, metric in enumerate(sample.names):
        for name in COEFFICIENTS:
            wide = apart[name][:, m] if len(apart[name]) else None
            yield _coefficient(name, metric, m, sample, coefficients[name][:, m], wide, options)
    if sample.unit == WITHIN:
        return
    same = [m for m, metric in enumerate(sample.names) if metric in options.same_scale]
    yield from errors(sample, same, {}, options)
    if options.mapped:
        yield from mapped_errors(sample, options)


def _coefficient(
    name: str,
    metric: str,
    m: int,
    sample: Sample,
    drawn: Floats,
    wide: Floats | None,
    options: CorrelationOptions,
) -> MetricCorrelation:
    value = coefficient(name, sample.x[m], sample.y) if sample.n >= FEWEST_UNITS else None
    if value is None:
        why = _undefined_reason(sample, m)
        return metric_result(metric, sample, name, AS_IS, None, None, note=why)
    wider = _wider(sample, name, options.level)
    bounds = centred_interval(value, drawn, options.level, wider=wider)
    note = "" if bounds else _no_interval_reason(value, drawn, sample.n)
    if sample.unit != CONDITION:
        p = p_of(value, drawn, wider)
    elif sample.both_orders:
        n = sample.n
        p = p_over_systems(name, sample.x[m][:n], sample.y[:n], sample.sides, options.seed)
    else:
        p = _p_over_conditions(name, sample.x[m], sample.y)
    far = None
    if not sample.both_orders:  # pairs that share systems cannot be drawn as if they were others
        far = _interval_over_conditions(name, value, wide, sample.n, options.level)
    result = metric_result(metric, sample, name, AS_IS, value, bounds, p=p, note=note)
    return replace(result, low_conditions=far[0], high_conditions=far[1]) if far else result


def _interval_over_conditions(
    name: str, value: float, wide: Floats | None, n: int, level: float
) -> tuple[float, float] | None:
    """The interval for other conditions too: of PLCC over few conditions it is Fisher's."""
    if wide is None:
        return None
    if name == "plcc" and n < FEW_CONDITIONS:
        return fisher_interval("pearson", value, n, level)
    far = percentile_interval(wide, level)
    if far is None or far[1] - far[0] <= 1e-9:
        return None
    return min(far[0], value), max(far[1], value)


def _p_over_conditions(name: str, x: Floats, y: Floats) -> float | None:
    """p that the order of the conditions has nothing to do with the metric's.

    Every order is tried with up to 7 conditions; above, scipy's own p.
    """
    if len(x) > _EXACT:
        return scipy_test(name, x, y)[1]
    a, b = x, y
    if name == "srcc":
        a, b = stats.rankdata(x), stats.rankdata(y)
    orders = b[np.array(list(permutations(range(len(b)))))]
    if name == "krcc":
        i, j = np.triu_indices(len(a), 1)
        statistics = np.sign(orders[:, i] - orders[:, j]) @ np.sign(a[i] - a[j])
    else:
        statistics = orders @ (a - a.mean())
    return _share_beyond(statistics)


def _wider(sample: Sample, name: str, level: float) -> float:
    """By how much an interval is widened.

    Pairs of clips share clips, and pairs of conditions share systems: they are fewer than they
    look. Their intervals are widened as for the fewer of raters and items, and for the systems.
    """
    of_conditions = sample.unit == CONDITION
    if not sample.both_orders:
        return wider_over(sample.n) if of_conditions and name == "plcc" else 1.0
    systems = len({system for pair in sample.sides for system in pair})
    return wider_of(sample.groups, level) * (wider_over(systems) if of_conditions else 1.0)


def p_over_systems(
    name: str, x: Floats, y: Floats, sides: Sequence[tuple[str, str]], seed: Sequence[int]
) -> float | None:
    """p that the systems' order has nothing to do with the metric's: systems exchange their places.

    x and y (n,) are of pairs of systems, so that pairs cannot be exchanged one by one. Every order
    of up to 7 systems is tried, above that 9,999 drawn ones; of these, those count that bring each
    pair to one that was compared. None where fewer than 20 do.
    """
    systems = sorted({system for pair in sides for system in pair})
    place = {system: n for n, system in enumerate(systems)}
    pairs = np.array([[place[a], place[b]] for a, b in sides])
    k = len(systems)
    met = np.full((k, k), np.nan)
    met[pairs[:, 0], pairs[:, 1]], met[pairs[:, 1], pairs[:, 0]] = y, -y
    if k <= _EXACT:
        orders = np.array(list(permutations(range(k))))
    else:
        rng = np.random.default_rng([*seed, k])
        fixed = [n for n in range(k) if np.isfinite(met[n]).sum() == k - 1]
        moved = [n for n in range(k) if n not in fixed or len(fixed) == k]
        orders = np.tile(np.arange(k), (_DRAWN + 1, 1))
        drawn = np.argsort(rng.random((_DRAWN, len(moved))), axis=1)
        orders[1:, moved] = np.array(moved)[drawn]
    again = met[orders[:, pairs[:, 0]], orders[:, pairs[:, 1]]]
    again = again[np.isfinite(again).all(axis=1)]
    if len(again) < _FEWEST_ORDERS:
        return None
    a, b = (signed_ranks(x), signed_ranks(again, 1)) if name == "srcc" else (x, again)
    if name != "krcc":
        return _share_beyond(b @ a)
    i, j = np.triu_indices(len(x), 1)
    apart = np.sign(b[:, i] - b[:, j]) @ np.sign(a[i] - a[j])
    across = np.sign(b[:, i] + b[:, j]) @ np.sign(a[i] + a[j])
    return _share_beyond(apart + across + np.sign(b) @ np.sign(a) / 2)


def _share_beyond(statistics: Floats) -> float:
    """The share of statistics (B,) that are at least as far from 0 as the first one."""
    dust = 1e-9 * max(1.0, abs(statistics[0]))
    return float((np.abs(statistics) >= abs(statistics[0]) - dust).mean())


def _undefined_reason(sample: Sample, m: int) -> str:
    what = "conditions" if sample.unit == CONDITION else "stimuli"
    if sample.n < FEWEST_UNITS:
        return f"undefined: {sample.n} {what}, and {FEWEST_UNITS} or more are needed"
    sides = (("metric", sample.x[m]), ("human score", sample.y))
    flat = [name for name, column in sides if np.ptp(column) == 0]
    return f"undefined: the {' and the '.join(flat)} is constant"


def _no_interval_reason(value: float, drawn: Floats, n: int) -> str:
    known = drawn[np.isfinite(drawn)]
    if len(known) and np.ptp(known) <= 1e-9 and len(known) >= 0.9 * len(drawn):
        return f"no interval: all replicates of {n} give {value:.3g}"
    return f"no interval: with {n}, too many replicates are undefined"
