"""What is left to score, and what it would take: time at the last pace, a judge's money."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Avg, FloatField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from metrics.models import MetricScore, ScoringRun
from metrics.web.page import TableRow

FEWEST = 10  # scores of a run whose pace says anything


def remainder(study: str, table: Sequence[TableRow]) -> dict[str, Any]:
    """The outputs that miss clips, with what the missing ones would take; empty: nothing is left.

    Of a metric with several outputs the first stands for all, as they are made together. Money is
    that of the answers so far, per clip; None where no score says what it cost.
    """
    lines: list[dict[str, Any]] = []
    for row in table:
        metric = row.series.metric
        if row.missing and metric is not None and row.series.output.key == metric.key:
            cost = _cost(row) if metric.asked_only else None
            total = None if cost is None else cost * row.missing
            line = {"title": row.series.title, "missing": row.missing, "cost": total}
            lines.append({**line, "key": _simple(row), "unpriced": _unpriced(row, cost)})
    if not lines:
        return {}
    scores, pace_s = sum(line["missing"] for line in lines), _pace_s(study)
    costs = [line["cost"] for line in lines if line["cost"] is not None]
    return {
        "lines": lines,
        "scores": scores,
        "pace_s": pace_s,
        "simple": [line["key"] for line in lines if line["key"]],
        "took_min": None if pace_s is None else pace_s * scores / 60,
        "cost": sum(costs) if costs else None,
    }


def _simple(row: TableRow) -> str:
    """The metric's key where a button may score the rest: nothing to pay, no parameters to say."""
    metric = row.series.metric
    plain = metric is not None and not metric.asked_only and row.series.label == metric.key
    return row.series.label if plain else ""


def _unpriced(row: TableRow, cost: float | None) -> bool:
    metric = row.series.metric
    return metric is not None and metric.asked_only and bool(metric.costs) and cost is None


def _pace_s(study: str) -> float | None:
    """Seconds per score of the newest run that ended, waiting and loading of models included."""
    ended = ScoringRun.objects.filter(
        study__key=study, state=ScoringRun.State.DONE, finished_at__isnull=False
    ).order_by("-finished_at")
    for run in ended[:1]:
        done = sum(run.shards.values_list("done", flat=True))
        if run.finished_at is not None and done >= FEWEST:
            return (run.finished_at - run.asked_at).total_seconds() / done
    return None


def _cost(row: TableRow) -> float | None:
    assert row.series.metric is not None
    stored = MetricScore.objects.filter(
        metric=row.series.output.key,
        version=row.series.version,
        parameters=row.series.metric.parameters_dict(),
        details__cost__isnull=False,
    )
    told = stored.annotate(cost=Cast(KeyTextTransform("cost", "details"), FloatField()))
    mean: float | None = told.aggregate(mean=Avg("cost"))["mean"]
    return mean
