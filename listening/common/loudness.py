"""Integrated loudness of sound, ITU-R BS.1770-4: the one meter of imports, exports and metrics."""

from __future__ import annotations

from functools import cache
from math import log10, sqrt

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float64]

HOPS_PER_SECOND = 10  # gating blocks of 400 ms start every 100 ms
HOPS_PER_BLOCK = 4
OFFSET_LU = -0.691
ABSOLUTE_GATE_LUFS = -70.0
RELATIVE_GATE_LU = -10.0
SURROUND = 1.41  # weight of a channel at the side or behind
SHELF_HZ = 1500.0  # of the K-weighting
LEAST_RATE_HZ = 4_000  # the shelf needs more than twice its frequency
AT_ONCE = 1 << 16  # frames that are filtered at once: more do not fit into a processor's cache


class LoudnessMeter:
    """The numbers of `pyloudnorm.Meter`, in memory that does not grow with the clip's length.

    pyloudnorm takes up to five channels; from six on, channels are those of 5.1, 6.1 and 7.1.
    With ``at_ears`` a single channel counts twice, as it is played on both ears: +3.01 LU.
    """

    def __init__(self, rate_hz: int, channels: int, *, at_ears: bool = False) -> None:
        self.sections = _k_weighting(rate_hz)
        self.state = np.zeros((len(self.sections), 2, channels))
        self.weights = channel_weights(channels) * (2 if at_ears and channels == 1 else 1)
        self.rate_hz = rate_hz
        self.frames = 0
        self.hops: list[float] = []  # K-weighted energy of each 100 ms, over all channels

    def add(self, block: npt.NDArray[np.floating]) -> None:
        """Filter samples (frames, channels) and add up their energy hop by hop."""
        for start in range(0, len(block), AT_ONCE):
            self._add(np.asarray(block[start : start + AT_ONCE], np.float64))

    def _add(self, block: Samples) -> None:
        from scipy.signal import sosfilt

        block, state = sosfilt(self.sections, block, axis=0, zi=self.state)
        self.state = np.where(np.abs(state) < 1e-30, 0.0, state)  # denormals are slow
        energy = np.square(block) @ self.weights
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
        """Return the gated loudness in LUFS; None when all is below -70 LUFS.

        A clip under 400 ms is one block without a gate.
        """
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


def channel_weights(channels: int) -> npt.NDArray[np.float64]:
    """Return the weight of each channel, (channels,), in the order of WAV files.

    BS.1770-4, Table 3: left, right and centre count 1, those at the sides and behind 1.41, the
    low-frequency channel of 5.1, 6.1 and 7.1 nothing. Of more than eight channels none is known to
    be a loudspeaker: each counts 1.
    """
    front = [1.0, 1.0, 1.0]
    if 6 <= channels <= 8:
        return np.array([*front, 0.0] + [SURROUND] * (channels - 4))
    return np.array((front + [SURROUND] * 2)[:channels] if channels <= 5 else [1.0] * channels)


@cache
def _k_weighting(rate_hz: int) -> Samples:
    """The filters of BS.1770 as second-order sections; thousands of clips have one rate."""
    from pyloudnorm import IIRfilter  # brings scipy along, which pages do not need

    stages = (
        IIRfilter(4.0, 1 / sqrt(2), SHELF_HZ, rate_hz, "high_shelf"),
        IIRfilter(0.0, 0.5, 38.0, rate_hz, "high_pass"),
    )
    return np.array([[*stage.b, *stage.a] for stage in stages])


def _lufs(power: Samples) -> Samples:
    with np.errstate(divide="ignore"):
        return np.asarray(OFFSET_LU + 10 * np.log10(power))
