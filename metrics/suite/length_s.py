"""How long a clip lasts, in seconds."""

from __future__ import annotations

from collections.abc import Sequence

from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, Metric, Score, Sharing


class Length(Metric):
    """Seconds from the first sample to the last, pauses included."""

    key = "length_s"
    version = "1"
    cpu_s_per_s = 0
    description = "Length of the clip in seconds, silence at its ends included"
    title = "Length"
    source = "Definition: samples over samples a second"
    unit = "s"
    low = 0.0

    sharing = Sharing(Input.ALONE, 0.0, "no network")

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One length per wave, (samples,) at 16 kHz."""
        return [Score(len(wave) / self.sample_rate_hz) for wave in waves]
