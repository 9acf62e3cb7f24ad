"""The gain that brings a clip to the loudness that its study names, as both ears get it.

A study's `loudness_lufs` is applied once, to the served copies: when a study is created
(`listening.studies.creating`) and in previews; originals, metrics and exports stay as they came.
"""

from __future__ import annotations

from math import floor
from typing import Protocol

HIGHEST_PEAK_DBFS = -1.0  # after a gain


class Measured(Protocol):
    """What must be known of a clip, such as `listening.audio.Facts`."""

    @property
    def loudness_lufs(self) -> float | None: ...

    @property
    def peak_dbfs(self) -> float | None: ...


def gain_for(clip: Measured, target_lufs: float | None) -> float:
    """The gain in dB that brings a clip to the target, as far as its peak stays below -1 dBFS.

    0 where the study names no target, and for clips that are silent or too quiet to measure. A clip
    with high peaks stays softer than the target: limiting it would change how it sounds.
    """
    if target_lufs is None or clip.loudness_lufs is None or clip.peak_dbfs is None:
        return 0.0
    room_db = floor((HIGHEST_PEAK_DBFS - clip.peak_dbfs) * 100) / 100
    return min(round(target_lufs - clip.loudness_lufs, 2), room_db)
