"""Integrated loudness (ITU-R BS.1770-4) at the ears, and the gain that brings it to a target.

A mono clip is played on both ears, so that its loudness is that of the same samples in two
channels: 3.01 LU above what a meter says of the file.

A study's `loudness_lufs` is applied once, to the served copies: when a study is created
(`listening.studies.creating`) and in previews; originals, metrics and exports stay as they came.
"""

from __future__ import annotations

from functools import cache
from math import floor, log10, sqrt
from typing import Protocol

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float64]

HOPS_PER_SECOND = 10  # gating blocks of 400 ms start every 100 ms
HOPS_PER_BLOCK = 4
OFFSET_LU = -0.691
ABSOLUTE_GATE_LUFS = -70.0
RELATIVE_GATE_LU = -10.0
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


class LoudnessMeter:
    """The numbers of `pyloudnorm.Meter`, with memory that does not grow with the clip's length.

    One channel counts twice, as both ears get it.
    """

    def __init__(self, rate_hz: int, channels: int) -> None:
        self.sections = _k_weighting(rate_hz)
        self.state = np.zeros((len(self.sections), 2, channels))
        self.rate_hz = rate_hz
        self.frames = 0
        self.ears = 2 if channels == 1 else 1  # that get each channel
        self.hops: list[float] = []  # K-weighted energy of each 100 ms, over all channels

    def add(self, block: Samples) -> None:
        """Filters (frames, channels) and adds up their energy hop by hop."""
        from scipy.signal import sosfilt

        block, state = sosfilt(self.sections, block, axis=0, zi=self.state)
        self.state = np.where(np.abs(state) < 1e-30, 0.0, state)  # denormals are slow
        energy = self.ears * np.einsum("tc,tc->t", block, block)
        new_hops = self._hops_starting_before(self.frames + len(energy))
        rest = energy[: new_hops[0]] if new_hops else energy
        if len(rest):
            self.hops[-1] += float(rest.sum())
        if new_hops:
            self.hops.extend(np.add.reduceat(energy, new_hops).tolist())
        self.frames += len(energy)

    def _hops_starting_before(self, stop: int) -> list[int]:
        """Where, counted from the frames heard so far, the next hops begin."""
        starts = []
        hop = len(self.hops)
        while (start := hop * self.rate_hz // HOPS_PER_SECOND) < stop:
            starts.append(start - self.frames)
            hop += 1
        return starts

    def integrated_lufs(self) -> float | None:
        """Gated loudness; a clip under 400 ms is one ungated block; None when all is too quiet."""
        powers = self._block_powers()
        audible = powers[_lufs(powers) >= ABSOLUTE_GATE_LUFS]
        if not len(audible):
            return None
        gate = float(_lufs(audible.mean(keepdims=True))[0]) + RELATIVE_GATE_LU
        loud = audible[_lufs(audible) > gate]
        return OFFSET_LU + 10 * log10(float(loud.mean()))

    def _block_powers(self) -> Samples:
        duration_s = self.frames / self.rate_hz
        block_s = HOPS_PER_BLOCK / HOPS_PER_SECOND
        if duration_s < block_s:
            return np.array([sum(self.hops) / max(self.frames, 1)])
        count = round((duration_s - block_s) * HOPS_PER_SECOND) + 1
        energy = np.zeros(count + HOPS_PER_BLOCK - 1)
        known = min(len(energy), len(self.hops))
        energy[:known] = self.hops[:known]
        sums = np.convolve(energy, np.ones(HOPS_PER_BLOCK), mode="valid")
        return np.asarray(sums / (block_s * self.rate_hz))


@cache
def _k_weighting(rate_hz: int) -> Samples:
    """The filters of BS.1770 as second-order sections; thousands of clips have one rate."""
    from pyloudnorm import IIRfilter  # brings scipy along, which pages do not need

    stages = (
        IIRfilter(4.0, 1 / sqrt(2), 1500.0, rate_hz, "high_shelf"),
        IIRfilter(0.0, 0.5, 38.0, rate_hz, "high_pass"),
    )
    return np.array([[*stage.b, *stage.a] for stage in stages])


def _lufs(power: Samples) -> Samples:
    with np.errstate(divide="ignore"):
        return np.asarray(OFFSET_LU + 10 * np.log10(power))
