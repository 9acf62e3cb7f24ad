"""How long the synthesis of a clip took, for each second of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from metrics.core.metric import Input, Metric, Score, Sharing, Take, undefined


class RealTimeFactor(Metric):
    """Seconds of synthesis, told by the manifest, over seconds of audio; 1 is real time."""

    key = "real_time_factor"
    version = "1"
    cpu_s_per_s = 0
    description = "Seconds of synthesis for each second of audio, as the manifest tells them"
    title = "Real-time factor"
    source = "Definition; LFS-Bench reports it as RTF"
    low = 0.0
    higher_is_better = False
    sharing = Sharing(Input.ALONE, 0.0, "no network")
    needs = ("attributes.device", "attributes.synthesis_s")

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One factor per take whose material has the attribute `synthesis_s`."""
        return [self.factor(take) for take in takes]

    def factor(self, take: Take) -> Score:
        """The factor with what it was made of."""
        text = take.material.attribute("synthesis_s")
        if not text:
            return undefined("no synthesis_s")
        try:
            synthesis_s = float(text)
        except ValueError:
            synthesis_s = math.nan
        if not 0 < synthesis_s < math.inf:
            return undefined(f"synthesis_s is {text!r}, not a number of seconds above 0")
        length_s = len(take.wave) / self.sample_rate_hz
        details = {
            "synthesis_s": synthesis_s,
            "length_s": length_s,
            "device": take.material.attribute("device"),
        }
        return Score(synthesis_s / length_s, "", details)
