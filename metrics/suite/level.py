"""How loud a clip is: loudness, root mean square, peak, and how far it swings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from metrics.metric import Accepts, Metric, Output, Score, undefined
from metrics.sharing import Input, Sharing
from metrics.voices import silent

if TYPE_CHECKING:
    import torch

BLOCK_S = 0.4  # of the loudness gate
FRAME_S = 0.025


class Level(Metric):
    """Levels of the whole clip; nothing is normalised before."""

    key = "loudness_lufs"
    version = "1"
    description = "Integrated loudness of the clip"
    title = "Loudness"
    source = "ITU-R BS.1770-4 (package pyloudnorm); levels beside 0 dBFS, a full-scale square wave"
    unit = "LUFS"
    sharing = Sharing(Input.ALONE, 0.0, "no network")
    accepts = Accepts(shortest_s=BLOCK_S)
    more_outputs = (
        Output("rms_dbfs", "Root mean square of the clip", "dBFS", None, 0.0, title="RMS level"),
        Output("peak_dbfs", "Largest sample of the clip", "dBFS", title="Peak level"),
        Output("energy_sd_db", "Deviation of the level of 25 ms frames within 50 dB of the loudest",
               "dB", 0.0, title="Deviation of level"),
    )  # fmt: skip
    packages = ("pyloudnorm", "numpy")

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 16 kHz."""
        return [self._score(wave) for wave in waves]

    def _score(self, wave: torch.Tensor) -> Score:
        length_s = len(wave) / self.sample_rate_hz
        if length_s < BLOCK_S:
            return undefined(f"too short: {length_s:.2f} s, {BLOCK_S} s are needed")
        if silent(wave):
            return undefined("silent")
        import pyloudnorm

        samples = wave.double().cpu().numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # no block above the gate: -inf
            lufs = float(pyloudnorm.Meter(self.sample_rate_hz).integrated_loudness(samples))
        also = {
            "rms_dbfs": 10 * math.log10(float(np.mean(samples**2))),
            "peak_dbfs": 20 * math.log10(float(np.abs(samples).max())),
            "energy_sd_db": energy_sd_db(samples, round(FRAME_S * self.sample_rate_hz)),
        }
        if not math.isfinite(lufs):
            return undefined("below the loudness gate of -70 LUFS", **also)
        return Score(lufs, also=also)


def energy_sd_db(samples: np.ndarray[tuple[int], np.dtype[np.float64]], frame: int) -> float:
    """Deviation (ddof 0) in dB of the power of frames within 50 dB of the loudest one."""
    whole = len(samples) // frame * frame
    power = np.mean(samples[:whole].reshape(-1, frame) ** 2, axis=1)
    return float(np.std(10 * np.log10(power[power > power.max() * 1e-5])))
