"""Score clips in length-sorted batches: a clip is read once for all metrics that still miss it."""

from __future__ import annotations

import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from config.missing_packages import remedy
from metrics.core import decoding, input_warnings, precision, wave_memory
from metrics.core.audio_facts import AudioFacts, remember_facts
from metrics.core.decoding import DecodedFile
from metrics.core.devices import OUT_OF_MEMORY, empty_cache, is_out_of_memory, kind
from metrics.core.devices import resolve_device as resolve_device
from metrics.core.devices import torch_threads as torch_threads
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, Metric, Score, canonical_parameters
from metrics.core.weights import Unavailable
from metrics.scoring.provenance import provenance as provenance
from metrics.signal import speech

log = logging.getLogger(__name__)


# Seconds of audio in a batch, as long as its longest each. On a GPU the next one is read meanwhile.
BATCH_S = {"cpu": 120.0, "cuda": 600.0}
_LOADED: dict[tuple[type[Metric], str, str], Metric] = {}  # models stay for the process


@dataclass(frozen=True)
class Clip:
    """An audio file, the SHA-256 of its bytes, what people call it, and what is known of it."""

    path: str
    sha256: str
    name: str = ""
    material: Material = field(default_factory=Material, hash=False)
    fresh: bool = False  # hashed just now: it is not hashed again before it is read


@dataclass(frozen=True)
class ScoredClip:
    """A clip with what one metric said about it."""

    clip: Clip
    score: Score
    facts: AudioFacts | None = None  # None: it could not be read, or was not
    unread: bool = False  # the file is at fault: the score is the same of every metric


@dataclass(frozen=True)
class ScoredBatch:
    """What one metric (loaded, where it could be) said of some clips."""

    metric: Metric
    clips: list[ScoredClip]


Work = tuple[Clip, Sequence[Metric]]  # a clip with the metrics that it misses
Missing = dict[int, Score]  # why a metric, by its id, has no weights or package


def clip_from_file(path: Path | str, material: Material | None = None) -> Clip:
    """The clip of a file, hashed now; an AudioError when it cannot be read."""
    return Clip(str(path), decoding.file_sha256(path), "", material or Material(), fresh=True)


def failure(error: Exception) -> Score:
    """A score that says which error came; it is tried again in the next run."""
    if isinstance(error, decoding.AudioError | Unavailable):
        return Score(None, str(error), failed=True)
    if is_out_of_memory(error):
        return Score(None, OUT_OF_MEMORY, failed=True)
    return Score(None, f"{type(error).__name__}: {error}", failed=True)


Read = DecodedFile | Score  # a clip's waves with its facts, or why there are none
MOST_READERS = 12  # threads that decode for a GPU, and let go of Python's lock meanwhile
GROUPS_AHEAD = 2


def read_failure(clip: Clip, error: Exception) -> Score:
    """The failed score of a clip that cannot be read; a fault of the reader is logged, too."""
    if not isinstance(error, decoding.AudioError | MemoryError):
        log.error("%s could not be read", clip.path, exc_info=error)
    return failure(error)


def sort_by_length(
    work: Iterable[Work],
) -> tuple[list[tuple[float, Work]], list[tuple[Work, Score]]]:
    """The work with durations in seconds, short to long; and what cannot be read, with why."""
    sized, unread = [], []
    for each in work:
        try:
            sized.append((decoding.duration_s(each[0].path), each))
        except Exception as error:
            unread.append((each, read_failure(each[0], error)))
    return sorted(sized, key=lambda pair: (pair[0], pair[1][0].sha256)), unread


def batches(sized: Iterable[tuple[float, Work]], batch_s: float) -> Iterator[list[Work]]:
    """Neighbours together while their number times the longest is `batch_s` at most."""
    batch: list[Work] = []
    for clip_s, work in sized:  # from short to long
        if batch and (len(batch) + 1) * clip_s > batch_s:
            yield batch
            batch = []
        batch.append(work)
    if batch:
        yield batch


def read_clip(work: Work) -> Read:
    """A clip's waves at the rates that its metrics want, or the failed score of its file."""
    clip, metrics = work
    try:
        if not clip.fresh:
            decoding.check_unchanged(clip.path, clip.sha256)
        loudness = any(metric.accepts.whole_file for metric in metrics)
        return decoding.decode(clip.path, {m.sample_rate_hz for m in metrics}, loudness)
    except Exception as error:
        return read_failure(clip, error)


