"""The reads that other packages use: score_rows, and scores_mark, which changes with them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from django.db.models import Count, Max, TextField
from django.db.models.functions import Cast

from metrics.core import texts, vocalisations
from metrics.core.metric import (
    Material,
    Metric,
    Output,
    ParameterError,
    Score,
    canonical_parameters,
    changed_parameters,
    make_metric,
    title_of,
)
from metrics.models import CodeSuggestion, MetricScore
from metrics.scoring.study_material import study_stimuli

COMPUTED, IMPORTED = MetricScore.Origin.COMPUTED, MetricScore.Origin.IMPORTED


class ScoreRow(TypedDict):
    """One output's score of one stimulus; value None: the metric has no value for this audio."""

    sha256: str
    stimulus: str
    metric: str  # the output's key; with other than the default parameters, key[name=value]
    version: str
    value: float | None
    higher_is_better: bool | None  # None: no direction is claimed
    low: float | None  # the least and the greatest value that there can be
    high: float | None
    reason: str  # why there is no value
    title: str  # what pages and reports call the metric


@dataclass(frozen=True)
class Series:
    """One output of one metric with one set of parameters, as it is stored for a study."""

    label: str
    output: Output
    version: str
    origin: str
    metric: Metric | None = None  # None: computed elsewhere
    scores: Mapping[tuple[str, str], Score] = field(default_factory=dict)  # by (sha256, given)
    title: str = ""  # what pages call it, as no other series of the study is called


class Keys:
    """Under which (sha256, given) the scores of a study's stimuli are stored."""

    def __init__(self, study: str, stimuli: Sequence[tuple[Mapping[str, Any], Material]]) -> None:
        self.study, self.stimuli = study, stimuli
        self._known: dict[tuple[str, ...] | None, list[tuple[str, str]]] = {}

    def for_series(self, series: Series) -> list[tuple[str, str]]:
        """The key of every stimulus, in their order; metrics with equal needs share them."""
        metric = series.metric
        return self.by_needs(None if metric is None else tuple(sorted(metric.needs)))

    def by_needs(self, needs: tuple[str, ...] | None) -> list[tuple[str, str]]:
        """The key of every stimulus for metrics of these needs; None: for imported scores."""
        if needs not in self._known:
            mark = study_mark(self.study)
            marks: dict[Any, str] = {}  # by field values, which many clips share
            keys = []
            for row, material in self.stimuli:
                field_values = None if not needs else tuple(map(material.field_value, needs))
                if field_values not in marks:
                    marks[field_values] = mark if needs is None else material.fingerprint(needs)
                keys.append((row["sha256"], marks[field_values]))
            self._known[needs] = keys
        return self._known[needs]


def score_rows(study_slug: str, metric: str | None = None) -> list[ScoreRow]:
    """Stored scores of a study's stimuli by one metric (its label; or all), in the stimuli's order.

    Only the present version of each metric and the present material of each stimulus; default
    parameters first, others under a label of their own, then what was imported. A stimulus that
    was not scored yet, or whose run broke, has no row.
    """
    stimuli = study_stimuli(study_slug)
    keys, rows = Keys(study_slug, stimuli), []
    hashes = {row["sha256"] for row, _ in stimuli}
    for series in stored_series(study_slug, hashes, metric):
        if metric is not None and series.label != metric:
            continue
        for (row, _), key in zip(stimuli, keys.for_series(series), strict=True):
            score = series.scores.get(key)
            if score is not None and not score.failed:
                rows.append(
                    ScoreRow(
                        sha256=row["sha256"],
                        stimulus=row["stimulus"],
                        metric=series.label,
                        version=series.version,
                        value=score.value,
                        higher_is_better=series.output.higher_is_better,
                        low=series.output.low,
                        high=series.output.high,
                        reason=score.reason,
                        title=series.title,
                    )
                )
    return rows


