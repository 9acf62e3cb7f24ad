"""Envelopes of the gammatone channels in single precision, by one transform per channel.

SRMRpy filters a wave from rest, cuts the result at the wave's end and takes its analytic signal as
if it repeated. Here the wave itself repeats: multiplied by the one-sided response its spectrum is
the analytic signal at once. What that adds is the filters' free decay behind the
wave's end: a sum of eight functions per channel, which is taken off near both ends.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metrics.signal import filterbanks
from metrics.signal.envelopes import quick_length, round_up

if TYPE_CHECKING:
    import torch

RATE_HZ = 16_000
N_CHANNELS = 23
STEP = 4  # samples at 16 kHz from value to value of the envelopes
STRETCH = 48_000  # samples: longer waves go through the filters in pieces
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
