"""Speech-to-reverberation modulation energy ratio of a whole clip (Falk et al. 2010)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metrics.core import wave_memory
from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, Metric, ParameterError, Parameters, Score, Sharing
from metrics.core.precision import Precisions
from metrics.signal import srmr
from metrics.signal.srmr import PRECISIONS


@dataclass(frozen=True)
class SrmrParameters(Parameters):
    """Which published variant, and the number type it is computed in."""

    variant: str = "slow"
    precision: str = "float32"

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, srmr.VARIANTS)
        check_choice("precision", self.precision, PRECISIONS)


class Srmr(Metric):
    """SRMR of the whole clip at 16 kHz: higher is drier. No voice detection is inside."""

    key = "srmr"
    version = "1"
    cpu_s_per_s = 0.006
    description = "Modulation energy of speech against that of reverberation; higher is drier"
    title = "SRMR"
    source = "Falk, Zheng and Chan (2010), IEEE TASLP 18(7); numbers of SRMRpy, fast=False"
    low = 0.0
    higher_is_better = True
    sharing = Sharing(Input.EQUAL, 2e-6, "a clip's transforms are as long as the clip")
    precisions = Precisions(why="its parameter precision says float32 or float64")
    packages = ("torch", "numpy", "scipy", "soundfile")
    parameters_type = SrmrParameters
    parameters: SrmrParameters

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One ratio per wave, (samples,) at 16 kHz; waves of one length are one batch."""
        same_length = defaultdict(list)
        for place, wave in enumerate(waves):
            alone = place if srmr.is_long(len(wave)) else None  # stacking would copy hours
            same_length[len(wave), alone].append(place)
        scores = [Score(None)] * len(waves)
        for places in same_length.values():
            same = [waves[place] for place in places]
            batch = same[0][None] if len(same) == 1 else torch.stack(same)  # one is not copied
            results = srmr.srmr(
                batch,
                self.parameters.variant,
                self.parameters.precision,
                self.shared_envelopes(same),
            )
            for place, result in zip(places, results, strict=True):
                details = {"k_star": result.k_star, "k90_margin": result.k90_margin}
                notes = window_note(len(waves[place]))
                scores[place] = Score(result.value, result.reason, details, warnings=notes)
        return scores

    def shared_envelopes(self, waves: Sequence[torch.Tensor]) -> srmr.SharedEnvelopes:
        """Where the variants of SRMR share what they compute of the same waves."""
        name = ("gammatone", self.parameters.precision, *map(id, waves))
        envelopes: srmr.SharedEnvelopes = wave_memory.compute_once(waves[0], name, dict)
        return envelopes


def window_note(n_samples: int) -> dict[str, str]:
    """The warning of a clip that was measured in windows; empty for a shorter one."""
    if not srmr.is_long(n_samples):
        return {}
    count = len(srmr.windows(n_samples))
    most = srmr.LONG / srmr.RATE_HZ / 60
    words = f"longer than {most:g} minutes: modulation energies averaged over {count} windows"
    return {"windows": f"{words} of a minute each"}


def check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Raise a ParameterError that lists the choices when `given` is not one of them."""
    if value not in choices:
        raise ParameterError(f"{name} is {value!r}; choose one of {', '.join(choices)}")
