"""What the metrics pages show: what can be scored, how far a run is, scores by condition.

What is missing: why, what can be done about it, and what it would take to score the rest. And one
output of a metric in full, for its own page.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.cache import cache
from django.db.models import Avg, FloatField, Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from redis.exceptions import RedisError

from listening.common.plugins import broken_plugins, origin_of
from metrics.core.input_warnings import TITLES
from metrics.core.metric import (
    Material,
    Metric,
    Output,
    canonical_json,
    column_of,
    make_metric,
    needed_columns,
    title_of_key,
)
from metrics.models import MetricScore, ScoringRun
from metrics.scoring import clip_warnings, runs
from metrics.scoring.clip_warnings import (
    WarningFilter,
    WarningKind,
    codes_by_clip,
    filter_clips,
    warned_clips,
)
from metrics.scoring.presets import Choice, is_same_choice, shipped_presets
from metrics.scoring.selectors import IMPORTED, Keys, Series, stored_series
from metrics.scoring.study_material import heard_stimuli, study_stimuli
from metrics.web.human_correlations import correlations_with_raters, far_off
from metrics.web.summary import (
    FIRST,
    OverRuns,
    Summary,
    Sums,
    clip_to_range,
    format_interval,
    over_runs,
    pooled_numbers,
    run_name,
    runs_past,
    summed_series,
    table_mark,
)

REFRESH_S = 3
KEPT_S = 24 * 3600
MOST_CONDITIONS = 40  # in one table
MOST_REASONS = 6
MOST_ODD = 6
LENGTH = "length_s"
BETWEEN = "\x1f"  # a condition and its run, in one name

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
class Cell:
    """An output's numbers of one condition, called so; ``span``: the interval as text."""

    called: str
    summary: Summary | None
    span: str


@dataclass(frozen=True)
class Choosable:
    """A metric that can be ticked, with what keeps it from being of use here."""

    key: str
    title: str
    description: str
    costs: str
    needs: str
    lacking: str  # needed columns that no stimulus fills
    trouble: str  # why it could not be loaded when it was tried last
    origin: str  # the package that brings it; empty for a built-in metric


def run_state(run: ScoringRun) -> dict[str, Any]:
    """How far a run is, for the page and as JSON."""
    works = run.state == ScoringRun.State.WORKING
    return {
        **runs.progress(run),
        "asked_at": run.asked_at.isoformat(timespec="seconds"),
        "asked_by": run.asked_by,
        "metrics": [choice["metric"] for choice in run.metrics],
        "titles": [title_of_key(choice["metric"]) for choice in run.metrics],
        "works": works,
        "refresh_s": REFRESH_S if works else 0,
    }


def page(study: str, clip_filter: WarningFilter | None = None) -> dict[str, Any]:
    """Return all of the page but the newest run; the table covers the clips of the filter."""
    overview = clips_and_scores(study)
    looked_at = overview | (filtered_table(study, clip_filter) if clip_filter else {})
    rows = [(row, cells_of(row, looked_at["called"])) for row in looked_at["table"]]
    return {
        **looked_at,
        "rows": rows,
        "runs_past": any(runs_past(cell.span) for _, cells in rows for cell in cells),
        "every_row": overview["table"],
        "filter": clip_filter or WarningFilter(),
        "beside": correlations_with_raters(
            study,
            odd_by_stimulus(overview["warned"]),
            {row.series.label: row.series.title for row in overview["table"]},
        ),
        "presets": [
            (preset, preset_metrics(preset.metrics)) for preset in shipped_presets().values()
        ],
        "groups": choosable_metrics(overview["lacking"]),
        "left_out": [(each.origin, each.error) for each in broken_plugins(Metric.registry)],
    }


def cells_of(row: TableRow, called: Sequence[str]) -> list[Cell]:
    """A row's numbers with the conditions that they are of."""
    return [
        Cell(name, each, format_interval(each, row.series.output, ".3f") if each else "")
        for name, each in zip(called, row.summaries, strict=True)
    ]


