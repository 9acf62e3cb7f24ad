"""PESQ, wide-band (P.862.2) and narrow-band (P.862), by the package pesq."""

from __future__ import annotations

from metrics.core import weights
from metrics.core.metric import Output, Score, undefined
from metrics.core.paired_metric import PairedMetric, Wave

PACKAGE = "pesq"
LONGEST_S = 30.0  # P.862.3: test signals last 8 to 30 s at most


class Pesq(PairedMetric):
    """A predicted MOS of a degraded clip beside the recording that it was made from."""

    key = "pesq"
    version = "1"
    cpu_s_per_s = 0.03
    description = "Wide-band PESQ (MOS-LQO) against the reference audio"
    title = "Wide-band PESQ"
    source = "ITU-T P.862, P.862.2; package pesq (the ITU's C code)"
    unit = "MOS"
    low = 1.0
    high = 4.65
    higher_is_better = True
    more_outputs = (
        Output(
            "pesq_nb",
            "Narrow-band PESQ (MOS-LQO), from 8 kHz",
            "MOS",
            1.0,
            4.56,
            True,
            title="Narrow-band PESQ",
        ),
    )
    packages = (PACKAGE, "numpy")
    shortest_s = 0.25

    def load(self, device: str = "cpu") -> None:
        """Say what to install when the package is not there."""
        super().load(device)
        weights.need_package(PACKAGE, f"{PACKAGE}==0.0.4 (it is built by a C compiler)")

    def compare(self, wave: Wave, reference: Wave) -> Score:
        """Both values of two waves, (samples,) at 16 kHz; the code aligns their utterances."""
        import pesq

        longest_s = max(len(wave), len(reference)) / self.sample_rate_hz
        if longest_s > LONGEST_S:
            return undefined(f"too long: {longest_s:.0f} s, PESQ is defined up to {LONGEST_S:g} s")
        try:
            wide = pesq.pesq(self.sample_rate_hz, reference, wave, "wb")
            narrow = pesq.pesq(self.sample_rate_hz, reference, wave, "nb")
        except pesq.NoUtterancesError:
            return undefined("PESQ found no speech (nothing of 0.3 s above its threshold)")
        return Score(float(wide), also={"pesq_nb": float(narrow)})
