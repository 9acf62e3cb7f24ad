"""Errors of metrics on the raters' scale, or mapped onto it: QWK, MAE, RMSE and RMSE*."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from analysis.arrays import Floats
from analysis.statistics.agreement.kappa import rounded_half_up
from analysis.statistics.metric_agreement import weighted_correlations as by_weight
from analysis.statistics.metric_agreement.metric_result import (
    AS_IS,
    ERRORS,
    MAPPED,
    Correlated,
    CorrelationOptions,
    metric_result,
)
from analysis.statistics.metric_agreement.metric_units import STIMULUS
from analysis.statistics.metric_agreement.p1401_mapping import DEGREES, Cubic, monotonic_cubic
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
