"""Modulation energies of waves of any length, stretch by stretch: memory does not grow with them.

The same filters as in `quick_envelopes` and `modulation_filters`, in float32. Gammatone pieces
overlap as they do there; modulation filters begin `WARM` samples before a stretch, after which
what they did not see has died away to 1e-8, and that part is dropped (overlap-save).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from metrics import quick_envelopes
from metrics.envelopes import round_up
from metrics.long_waves import parts_of, release
from metrics.modulation_filters import (
    FRAME,
    HOP,
    PRECISIONS,
    frame_count,
    frame_energy,
    hamming_hops,
    modulation,
)
from metrics.quick_envelopes import LEAD, N_CHANNELS, STEP

if TYPE_CHECKING:
    import torch

LONG = 60 * 16_000  # samples: longer waves are done in stretches
STRETCH = 320 * HOP  # samples of envelopes that a stretch yields frames of: 20 s
WARM = 48 * HOP  # 3 s: the slowest filter, 4 Hz with Q = 2, is down to 6.5e-9
BEHIND = FRAME - HOP  # samples that the last frame of a stretch needs after it


def long_energies(wave: torch.Tensor, highest_hz: float) -> Iterator[torch.Tensor]:
    """Energies of a long wave, (samples,) float32 at 16 kHz, in stretches of frames.

    Yields (23, 8, frames), float64, in order; all of them are as many as `frame_count` says. The
    wave's level does not matter: it is brought to a peak of 1.
    """
    import torch

    envelopes = LongEnvelopes(wave)
    frames = frame_count(len(wave))
    warm = torch.zeros(N_CHANNELS, WARM // STEP, device=wave.device)
    ahead = torch.zeros(N_CHANNELS, 0, device=wave.device)
    end = 0  # of the envelopes that are known, in samples
    for first in range(0, frames, STRETCH // HOP):
        start = first * HOP
        until = min(start + STRETCH + BEHIND, envelopes.padded)
        fresh = envelopes.between(end, until)
        end = until
        known = torch.cat([warm, ahead, fresh], dim=1)
        count = min(STRETCH // HOP, frames - first)
        yield _framed(known, count, highest_hz)
        release(wave)
        used = STRETCH // STEP
        warm, ahead = known[:, used : used + WARM // STEP], known[:, used + WARM // STEP :]


def _framed(envelopes: torch.Tensor, frames: int, highest_hz: float) -> torch.Tensor:
    """Energies, (23, 8, frames), of envelopes, (23, values), behind the first `WARM` samples."""
    import torch

    precision, device = PRECISIONS["float32"], str(envelopes.device)
    length = round_up(WARM + STRETCH + BEHIND)
    channels = []
    for envelope in envelopes:  # one at a time: what a processor's cache holds
        spectrum = torch.fft.rfft(envelope, n=length // STEP)
        parts = []
        for decimation, response in modulation(length, highest_hz, precision, device):
            product = spectrum[: response.shape[-1]] * response
            output = torch.fft.irfft(product, n=length // decimation)[..., WARM // decimation :]
            window = hamming_hops(decimation, output)
            parts.append(frame_energy(output, frames, decimation, window))
        channels.append(torch.cat(parts, dim=-2))
    return torch.stack(channels).double()


class LongEnvelopes:
    """Envelopes at 4 kHz of a long wave, piece by piece, as `quick_envelopes` gives them."""

    def __init__(self, wave: torch.Tensor) -> None:
        self.wave, self.n_samples = wave, len(wave)
        self.padded = math.ceil(self.n_samples / 16) * 16
        self.length, self.piece, _ = quick_envelopes.layout(max(self.padded, 48_001))
        self.scale = 1 / (peak(wave) or 1.0)
        matrix = quick_envelopes.decays(str(wave.device))[0]
        ending = (wave[-LEAD:] * self.scale) @ matrix
        self.endings = ending.view(N_CHANNELS, quick_envelopes.ORDER)

    def between(self, start: int, stop: int) -> torch.Tensor:
        """Envelopes of samples start..stop, (23, (stop - start) // 4); both multiples of 4."""
        import torch

        parts = []
        while start < stop:
            end = min(start + self.piece, stop)
            parts.append(self._piece(start, end))
            start = end
        if not parts:
            return self.wave.new_zeros(N_CHANNELS, 0)
        return torch.cat(parts, dim=1)

    def _piece(self, start: int, stop: int) -> torch.Tensor:
        import torch

        spectrum = torch.fft.rfft(self._circular(start - LEAD, start - LEAD + self.length))
        response = quick_envelopes.one_sided(self.length, str(self.wave.device))
        rows = []
        for channel in range(N_CHANNELS):
            signal = torch.fft.ifft(spectrum * response[channel], n=self.length)
            parts = torch.view_as_real(signal)[LEAD : LEAD + stop - start].clone()
            self._take_off_decay(parts, channel, start, stop)
            magnitude = parts.square().sum(-1).sqrt_()
            pairs = magnitude[::2] + magnitude[1::2]
            rows.append(pairs[::2] + pairs[1::2])
        return torch.stack(rows)

    def _circular(self, start: int, stop: int) -> torch.Tensor:
        """Samples of the wave, followed by zeros up to a multiple of 16, that repeats for ever."""
        import torch

        parts = []
        while start < stop:
            place = start % self.padded
            if place < self.n_samples:
                end = min(self.n_samples, place + stop - start)
                parts.append(self.wave[place:end] * self.scale)
                start += end - place
            else:
                count = min(self.padded - place, stop - start)
                parts.append(self.wave.new_zeros(count))
                start += count
        return torch.cat(parts)

    def _take_off_decay(self, parts: torch.Tensor, channel: int, start: int, stop: int) -> None:
        """Subtract the free decay behind the wave's end, which the next period begins with."""
        shapes = quick_envelopes.decays(str(self.wave.device))[1][channel]
        edge = min(shapes.shape[2], self.padded // 2)
        after, before = shapes[0, :, :edge], shapes[1, :, -edge:]
        for first, shape in (
            (self.n_samples - self.padded, after),  # of the period before
            (self.n_samples, after),
            (self.n_samples - edge, before),
        ):
            low, high = max(start, first), min(stop, first + edge)
            if low < high:
                own = shape[:, low - first : high - first]
                off = self.endings[channel] @ own.flatten(1)
                parts[low - start : high - start] -= off.view(-1, 2)


def peak(wave: torch.Tensor) -> float:
    """The largest magnitude of a wave, looked at part by part."""
    return max(float(part.abs().max()) for part in parts_of(wave))