def clips_and_scores(study: str) -> dict[str, Any]:
    """What the page says of the clips and their scores; kept until anything of them changes."""
    from listening.selectors import only_lines

    left = len(only_lines(study))
    key = f"metrics-page-2-{MOST_CONDITIONS}-{MOST_REASONS}-{left}-{table_mark(study)}"
    with contextlib.suppress(RedisError):
        if (cached := cache.get(key)) is not None:
            return dict(cached)
    stimuli, lines = heard_stimuli(study)
    hashes = {row["sha256"] for row, _ in stimuli}
    overview = table_of(study, stimuli) | {
        "files": len(hashes),
        "clips": len(stimuli),
        "lines": lines,
        "odd": odd_lengths(study, hashes, Keys(study, stimuli)),
        "warned": warned_clips(stimuli, condition_names(study)),
        "lacking": {key: missing_columns(make_metric(key), stimuli) for key in Metric.registry},
    }
    with contextlib.suppress(RedisError):
        cache.set(key, overview, KEPT_S)
    return overview


def odd_by_stimulus(warned: Sequence[WarningKind]) -> dict[str, list[str]]:
    """What is odd about the audio of each clip that has a warning."""
    odd: dict[str, list[str]] = {}
    for kind in warned:
        for clip in kind.clips:
            odd.setdefault(clip.stimulus, []).append(kind.title)
    return odd


def filtered_table(study: str, clip_filter: WarningFilter) -> dict[str, Any]:
    """The table over the clips that a filter keeps, and how many these are; kept as the page is."""
    key = f"metrics-kept-{MOST_CONDITIONS}-{MOST_REASONS}-{table_mark(study)}{clip_filter.query}"
    with contextlib.suppress(RedisError):
        if (cached := cache.get(key)) is not None:
            return dict(cached)
    stimuli = filter_clips(heard_stimuli(study)[0], clip_filter)
    overview = table_of(study, stimuli) | {"kept": len(stimuli)}
    with contextlib.suppress(RedisError):
        cache.set(key, overview, KEPT_S)
    return overview


def table_of(study: str, stimuli: Stimuli) -> dict[str, Any]:
    """The conditions of some clips, and the stored scores by condition."""
    rated = [(row, material) for row, material in stimuli if row.get("role") != "trap"]
    conditions = sorted({row["condition"] for row, _ in rated})
    names, shown = condition_names(study), conditions[:MOST_CONDITIONS]
    hashes = {row["sha256"] for row, _ in stimuli}
    return {
        "traps": len(stimuli) - len(rated),
        "conditions": shown,
        "called": [names.get(key, key) for key in shown],
        "more_conditions": len(conditions) - len(shown),
        "table": metric_table(Keys(study, rated), hashes, shown) if rated else [],
    }


def condition_names(study: str) -> dict[str, str]:
    """What conditions are called: their labels, with the key where two have the same."""
    from listening.selectors import condition_labels

    labels = {key: label for key, label in condition_labels(study).items() if label}
    often = Counter(labels.values())
    return {
        key: label if often[label] == 1 else f"{label} ({key})" for key, label in labels.items()
    }


def odd_lengths(study: str, hashes: Collection[str], keys: Keys) -> dict[str, Any]:
    """The clips that are far shorter or longer than all others, where lengths are stored."""
    lengths = next(iter(stored_series(study, hashes, LENGTH)), None)
    if lengths is None:
        return {"clips": [], "more": 0}
    length_by_stimulus = {
        row["stimulus"]: score.value
        for (row, _), key in zip(keys.stimuli, keys.for_series(lengths), strict=True)
        if (score := lengths.scores.get(key)) is not None and score.value is not None
    }
    far = far_off(length_by_stimulus)
    return {"clips": far[:MOST_ODD], "more": max(0, len(far) - MOST_ODD)}


def preset_metrics(choices: Sequence[Choice]) -> str:
    """The metrics of a preset in words."""
    return ", ".join(
        title_of_key(choice.metric)
        + ("*" if not is_same_choice(choice, Choice(choice.metric)) else "")
        for choice in choices
    )


def metric_table(
    keys: Keys, hashes: Collection[str], conditions: Sequence[str], only: str = ""
) -> list[TableRow]:
    """A row per stored output (or for one); each clip counts once per condition."""
    runs = runs_by_output(keys, hashes, only)
    return [
        table_row(series, sums, keys, conditions, runs.get((series.label, series.origin), {}))
        for series, sums in summed_series(keys, hashes, only)
    ]


def runs_by_output(
    keys: Keys, hashes: Collection[str], only: str
) -> dict[tuple[str, str], dict[str, OverRuns]]:
    """Mean and deviation over runs of the synthesis, by output and condition, where it has some."""
    if all(run_name(row.get("run")) == FIRST for row, _ in keys.stimuli):
        return {}
    apart = [
        ({**row, "condition": f"{row['condition']}{BETWEEN}{run_name(row.get('run'))}"}, material)
        for row, material in keys.stimuli
    ]
    return {
        (series.label, series.origin): over_runs(
            (name.rpartition(BETWEEN)[0], each.mean)
            for name, each in sums.by_condition.items()
            if each.mean is not None
        )
        for series, sums in summed_series(Keys(keys.study, apart), hashes, only)
    }


