"""Length-sorted batches on one device: a clip is read once for all metrics that still miss it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from config.missing import remedy
from metrics import audio
from metrics.audio import Wave
from metrics.material import Material
from metrics.metric import Metric, Score, canonical_json
from metrics.provenance import provenance as provenance
from metrics.weights import Unavailable

log = logging.getLogger(__name__)

BATCH_S = {"cpu": 120.0, "cuda": 1800.0}  # seconds of audio in a batch, as long as its longest each
OUT_OF_MEMORY = "out of memory"

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


@dataclass(frozen=True)
class ScoredBatch:
    """What one metric (loaded, where it could be) said of some clips."""

    metric: Metric
    clips: list[ScoredClip]


Work = tuple[Clip, Sequence[Metric]]  # a clip with the metrics that it misses
Read = dict[int, Wave] | Score  # a clip's wave at each rate, or why there is none


def resolve_device(wanted: str) -> str:
    """The device to use for "auto", "cpu" or "cuda"; a ValueError when it is not there."""
    import torch

    if wanted not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device {wanted!r} is not known; choose auto, cpu or cuda")
    if wanted == "cuda" and not torch.cuda.is_available():
        raise ValueError("device cuda was asked for, but torch finds no GPU; use cpu or auto")
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return wanted


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
) -> Iterator[ScoredBatch]:
    """The scores of each batch by each metric as they come; unreadable clips first, then by length.

    A clip is decoded once, resampled once per rate, and scored by all metrics that it misses.
    ``batch_s``: seconds of audio in memory at once, at every rate that is wanted (default by
    device). ``threads``: of torch; more than one gains little here, and on a machine that also
    serves raters the waiting threads cost many times what they compute. ``ahead``: a thread reads
    the next batch while this one is scored (default: on a GPU), which doubles the audio in memory.
    """
    wanted = [(clip, tuple(metrics)) for clip, metrics in work if metrics]
    if not wanted:
        return
    with torch_threads(threads):
        ready, broken = load_all({id(m): m for _, ms in wanted for m in ms}, device)
        for metric, failed in broken:
            hit = [clip for clip, metrics in wanted if any(m is metric for m in metrics)]
            yield ScoredBatch(metric, [ScoredClip(clip, failed) for clip in hit])
        wanted = [(clip, tuple(ready[id(m)] for m in ms if id(m) in ready)) for clip, ms in wanted]
        sized, unread = by_length([(clip, metrics) for clip, metrics in wanted if metrics])
        yield from by_metric(unread)
        groups = batches(sized, batch_s or BATCH_S[device])
        with read_ahead(groups, device == "cuda" if ahead is None else ahead) as reading:
            for group, waves in reading:
                yield from score_group(group, waves, device)


def load_all(
    metrics: dict[int, Metric], device: str
) -> tuple[dict[int, Metric], list[tuple[Metric, Score]]]:
    """Every metric made ready, by its id; and those that cannot be, with the failed score to give.

    A metric that this process has loaded before (same parameters, same device) is used again.
    """
    ready, broken = {}, []
    for name, metric in metrics.items():
        key = (type(metric), canonical_json(metric.parameters_dict()), device)
        if key not in _LOADED:
            try:
                metric.load(device)
            except Exception as error:
                if not isinstance(error, Unavailable | ImportError):
                    log.exception("%s could not be loaded", metric.key)
                broken.append((metric, load_failure(metric, error)))
                continue
            _LOADED[key] = metric
        ready[name] = _LOADED[key]
    return ready, broken


def forget_models() -> None:
    """Let go of every model that this process holds."""
    _LOADED.clear()


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


@contextlib.contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Let torch compute with this many threads, and afterwards with as many as before."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def by_length(work: Iterable[Work]) -> tuple[list[tuple[float, Work]], list[tuple[Work, Score]]]:
    """The work with durations in seconds, short to long; and what cannot be read, with why."""
    sized, unread = [], []
    for each in work:
        try:
            sized.append((audio.duration_s(each[0].path), each))
        except audio.AudioError as error:
            unread.append((each, failure(error)))
    return sorted(sized, key=lambda pair: (pair[0], pair[1][0].sha256)), unread


def by_metric(scored: Iterable[tuple[Work, Score]]) -> Iterator[ScoredBatch]:
    """The same score of a clip by each of its metrics, a batch per metric."""
    by_metric_id: dict[int, ScoredBatch] = {}
    for (clip, metrics), score in scored:
        for metric in metrics:
            batch = by_metric_id.setdefault(id(metric), ScoredBatch(metric, []))
            batch.clips.append(ScoredClip(clip, score))
    yield from by_metric_id.values()


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


@contextlib.contextmanager
def read_ahead(
    groups: Iterator[list[Work]], ahead: bool
) -> Iterator[Iterator[tuple[list[Work], list[Read]]]]:
    """Each batch with its audio; with `ahead`, the next one is read in a thread meanwhile."""
    if not ahead:
        yield ((group, read_group(group)) for group in groups)
        return
    with ThreadPoolExecutor(1, "read-ahead") as reader:
        yield _one_ahead(groups, lambda group: reader.submit(read_group, group))


def _one_ahead(
    groups: Iterator[list[Work]], submit: Callable[[list[Work]], Future[list[Read]]]
) -> Iterator[tuple[list[Work], list[Read]]]:
    before: tuple[list[Work], Future[list[Read]]] | None = None
    for group in groups:
        coming = (group, submit(group))
        if before is not None:
            yield before[0], before[1].result()
        before = coming
    if before is not None:
        yield before[0], before[1].result()


def read_group(group: Iterable[Work]) -> list[Read]:
    """Each clip's waves at the rates that its metrics want, or the failed score of its file."""
    reads: list[Read] = []
    for clip, metrics in group:
        try:
            if not clip.fresh:
                audio.check_unchanged(clip.path, clip.sha256)
            reads.append(audio.load_waves(clip.path, {m.sample_rate_hz for m in metrics}))
        except (audio.AudioError, MemoryError) as error:
            reads.append(failure(error))
    return reads


