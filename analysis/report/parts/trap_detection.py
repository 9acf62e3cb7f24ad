"""Metrics as detectors of machines, judged on the trap clips: F1, its curve, and the area."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.arrays import Floats
from analysis.citations import cite_author
from analysis.formatting import interval_text
from analysis.ratings.metric_scores import Metric, metrics_of
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import Part, PartInput
from analysis.report.parts.against_people.metric_data import means_of_clips
from analysis.statistics.metric_agreement.machine_detection import Detection, detection, f1_curve

HUMAN = "human"
OTHERS = ("flawed", "machine", "tts", "synthetic")
AT = 0.5
MOST_CURVES = 5
MOST_EDGES = 200
_COLUMNS = (
    Column("metric", "Metric"),
    Column("threshold", "Threshold", "number"),
    Column("f1", "F1", "number"),
    Column("f1", "F1, interval", "interval"),
    Column("precision", "Precision", "number"),
    Column("recall", "Recall", "number"),
    Column("auc", "AUC", "number"),
    Column("auc", "AUC, interval", "interval"),
    Column("f1_best", "Best F1", "number"),
    Column("best", "at", "number"),
    Column("n_human", "Human clips", "count"),
    Column("n_other", "Other clips", "count"),
    Column("n_missing", "Missing", "count"),
    Column("note", "Note"),
)
NOTE = (
    "A clip counts as human where the metric is at least the threshold (at most, for a metric of "
    "which lower is better). F1 is of human clips, at 0.5 for metrics whose values all lie from 0 "
    "to 1. Best F1: the highest over all thresholds, chosen on these very clips and so flattered. "
    "AUC: how often a human clip has the better value than another, ties a half; 0.5 is guessing. "
    "Intervals: F1 bootstrap over clips, AUC Newcombe's method 5."
)
METHODS = (
    "Metrics were judged as detectors of human speech on the trap clips (genuine recordings "
    "against flawed synthetic ones): F1 at the threshold 0.5 for metrics on 0 to 1, the area under "
    f"the ROC curve with {cite_author('newcombe2006', possessive=True)} interval for all."
)


@dataclass(frozen=True)
class DetectionResult:
    """One metric with its values of human and other trap clips, and what came of them."""

    metric: Metric
    human: Floats
    other: Floats
    detection: Detection

    @property
    def falls(self) -> bool:
        """Whether lower values are better."""
        return self.metric.rises is False


class TrapDetection(Part):
    """Each metric as a detector of human speech on the trap clips: F1 over thresholds, and AUC."""

    key = "trap_detection"
    version = "1"
    title = "Metrics on trap clips"
    order = 47

    def applies(self, inputs: PartInput) -> bool:
        kinds = set(inputs.table["trap"])
        held = any(_is_human(kind) for kind in kinds) and any(map(_is_other, kinds))
        return held and bool(metrics_of(inputs.scores))

    def make(self, inputs: PartInput) -> Content:
        human, other = (_clips(inputs, rule) for rule in (_is_human, _is_other))
        both = human & other
        if both:
            raise ValueError(
                f"{len(both)} clips are human traps and flawed ones at once: give each one kind"
            )
        judged = [
            _detect_traps(metric, human, other, inputs) for metric in metrics_of(inputs.scores)
        ]
        scored = [each for each in judged if len(each.human) and len(each.other)]
        if not scored:
            raise ValueError(
                f"No metric has a score for any of the {len(human)} human and any of the "
                f"{len(other)} flawed trap clips: score the study's trap clips too."
            )
        scored.sort(key=lambda each: (-(each.detection.auc or 0.0), each.metric.name))
        rows = [_row(each, len(human) + len(other)) for each in scored]
        unscored = [each.metric.title for each in judged if each not in scored]
        warnings = [*_few(len(human), len(other)), *_upside_down(scored)]
        if unscored:
            warnings.append(f"No score of both kinds of trap clips: {', '.join(unscored)}.")
        columns = [column for column in _COLUMNS if _some(column, rows)]
        table = Table("detection", "Human or machine, on the trap clips", columns, rows, NOTE)
        return Content(
            sentences=[_sentence(scored)],
            figures=list(_curves(scored)),
            tables=[table],
            warnings=warnings,
            methods=[METHODS],
        )


def _is_human(kind: str) -> bool:
    return kind.lower().startswith(HUMAN)


def _is_other(kind: str) -> bool:
    return kind.lower().startswith(OTHERS)


def _clips(inputs: PartInput, rule: Callable[[str], bool]) -> set[str]:
    table = inputs.table
    return {
        str(name)
        for kind, name in zip(table["trap"], table["stimulus"], strict=True)
        if name and rule(kind)
    }


def _detect_traps(
    metric: Metric, human: set[str], other: set[str], inputs: PartInput
) -> DetectionResult:
    values = means_of_clips(inputs)[metric.metric, metric.version].dropna()
    a, b = (
        values.reindex(sorted(clips)).dropna().to_numpy(dtype=np.float64)
        for clips in (human, other)
    )
    every = values.to_numpy(dtype=np.float64)
    on_one = len(every) > 0 and bool(every.min() >= 0 and every.max() <= 1)
    result = detection(
        a,
        b,
        threshold=AT if on_one else None,
        falls=metric.rises is False,
        level=inputs.options.level,
        seed=(inputs.options.seed,),
    )
    return DetectionResult(metric, a, b, result)


def _row(each: DetectionResult, clips: int) -> dict[str, Any]:
    row = {"metric": each.metric.name, **each.detection.row()}
    row["n_missing"] = clips - len(each.human) - len(each.other)
    return row


def _some(column: Column, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the column holds anything."""
    key = f"{column.key}_low" if column.kind == "interval" else column.key
    return any(row.get(key) not in (None, "") for row in rows)