def table_row(
    series: Series,
    sums: Sums,
    keys: Keys,
    conditions: Sequence[str],
    runs: Mapping[str, OverRuns],
) -> TableRow:
    """One output over the conditions, with what is missing and why."""
    summaries = {
        name: replace(each, over_runs=runs.get(name)) for name, each in sums.by_condition.items()
    }
    for condition, details in pooled_details(series, keys).items():
        numbers = pooled_numbers(series.metric, details)
        prefix = f"{series.output.key}_"  # of wer_pooled_words the page shows "pooled words"
        pooled_values = {
            name.removeprefix(prefix).replace("_", " "): value for name, value in numbers.items()
        }
        summaries[condition] = replace(summaries[condition], pooled=pooled_values)
    return TableRow(
        series=series,
        n=sum(summary.n for summary in summaries.values()),
        missing=sums.wanted - sums.scored,
        summaries=[summaries.get(name) for name in conditions],
        troubles=troubles_of(sums),
    )


def pooled_details(series: Series, keys: Keys) -> dict[str, list[dict[str, Any]]]:
    """Per condition, the details of an output whose metric pools them; else nothing."""
    metric = series.metric
    if metric is None or type(metric).pooled is Metric.pooled or series.output.key != metric.key:
        return {}
    wanted = keys.for_series(series)
    stored = MetricScore.objects.filter(
        metric=metric.key,
        version=metric.version,
        parameters=metric.parameters_dict(),
        origin=series.origin,
        sha256__in=sorted({sha256 for sha256, _ in wanted}),
        value__isnull=False,
    )
    rows = stored.values_list("sha256", "given", "details")
    details = {
        (sha256, fingerprint): clip_details for sha256, fingerprint, clip_details in rows.iterator()
    }
    by_condition: dict[str, dict[tuple[str, str], Any]] = {}
    for (row, _), key in zip(keys.stimuli, wanted, strict=True):
        if key in details:
            by_condition.setdefault(row["condition"], {})[key] = details[key]
    return {condition: [*by_key.values()] for condition, by_key in by_condition.items()}


def troubles_of(sums: Sums) -> list[Trouble]:
    """The reasons for missing values, the most frequent first.

    Only some are shown; the file of scores has them all.
    """
    often = sorted(sums.reasons.items(), key=lambda item: (-item[1], item[0]))
    return [
        Trouble(reason, count, remedy(reason, failed), failed)
        for (reason, failed), count in often[:MOST_REASONS]
    ]


def choosable_metrics(lacks: Mapping[str, Sequence[str]]) -> list[tuple[str, list[Choosable]]]:
    """Every metric, grouped by what it needs beside the audio; ``lacks``: columns by its key."""
    groups: dict[str, list[Choosable]] = {}
    broken = load_troubles()
    for metric in (make_metric(key) for key in Metric.registry):
        group = (
            "Optional: cost money, send audio to a server or need your own model"
            if metric.asked_only
            else "With texts, turns, references or attributes"
            if metric.needs
            else "Audio only"
        )
        groups.setdefault(group, []).append(
            Choosable(
                metric.key,
                metric.title or metric.key,
                metric.description,
                metric.costs,
                needed_columns(metric.needs),
                ", ".join(lacks[metric.key]),
                broken.get(metric.key, ""),
                origin_of(type(metric)),
            )
        )
    return sorted(groups.items())


def missing_columns(metric: Metric, stimuli: Stimuli) -> list[str]:
    """The columns that a metric can use and that no stimulus of the study fills."""
    missing = []
    for need in metric.needs:
        name = need.removeprefix("attributes.")
        values = (m.attribute(name) if need != name else getattr(m, name) for _, m in stimuli)
        if not any(values):
            missing.append(column_of(need))
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


