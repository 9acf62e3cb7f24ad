"""Scale-invariant signal-to-distortion ratio beside the recording that a clip was made from."""

from __future__ import annotations

import math

import numpy as np

from metrics.core.metric import Output, Score, undefined
from metrics.core.paired_metric import AlignedParameters, PairedMetric, Wave, align_waves


class SiSdr(PairedMetric):
    """How much of a clip is the reference at some volume, in dB; SNR beside it, volume counted."""

    key = "si_sdr"
    version = "1"
    cpu_s_per_s = 0.02
    description = "Scale-invariant signal-to-distortion ratio against the reference audio, in dB"
    title = "SI-SDR"
    source = "Le Roux et al. (2019), SDR: half-baked or well done?; no mean is taken off"
    unit = "dB"
    higher_is_better = True
    more_outputs = (
        Output(
            "snr_ref",
            "Signal-to-noise ratio against the reference audio",
            "dB",
            None,
            None,
            True,
            title="SNR against the reference",
        ),
    )
    packages = ("numpy",)
    parameters_type = AlignedParameters
    parameters: AlignedParameters

    def compare(self, wave: Wave, reference: Wave) -> Score:
        """The ratios of two waves, (samples,), cut to equal length."""
        wave, reference, lag = align_waves(
            wave, reference, self.sample_rate_hz, self.parameters.align
        )
        scaled = reference * (wave @ reference) / (reference @ reference)
        value = ratio_db(scaled, wave - scaled)
        if value is None:
            return undefined("equal to the reference: no distortion to measure", **lag.details())
        also = {"snr_ref": ratio_db(reference, wave - reference)}
        return Score(value, "", lag.details(), also=also)


def ratio_db(signal: Wave, noise: Wave) -> float | None:
    """Energy of one over that of the other in dB; None where one is (nearly) nothing."""
    power, distortion = float(signal @ signal), float(noise @ noise)
    least = np.finfo(np.float64).eps ** 2 * max(power, distortion)
    if min(power, distortion) <= least:
        return None
    return 10 * math.log10(power / distortion)
