"""Files made of a clip: the low-passed anchors of BS.1534, and clips that are clearly flawed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from listening.audio.spoiling import Wave, flawed, low_passed, read_wave, write_wave
from listening.design.anchors import ANCHORS


def write_made(source: Path, target: Path, way: str) -> None:
    """An anchor, or a flaw, of the source as FLAC; AudioError where it cannot be made."""
    wave, rate_hz = read_wave(source)
    made = low_passed(wave, rate_hz, ANCHORS[way]) if way in ANCHORS else flawed(wave, rate_hz, way)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part.flac")
    write_wave(part, made * _lowered(made), rate_hz)
    os.replace(part, target)


def _lowered(wave: Wave) -> float:
    """A filter may raise a peak beyond full scale; the gain that keeps it from being cut off."""
    peak = float(np.abs(wave).max(initial=0.0))
    return 0.999 / peak if peak > 0.999 else 1.0