REMEDIES = (  # the first whose words are in the reason
    ("channels cancel", "Invert one channel or keep only one, then import the clip again."),
    ("reference audio itself", "Nothing to do: it is the reference for other clips."),
    ("no stimulus or file", "Name a stimulus, or its file, in the column reference_audio."),
    ("too short", "Nothing to do: this clip is shorter than the metric needs."),
    ("silen", "Listen to the clip. If it should not be silent, create and import it again."),
    (
        "no weights",
        "Fetch the models with fetch_models, or put the files where the reason says.",
    ),
    ("no package", "Install the package on the machines that score, then score again."),
    ("out of memory", "Score again with more free memory, or shorten the clip."),
    ("nan or infinity", "Export the clip as 16 or 24 bit and import it again."),
    ("has changed", "Import the study again: the file has changed since the import."),
    (
        "no such file",
        "Restore the file. Workers on other machines need access to the same media store.",
    ),
    ("no audio that can be read", "Save the clip as WAV or FLAC and import it again."),
    ("broken audio", "Save the clip as WAV or FLAC and import it again."),
    ("no text", "Give the items their texts in the study folder."),
    ("no caption", "Give the stimuli a column caption in the study folder."),
    ("no language", "Give the study or its items a language."),
    ("no turns", "Give the stimuli a column turns (A 0-1.5; B 2-3) in the study folder."),
    ("no reference audio", "Add a condition with the role reference, or a column reference_audio."),
    ("no reference", "Add a condition with the role prompt or reference."),
    ("offline", "Put the files where the reason says, or set EARNEST_OFFLINE=0."),
)
UNKNOWN_FAILED = "Check the worker log, then score again. Only failed scores are repeated."


def remedy(reason: str, failed: bool = False) -> str:
    """What to do about a score without a value; empty where nothing is known."""
    lowered = reason.lower()
    for words, what in REMEDIES:
        if words in lowered:
            return what
    return UNKNOWN_FAILED if failed else ""


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
            cost = _cost(row, metric) if metric.asked_only else None
            total = None if cost is None else cost * row.missing
            line = {"title": row.series.title, "missing": row.missing, "cost": total}
            # A button scores the rest where there is nothing to pay and no parameters to say.
            simple = not metric.asked_only and row.series.label == metric.key
            unpriced = metric.asked_only and bool(metric.costs) and cost is None
            lines.append({**line, "key": metric.key if simple else "", "unpriced": unpriced})
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


def _pace_s(study: str) -> float | None:
    """Seconds per score of the newest run that ended, waiting and loading of models included."""
    ended = ScoringRun.objects.filter(
        study__key=study, state=ScoringRun.State.DONE, finished_at__isnull=False
    ).order_by("-finished_at")
    for run in ended[:1]:
        scores = sum(run.shards.values_list("done", flat=True))
        if run.finished_at is not None and scores >= FEWEST:
            return (run.finished_at - run.asked_at).total_seconds() / scores
    return None


def _cost(row: TableRow, metric: Metric) -> float | None:
    stored = MetricScore.objects.filter(
        metric=row.series.output.key,
        version=row.series.version,
        parameters=metric.parameters_dict(),
        details__cost__isnull=False,
    )
    costs = stored.annotate(cost=Cast(KeyTextTransform("cost", "details"), FloatField()))
    mean: float | None = costs.aggregate(mean=Avg("cost"))["mean"]
    return mean


CLIPS_SHOWN = 8  # of the highest and of the lowest
WAYS_SHOWN = 5  # of computing it, where there are several
WORDS = {"sample_rate_hz": "Rate in Hz"}  # of a provenance's names
WIDTH = 300.0  # of the drawing of intervals, in its own units


def metric_details(
    study: str, label: str, clip_filter: WarningFilter | None = None
) -> dict[str, Any] | None:
    """What is known of a stored output by its label; None when nothing is stored under it.

    Means and clips are those of the filter.
    """
    stimuli = study_stimuli(study)
    hashes = {row["sha256"] for row, _ in stimuli}
    series = next((s for s in stored_series(study, hashes, label) if s.label == label), None)
    if series is None:
        return None
    known = codes_by_clip(clip_warnings.stored_warnings(hashes))
    looked_at = clip_warnings.filter_clips(stimuli, clip_filter or WarningFilter())
    rated = [(row, material) for row, material in looked_at if row.get("role") != "trap"]
    conditions = sorted({row["condition"] for row, _ in rated})
    keys = Keys(study, rated)
    table = metric_table(keys, hashes, conditions, series.output.key)
    row = next((row for row in table if row.series.label == label), None)
    if row is None:
        row = TableRow(series, 0, 0, [])
    names = condition_names(study)
    clips = clip_values(series, keys, names, known)
    summaries = [summary for summary in row.summaries if summary is not None]
    return {
        "series": series,
        "row": row,
        "filter": clip_filter or WarningFilter(),
        "kept": len(looked_at),
        "clips": len(stimuli),
        "intervals": draw_intervals(summaries[:MOST_CONDITIONS], names, series.output),
        "more_conditions": max(0, len(summaries) - MOST_CONDITIONS),
        "clip_lists": clip_lists(series, clips),
        "parameters": parameters_of(series),
        "accepts": metric.accepts.words(metric.sample_rate_hz) if (metric := series.metric) else "",
        "origin": origin_of(type(series.metric)) if series.metric else "",
        "hints": [
            hint
            for hint in (series.metric.hints() if series.metric else ())
            if hint.output == series.output.key
        ],
        "ways": ways_of(series, hashes),
    }


