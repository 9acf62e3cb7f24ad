"""Scores that were computed elsewhere: read from a file, checked against a study's clips, stored.

All of a file, or none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from django.db import transaction
from django.utils import timezone

from listening.common.input_limits import APART_FROM_TABLE_BYTES
from listening.common.reading_process import TookTooLong, read_apart
from listening.common.spreadsheets import TableError, clean_name, located
from metrics.core.metric import outputs
from metrics.models import MetricScore
from metrics.scoring.score_rows import CLIPS, Problems, ScoreRow, read_score_rows
from metrics.scoring.selectors import study_mark
from metrics.scoring.study_scores import KEY, TOLD

METRIC = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:+\-]{0,99}")
MOST_PROBLEMS = 50
LONGEST = {"version": 40, "unit": 40, "reason": 500}  # characters


@dataclass(frozen=True)
class ImportedScore:
    """One value of one audio file; None: the metric gave none."""

    sha256: str
    metric: str
    version: str
    value: float | None
    reason: str = ""
    higher_is_better: bool | None = None
    unit: str = ""


class ImportedScoreError(ValueError):
    """A file of scores that does not fit; a line per problem."""


class Unfit(ValueError):
    """A row that does not fit: its cause, with {} for the value that may differ, and the value."""

    def __init__(self, cause: str, value: str = "") -> None:
        super().__init__(cause, value)
        self.cause, self.value = cause, value


class Clips:
    """The study's audio files under every name that a file of scores may use."""

    def __init__(self, stimuli: Iterable[Mapping[str, Any]]) -> None:
        self.by_name: dict[str, set[str]] = {}
        self.hashes: set[str] = set()
        for row in stimuli:
            self.hashes.add(row["sha256"])
            for name in (row["stimulus"], *file_names(row)):
                self.by_name.setdefault(clean_name(name), set()).add(row["sha256"])

    def find(self, names: Mapping[str, str]) -> str:
        """The SHA-256 that a row is about, by the names of its clip; Unfit where there is none."""
        name = next((name for name in CLIPS if names.get(name)), None)
        if name is None:
            raise Unfit(f"names no clip; fill one of the columns {', '.join(CLIPS)}")
        text = clean_name(names[name])
        if name == "sha256":
            if text.lower() not in self.hashes:
                raise Unfit("no clip of the study has the sha256 {}", text)
            return text.lower()
        path = PurePosixPath(text.replace("\\", "/"))
        hashes = self.by_name.get(text) or self.by_name.get(path.name) or set()
        hashes = hashes or self.by_name.get(path.stem, set())
        if not hashes:
            raise Unfit("no clip of the study is called {}; use its stimulus' key", repr(text))
        if len(hashes) > 1:
            raise Unfit(f"{len(hashes)} clips are called {{}}; use stimulus or sha256", repr(text))
        return next(iter(hashes))


def file_names(row: Mapping[str, Any]) -> list[str]:
    """The names of the file from which a stimulus was imported, with and without its ending."""
    path = PurePosixPath(str(row.get("file") or ""))
    return [str(path), path.name, path.stem] if path.name else []


def read_scores(
    path: Path,
    stimuli: Iterable[Mapping[str, Any]],
    reserved: Collection[str],
    prefix: str = "",
    notes: list[str] | None = None,
) -> list[ImportedScore]:
    """The file's scores, each of an audio file of the study; ImportedScoreError says what is wrong.

    ``stimuli``: the study's StimulusRows. ``taken``: names that an imported metric may not have,
    unless ``prefix`` makes others of them. Empty values and null are scores without a value.
    ``notes`` gets a line for what was guessed or left out.
    """
    try:
        score_table = read_score_rows(path)
    except TableError as error:
        lines = [located(path, line) for line in error.problems]
        raise ImportedScoreError("\n".join(lines)) from None
    scores = _match_to_study(score_table.rows, Clips(stimuli), prefix, score_table.problems)
    problems = [*score_table.problems.lines(), *two_meanings(scores)]
    for name in sorted({score.metric for score in scores} & set(reserved)):
        problems.append(f"{name} is a metric of Earnest's own; give a prefix, such as versa_")
    if not score_table.rows and not problems:
        problems.append(f"{path.name}: no column with scores; name metric and value, or metrics")
    if problems:
        more = len(problems) - MOST_PROBLEMS
        lines = problems[:MOST_PROBLEMS] + ([f"and {more} more problems"] if more > 0 else [])
        raise ImportedScoreError("\n".join(lines))
    if notes is not None:
        notes += score_table.notes
    return scores


