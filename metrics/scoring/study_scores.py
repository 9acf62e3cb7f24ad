"""Scores of clips planned, computed and stored, resumed where they stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from listening.selectors import audio_is_remote, bring_audio
from metrics.core.metric import Metric, Score, canonical_parameters
from metrics.models import ClipFacts, MetricScore
from metrics.scoring import runner
from metrics.scoring.runner import Clip, ScoredBatch, ScoredClip, Work

KEY = ["sha256", "metric", "version", "parameters", "given", "origin"]
TOLD = ["value", "reason", "failed", "details", "warnings", "provenance", "computed_at"]

Report = Callable[[ScoredBatch], None]  # told each batch once it is stored


@dataclass
class Tally:
    """What one run did with one metric, in audio files."""

    metric: str
    stored: int = 0  # had their score before
    scored: int = 0  # got a value now
    undefined: int = 0  # got a reason instead: audio without a value
    failed: int = 0  # could not be read or broke; tried again next time

    def add(self, score: Score) -> None:
        """Count one more score."""
        if score.failed:
            self.failed += 1
        elif score.value is None:
            self.undefined += 1
        else:
            self.scored += 1


def score_and_store(
    work: Sequence[Work],
    stored: Mapping[int, int],
    metrics: Sequence[Metric],
    device: str,
    report: Report | None = None,
    threads: int = 1,
    metric_by_metric: bool = False,
) -> list[Tally]:
    """Score what `missing` found; each batch is stored, all outputs at once, as it comes."""
    tallies = [Tally(metric.key, stored[id(metric)]) for metric in metrics]
    by_settings = dict(zip(map(settings_of, metrics), tallies, strict=True))
    for portion in portions(work, bring_audio, audio_is_remote()):
        for batch in runner.score_work(
            portion, device, threads=threads, metric_by_metric=metric_by_metric
        ):
            store(batch, device)
            for each in batch.clips:
                by_settings[settings_of(batch.metric)].add(each.score)
            if report:
                report(batch)
    return tallies


def settings_of(metric: Metric) -> str:
    """The metric with its parameters as text: the same for equal ones."""
    return f"{metric.key} {canonical_parameters(metric.parameters_dict())}"


def missing(clips: Iterable[Clip], metrics: Sequence[Metric]) -> tuple[list[Work], Counter[int]]:
    """Each clip with the metrics that miss it; and how many files each metric (by id) has done.

    Of clips with equal audio and equal material, as a metric sees it, the first one stands for all.
    """
    wanted = list(clips)
    todo: dict[int, list[Metric]] = {}
    stored: Counter[int] = Counter()
    for metric in metrics:
        done = done_by(metric, {clip.sha256 for clip in wanted})
        seen = set()
        for place, clip in enumerate(wanted):
            key = (clip.sha256, clip.material.fingerprint(metric.needs))
            if key in seen:
                continue
            seen.add(key)
            if key in done:
                stored[id(metric)] += 1
            else:
                todo.setdefault(place, []).append(metric)
    return [(wanted[place], tuple(metrics)) for place, metrics in sorted(todo.items())], stored


def done_by(metric: Metric, hashes: Collection[str]) -> set[tuple[str, str]]:
    """The (sha256, given) of which every output is stored and none has failed."""
    keys = [output.key for output in metric.outputs()]
    counts: Counter[tuple[str, str]] = Counter()
    for scores in MetricScore.of_hashes(hashes):
        stored = scores.filter(
            metric__in=keys,
            version=metric.version,
            parameters=metric.parameters_dict(),
            origin=MetricScore.Origin.COMPUTED,
            failed=False,
        )
        counts.update(stored.values_list("sha256", "given"))
    return {key for key, count in counts.items() if count == len(keys)}


def store(batch: ScoredBatch, device: str) -> None:
    """Add a batch's scores, every output of a clip with it or none; earlier ones are replaced.

    With them what was measured of the files.
    """
    score_provenance = runner.provenance(batch.metric, device)
    facts = {each.clip.sha256: each.facts.plain() for each in batch.clips if each.facts}
    rows = [
        row for scored in batch.clips for row in rows_of(batch.metric, scored, score_provenance)
    ]
    with transaction.atomic():
        MetricScore.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=KEY, update_fields=TOLD
        )
        if facts:
            ClipFacts.objects.bulk_create(
                [ClipFacts(sha256=name, facts=facts[name]) for name in sorted(facts)],
                update_conflicts=True,
                unique_fields=["sha256"],
                update_fields=["facts"],
            )


def rows_of(
    metric: Metric, scored: ScoredClip, provenance: Mapping[str, Any]
) -> Iterable[MetricScore]:
    """One unsaved row per output of the metric."""
    fingerprint = scored.clip.material.fingerprint(metric.needs)
    for key, score in metric.by_output(scored.score).items():
        yield MetricScore(
            sha256=scored.clip.sha256,
            metric=key,
            version=metric.version,
            parameters=metric.parameters_dict(),
            given=fingerprint,
            origin=MetricScore.Origin.COMPUTED,
            value=score.value,
            reason=score.reason,
            failed=score.failed,
            details=dict(score.details),
            warnings=dict(score.warnings),
            provenance=dict(provenance),
            computed_at=timezone.now(),
        )


CLIPS = 200  # of a portion; at most twice as many are fetched and not scored yet

Bring = Callable[[Iterable[str]], int]  # has paths hold their files


def portions(work: Sequence[Work], bring: Bring, remote: bool) -> Iterator[Sequence[Work]]:
    """All of the work at once where audio is at hand; else portions, each when it was fetched.

    While one is scored the next is fetched, and no more: a worker neither fills its disk nor
    waits for its clips.
    """
    if not remote:
        yield work
        return
    parts = [work[start : start + CLIPS] for start in range(0, len(work), CLIPS)]
    with ThreadPoolExecutor(1, "portions") as pool:
        coming = [pool.submit(bring, files_to_read(part)) for part in parts[:1]]
        for place, part in enumerate(parts):
            coming.pop().result()
            if place + 1 < len(parts):
                coming.append(pool.submit(bring, files_to_read(parts[place + 1])))
            yield part


def files_to_read(work: Iterable[Work]) -> list[str]:
    """The files that the work reads: clips, reference voices, recordings of the same words."""
    clips = [clip for clip, _ in work]
    known = [clip.material for clip in clips]
    others = [path for m in known for path in (m.reference_path, m.reference_audio_path) if path]
    return [*(clip.path for clip in clips), *others]
