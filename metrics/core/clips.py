"""Clips that are scored, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metrics.core import decoding
from metrics.core.audio_facts import AudioFacts
from metrics.core.devices import OUT_OF_MEMORY, is_out_of_memory
from metrics.core.material import Material
from metrics.core.metric import Metric, Score
from metrics.core.weights import Unavailable


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


def clip_of(path: Path | str, material: Material | None = None) -> Clip:
    """The clip of a file, hashed now; an AudioError when it cannot be read."""
    return Clip(str(path), decoding.file_sha256(path), "", material or Material(), fresh=True)


def failure(error: Exception) -> Score:
    """A score that says which error came; it is tried again in the next run."""
    if isinstance(error, decoding.AudioError | Unavailable):
        return Score(None, str(error), failed=True)
    if is_out_of_memory(error):
        return Score(None, OUT_OF_MEMORY, failed=True)
    return Score(None, f"{type(error).__name__}: {error}", failed=True)