def read_sent_scores(
    path: Path,
    stimuli: Sequence[Mapping[str, Any]],
    reserved: Collection[str],
    prefix: str = "",
    notes: list[str] | None = None,
) -> list[ImportedScore]:
    """`read_scores` of a file that came over the web: apart from raters where it is large."""
    if path.stat().st_size <= APART_FROM_TABLE_BYTES:
        return read_scores(path, stimuli, reserved, prefix, notes)
    try:
        scores, read_notes = read_apart(_read_apart, path, list(stimuli), tuple(reserved), prefix)
    except TookTooLong as error:
        what, remedy = error.explain("Reading it", "Split the file.")
        raise ImportedScoreError(f"{path}: {what} {remedy}") from None
    if notes is not None:
        notes += read_notes
    return scores


def _read_apart(
    path: Path, stimuli: list[Mapping[str, Any]], taken: tuple[str, ...], prefix: str
) -> tuple[list[ImportedScore], list[str]]:
    notes: list[str] = []
    return read_scores(path, stimuli, taken, prefix, notes), notes


def _match_to_study(
    rows: Iterable[ScoreRow], clips: Clips, prefix: str, problems: Problems
) -> list[ImportedScore]:
    """The rows as scores of the study's audio files, each once; what does not fit is a problem."""
    scores: dict[tuple[str, str, str], ImportedScore] = {}
    for row in rows:
        try:
            score = _score(row, clips, prefix)
        except Unfit as unfit:
            problems.add(row.number, unfit.cause, unfit.value)
            continue
        before = scores.setdefault((score.sha256, score.metric, score.version), score)
        if before.value != score.value:
            cause = f"{score.metric} of this clip is there twice with different values; remove one"
            problems.add(row.number, cause)
    return list(scores.values())


def _score(row: ScoreRow, clips: Clips, prefix: str) -> ImportedScore:
    sha256 = clips.find(row.clip)
    for name, most in LONGEST.items():
        if len(getattr(row, name)) > most:
            raise Unfit(f"{name} is longer than {most} characters; shorten it")
    name = f"{prefix}{row.metric}"
    if not METRIC.fullmatch(name):
        what = "{} cannot be a metric's name: letters, digits, and _ . : + - only"
        raise Unfit(what, repr(name))
    direction, version = row.higher_is_better, row.version or "1"
    return ImportedScore(sha256, name, version, row.value, row.reason, direction, row.unit)


def two_meanings(scores: Iterable[ImportedScore]) -> list[str]:
    """Metrics that are said to have two directions or two units."""
    meanings_by_metric: dict[str, set[tuple[bool | None, str]]] = {}
    for score in scores:
        meanings_by_metric.setdefault(score.metric, set()).add((score.higher_is_better, score.unit))
    return [
        f"{name} has several directions or units; write the same in each of its rows"
        for name, meanings in sorted(meanings_by_metric.items())
        if len(meanings) > 1
    ]


AT_ONCE = 2_000
SCORE_FILES = (".csv", ".tsv", ".txt", ".json", ".jsonl")  # as they may be uploaded


def import_scores(
    study: str,
    path: Path,
    prefix: str = "",
    name: str = "",
    notes: list[str] | None = None,
    *,
    sent: bool = False,
) -> dict[str, int]:
    """Store a file's scores for a study; how many by metric. ImportedScoreError has all problems.

    Scores of the same metric, version and clip that were imported before are replaced. ``notes``
    gets a line for what was guessed or left out. A file that was ``sent`` over the web is read
    apart where it is large.
    """
    from listening.selectors import no_study, stimulus_rows

    stimuli = stimulus_rows(study)
    if not stimuli:
        raise ImportedScoreError(no_study(study) or f"study {study!r} has no stimuli")
    read = read_sent_scores if sent else read_scores
    scores = read(path, stimuli, outputs(), prefix, notes)
    now = timezone.now()
    rows = [
        MetricScore(
            sha256=score.sha256,
            metric=score.metric,
            version=score.version,
            parameters={},
            given=study_mark(study),
            origin=MetricScore.Origin.IMPORTED,
            value=score.value,
            reason=score.reason,
            details={"higher_is_better": score.higher_is_better, "unit": score.unit},
            provenance={"imported from": name or path.name},
            computed_at=now,
        )
        for score in scores
    ]
    with transaction.atomic():
        MetricScore.objects.bulk_create(
            rows, AT_ONCE, update_conflicts=True, unique_fields=KEY, update_fields=TOLD
        )
    return dict(Counter(score.metric for score in scores))


def remove_scores(study: str, metric: str) -> int:
    """Delete what was imported for a study under a metric's name; how many."""
    own = MetricScore.objects.filter(origin=MetricScore.Origin.IMPORTED, given=study_mark(study))
    return own.filter(metric=metric).delete()[0]