def recognised_texts(study_slug: str) -> dict[tuple[str, str], str]:
    """What wer and cer heard in a study's stimuli, by (stimulus, metric)."""
    stimuli = study_stimuli(study_slug)
    keys = Keys(study_slug, stimuli)
    texts = {}
    for name in ("wer", "cer"):
        metric = Metric.registry[name]
        places = keys.by_needs(tuple(sorted(metric.needs)))
        own = {place: row["stimulus"] for (row, _), place in zip(stimuli, places, strict=True)}
        for stored in MetricScore.of_hashes({sha256 for sha256, _ in places}):
            rows = stored.filter(metric=name, version=metric.version, failed=False)
            for sha256, given, text in rows.values_list("sha256", "given", "details__hypothesis"):
                if (sha256, given) in own and text:
                    texts[own[sha256, given], name] = str(text)
    return texts


def stored_series(study: str, hashes: Collection[str], label: str | None = None) -> list[Series]:
    """Every output with scores of these audio files, failed ones too, in the registry's order.

    The scores are without their details. With a ``label``, only outputs of its key.
    """
    scores: dict[tuple[str, str, str, str], dict[tuple[str, str], Score]] = {}
    own = study_mark(study)
    details_by_metric: dict[str, dict[str, Any]] = {}
    columns = ("sha256", "metric", "version", "parameters_text", "given", "origin")
    canonical: dict[str, str] = {}  # parsed once per set of parameters, not once per score
    for stored in MetricScore.of_hashes(hashes):
        if label is not None:
            stored = stored.filter(metric=label.partition("[")[0])
        texts = stored.annotate(parameters_text=Cast("parameters", TextField()))
        for sha256, key, version, parameters_text, fingerprint, origin, *score in texts.values_list(
            *columns, "value", "reason", "failed"
        ):
            if origin == IMPORTED and fingerprint != own:
                continue
            if parameters_text not in canonical:
                canonical[parameters_text] = canonical_parameters(json.loads(parameters_text))
            series = (key, version, canonical[parameters_text], origin)
            value, reason, failed = score
            scores.setdefault(series, {})[sha256, fingerprint] = Score(value, reason, failed=failed)
        elsewhere = stored.filter(origin=IMPORTED, given=study_mark(study))
        details_by_metric |= dict(elsewhere.values_list("metric", "details"))
    return series_of(scores, details_by_metric)


def series_of(
    scores: Mapping[Any, Any], details_by_metric: Mapping[str, Mapping[str, Any]]
) -> list[Series]:
    """The known ones of (output, version, parameters as text, origin), in the registry's order.

    ``details_by_metric``: the details of imported metrics, by their names.
    """
    return add_titles([*_computed(scores), *_imported(scores, details_by_metric)])


def add_titles(series: Sequence[Series]) -> list[Series]:
    """The series with their titles; those that would be called alike keep their labels."""
    titles = [
        each.label if each.metric is None else title_of(each.metric, each.output) for each in series
    ]
    often = Counter(titles)
    return [
        replace(each, title=title if often[title] == 1 else each.label)
        for each, title in zip(series, titles, strict=True)
    ]


def _computed(scores: Mapping[Any, Any]) -> Iterator[Series]:
    by_output: dict[tuple[str, str], list[str]] = {}
    for key, version, parameters, origin in scores:
        if origin == COMPUTED:
            by_output.setdefault((key, version), []).append(parameters)
    for key, kind in Metric.registry.items():
        usual = canonical_parameters(make_metric(key).parameters_dict())
        for output in kind.outputs():
            sets = by_output.get((output.key, kind.version), [])
            for parameters in sorted(sets, key=lambda text: (text != usual, text)):
                metric = _stored_metric(key, parameters)
                if metric is not None:
                    yield Series(
                        label_of(metric, output),
                        output,
                        metric.version,
                        COMPUTED,
                        metric,
                        scores[output.key, metric.version, parameters, COMPUTED],
                    )


def _stored_metric(key: str, parameters: str) -> Metric | None:
    """The metric with stored parameters; None where it no longer has just these."""
    try:
        metric = make_metric(key, json.loads(parameters))
    except (ParameterError, TypeError):
        return None
    return metric if canonical_parameters(metric.parameters_dict()) == parameters else None


