"""Speech over what is heard between it, in dB, without a reference."""

from __future__ import annotations

import math
from collections.abc import Sequence

from metrics.core.lazy_torch import torch
from metrics.core.metric import Score, undefined
from metrics.signal import speech
from metrics.signal.speech import Segments

EDGE_S = 0.1  # beside speech is neither counted as speech nor as noise: onsets and tails
LEAST_S = 0.2  # of either


class SpeechToNoise(speech.SpeechMetric):
    """Power inside the speech that silero-vad finds, less that outside, over that outside.

    It hears noise that goes on under the speech; not what only comes with it (reverberation,
    distortion). Clips without rests, or whose rests are digital silence, have no value.
    """

    key = "snr_db"
    version = "1"
    cpu_s_per_s = 0.02
    description = "Speech-to-noise ratio by the level in and between speech"
    title = "Speech-to-noise ratio"
    source = "Power in silero-vad's segments over power outside them; our definition"
    unit = "dB"
    higher_is_better = True

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 16 kHz."""
        floats = [wave.float() for wave in waves]
        segments = speech.speech_segments(floats, self.detector)
        return [self.ratio(wave, own) for wave, own in zip(floats, segments, strict=True)]

    def ratio(self, wave: torch.Tensor, segments: Segments) -> Score:
        """The ratio of one wave, (samples,), with speech in the segments."""
        if not segments:
            return undefined("no speech")
        edge, least = (round(s * self.sample_rate_hz) for s in (EDGE_S, LEAST_S))
        inside = torch.zeros(len(wave), dtype=torch.bool, device=wave.device)
        outside = torch.ones(len(wave), dtype=torch.bool, device=wave.device)
        for start, end in segments:
            inside[start:end] = True
            outside[max(0, start - edge) : end + edge] = False
        details = {"noise_s": int(outside.sum()) / self.sample_rate_hz}
        if int(outside.sum()) < least or int(inside.sum()) < least:
            return undefined(f"no {LEAST_S} s without speech to hear the noise in", **details)
        noise = float(wave[outside].double().square().mean())
        clean = float(wave[inside].double().square().mean()) - noise
        if not noise:
            return undefined("digital silence between the speech", **details)
        if clean <= 0:
            return undefined("the parts between speech are as loud as the speech", **details)
        return Score(10 * math.log10(clean / noise), "", details)
