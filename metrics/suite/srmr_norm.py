"""Normalised SRMR of a whole clip: depends less on the voice (Santos et al. 2014)."""

from __future__ import annotations

from dataclasses import dataclass

from metrics.suite.srmr import Srmr, SrmrParameters


@dataclass(frozen=True)
class SrmrNormParameters(SrmrParameters):
    """The parameters of SRMR with the normalised variant as default."""

    variant: str = "slow_norm30"


class SrmrNorm(Srmr):
    """SRMR with modulation filters up to 30 Hz and energies limited to a range of 30 dB."""

    key = "srmr_norm"
    version = "1"
    cpu_s_per_s = 0.005
    description = "SRMR that depends less on the voice; higher is drier"
    title = "Normalised SRMR"
    source = "Santos, Senoussaoui and Falk (2014), IWAENC; numbers of SRMRpy, norm=True, max_cf=30"
    parameters_type = SrmrNormParameters