def _imported(
    scores: Mapping[Any, Any], details_by_metric: Mapping[str, Mapping[str, Any]]
) -> Iterator[Series]:
    for key, version, parameters, origin in sorted(scores):
        if origin == IMPORTED:
            details = details_by_metric.get(key, {})
            better = details.get("higher_is_better")
            output = Output(
                key, "Computed elsewhere", str(details.get("unit", "")), None, None, better
            )
            yield Series(
                key, output, version, IMPORTED, None, scores[key, version, parameters, origin]
            )


def label_of(metric: Metric, output: Output) -> str:
    """The output's key; with other than the default parameters, key[name=value,name=value]."""
    other = [f"{name}={value}" for name, value in changed_parameters(metric).items()]
    return f"{output.key}[{','.join(other)}]" if other else output.key


def study_mark(study: str) -> str:
    """The mark, in ``given``, of scores that were imported into this study."""
    return hashlib.sha256(f"study {study}".encode()).hexdigest()


def scores_mark(study_slug: str) -> str:
    """A mark that changes when scores of a study's stimuli come, go or are made again.

    It changes with what is said of the stimuli, too, and with the versions of the metrics.
    """
    stimuli = study_stimuli(study_slug)
    needs = sorted({need for metric in Metric.registry.values() for need in metric.needs})
    lines = [f"{row['sha256']} {material.fingerprint(needs)}" for row, material in stimuli]
    hashes = {row["sha256"] for row, _ in stimuli}
    for stored in MetricScore.of_hashes(hashes):
        facts = stored.order_by().values("metric", "version", "origin", "failed")
        for fact in facts.annotate(n=Count("pk"), at=Max("computed_at"), last=Max("pk")):
            lines.append(" ".join(str(value) for value in fact.values()))
    lines += [f"{key} {metric.version}" for key, metric in Metric.registry.items()]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]


def type_name(name: str) -> str:
    """A type of vocalisation in the taxonomy's spelling ("laugh" of "Laughs")."""
    return vocalisations.canonical(name)


class EventCounts(TypedDict):
    """Vocalisations heard in a clip against those asked for, as `judge_nvv` counts them."""

    tp: int
    fp: int
    fn: int
    distance: float | None  # normalised tag distance of the matches
    present: float  # share of the types asked for that were heard, at whatever place
    units: int  # of the text: words, or characters in languages such as Chinese


def count_events(
    target: str,
    heard: Sequence[tuple[str, int | None]],
    text: str,
    language: str,
    tolerance: int,
) -> EventCounts | None:
    """Return the counts of a clip; None where ``target`` asks for nothing or cannot be read.

    ``target`` is a list such as "laugh@3" or a marked text, ``heard`` types with their places.
    """
    try:
        asked = vocalisations.parse(target, language)
    except vocalisations.VocalisationError:
        return None
    if not asked:
        return None
    found = [vocalisations.Vocalisation(type_name(name), place) for name, place in heard]
    units = len(texts.units(text, language))
    compared = vocalisations.compare(asked, found, units, tolerance)
    types = {each.type for each in asked}
    return EventCounts(
        tp=compared.hits,
        fp=len(compared.spurious),
        fn=len(compared.missed),
        distance=compared.distance,
        present=len(types & {each.type for each in found}) / len(types),
        units=units,
    )


def coverage_of(types: Collection[str]) -> float:
    """Share of the taxonomy's types of vocalisation that these are, 0 to 1."""
    return vocalisations.coverage(types)


def suggested_codes(items: Collection[int]) -> dict[str, dict[int, list[str]]]:
    """By judge model and version of the codebook: the codes that it named for these items."""
    rows = CodeSuggestion.objects.filter(item__in=items, codes__isnull=False)
    by_judge: dict[str, dict[int, list[str]]] = {}
    for row in rows.order_by("judge", "version", "rubric", "item"):
        name = f"{row.judge}, {row.rubric}, codebook {row.version}"
        by_judge.setdefault(name, {})[row.item_id] = list(row.codes or ())
    return by_judge