def clip_lists(series: Series, clips: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """The clips at both ends under their titles, the worst first where there is a direction."""
    if not clips:
        return []
    better = series.output.higher_is_better
    names = {None: ("Lowest", "Highest"), True: ("Worst", "Best"), False: ("Best", "Worst")}[better]
    ends = [(names[0], clips[:CLIPS_SHOWN]), (names[1], clips[::-1][:CLIPS_SHOWN])]
    return ends[::-1] if better is False else ends


def clip_values(
    series: Series, keys: Keys, names: Mapping[str, str], codes: Mapping[str, Collection[str]]
) -> list[dict[str, Any]]:
    """Every stimulus with a value, the lowest first, with what is odd about its audio."""
    clips = []
    for (row, _), key in zip(keys.stimuli, keys.for_series(series), strict=True):
        score = series.scores.get(key)
        if score is not None and score.value is not None:
            odd = [TITLES.get(code, code) for code in sorted(codes.get(row["sha256"], ()))]
            condition = names.get(row["condition"], row["condition"])
            clip = {"stimulus": row["stimulus"], "condition": condition, "odd": odd}
            clips.append({**clip, "value": score.value})
    return sorted(clips, key=lambda each: (each["value"], each["stimulus"]))


def parameters_of(series: Series) -> list[tuple[str, Any, bool]]:
    """Name, value, and whether it is the default, of each parameter."""
    if series.metric is None:
        return []
    usual = type(series.metric)().parameters_dict()
    values = series.metric.parameters_dict()
    names = [field.name for field in dataclasses.fields(series.metric.parameters)]
    names += [name for name in values if name not in names]  # what its networks compute in
    return [(name, values[name], values[name] == usual.get(name)) for name in names]


def ways_of(series: Series, hashes: set[str]) -> list[tuple[Mapping[str, Any], int]]:
    """The ways in which the stored values were computed, with how many clips each."""
    stored = MetricScore.objects.filter(
        metric=series.output.key,
        version=series.version,
        origin=series.origin,
        sha256__in=hashes,
        failed=False,
    )
    if series.metric is not None:
        stored = stored.filter(parameters=series.metric.parameters_dict())
    counts = Counter(canonical_json(way) for way in stored.values_list("provenance", flat=True))
    return [(_in_words(json.loads(way)), count) for way, count in counts.most_common(WAYS_SHOWN)]


def _in_words(way: Mapping[str, Any]) -> dict[str, Any]:
    return {
        WORDS.get(name, name.replace("_", " ").capitalize()): value for name, value in way.items()
    }


def draw_intervals(
    summaries: Sequence[Summary], names: Mapping[str, str], output: Output
) -> dict[str, Any]:
    """Each condition's mean and interval as places from 0 to `WIDTH`, for a drawing.

    An interval is drawn as far as the output can be.
    """
    known = [each for each in summaries if each.mean is not None]
    ends = [
        clip_to_range(x, output)
        for each in known
        for x in (each.low, each.mean, each.high)
        if x is not None
    ]
    if not ends:
        return {"rows": [], "low": None, "high": None}
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return round(WIDTH * (clip_to_range(value, output) - low) / span, 2)

    rows: list[dict[str, Any]] = [
        {
            "summary": each,
            "called": names.get(each.condition, each.condition),
            "span": format_interval(each, output, ".3f"),
            "mean": place(each.mean),
            "low": None if each.low is None else place(each.low),
            "high": None if each.high is None else place(each.high),
        }
        for each in known
        if each.mean is not None
    ]
    marked = any(runs_past(each["span"]) for each in rows)
    return {"rows": rows, "low": low, "high": high, "runs_past": marked}
