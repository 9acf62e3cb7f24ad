"""Speech of any length, made of the demo's clips by random gain, cut and order."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from metrics.scoring.runner import Clip

ROOT = Path(__file__).resolve().parent.parent.parent
DEMO = ROOT / "demo" / "audio"
LONG = ROOT / "tests" / "data" / "metrics" / "audio" / "long_same-human.flac"
SHORTEST_S, LONGEST_S = 2.0, 12.0
VOICES = 20  # that serve as reference voices
TEXT = "he was not an ill disposed young man unless to be rather cold hearted is to be ill disposed"


def write_speech(folder: Path, seconds: float, seed: int = 34) -> list[Clip]:
    """Write FLAC files of 2 to 12 s at the demo's rates, ``seconds`` together; return their clips.

    No two are equal. Each has a text, a reference voice and what else a metric may ask for. Files
    that are there already are not written again.
    """
    import soundfile

    from metrics.core.metric import Material
    from metrics.scoring.runner import clip_from_file

    draw = np.random.default_rng(seed)
    paths = [*sorted(DEMO.glob("*.flac")), LONG]
    sources = [soundfile.read(path, dtype="float32") for path in paths]
    folder.mkdir(parents=True, exist_ok=True)
    clips: list[Clip] = []
    written_s = 0.0
    while written_s < seconds:
        samples, rate = sources[int(draw.integers(len(sources)))]
        samples = samples if samples.ndim == 1 else samples[:, 0]
        size = min(len(samples), round(rate * draw.uniform(SHORTEST_S, LONGEST_S)))
        start = int(draw.integers(0, len(samples) - size + 1))
        gain = 10 ** (draw.uniform(-12, 0) / 20)
        path = folder / f"{len(clips):05d}.flac"
        if not path.exists():
            soundfile.write(path, samples[start : start + size] * gain, rate, subtype="PCM_16")
        voice = clips[len(clips) % VOICES].path if len(clips) > VOICES else str(path)
        attributes = {"caption": "a calm reader", "synthesis_s": "2.5", "emotion": "neutral"}
        known = Material(
            TEXT, "en", reference_path=voice, reference_audio_path=voice, attributes=attributes
        )
        clips.append(clip_from_file(path, known))
        written_s += size / rate
    return clips


def seconds_of(clips: list[Clip]) -> float:
    """Return how long the clips are together, in seconds."""
    from metrics.core import decoding

    return math.fsum(decoding.duration_s(clip.path) for clip in clips)
