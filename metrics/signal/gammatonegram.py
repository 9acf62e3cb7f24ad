"""Gammatone envelopes from short spectra, as SRMRpy computes them with `fast=True`.

D. P. W. Ellis, "Gammatone-like spectrograms" (2009): magnitudes of 10 ms Hann windows every 2.5 ms,
weighted by the magnitude responses of the gammatone filters.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from metrics.signal import filterbanks

if TYPE_CHECKING:
    import torch

FAST_N_FFT = 512
FAST_WINDOW = 160  # samples: 10 ms at 16 kHz
FAST_STEP = 40  # samples: 2.5 ms at 16 kHz
FAST_RATE_HZ = 400.0  # of the envelopes
FAST_MARGIN = (FAST_N_FFT - FAST_WINDOW) // 2  # samples beside the window in a transform


def fast_column_count(n_samples: int) -> int:
    """Columns of the envelopes of `n_samples`, 0 for less than one transform."""
    return max(0, 1 + (n_samples - FAST_N_FFT) // FAST_STEP)


def fast_envelopes(waves: torch.Tensor, n_channels: int) -> torch.Tensor:
    """Envelopes at 400 Hz, (batch, n_channels, columns), channels from low to high frequency.

    `waves`: (batch, samples) at 16 kHz, at least 512 of them. When the last transform ends with the
    wave, SRMRpy leaves that column at zero; so does this.
    """
    import torch

    columns = fast_column_count(waves.shape[-1])
    used = waves[..., FAST_MARGIN : FAST_MARGIN + (columns - 1) * FAST_STEP + FAST_WINDOW]
    window = torch.hann_window(FAST_WINDOW, dtype=torch.float64).to(waves)
    spectra = torch.fft.rfft(used.unfold(-1, FAST_WINDOW, FAST_STEP) * window, n=FAST_N_FFT)
    envelope: torch.Tensor = (
        spectra.abs() @ gammatone_magnitudes(n_channels, waves.dtype, str(waves.device))
    ).mT / FAST_N_FFT
    if (waves.shape[-1] - FAST_N_FFT) % FAST_STEP == 0:
        envelope[..., -1] = 0
    return envelope


@functools.lru_cache(maxsize=4)
def gammatone_magnitudes(n_channels: int, dtype: torch.dtype, device: str) -> torch.Tensor:
    """Magnitudes of the gammatone responses, (257, n_channels), from low to high frequency."""
    centres = filterbanks.centre_frequencies(n_channels)
    response = filterbanks.gammatone_response(centres, FAST_N_FFT, 16_000.0, device)
    magnitudes: torch.Tensor = response.abs().flip(0).T.contiguous().to(dtype)
    return magnitudes