def _sentence(scored: Sequence[DetectionResult]) -> str:
    name, best = scored[0].metric.title, scored[0].detection
    bounds = interval_text(best.auc_low or 0.0, best.auc_high or 1.0, None, 2)
    apart = " tells them apart best" if len(scored) > 1 else ""
    f1 = "" if best.f1 is None else f", F1 {best.f1:.2f} at the threshold {AT:g}"
    return (
        f"On the trap clips ({best.n_human} human, {best.n_other} flawed) {name}{apart}: AUC "
        f"{best.auc:.2f} {bounds}{f1}; the best F1 of any threshold is {best.f1_best:.2f} at "
        f"{best.best:.3g}."
    )


def _few(human: int, other: int) -> Iterator[str]:
    if min(human, other) < 10:
        yield (
            f"{human} human and {other} flawed trap clips are few: F1 moves by whole clips, "
            "and the intervals are wide."
        )


def _upside_down(scored: Sequence[DetectionResult]) -> Iterator[str]:
    for each in scored:
        if each.detection.auc_high is not None and each.detection.auc_high < 0.5:
            way = "lower" if each.falls else "higher"
            yield (
                f"{each.metric.title} is better for flawed clips than for human ones (AUC "
                f"{each.detection.auc:.2f}), {way} being taken as better."
            )


def _curves(scored: Sequence[DetectionResult]) -> Iterator[Figure]:
    """F1 over thresholds: metrics on 0 to 1 in one drawing, each other one in its own."""
    together = [each for each in scored if each.detection.threshold is not None][:MOST_CURVES]
    if together:
        rows = [row for each in together for row in _curve(each, each.metric.title)]
        yield _figure("f1_curve", "F1 over thresholds, metrics on 0 to 1", rows, "Threshold")
    alone = [each for each in scored if each.detection.threshold is None][:MOST_CURVES]
    for place, each in enumerate(alone, start=1):
        name = each.metric.title
        title = f"F1 over thresholds, {name}"
        yield _figure(f"f1_curve_of_{place}", title, list(_curve(each, "")), f"Threshold of {name}")


def _figure(key: str, title: str, rows: Sequence[Mapping[str, Any]], x: str) -> Figure:
    note = "Human where the metric is at least (lower is better: at most) the threshold."
    return Figure(
        key=key, title=title, drawing="lines", rows=rows, x=x, y="F1", ends=(0.0, 1.0), note=note
    )


def _curve(each: DetectionResult, group: str) -> Iterator[dict[str, Any]]:
    edges, curve = f1_curve(each.human, each.other, each.falls)
    places = np.unique(np.linspace(0, len(edges) - 1, min(MOST_EDGES, len(edges))).round())
    for place in places.astype(int):
        row: dict[str, Any] = {"x": float(edges[place]), "y": float(curve[place])}
        yield {"group": group, **row} if group else row
