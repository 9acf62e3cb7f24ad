"""Reverb consistency on normalised SRMR: changes of the voice count less than of the room."""

from __future__ import annotations

from dataclasses import dataclass

from metrics.suite.reverb_consistency import ReverbConsistency, ReverbConsistencyParameters


@dataclass(frozen=True)
class ReverbConsistencyNormParameters(ReverbConsistencyParameters):
    """The parameters of reverb consistency with the normalised variant as default."""

    variant: str = "slow_norm30"


class ReverbConsistencyNorm(ReverbConsistency):
    """Standard deviation (ddof 0) of normalised SRMR over the windows with speech."""

    key = "reverb_consistency_norm"
    version = "1"
    description = "Reverb consistency that depends less on the voice; lower is steadier"
    title = "Normalised reverb consistency"
    source = "LFS-Bench: reverb consistency; SRMR normalised as in Santos et al. (2014)"
    parameters_type = ReverbConsistencyNormParameters