def readers() -> int:
    """Return how many threads decode: most of this process' processors, two at least."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(2, min(MOST_READERS, (there or 2) - 2))


@contextlib.contextmanager
def reading(
    groups: Iterable[list[Work]], ahead: bool
) -> Iterator[Iterator[tuple[list[Work], list[Read]]]]:
    """Each batch with its audio; with `ahead`, threads read the next batches meanwhile."""
    if not ahead:
        yield ((group, [read_clip(work) for work in group]) for group in groups)
        return
    with ThreadPoolExecutor(readers(), "read-ahead") as pool:
        try:
            yield _ahead(groups, lambda work: pool.submit(read_clip, work))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _ahead(
    groups: Iterable[list[Work]], submit: Callable[[Work], Future[Read]]
) -> Iterator[tuple[list[Work], list[Read]]]:
    coming: deque[tuple[list[Work], list[Future[Read]]]] = deque()
    for group in groups:
        coming.append((group, [submit(work) for work in group]))
        if len(coming) >= GROUPS_AHEAD:
            yield _next(coming)
    while coming:
        yield _next(coming)


def _next(
    coming: deque[tuple[list[Work], list[Future[Read]]]],
) -> tuple[list[Work], list[Read]]:
    group, futures = coming.popleft()
    return group, [future.result() for future in futures]


def score_clips(
    metric: Metric,
    clips: Iterable[Clip],
    device: str,
    batch_s: float | None = None,
    threads: int = 1,
) -> Iterator[ScoredClip]:
    """One metric's score of each clip as soon as it is known; see `score_work`."""
    work = [(clip, (metric,)) for clip in clips]
    for batch in score_work(work, device, batch_s=batch_s, threads=threads):
        yield from batch.clips


def score_work(
    work: Iterable[Work],
    device: str,
    batch_s: float | None = None,
    threads: int = 1,
    ahead: bool | None = None,
    metric_by_metric: bool = False,
    missing: Missing | None = None,
) -> Iterator[ScoredBatch]:
    """The scores of each batch by each metric as they come; unreadable clips first, then by length.

    A clip is decoded once, resampled once per rate, and scored by all metrics that it misses.
    ``batch_s``: seconds of audio in memory at once, at every rate that is wanted (default by
    device). ``threads``: of torch; more than one gains little here, and on a machine that also
    serves raters the waiting threads cost many times what they compute. ``ahead``: threads read
    the next batch while this one is scored (default: on a GPU), which doubles the audio in memory.
    ``metric_by_metric``: one model in memory at a time, and every clip decoded once per metric.
    A model that finds no room beside the others has its turn after them, alone. ``missing``: shared
    by calls that belong together, which look once for a model that is not there.
    """
    wanted = [(clip, tuple(metrics)) for clip, metrics in work if metrics]
    if not wanted:
        return
    size = batch_s or BATCH_S[kind(device)]
    early = kind(device) == "cuda" if ahead is None else ahead
    crowded: list[Metric] = []
    with torch_threads(threads):
        if not metric_by_metric:
            yield from _together(wanted, device, size, early, crowded, missing)
        alone = {id(m): m for _, ms in wanted for m in ms} if metric_by_metric else None
        for metric in crowded if alone is None else alone.values():
            forget_models()
            empty_cache(device)
            own = [(clip, (metric,)) for clip, ms in wanted if any(m is metric for m in ms)]
            yield from _together(own, device, size, early, None, missing)


def _together(
    wanted: Sequence[tuple[Clip, Sequence[Metric]]],
    device: str,
    batch_s: float,
    ahead: bool,
    crowded: list[Metric] | None,
    missing: Missing | None,
) -> Iterator[ScoredBatch]:
    """The work with all its models loaded; ``crowded`` takes those that found no room."""
    ready, broken = load_all({id(m): m for _, ms in wanted for m in ms}, device, missing)
    for metric, failed in broken:
        if crowded is not None and ready and failed.reason == OUT_OF_MEMORY:
            log.warning(
                "%s does not fit into memory with the others: it is scored after them", metric.key
            )
            crowded.append(metric)
            continue
        hit = [clip for clip, metrics in wanted if any(m is metric for m in metrics)]
        yield ScoredBatch(metric, [ScoredClip(clip, failed) for clip in hit])
    there = [(clip, tuple(ready[id(m)] for m in ms if id(m) in ready)) for clip, ms in wanted]
    sized, unread = sort_by_length([(clip, metrics) for clip, metrics in there if metrics])
    yield from unread_by_metric(unread)
    with reading(batches(sized, batch_s), ahead) as groups:
        for group, read in groups:
            yield from score_group(group, read, device)


