"""How loud a clip is: loudness, root mean square, peak, and how far it swings."""

from __future__ import annotations

from collections.abc import Sequence

from listening.common.loudness import LEAST_RATE_HZ
from metrics.core.audio_facts import AudioFacts, decibels, facts_of_wave
from metrics.core.lazy_torch import torch
from metrics.core.metric import Accepts, Input, Metric, Output, Score, Sharing, undefined

BLOCK_S = 0.4  # of the loudness gate


class Level(Metric):
    """Levels of the whole file, over all of its channels at its own rate.

    Nothing is normalised, averaged or resampled before.
    """

    key = "loudness_lufs"
    version = "2"
    cpu_s_per_s = 0.005
    description = "Integrated loudness of the clip"
    title = "Loudness"
    source = (
        "ITU-R BS.1770-4 (package pyloudnorm); levels relative to 0 dBFS, a full-scale square wave"
    )
    unit = "LUFS"
    sharing = Sharing(Input.ALONE, 0.0, "no network")
    accepts = Accepts(shortest_s=BLOCK_S, whole_file=True)
    more_outputs = (
        Output("rms_dbfs", "Root mean square of the clip", "dBFS", None, 0.0, title="RMS level"),
        Output("peak_dbfs", "Largest sample of the clip", "dBFS", title="Peak level"),
        Output("energy_sd_db", "Deviation of the level of 25 ms frames within 50 dB of the loudest",
               "dB", 0.0, title="Deviation of level"),
    )  # fmt: skip
    packages = ("pyloudnorm", "scipy", "numpy")

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 16 kHz, from the facts of the file that it is of."""
        return [self._score(facts_of_wave(wave, self.sample_rate_hz)) for wave in waves]

    def _score(self, facts: AudioFacts) -> Score:
        if facts.duration_s < BLOCK_S:
            return undefined(f"too short: {facts.duration_s:.2f} s, {BLOCK_S} s are needed")
        peak_db = decibels(facts.peak**2)
        also = {
            "rms_dbfs": facts.rms_dbfs,
            "peak_dbfs": peak_db,
            "energy_sd_db": facts.level_sd_db,
        }
        if facts.rate_hz < LEAST_RATE_HZ:
            rates = f"{LEAST_RATE_HZ:,} Hz, and the clip has {facts.rate_hz:,} Hz"
            return Score(None, f"loudness needs a sampling rate of at least {rates}", also=also)
        if facts.loudness_lufs is None:
            return Score(None, "below the loudness gate of -70 LUFS", also=also)
        return Score(facts.loudness_lufs, also=also)
