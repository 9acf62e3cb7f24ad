"""Scores that were computed elsewhere, stored with a study: all of a file, or none."""

from __future__ import annotations

from pathlib import Path

from django.db import transaction
from django.utils import timezone

from metrics.core.metric import outputs
from metrics.models import MetricScore
from metrics.scoring.imported_scores import (
    ImportedScore,
    ImportedScoreError,
    read_scores,
    read_sent_scores,
)
from metrics.scoring.selectors import study_mark
from metrics.scoring.study_scores import KEY, TOLD

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
    return counted(scores)


def counted(scores: list[ImportedScore]) -> dict[str, int]:
    """How many scores there are of each metric."""
    counts: dict[str, int] = {}
    for score in scores:
        counts[score.metric] = counts.get(score.metric, 0) + 1
    return counts


def remove_scores(study: str, metric: str) -> int:
    """Delete what was imported for a study under a metric's name; how many."""
    own = MetricScore.objects.filter(origin=MetricScore.Origin.IMPORTED, given=study_mark(study))
    return own.filter(metric=metric).delete()[0]
