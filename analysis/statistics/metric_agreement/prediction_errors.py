"""Errors of metrics on the raters' scale, or mapped onto it by ITU-T P.1401's monotonic cubic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from analysis.arrays import Floats
from analysis.statistics.agreement.kappa import rounded_half_up
from analysis.statistics.metric_agreement import weighted_correlations as by_weight
from analysis.statistics.metric_agreement.metric_correlations import (
    AS_IS,
    ERRORS,
    MAPPED,
    Correlated,
    CorrelationOptions,
    metric_result,
)
from analysis.statistics.metric_agreement.metric_units import STIMULUS
from analysis.statistics.metric_agreement.resampled_units import (
    OF_ERRORS,
    Bools,
    Sample,
    centred_interval,
    replicates_for,
    wider_of,
    wider_over,
)
from analysis.statistics.metric_agreement.weighted_correlations import coefficient, of_conditions

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
    increasing: bool

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
        solved = _under(design, y, sign * _slopes(at))
        worst = _lowest(sign * solved)
        if sign * float((_slopes(np.array([worst])) @ solved)[0]) >= -_TOLERANCE:
            break
        at = np.append(at, worst)
    a, b, c, d = (float(value) for value in solved)
    return Cubic((a, b, c, d), low, high, increasing)


def _placed(x: Floats, low: float, high: float) -> Floats:
    return np.asarray((x - (low + high) / 2) / ((high - low) / 2), dtype=np.float64)


def _slopes(t: Floats) -> Floats:
    """f'(t) of each power (n, 4)."""
    return np.stack([np.zeros_like(t), np.ones_like(t), 2 * t, 3 * t**2], axis=1)


def _under(design: Floats, y: Floats, rules: Floats) -> Floats:
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


def mapped_errors(sample: Sample, options: CorrelationOptions) -> Iterator[Correlated]:
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
    mapped = np.array([of(sample.x[m]) for m, of in cubics.items()])
    if sample.redrawn is None:
        drawn = by_weight.pearson(mapped, sample.h, sample.w)
    else:
        again = np.stack([of(sample.redrawn[:, m]) for m, of in cubics.items()], axis=1)
        drawn = of_conditions("plcc", again, sample.h, sample.w, None)
    for place, m in enumerate(cubics):
        value = coefficient("plcc", mapped[place], sample.y)
        again_of = drawn[:, place]
        bounds = (
            None
            if value is None
            else centred_interval(value, again_of, options.level, wider=_wider(sample))
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
) -> Iterator[Correlated]:
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
        of = by_weight.error(x[:, fits], sample.y[None, fits], once[:, fits], spare[fits], power)
        again = _errors_again(sample, x, redrawn, fits, spare, power)
        for place, m in enumerate(which):
            value, drawn = float(of[0, place]), again[:, place]
            if power == 2:
                value, drawn = (value * scale) ** 0.5, np.sqrt(drawn * scale)
            bounds = centred_interval(value, drawn, options.level, "error", wider)
            yield metric_result(sample.names[m], sample, name, mapping, value, bounds)


def _wider(sample: Sample) -> float:
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
) -> Iterator[Correlated]:
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
