"""What the metrics page shows: what can be scored, how far a run is, scores by condition."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Q

from metrics import remedies, runs
from metrics.base import Metric, Score, make_metric, registry
from metrics.management.commands.list_metrics import needed
from metrics.material import Material
from metrics.models import MetricScore, ScoringRun
from metrics.presets import Choice, same, shipped
from metrics.selectors import IMPORTED, Keys, Series, stored_series
from metrics.studymaterial import study_stimuli
from metrics.summary import Summary, summarise

REFRESH_S = 3
MOST_CONDITIONS = 40  # in one table
MOST_REASONS = 6
NUMBERS = re.compile(r"\d+(\.\d+)?")

Stimuli = Sequence[tuple[Mapping[str, Any], Material]]


@dataclass(frozen=True)
class Trouble:
    """Why scores are missing, how often, and what to do."""

    reason: str
    count: int
    remedy: str
    failed: bool


@dataclass(frozen=True)
class TableRow:
    """One output over the conditions."""

    series: Series
    n: int
    missing: int  # clips without any stored score
    summaries: list[Summary | None]  # per condition; None: nothing stored
    troubles: list[Trouble] = field(default_factory=list)

    @property
    def without(self) -> int:
        return sum(s.n_undefined + s.n_failed for s in self.summaries if s is not None)

    @property
    def imported(self) -> bool:
        return self.series.origin == IMPORTED


@dataclass(frozen=True)
class Choosable:
    """A metric that can be ticked, with what keeps it from being of use here."""

    key: str
    description: str
    costs: str
    needs: str
    lacking: str  # needed columns that no stimulus fills
    trouble: str  # why it could not be loaded when it was tried last


def run_state(run: ScoringRun) -> dict[str, Any]:
    """How far a run is, for the page and as JSON."""
    works = run.state == ScoringRun.State.WORKING
    return {
        **runs.progress(run),
        "asked_at": run.asked_at.isoformat(timespec="seconds"),
        "asked_by": run.asked_by,
        "metrics": [asked["metric"] for asked in run.metrics],
        "works": works,
        "refresh_s": REFRESH_S if works else 0,
    }


def page(study: str) -> dict[str, Any]:
    """Everything on the page beside the newest run."""
    stimuli = study_stimuli(study)
    rated = [(row, material) for row, material in stimuli if row.get("role") != "trap"]
    conditions = sorted({row["condition"] for row, _ in rated})
    shown = conditions[:MOST_CONDITIONS]
    return {
        "files": len({row["sha256"] for row, _ in stimuli}),
        "traps": len(stimuli) - len(rated),
        "conditions": shown,
        "more_conditions": len(conditions) - len(shown),
        "table": metric_table(study, rated, shown),
        "presets": [(preset, preset_told(preset.metrics)) for preset in shipped().values()],
        "groups": choosable(stimuli),
    }


def preset_told(choices: Sequence[Choice]) -> str:
    """The metrics of a preset in words."""
    return ", ".join(
        choice.metric + ("*" if not same(choice, Choice(choice.metric)) else "")
        for choice in choices
    )


def metric_table(study: str, stimuli: Stimuli, conditions: Sequence[str]) -> list[TableRow]:
    """A row per stored output; each clip counts once per condition."""
    hashes = {row["sha256"] for row, _ in stimuli}
    keys = Keys(study, stimuli)
    return [table_row(series, keys, conditions) for series in stored_series(study, hashes)]


def table_row(series: Series, keys: Keys, conditions: Sequence[str]) -> TableRow:
    """One output over the conditions, with what is missing and why."""
    details = pooled_details(series)
    scores: dict[tuple[str, str, str], Score] = {}
    wanted = keys.of(series)
    for (row, _), key in zip(keys.stimuli, wanted, strict=True):
        if key in series.scores:
            told = series.scores[key]
            if key in details:
                told = replace(told, details=details[key])
            scores[row["condition"], *key] = told
    found = summarise(
        [(key[0], score) for key, score in scores.items()], series.metric, series.output.key
    )
    by_condition = {summary.condition: summary for summary in found}
    return TableRow(
        series=series,
        n=sum(summary.n for summary in found),
        missing=len(set(wanted) - set(series.scores)),
        summaries=[by_condition.get(name) for name in conditions],
        troubles=troubles_of(scores.values()),
    )


def pooled_details(series: Series) -> dict[tuple[str, str], dict[str, Any]]:
    """The details of an output whose metric pools them over a condition; else nothing."""
    metric = series.metric
    if metric is None or type(metric).pooled is Metric.pooled or series.output.key != metric.key:
        return {}
    stored = MetricScore.objects.filter(
        metric=metric.key,
        version=metric.version,
        parameters=metric.parameters_dict(),
        origin=series.origin,
        sha256__in={sha256 for sha256, _ in series.scores},
        value__isnull=False,
    )
    rows = stored.values_list("sha256", "given", "details")
    return {(sha256, given): details for sha256, given, details in rows}


def troubles_of(scores: Iterable[Score]) -> list[Trouble]:
    """The reasons for missing values, the most frequent first.

    Those that differ in numbers only are counted together under the first of them; only some are
    shown, and the file of scores has them all.
    """
    counts: Counter[tuple[str, bool]] = Counter()
    first: dict[tuple[str, bool], str] = {}
    for score in scores:
        if score.value is None:
            key = (NUMBERS.sub("#", score.reason), score.failed)
            counts[key] += 1
            first.setdefault(key, score.reason)
    return [
        Trouble(first[key], count, remedies.remedy(first[key], key[1]), key[1])
        for key, count in counts.most_common(MOST_REASONS)
    ]


def choosable(stimuli: Stimuli) -> list[tuple[str, list[Choosable]]]:
    """Every metric, grouped by what it needs beside the audio."""
    groups: dict[str, list[Choosable]] = {}
    broken = load_troubles()
    for metric in (make_metric(key) for key in registry()):
        group = (
            "Only when ticked: these cost money or send audio away, or need a model of your own"
            if metric.asked_only
            else "With texts, turns, references or attributes"
            if metric.needs
            else "From the audio alone"
        )
        groups.setdefault(group, []).append(
            Choosable(
                metric.key,
                metric.description,
                metric.costs,
                needed(metric),
                ", ".join(lacking(metric, stimuli)),
                broken.get(metric.key, ""),
            )
        )
    return sorted(groups.items())


def lacking(metric: Metric, stimuli: Stimuli) -> list[str]:
    """The columns that a metric can use and that no stimulus of the study fills."""
    missing = []
    for need in metric.needs:
        name = need.removeprefix("attributes.")
        told = (m.attribute(name) if need != name else getattr(m, name) for _, m in stimuli)
        if not any(told):
            missing.append("reference" if name == "reference_path" else name)
    return missing


def load_troubles() -> dict[str, str]:
    """Why a metric could not be loaded when any study tried it last."""
    stored = MetricScore.objects.filter(origin=MetricScore.Origin.COMPUTED)
    missing = Q(reason__startswith="no weights") | Q(reason__startswith="no package")
    newest = stored.filter(missing, failed=True).order_by("metric", "-computed_at")
    return {
        key: reason
        for key, reason, at in newest.distinct("metric").values_list(
            "metric", "reason", "computed_at"
        )
        if not stored.filter(metric=key, failed=False, computed_at__gt=at).exists()
    }
