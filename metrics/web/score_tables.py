"""A study's stored scores as rows to be kept elsewhere, and summed up per condition."""

from __future__ import annotations

import csv
import functools
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from listening.common.spreadsheets import safe_cell
from metrics.core.metric import (
    Material,
    Metric,
    ParameterError,
    canonical_parameters,
    make_metric,
    title_of,
)
from metrics.models import ClipFacts, MetricScore
from metrics.scoring.clip_warnings import WarningFilter, filter_clips
from metrics.scoring.selectors import IMPORTED, study_mark
from metrics.scoring.study_material import study_stimuli

AT_ONCE = 500  # stimuli
OF_CLIPS = ("stimulus", "condition", "item", "role", "language", "run", "sha256")
VALUE = ("metric", "version", "value")
ABOUT = ("higher_is_better", "low", "high", "title")  # what is said of an output
STORED = (*VALUE, "reason", "warnings", "failed", "origin", "parameters", "given")
NAMES = (*OF_CLIPS, *STORED, "computed_at", *ABOUT)  # of a row, as CSV and the API tell them


def export_rows(study: str, clip_filter: WarningFilter | None = None) -> Iterator[dict[str, Any]]:
    """Every stored score of a study's stimuli, failed ones too: a row per stimulus and output.

    ``clip_filter``: only of clips that it keeps.

    Present material only; every version and every set of parameters that is stored. Some hundred
    stimuli are in memory at once.
    """
    stimuli = filter_clips(study_stimuli(study), clip_filter or WarningFilter())
    for start in range(0, len(stimuli), AT_ONCE):
        yield from _rows_of(study, stimuli[start : start + AT_ONCE])


def _rows_of(
    study: str, stimuli: Sequence[tuple[Mapping[str, Any], Material]]
) -> Iterator[dict[str, Any]]:
    from metrics.core.metric import outputs

    known, mark = outputs(), study_mark(study)
    hashes = sorted({row["sha256"] for row, _ in stimuli})
    facts = dict(ClipFacts.objects.filter(sha256__in=hashes).values_list("sha256", "facts"))
    by_hash: dict[str, list[MetricScore]] = {}
    for score in MetricScore.objects.filter(sha256__in=hashes).order_by("metric", "version", "pk"):
        by_hash.setdefault(score.sha256, []).append(score)
    for row, material in stimuli:
        for score in by_hash.get(row["sha256"], []):
            kind = known.get(score.metric)
            fingerprint = material.fingerprint(kind.needs) if kind else ""
            if score.given != (mark if score.origin == IMPORTED else fingerprint):
                continue
            yield {
                **{name: row[name] for name in OF_CLIPS},
                **{name: getattr(score, name) for name in STORED},
                **_direction_and_range(score, kind),
                "computed_at": score.computed_at.isoformat(),
                "details": score.details,
                "audio": facts.get(row["sha256"]),
                "provenance": score.provenance,
            }


def _direction_and_range(score: MetricScore, kind: type[Metric] | None) -> dict[str, Any]:
    """Which way a score is better and its range; of an imported one, what was said with it."""
    if score.origin == IMPORTED or kind is None:
        return {name: score.details.get(name) for name in ABOUT}
    return _output_facts(kind.key, score.metric, canonical_parameters(score.parameters))


@functools.lru_cache(maxsize=4096)
def _output_facts(metric: str, output: str, parameters: str) -> dict[str, Any]:
    """What is said of an output; one whose parameters there are no longer has its plain title."""
    kind = Metric.registry[metric]
    described = next(each for each in kind.outputs() if each.key == output)
    try:
        title = title_of(make_metric(metric, json.loads(parameters)), described)
    except (ParameterError, TypeError):
        title = described.title
    return {**{name: getattr(described, name) for name in ABOUT}, "title": title}


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """The rows as CSV; details, facts of the audio and provenance are in the JSON lines only."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(NAMES)
    for row in rows:
        warnings = "; ".join(f"{code}: {words}" for code, words in row["warnings"].items())
        writer.writerow([_cell(warnings if n == "warnings" else row[n]) for n in NAMES])
    return out.getvalue()


def as_jsonl(rows: Iterable[Mapping[str, Any]]) -> str:
    """The rows as lines of JSON."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    return safe_cell(value) if isinstance(value, str) else value
