"""Envelopes of the gammatone channels by the analytic signal: exact, in double precision."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metrics.signal import filterbanks

if TYPE_CHECKING:
    import torch

RATE_HZ = 16_000
N_CHANNELS = 23
STRETCH = 48_000  # samples: longer waves go through the gammatone filters in pieces
TAIL = 6000  # samples after which a channel has died away


@dataclass(frozen=True)
class Prepared:
    """Waves made ready for `envelopes`; batch first."""

    n_samples: int
    length: int  # of a transform
    spectra: torch.Tensor  # (batch, pieces, bins)


def prepare(waves: torch.Tensor) -> Prepared:
    """Spectra of `waves`, (batch, samples), float64, in pieces that begin `TAIL` samples early."""
    n_samples = waves.shape[-1]
    length = round_up(min(n_samples, STRETCH) + TAIL)
    return Prepared(n_samples, length, overlapping_spectra(waves, length, TAIL))


def envelopes(waves: Prepared, channels: slice) -> torch.Tensor:
    """Envelopes at 16 kHz, (batch, channels, samples), a multiple of 16 samples long."""
    import torch

    response = gammatone(waves.length, str(waves.spectra.device))[channels, None]
    pieces = torch.fft.irfft(waves.spectra[:, None] * response, n=waves.length)
    filtered = pieces[..., TAIL:].flatten(-2)[..., : waves.n_samples]
    return analytic_magnitude(filtered, math.ceil(waves.n_samples / 16) * 16)


def overlapping_spectra(waves: torch.Tensor, length: int, tail: int) -> torch.Tensor:
    """Spectra of pieces of `length` that begin `tail` samples early: (batch, pieces, bins).

    The first `tail` samples of each filtered piece are to be thrown away; what is left of the
    pieces, side by side, is the filtered wave (overlap-save).
    """
    import torch

    step = length - tail
    pieces = -(-waves.shape[-1] // step)
    longer = torch.nn.functional.pad(waves, (tail, pieces * step - waves.shape[-1]))
    spectra: torch.Tensor = torch.fft.rfft(longer.unfold(-1, length, step))
    return spectra


@functools.lru_cache(maxsize=3)
def gammatone(length: int, device: str) -> torch.Tensor:
    """Responses of the gammatone channels, (23, length // 2 + 1), complex128."""
    centres = filterbanks.centre_frequencies(N_CHANNELS)
    return filterbanks.gammatone_response(centres, length, RATE_HZ, device)


def analytic_magnitude(filtered: torch.Tensor, padded: int) -> torch.Tensor:
    """|x + i Hilbert(x)| of `filtered` followed by zeros up to `padded`, periodic in `padded`.

    A length with a large prime factor has slow transforms: there the Hilbert transform is the
    same circular convolution, made as a linear one of twice the length.
    """
    import torch

    magnitude: torch.Tensor
    if quick_length(padded):
        one_sided = torch.fft.rfft(filtered, n=padded)
        one_sided[..., 1 : padded // 2] *= 2.0
        magnitude = torch.fft.ifft(one_sided, n=padded).abs()
        return magnitude
    length = round_up(2 * padded)
    spectrum = torch.fft.rfft(filtered, n=length)
    spectrum *= hilbert_kernel(padded, length, filtered.dtype, str(filtered.device))
    quadrature = torch.fft.irfft(spectrum, n=length)[..., :padded]
    real = torch.nn.functional.pad(filtered, (0, padded - filtered.shape[-1]))
    magnitude = torch.hypot(real, quadrature)
    return magnitude


def quick_length(length: int) -> bool:
    """Whether all prime factors are 7 or less."""
    for prime in (2, 3, 5, 7):
        while length % prime == 0:
            length //= prime
    return length == 1


@functools.lru_cache(maxsize=2)
def hilbert_kernel(padded: int, length: int, dtype: torch.dtype, device: str) -> torch.Tensor:
    """Spectrum on `length` >= 2 * padded points of the Hilbert kernel of even period `padded`."""
    import torch

    odd = torch.arange(1, padded, 2, dtype=torch.float64, device=device)
    values = 2 / padded / torch.tan(odd * (math.pi / padded))
    kernel = torch.zeros(length, dtype=torch.float64, device=device)
    kernel[1:padded:2] = values
    kernel[length - padded + 1 :: 2] = values  # the periods before: n - padded
    spectrum: torch.Tensor = torch.fft.rfft(kernel)
    return spectrum.to(torch.complex64 if dtype == torch.float32 else torch.complex128)


def round_up(n_samples: int) -> int:
    """The next length with a quick transform: 2^j (j >= 6) times a small factor, few of them."""
    scale = max(64, 1 << max(0, (n_samples - 1).bit_length() - 5))
    for factor in (16, 18, 20, 24, 25, 27, 30, 32):
        if factor * scale >= n_samples:
            return factor * scale
    raise AssertionError("32 times the scale always suffices")
