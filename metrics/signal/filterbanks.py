"""Designs of the two SRMR filterbanks: gammatone (23 channels) and modulation (8 filters).

Designs follow Slaney, "An efficient implementation of the Patterson-Holdsworth auditory filter
bank" (Apple TR 35, 1993), and Falk, Zheng & Chan, "A non-intrusive quality and intelligibility
measure of reverberant and dereverberated speech" (IEEE TASLP 18(7), 2010).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

EAR_Q = 9.26449  # Glasberg and Moore (1990)
MIN_BANDWIDTH_HZ = 24.7
MODULATION_Q = 2.0


def centre_frequencies(
    n_channels: int = 23, lowest_hz: float = 125.0, rate_hz: float = 16_000.0
) -> NDArray[np.float64]:
    """Centre frequencies in Hz, (n_channels,), from high to low, even on the ERB scale."""
    corner = EAR_Q * MIN_BANDWIDTH_HZ
    highest = rate_hz / 2 + corner
    steps = np.arange(1, n_channels + 1) / n_channels
    return np.asarray(highest * ((lowest_hz + corner) / highest) ** steps - corner)


def erb_hz(centre_hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Equivalent rectangular bandwidth in Hz of a filter at `centre_hz`, same shape."""
    return centre_hz / EAR_Q + MIN_BANDWIDTH_HZ


def gammatone_response(
    centre_hz: NDArray[np.float64], length: int, rate_hz: float, device: str = "cpu"
) -> torch.Tensor:
    """Slaney's four-section gammatone on the bins of an rfft of `length`.

    Returns complex128, (channels, length // 2 + 1), with gain 1 at each centre frequency.
    """
    import torch

    delay = _unit_delay(length, 1, device)
    channels = [
        _gammatone_at(delay, centre, width, rate_hz)
        for centre, width in zip(centre_hz, erb_hz(centre_hz), strict=True)
    ]
    return torch.stack(channels)


def _gammatone_at(
    delay: torch.Tensor, centre_hz: float, width_hz: float, rate_hz: float
) -> torch.Tensor:
    """One channel's response where z^-1 takes the values `delay`; scaled to 1 at its centre."""
    import torch

    decay = math.exp(-1.019 * 2 * math.pi * width_hz / rate_hz)
    angle = 2 * math.pi * centre_hz / rate_hz
    zeros = [
        -decay * (math.cos(angle) + side * math.sqrt(3 + slope * 2**1.5) * math.sin(angle))
        for slope in (1, -1)
        for side in (1, -1)
    ]

    def response(z1: torch.Tensor) -> torch.Tensor:
        numerator = torch.ones_like(z1)
        for zero in zeros:
            numerator = numerator * (1 + zero * z1)
        pole_pair = 1 + z1 * (-2 * decay * math.cos(angle) + decay**2 * z1)
        return numerator / (pole_pair * pole_pair).square()

    at_centre = torch.polar(
        torch.ones(1, dtype=torch.float64, device=delay.device),
        torch.full((1,), -angle, dtype=torch.float64, device=delay.device),
    )
    return response(delay) / response(at_centre).abs()


def modulation_centres(
    lowest_hz: float = 4.0, highest_hz: float = 128.0, n_filters: int = 8
) -> NDArray[np.float64]:
    """Centre frequencies in Hz of the modulation filters, (n_filters,), evenly spaced in log."""
    return np.geomspace(lowest_hz, highest_hz, n_filters)


def modulation_lower_edges(
    centre_hz: NDArray[np.float64], rate_hz: float = 16_000.0
) -> NDArray[np.float64]:
    """Lower 3 dB edges in Hz, (n_filters,), of the modulation filters."""
    half_width = np.tan(np.pi * centre_hz / rate_hz) / MODULATION_Q * rate_hz / (2 * np.pi)
    return np.asarray(centre_hz - half_width)


def modulation_response(
    centre_hz: NDArray[np.float64],
    length: int,
    rate_hz: float,
    device: str = "cpu",
    decimation: int = 1,
) -> torch.Tensor:
    """Second-order band passes (Q = 2) on the first bins of an rfft of `length`.

    Only the bins below the Nyquist frequency of rate / decimation are computed.
    Returns complex128, (filters, length // (2 * decimation) + 1).
    """
    import torch

    z1 = _unit_delay(length, decimation, device)
    rows = []
    for centre in centre_hz:
        warped = math.tan(math.pi * centre / rate_hz)
        width = warped / MODULATION_Q
        numerator = width * (1 - z1 * z1)
        rows.append(
            numerator
            / (
                (1 + width + warped**2)
                + (2 * warped**2 - 2) * z1
                + (1 - width + warped**2) * (z1 * z1)
            )
        )
    return torch.stack(rows)


def modulation_poles(
    centre_hz: NDArray[np.float64], rate_hz: float = 16_000.0
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """(poles, residues), each (n_filters,), of the modulation filters.

    The impulse response after its first sample is twice the real part of residue * pole ** n.
    """
    warped = np.tan(math.pi * centre_hz / rate_hz)
    width = warped / MODULATION_Q
    lead = 1 + width + warped**2
    half = (warped**2 - 1) / lead
    poles = -half + 1j * np.sqrt((1 - width + warped**2) / lead - half**2)
    residues = width / lead * (1 - poles**-2) / (1 - poles.conj() / poles)
    return poles, residues


def _unit_delay(length: int, decimation: int, device: str) -> torch.Tensor:
    """z^-1 on the first `length // (2 * decimation) + 1` bins of a DFT of `length`."""
    import torch

    bins = torch.arange(length // (2 * decimation) + 1, dtype=torch.float64, device=device)
    angle = bins * (-2 * math.pi / length)
    return torch.polar(torch.ones_like(angle), angle)
