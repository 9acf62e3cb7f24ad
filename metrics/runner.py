"""Length-sorted batches on one device, one metric at a time; a bad clip does not stop the rest."""

from __future__ import annotations

import contextlib
import importlib.metadata
import logging
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metrics import audio
from metrics.base import Metric, Score
from metrics.material import Material

log = logging.getLogger(__name__)

BATCH_S = {"cpu": 120.0, "cuda": 1800.0}  # seconds of audio read into memory at once


@dataclass(frozen=True)
class Clip:
    """An audio file, the SHA-256 of its bytes, and what people call it."""

    path: str
    sha256: str
    name: str = ""
    material: Material = field(default_factory=Material, hash=False)


@dataclass(frozen=True)
class ScoredClip:
    """A clip with what one metric said about it."""

    clip: Clip
    score: Score


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
    """Each clip's score as soon as it is known, unreadable clips first, then short to long.

    One thread by default: more gain little here, and on a machine that also serves raters the
    waiting threads of torch cost many times what they compute.
    """
    readable: list[tuple[float, Clip]] = []
    for clip in clips:
        try:
            readable.append((audio.duration_s(clip.path), clip))
        except audio.AudioError as error:
            yield ScoredClip(clip, failure(error))
    if not readable:
        return
    readable.sort(key=lambda pair: (pair[0], pair[1].sha256))
    with torch_threads(threads):
        metric.load(device)
        for batch in batches(readable, batch_s or BATCH_S[device]):
            yield from score_batch(metric, batch, device)


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


def batches(clips: Iterable[tuple[float, Clip]], batch_s: float) -> Iterator[list[Clip]]:
    """Neighbours together while their durations sum up to `batch_s` at most."""
    batch: list[Clip] = []
    total_s = 0.0
    for clip_s, clip in clips:
        if batch and total_s + clip_s > batch_s:
            yield batch
            batch, total_s = [], 0.0
        batch.append(clip)
        total_s += clip_s
    if batch:
        yield batch


def score_batch(metric: Metric, clips: list[Clip], device: str) -> Iterator[ScoredClip]:
    """The scores of one batch; when it breaks, each clip alone, to find the one to blame."""
    import torch

    loaded: list[tuple[Clip, torch.Tensor]] = []
    for clip in clips:
        try:
            audio.check_unchanged(clip.path, clip.sha256)
            wave = audio.load_wave(clip.path, metric.sample_rate_hz)
        except (audio.AudioError, MemoryError) as error:
            yield ScoredClip(clip, failure(error))
        else:
            loaded.append((clip, torch.from_numpy(wave).to(device)))
    try:
        waves = [wave for _, wave in loaded]
        scores = metric.measure(waves, [clip.material for clip, _ in loaded])
    except Exception:
        log.exception("%s: a batch of %d clips failed, trying each", metric.key, len(loaded))
        scores = [score_alone(metric, wave, clip.material) for clip, wave in loaded]
    for (clip, _), score in zip(loaded, scores, strict=True):
        yield ScoredClip(clip, score)


def score_alone(metric: Metric, wave: Any, material: Material) -> Score:
    """The score of one wave, or the error it raised as a failed score."""
    try:
        return metric.measure([wave], [material])[0]
    except Exception as error:
        return failure(error)


def failure(error: Exception) -> Score:
    """A score that says which error came; it is tried again in the next run."""
    if isinstance(error, audio.AudioError):
        return Score(None, str(error), failed=True)
    return Score(None, f"{type(error).__name__}: {error}", failed=True)


def provenance(metric: Metric, device: str) -> dict[str, Any]:
    """What the numbers were computed with: package versions, device, Python."""
    return {
        "packages": {name: importlib.metadata.version(name) for name in metric.packages},
        "device": device_name(device),
        "python": platform.python_version(),
        "sample_rate_hz": metric.sample_rate_hz,
    }


def device_name(device: str) -> str:
    """The device with its model, such as "cpu x86_64" or "cuda NVIDIA H200"."""
    import torch

    model = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return f"{device} {model}"


def clip_of(path: Path | str) -> Clip:
    """The clip of a file, hashed; an AudioError when it cannot be read."""
    return Clip(str(path), audio.file_sha256(path))
