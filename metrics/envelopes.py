"""Envelopes by the analytic signal, exact and quick at any length."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def envelopes(filtered: torch.Tensor, padded: int, step: int) -> torch.Tensor:
    """Magnitude of the analytic signal of `filtered`, (..., samples), as (..., padded // step).

    Each value is the mean of `step` neighbours: a mere pick would fold sharp edges into the
    result. What the mean takes from the spectrum is given back by `boxcar_gain`.
    """
    envelope = analytic_magnitude(filtered, padded)
    if step == 1:
        return envelope
    means: torch.Tensor = envelope.reshape(*envelope.shape[:-1], -1, step).mean(-1)
    return means


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


def boxcar_gain(length: int, n_bins: int, step: int, device: str) -> torch.Tensor:
    """Response, (n_bins,), complex128, of a mean of `step` samples on the bins of `length`."""
    import torch

    angle = torch.arange(n_bins, dtype=torch.float64, device=device) * (2 * math.pi / length)
    ones = torch.ones_like(angle)
    return torch.stack([torch.polar(ones, angle * n) for n in range(step)]).mean(0)


def round_up(n_samples: int) -> int:
    """The next length with a quick transform: 2^j (j >= 6) times a small factor, few of them."""
    scale = max(64, 1 << max(0, (n_samples - 1).bit_length() - 5))
    for factor in (16, 18, 20, 24, 25, 27, 30, 32):
        if factor * scale >= n_samples:
            return factor * scale
    raise AssertionError("32 times the scale always suffices")