def load_all(
    metrics: dict[int, Metric], device: str, missing: Missing | None = None
) -> tuple[dict[int, Metric], list[tuple[Metric, Score]]]:
    """Every metric made ready, by its id; and those that cannot be, with the failed score to give.

    A metric that this process has loaded before (same parameters, same device) is used again.
    """
    ready, broken = {}, []
    missing = {} if missing is None else missing
    for name, metric in metrics.items():
        if name in missing:
            broken.append((metric, missing[name]))
            continue
        key = (type(metric), canonical_parameters(metric.parameters_dict()), device)
        if key not in _LOADED:
            try:
                if reason := precision.unsupported_reason(metric.arithmetic, device):
                    log.warning("%s runs in float32: %s", metric.key, reason)
                metric.load(device)
            except Exception as error:
                failed = load_failure(metric, error)
                if isinstance(error, Unavailable | ImportError):
                    missing[name] = failed
                else:
                    log.exception("%s could not be loaded", metric.key)
                broken.append((metric, failed))
                continue
            _LOADED[key] = metric
        ready[name] = _LOADED[key]
    return ready, broken


def forget_models() -> None:
    """Let go of every model that this process holds."""
    _LOADED.clear()
    speech.load_detector.cache_clear()


def load_failure(metric: Metric, error: Exception) -> Score:
    """The failed score of every clip of a metric that cannot be loaded."""
    if isinstance(error, Unavailable):
        reason = str(error)
    elif isinstance(error, ImportError):
        what = remedy(error) or f"install what docs/metrics.md names for {metric.key}"
        reason = f"no package: {error}; {what}"
    elif is_out_of_memory(error):
        reason = OUT_OF_MEMORY
    else:
        reason = f"{metric.key} could not be loaded ({type(error).__name__}: {error})"
    return Score(None, reason, failed=True)


def unread_by_metric(unread: Iterable[tuple[Work, Score]]) -> Iterator[ScoredBatch]:
    """The same score of an unreadable clip by each of its metrics, a batch per metric."""
    by_metric_id: dict[int, ScoredBatch] = {}
    for (clip, metrics), score in unread:
        for metric in metrics:
            batch = by_metric_id.setdefault(id(metric), ScoredBatch(metric, []))
            batch.clips.append(ScoredClip(clip, score, unread=True))
    yield from by_metric_id.values()


def score_group(group: list[Work], read: list[Read], device: str) -> Iterator[ScoredBatch]:
    """The scores of one batch of clips, metric by metric; first of those that cannot be read.

    Each wave is brought to the device once, and is the same tensor for every metric, so that
    they share what they know of it (`shared`).
    """
    usable = [(w, r) for w, r in zip(group, read, strict=True) if not isinstance(r, Score)]
    yield from unread_by_metric(
        (w, r) for w, r in zip(group, read, strict=True) if isinstance(r, Score)
    )
    waves = [{rate: on_device(wave, device) for rate, wave in r.waves.items()} for _, r in usable]
    for (_, decoded), own in zip(usable, waves, strict=True):
        for wave in own.values():
            remember_facts(wave, decoded.facts)
    for metric in {id(m): m for (_, metrics), _ in usable for m in metrics}.values():
        mine = [
            (clip, own[metric.sample_rate_hz], decoded.facts)
            for ((clip, metrics), decoded), own in zip(usable, waves, strict=True)
            if any(m is metric for m in metrics)
        ]
        scores = score_batch(metric, [(clip, wave) for clip, wave, _ in mine], device)
        yield ScoredBatch(
            metric,
            [
                ScoredClip(
                    clip, input_warnings.add_input_warnings(score, facts, metric.accepts), facts
                )
                for (clip, _, facts), score in zip(mine, scores, strict=True)
            ],
        )
    for own in waves:
        wave_memory.forget(list(own.values()))


def on_device(wave: object, device: str) -> torch.Tensor:
    """A wave as a tensor on the device; to a GPU it goes from pinned memory, without waiting."""
    tensor: torch.Tensor = torch.from_numpy(wave)
    if kind(device) == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor


def score_batch(
    metric: Metric, clips: Sequence[tuple[Clip, torch.Tensor]], device: str
) -> list[Score]:
    """A score per clip; a batch too large for the memory is halved, a broken one taken apart."""
    try:
        return measure_clips(metric, clips)
    except Exception as error:
        if len(clips) == 1:
            return [failure(error)]
        memory = is_out_of_memory(error)
        if not memory and not isinstance(error, Unavailable):  # that is a sentence, not a fault
            log.exception("%s: a batch of %d clips failed, trying each", metric.key, len(clips))
    if not memory:
        return [score for clip in clips for score in score_batch(metric, [clip], device)]
    empty_cache(device)
    log.warning("%s: out of memory with %d clips, trying halves", metric.key, len(clips))
    half = len(clips) // 2
    parts = clips[:half], clips[half:]
    return [score for part in parts for score in score_batch(metric, part, device)]


def measure_clips(metric: Metric, clips: Sequence[tuple[Clip, torch.Tensor]]) -> list[Score]:
    """What the metric says of the clips, their waves being on its device."""
    return metric.measure([wave for _, wave in clips], [clip.material for clip, _ in clips])