def score_group(group: list[Work], read: list[Read], device: str) -> Iterator[ScoredBatch]:
    """The scores of one batch of clips, metric by metric; first of those that cannot be read."""
    usable: list[tuple[Work, dict[int, Wave]]] = []
    unread: list[tuple[Work, Score]] = []
    for work, waves in zip(group, read, strict=True):
        if isinstance(waves, Score):
            unread.append((work, waves))
        else:
            usable.append((work, waves))
    yield from by_metric(unread)
    for metric in {id(m): m for (_, metrics), _ in usable for m in metrics}.values():
        rate = metric.sample_rate_hz
        mine = [
            (clip, waves[rate])
            for (clip, metrics), waves in usable
            if any(m is metric for m in metrics)
        ]
        scores = score_batch(metric, mine, device)
        clips = [clip for clip, _ in mine]
        yield ScoredBatch(
            metric, [ScoredClip(clip, score) for clip, score in zip(clips, scores, strict=True)]
        )


def score_batch(metric: Metric, clips: list[tuple[Clip, Wave]], device: str) -> list[Score]:
    """A score per clip; a batch too large for the memory is halved, a broken one taken apart."""
    try:
        return measured(metric, clips, device)
    except Exception as error:
        if len(clips) == 1:
            return [failure(error)]
        memory = is_out_of_memory(error)
        if not memory:
            log.exception("%s: a batch of %d clips failed, trying each", metric.key, len(clips))
    if not memory:
        return [score for clip in clips for score in score_batch(metric, [clip], device)]
    empty_cache(device)
    log.warning("%s: out of memory with %d clips, trying halves", metric.key, len(clips))
    half = len(clips) // 2
    parts = clips[:half], clips[half:]
    return [score for part in parts for score in score_batch(metric, part, device)]


def measured(metric: Metric, clips: list[tuple[Clip, Wave]], device: str) -> list[Score]:
    """What the metric says of the clips, their waves brought to the device."""
    import torch

    waves = [torch.from_numpy(wave).to(device) for _, wave in clips]
    return metric.measure(waves, [clip.material for clip, _ in clips])


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the device or the machine had no memory left, whichever library says so."""
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    said = str(error).lower()
    return "out of memory" in said or "failed to allocate memory" in said


def empty_cache(device: str) -> None:
    """Give back the memory of the device that torch holds without need."""
    import torch

    if device == "cuda":
        torch.cuda.empty_cache()


def failure(error: Exception) -> Score:
    """A score that says which error came; it is tried again in the next run."""
    if isinstance(error, audio.AudioError | Unavailable):
        return Score(None, str(error), failed=True)
    if is_out_of_memory(error):
        return Score(None, OUT_OF_MEMORY, failed=True)
    return Score(None, f"{type(error).__name__}: {error}", failed=True)


def clip_of(path: Path | str, material: Material | None = None) -> Clip:
    """The clip of a file, hashed now; an AudioError when it cannot be read."""
    return Clip(str(path), audio.file_sha256(path), "", material or Material(), fresh=True)
