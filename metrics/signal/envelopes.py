"""Envelopes of the gammatone channels: exact, quick in single precision, and from short spectra.

Exact: filtered from rest, cut at the wave's end, its analytic signal taken as if it repeated, in
double precision, as SRMRpy does. Quick: the wave itself repeats, so that multiplied by the
one-sided response its spectrum is the analytic signal at once; what that adds is the filters' free
decay behind the wave's end, a sum of eight functions per channel, which is taken off near both
ends. From short spectra, as SRMRpy with `fast=True` (D. P. W. Ellis, "Gammatone-like
spectrograms", 2009): magnitudes of 10 ms Hann windows every 2.5 ms, weighted by the magnitude
responses of the gammatone filters.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metrics.signal import filterbanks

if TYPE_CHECKING:
    import torch

RATE_HZ = 16_000
N_CHANNELS = 23
STRETCH = 48_000  # samples: longer waves go through the gammatone filters in pieces
GAMMATONE_TAIL = 6000  # samples after which a channel has died away


@dataclass(frozen=True)
class ExactPrepared:
    """Waves made ready for `envelopes`; batch first."""

    n_samples: int
    length: int  # of a transform
    spectra: torch.Tensor  # (batch, pieces, bins)


def prepare_exact(waves: torch.Tensor) -> ExactPrepared:
    """Spectra of `waves`, (batch, samples), float64, in pieces that begin `TAIL` samples early."""
    n_samples = waves.shape[-1]
    length = round_up(min(n_samples, STRETCH) + GAMMATONE_TAIL)
    return ExactPrepared(n_samples, length, overlapping_spectra(waves, length, GAMMATONE_TAIL))


def exact_envelopes(waves: ExactPrepared, channels: slice) -> torch.Tensor:
    """Envelopes at 16 kHz, (batch, channels, samples), a multiple of 16 samples long."""
    import torch

    response = gammatone(waves.length, str(waves.spectra.device))[channels, None]
    pieces = torch.fft.irfft(waves.spectra[:, None] * response, n=waves.length)
    filtered = pieces[..., GAMMATONE_TAIL:].flatten(-2)[..., : waves.n_samples]
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


STEP = 4  # samples at 16 kHz from value to value of the envelopes
LEAD = 2048  # samples before a piece: what was before them has died away
LAG = 1024  # samples after a piece, since analytic signals look ahead
DECAY_PERIOD = 48_000  # samples of a period in which free decays are designed
NEAR = 2048  # samples from each end of a wave where the free decay is taken off …
FAR = 24_000  # … and in low channels: what it leaves there is within the modulation filters' band
FAR_BELOW_HZ = 500.0
ORDER = 8  # of a gammatone filter


def piece_layout(padded: int) -> tuple[int, int, int]:
    """(transform length, samples of a piece, pieces) for waves of `padded` samples."""
    if padded <= STRETCH and quick_length(padded):
        return padded, padded, 1
    pieces = -(-padded // STRETCH)
    piece = -(-padded // pieces // 64) * 64
    return round_up(piece + LEAD + LAG), piece, -(-padded // piece)


@dataclass(frozen=True)
class QuickPrepared:
    """Waves made ready for `envelopes`; batch first."""

    padded: int  # samples of a period: a multiple of 16
    before: int  # zeros in front of each wave
    spectra: torch.Tensor  # (batch, pieces, bins): of overlapping pieces of the repeating waves
    endings: torch.Tensor  # (channels, batch, 8): how much of each free decay follows the end


def prepare_quick(waves: torch.Tensor) -> QuickPrepared:
    """Spectra and endings of `waves`, (batch, samples), at least `LEAD` samples, float32.

    Zeros up to a multiple of 16 go in front, so that the period ends where the wave does.
    """
    import torch

    padded = math.ceil(waves.shape[-1] / 16) * 16
    before = padded - waves.shape[-1]
    matrix = ending_decays(str(waves.device))[0]
    ending = (waves[:, -LEAD:] @ matrix).view(len(waves), N_CHANNELS, ORDER).transpose(0, 1)
    period = torch.nn.functional.pad(waves, (before, 0))
    length, piece, pieces = piece_layout(padded)
    if length == padded:
        cut = period.unsqueeze(1)
    else:
        after = (pieces - 1) * piece + length - LEAD - padded
        longer = torch.cat([period[:, -LEAD:], period, period[:, :after]], dim=-1)
        cut = longer.unfold(-1, length, piece)
    return QuickPrepared(padded, before, torch.fft.rfft(cut), ending.contiguous())


def quick_envelopes(waves: QuickPrepared, channels: slice) -> torch.Tensor:
    """Envelopes at 4 kHz, (batch, channels, padded // 4), each the mean of four samples."""
    import torch

    length, piece, _ = piece_layout(waves.padded)
    response = one_sided_gammatone(length, str(waves.spectra.device))[channels].unsqueeze(1)
    signal = torch.fft.ifft(waves.spectra.unsqueeze(1) * response, n=length)
    if length != waves.padded:
        signal = signal[..., LEAD : LEAD + piece]
    parts = torch.view_as_real(signal.flatten(-2)[..., : waves.padded])
    take_off_decays(parts, waves.endings[channels], channels)
    squares = parts.square_()
    magnitude = (squares[..., 0] + squares[..., 1]).sqrt_()
    if waves.before:
        magnitude = magnitude.roll(-waves.before, -1)
    pairs = magnitude[..., ::2] + magnitude[..., 1::2]  # quicker than mean()
    return pairs[..., ::2] + pairs[..., 1::2]


def take_off_decays(parts: torch.Tensor, endings: torch.Tensor, channels: slice) -> None:
    """Subtract from signals, (batch, channels, samples, 2), the free decays behind their ends."""
    of_all = ending_decays(str(parts.device))[1][channels]
    for channel, (shapes, ending) in enumerate(zip(of_all, endings, strict=True)):
        edge = min(shapes.shape[2], parts.shape[2] // 2)
        after, before = shapes[0, :, :edge], shapes[1, :, -edge:]
        for place, shape in ((slice(edge), after), (slice(-edge, None), before)):
            off = ending @ shape.flatten(1)
            parts[:, channel, place] -= off.view(-1, edge, 2)


@functools.lru_cache(maxsize=12)
def one_sided_gammatone(length: int, device: str) -> torch.Tensor:
    """Responses without negative frequencies, (23, bins), for means of four: a quarter of twice."""
    import torch

    centres = filterbanks.centre_frequencies(N_CHANNELS)
    response = filterbanks.gammatone_response(centres, length, RATE_HZ, device) / 2
    response[:, [0, -1]] /= 2
    return response.to(torch.complex64)


@functools.lru_cache(maxsize=2)
def ending_decays(device: str) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The free decays of the filters, as eight orthonormal functions of time per channel.

    Returns: what gives their amounts from the last samples of a wave, (LEAD, 23 * 8); and for each
    channel a quarter of their analytic signals, (2, 8, edge, 2), after and before they start.
    """
    import torch

    centres = filterbanks.centre_frequencies(N_CHANNELS)
    response = filterbanks.gammatone_response(centres, DECAY_PERIOD, RATE_HZ)
    matrices, shapes = [], []
    for centre, channel in zip(centres, response, strict=True):
        of_shapes = torch.fft.rfft(_free_decays(float(centre)), n=DECAY_PERIOD)
        matrices.append(torch.fft.irfft(of_shapes.conj() * channel)[:, 1 : LEAD + 1].flip(-1))
        of_shapes[:, 1:-1] *= 2
        signal = torch.view_as_real(torch.fft.ifft(of_shapes, n=DECAY_PERIOD) / 4)
        edge = FAR if centre < FAR_BELOW_HZ else NEAR
        shapes.append(torch.stack([signal[:, :edge], signal[:, -edge:]]).float().to(device))
    return torch.cat(matrices).T.float().contiguous().to(device), shapes


def _free_decays(centre_hz: float) -> torch.Tensor:
    """Orthonormal functions, (8, samples), that span what four equal pole pairs do unfed."""
    import torch

    time = torch.arange(3 * LEAD, dtype=torch.float64)
    width = float(filterbanks.erb_hz(np.array(centre_hz)))
    fade = torch.exp(time * (-1.019 * 2 * math.pi * width / RATE_HZ))
    angle = time * (2 * math.pi * centre_hz / RATE_HZ)
    columns = [time**k * fade * wave(angle) for k in range(4) for wave in (torch.cos, torch.sin)]
    scaled = torch.stack([column / column.norm() for column in columns], dim=1)
    orthonormal: torch.Tensor = torch.linalg.qr(scaled)[0].T.contiguous()
    return orthonormal


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
