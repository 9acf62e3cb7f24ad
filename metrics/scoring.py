"""A study's stimuli scored and stored, resumed where it stopped: the only writer of MetricScore."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from metrics import runner
from metrics.base import Metric, Score, make_metric, registry
from metrics.models import MetricScore
from metrics.runner import Clip, ScoredClip

if TYPE_CHECKING:
    from listening.selectors import StimulusRow

log = logging.getLogger(__name__)

Report = Callable[[str, ScoredClip], None]  # told each new score with its metric's key


@dataclass
class Tally:
    """What one run did with one metric, in audio files."""

    metric: str
    stored: int = 0  # had their score before
    scored: int = 0  # got a value now
    undefined: int = 0  # got a reason instead: audio without a value
    failed: int = 0  # could not be read or broke; tried again next time


def score_study(
    study_slug: str,
    metric_keys: Collection[str] = (),
    device: str = "auto",
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    report: Report | None = None,
    threads: int = 1,
) -> list[Tally]:
    """Score every stimulus of a study with the metrics named (none named: with all there are)."""
    clips = study_clips(study_slug)
    given = parameters or {}
    metrics = [make_metric(key, given.get(key)) for key in metric_keys or registry()]
    place = runner.resolve_device(device)
    return [score_and_store(metric, clips, place, report, threads) for metric in metrics]


def study_clips(study_slug: str) -> list[Clip]:
    """The study's audio files, each once, however many stimuli share it."""
    from listening.selectors import stimulus_rows

    by_hash: dict[str, list[StimulusRow]] = {}
    for row in stimulus_rows(study_slug):
        by_hash.setdefault(row["sha256"], []).append(row)
    if not by_hash:
        raise ValueError(f"study {study_slug!r}: there is no such study, or it has no stimuli")
    return [
        Clip(rows[0]["path"], sha256, ", ".join(row["stimulus"] for row in rows))
        for sha256, rows in by_hash.items()
    ]


def score_and_store(
    metric: Metric,
    clips: Iterable[Clip],
    device: str,
    report: Report | None = None,
    threads: int = 1,
) -> Tally:
    """Score the clips that have no stored score yet; each score is stored as it comes."""
    wanted = list(clips)
    done = stored_hashes(metric, [clip.sha256 for clip in wanted])
    tally = Tally(metric.key, stored=len(done))
    provenance = runner.provenance(metric, device)
    todo = [clip for clip in wanted if clip.sha256 not in done]
    for scored in runner.score_clips(metric, todo, device, threads=threads):
        store(metric, scored, provenance)
        count(tally, scored.score)
        if report:
            report(metric.key, scored)
    log.info("%s", tally)
    return tally


def stored_hashes(metric: Metric, hashes: Collection[str]) -> set[str]:
    """Those of `hashes` whose score by this metric, version and parameters need not be redone."""
    found = MetricScore.objects.filter(
        metric=metric.key,
        version=metric.version,
        parameters=metric.parameters_dict(),
        sha256__in=hashes,
        failed=False,
    )
    return set(found.values_list("sha256", flat=True))


def store(metric: Metric, scored: ScoredClip, provenance: Mapping[str, Any]) -> None:
    """Add the score; one of an earlier run with the same key (a failed one) is replaced."""
    MetricScore.objects.update_or_create(
        sha256=scored.clip.sha256,
        metric=metric.key,
        version=metric.version,
        parameters=metric.parameters_dict(),
        defaults={
            "value": scored.score.value,
            "reason": scored.score.reason,
            "failed": scored.score.failed,
            "details": dict(scored.score.details),
            "provenance": dict(provenance),
            "computed_at": timezone.now(),
        },
    )


def count(tally: Tally, score: Score) -> None:
    """Add one score to the tally."""
    if score.failed:
        tally.failed += 1
    elif score.value is None:
        tally.undefined += 1
    else:
        tally.scored += 1
