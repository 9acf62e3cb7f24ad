"""Short-time objective intelligibility (STOI) and its extended form, beside a reference."""

from __future__ import annotations

import warnings

from metrics.core.metric import Output, Score, undefined
from metrics.core.paired_metric import AlignedParameters, PairedMetric, Wave, align_waves

LEAST_FRAMES = "Not enough STFT frames"  # how the package says that too little speech is left


class Stoi(PairedMetric):
    """Correlation of third-octave envelopes with those of the reference, over 384 ms pieces."""

    key = "stoi"
    version = "1"
    cpu_s_per_s = 0.03
    description = "Short-time objective intelligibility against the reference audio"
    title = "STOI"
    source = "Taal et al. (2011), STOI; Jensen and Taal (2016), ESTOI; package pystoi"
    low = -1.0
    high = 1.0
    higher_is_better = True
    more_outputs = (
        Output(
            "estoi", "Extended STOI against the reference audio", "", -1.0, 1.0, True, title="ESTOI"
        ),
    )
    packages = ("pystoi", "numpy", "scipy")
    parameters_type = AlignedParameters
    parameters: AlignedParameters

    def compare(self, wave: Wave, reference: Wave) -> Score:
        """Both values of two waves, (samples,) at 16 kHz; the package goes to 10 kHz itself."""
        from pystoi import stoi

        wave, reference, lag = align_waves(
            wave, reference, self.sample_rate_hz, self.parameters.align
        )
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", LEAST_FRAMES, RuntimeWarning)
                plain, extended = (
                    float(stoi(reference, wave, self.sample_rate_hz, extended=extended))
                    for extended in (False, True)
                )
        except RuntimeWarning:
            reason = "too little speech: under 30 frames (0.4 s) within 40 dB of the loudest"
            return undefined(reason, **lag.details())
        return Score(plain, "", lag.details(), also={"estoi": extended})
