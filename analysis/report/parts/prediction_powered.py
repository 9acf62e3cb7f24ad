"""Means and differences helped by metrics, where metrics scored clips that nobody rated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from analysis.arrays import Floats
from analysis.citations import cite
from analysis.formatting import listed
from analysis.name_spans import family_prefix
from analysis.ratings.metric_scores import Metric, metrics_of
from analysis.report.content import Content, column, row_from, table_row
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.against_people.metric_data import means_of_clips
from analysis.statistics.planning.precision import FEWEST_CLIPS
from analysis.statistics.prediction_powered import Assisted, prediction_powered

METHOD = (
    "Where a metric scored clips that nobody rated, means were also estimated with its help: the "
    "mean residual of the rated clips plus the metric's mean over the other clips, with the weight "
    "that the slope of clip means within a condition gives "
    f"{cite('cochran1977', 'angelopoulos2023')}; variances are two-way clustered, and the slope "
    "costs one degree of freedom."
)
NOTE = (
    "Holds where the rated clips are a random draw of all clips, and where the metric was chosen "
    "and made without these ratings. Saved: the share of the variance that the metric replaces. "
    "Where it is 0, both intervals are the same: too few clips, or a metric that does not follow "
    "the ratings within this condition."
)


@table_row
class AssistedRow:
    """A mean or a difference, with and without a metric."""

    metric: str
    name: str = column("Condition")
    classical: float = column("Ratings alone", "number")
    classical_low: float = column("{level}", "interval", key="classical")
    classical_high: float
    value: float = column("With the metric", "number")
    low: float = column("{level}", "interval", key="interval")
    high: float
    saved: float = column("Saved", "percent")
    weight: str = column("Weight")
    rated: int = column("Rated clips", "count")
    others: int = column("Other clips", "count")


class PredictionPowered(FamilyPart):
    """Means and differences with the help of metrics that scored further clips."""

    key = "prediction_powered"
    version = "1"
    title = "Means with the help of metrics"
    order = 46
    apart = True

    def applies(self, inputs: PartInput) -> bool:
        if inputs.scores is None or "condition" not in inputs.scores:
            return False
        rated = set(inputs.ratings["condition"])
        return any(
            condition in rated and len(values) > 1
            for metric in metrics_of(inputs.scores)
            for condition, values in _unrated(inputs, metric).items()
        )

    def of_family(self, each: FamilyInput) -> Content:
        if each.family.in_pairs:
            return Content()
        rows = list(_rows(each))
        if not rows:
            return Content()
        key, title = "prediction_powered", "Means and differences with the help of metrics"
        table = each.table(AssistedRow, key, title, rows, note=NOTE, group="metric")
        text = f"{family_prefix(each.title)}{_sentence(rows)}"
        return Content(sentences=[text], tables=[table], methods=[METHOD])


def _rows(each: FamilyInput) -> Iterator[AssistedRow]:
    """A row for each mean and difference with each metric that scored other clips."""
    inputs = each.inputs
    conditions = set(each.family.table["condition"])
    for metric in metrics_of(inputs.scores):
        others = {
            condition: values
            for condition, values in _unrated(inputs, metric).items()
            if condition in conditions
        }
        if others:
            values = _values(inputs, metric)
            results = prediction_powered(each.family, values, others, each.level)
            yield from (_row(metric.title, one) for one in results)


def _row(metric: str, one: Assisted) -> AssistedRow:
    name = f"{one.condition} − {one.versus}" if one.versus else one.condition
    weight = ", ".join(f"{weight:.3g}" for weight in one.weight) if one.saved else ""
    return row_from(AssistedRow, one, metric=metric, name=name, weight=weight)


def _sentence(rows: list[AssistedRow]) -> str:
    helped = [row for row in rows if row.saved > 0]
    if not helped:
        return (
            "No metric narrows an interval. A metric helps where at least "
            f"{FEWEST_CLIPS} rated clips of a condition follow it."
        )
    phrases = []
    for metric in dict.fromkeys(row.metric for row in helped):
        saved = [row.saved for row in helped if row.metric == metric]
        phrases.append(f"{metric} {len(saved)} (saving up to {max(saved) * 100:.0f} % of variance)")
    count = len({row.name for row in rows})
    return f"Of {count} intervals of means and differences, metrics narrow: {listed(phrases)}."


def _values(inputs: PartInput, metric: Metric) -> Mapping[str, float]:
    means = means_of_clips(inputs)[metric.metric, metric.version].dropna()
    return dict(zip(means.index.astype(str), means.tolist(), strict=True))


def _unrated(inputs: PartInput, metric: Metric) -> dict[str, Floats]:
    """The metric's values of clips that nobody rated, by condition; once for all families."""
    key = ("prediction_powered", metric.metric, metric.version)
    return inputs.once(key, lambda: _find_unrated(inputs, metric))


def _find_unrated(inputs: PartInput, metric: Metric) -> dict[str, Floats]:
    scores = inputs.scores
    assert scores is not None
    means = means_of_clips(inputs)[metric.metric, metric.version].dropna()
    means = means[~means.index.isin(set(inputs.ratings["stimulus"]))]
    condition_of = scores.drop_duplicates("stimulus").set_index("stimulus")["condition"]
    by_condition = means.groupby(condition_of.astype(str).reindex(means.index).to_numpy())
    return {
        str(condition): values.to_numpy(dtype=np.float64)
        for condition, values in by_condition
        if condition
    }
