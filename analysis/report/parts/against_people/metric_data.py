"""What the part works on: a family's units, its metrics with their values, and all numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.arrays import Floats
from analysis.ratings.breakdowns import Family
from analysis.ratings.metric_scores import Metric, metrics_of
from analysis.report.part import PartInput
from analysis.statistics.agreement.rating_units import coarse_steps, scale_ends, steps_of
from analysis.statistics.metric_agreement.metric_correlations import (
    CorrelationOptions,
    MetricCorrelation,
    correlations,
)
from analysis.statistics.metric_agreement.metric_units import Units, units_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class FamilyScores:
    """One family with every metric: ``values`` (S,) by the metric's name, NaN where none."""

    family: Family
    units: Units
    metrics: tuple[Metric, ...]
    values: Mapping[str, Floats]
    correlations: tuple[MetricCorrelation, ...]
    same_scale: frozenset[str]
    level: float = 0.95

    @property
    def title(self) -> str:
        return self.family.title

    @property
    def falls(self) -> frozenset[str]:
        """The metrics of which lower values are better."""
        return frozenset(each.name for each in self.metrics if each.rises is False)

    def number(
        self, metric: str, unit: str, statistic: str, mapping: str
    ) -> MetricCorrelation | None:
        """One of the numbers; None where it was not made."""
        key = (metric, unit, statistic, mapping)
        every = self.correlations
        return next((e for e in every if (e.metric, e.unit, e.statistic, e.mapping) == key), None)

    def called(self, name: str) -> str:
        """The title of a metric, by its name."""
        return next((each.title for each in self.metrics if each.name == name), name)

    @property
    def what(self) -> str:
        """What one unit is, in the singular."""
        return "pair" if self.units.compared else "stimulus"


def family_scores(family: Family, inputs: PartInput) -> FamilyScores:
    """The family with all its numbers; metrics without any value for it have none.

    Computed once for all parts of a report.
    """
    key = ("against", family.estimand, *family.group.values())
    return inputs.once(key, lambda: _family_scores(family, inputs))


def metrics_in(inputs: PartInput) -> tuple[Metric, ...]:
    """Every metric of the report's scores, found once for all families and parts."""
    return inputs.once(("against", "metrics"), lambda: metrics_of(inputs.scores))


def _family_scores(family: Family, inputs: PartInput) -> FamilyScores:
    units = units_of(family)
    metrics = metrics_in(inputs)
    means = means_of_clips(inputs)
    values = {each.name: units.values(means[each.metric, each.version]) for each in metrics}
    known = {name: numbers for name, numbers in values.items() if np.isfinite(numbers).any()}
    same = _on_the_scale(units, known, metrics)
    options = inputs.options
    wanted = CorrelationOptions(
        level=options.level,
        replicates=options.replicates,
        seed=family.seed(options.seed),
        same_scale=same,
        steps=() if units.compared else _steps(units),
        lower_is_better=frozenset(each.name for each in metrics if each.rises is False),
        mapped=not units.compared,
    )
    correlated = tuple(correlations(units, known, wanted)) if len(units.own) else ()
    scored = tuple(each for each in metrics if each.name in known)
    return FamilyScores(family, units, scored, known, correlated, same, options.level)


def means_of_clips(inputs: PartInput) -> Mapping[tuple[str, str], pd.Series]:
    """By metric and version the mean value of each clip, computed once for all families."""
    scores = inputs.scores
    assert scores is not None
    return inputs.once(
        ("against", "means"),
        lambda: {
            (str(metric), str(version)): own.groupby("stimulus")["value"].mean()
            for (metric, version), own in scores.groupby(["metric", "version"], sort=False)
        },
    )


def _steps(units: Units) -> tuple[float, ...]:
    return steps_of(units.score, units.estimand) or coarse_steps(units.score, units.estimand)


def _on_the_scale(
    units: Units, values: Mapping[str, Floats], metrics: tuple[Metric, ...]
) -> frozenset[str]:
    """The metrics that speak as raters do: on their scale, higher being better.

    A metric's declared range decides: it is that of the raters. Where nobody declared one, values
    decide: all lie on the scale.
    """
    ends = scale_ends(units.score, units.estimand)
    if ends is None or units.compared:
        return frozenset()
    on_scale = set()
    for metric in metrics:
        numbers = values.get(metric.name)
        if numbers is None or metric.rises is False:
            continue
        known = numbers[np.isfinite(numbers)]
        inside = bool(ends[0] <= known.min() and known.max() <= ends[1])
        if metric.ends == ends or (metric.ends is None and inside):
            on_scale.add(metric.name)
    return frozenset(on_scale)
