"""One output of a metric in full, as its own page shows it."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from metrics.core.input_warnings import TITLES
from metrics.core.metric import Output, canonical_json
from metrics.models import MetricScore
from metrics.scoring import clip_warnings, plugins
from metrics.scoring.clip_warnings import WarningFilter, codes_by_clip
from metrics.scoring.selectors import Keys, Series, stored_series
from metrics.scoring.study_material import study_stimuli
from metrics.web import page
from metrics.web.summary import Summary, runs_past, span_of, within

CLIPS_SHOWN = 8  # of the highest and of the lowest
WAYS_SHOWN = 5  # of computing it, where there are several
WORDS = {"sample_rate_hz": "Rate in Hz"}  # of a provenance's names
WIDTH = 300.0  # of the drawing of intervals, in its own units


def metric_details(
    study: str, label: str, kept: WarningFilter | None = None
) -> dict[str, Any] | None:
    """What is known of a stored output by its label; None when nothing is stored under it.

    Means and clips are of those that are kept.
    """
    stimuli = study_stimuli(study)
    hashes = {row["sha256"] for row, _ in stimuli}
    series = next((s for s in stored_series(study, hashes, label) if s.label == label), None)
    if series is None:
        return None
    known = codes_by_clip(clip_warnings.stored_warnings(hashes))
    looked_at = clip_warnings.clips_kept(stimuli, kept or WarningFilter())
    rated = [(row, material) for row, material in looked_at if row.get("role") != "trap"]
    conditions = sorted({row["condition"] for row, _ in rated})
    keys = Keys(study, rated)
    table = page.metric_table(keys, hashes, conditions, series.output.key)
    row = next((row for row in table if row.series.label == label), None)
    if row is None:
        row = page.TableRow(series, 0, 0, [])
    names = page.condition_names(study)
    clips = clip_values(series, keys, names, known)
    summaries = [summary for summary in row.summaries if summary is not None]
    return {
        "series": series,
        "row": row,
        "filter": kept or WarningFilter(),
        "kept": len(looked_at),
        "clips": len(stimuli),
        "intervals": drawn(summaries[: page.MOST_CONDITIONS], names, series.output),
        "more_conditions": max(0, len(summaries) - page.MOST_CONDITIONS),
        "clip_lists": clip_lists(series, clips),
        "parameters": parameters_of(series),
        "accepts": metric.accepts.words(metric.sample_rate_hz) if (metric := series.metric) else "",
        "origin": plugins.origin_of(type(series.metric)) if series.metric else "",
        "hints": [
            h for h in (series.metric.hints() if series.metric else ()) if is_hint_for(h, series)
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


def is_hint_for(hint: Any, series: Series) -> bool:
    """Whether a hint is about this output."""
    return bool(hint.output == series.output.key)


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
        WORDS.get(name, name.replace("_", " ").capitalize()): told for name, told in way.items()
    }


def drawn(summaries: Sequence[Summary], names: Mapping[str, str], output: Output) -> dict[str, Any]:
    """Each condition's mean and interval as places from 0 to `WIDTH`, for a drawing.

    An interval is drawn as far as the output can be.
    """
    known = [each for each in summaries if each.mean is not None]
    ends = [
        within(x, output)
        for each in known
        for x in (each.low, each.mean, each.high)
        if x is not None
    ]
    if not ends:
        return {"rows": [], "low": None, "high": None}
    low, high = min(ends), max(ends)
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return round(WIDTH * (within(value, output) - low) / span, 2)

    rows: list[dict[str, Any]] = [
        {
            "summary": each,
            "called": names.get(each.condition, each.condition),
            "span": span_of(each, output, ".3f"),
            "mean": place(each.mean),
            "low": None if each.low is None else place(each.low),
            "high": None if each.high is None else place(each.high),
        }
        for each in known
        if each.mean is not None
    ]
    marked = any(runs_past(each["span"]) for each in rows)
    return {"rows": rows, "low": low, "high": high, "runs_past": marked}
