"""Envelopes of the gammatone channels of a long wave, piece by piece, in little memory.

An analytic signal's response falls off as 1 / n only, where sound reaches up to half the rate or
down to 0 Hz: what a piece does not see beside it shows. So pieces reach far beyond what is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from metrics.core.long_waves import parts_of
from metrics.signal import envelopes, quick_envelopes
from metrics.signal.envelopes import STRETCH, TAIL, overlapping_spectra, round_up
from metrics.signal.quick_envelopes import LEAD, N_CHANNELS

if TYPE_CHECKING:
    import torch

FILTERED = round_up(STRETCH + TAIL)  # samples of a transform of `ExactEnvelopes`


class LongEnvelopes:
    """A wave, (samples,), that repeats every ``padded`` samples, and its envelopes."""

    piece: ClassVar[int]  # samples of a piece that are kept
    reach: ClassVar[int]  # samples before and behind them

    def __init__(self, wave: torch.Tensor) -> None:
        self.wave, self.n_samples = wave, len(wave)
        self.padded = math.ceil(self.n_samples / 16) * 16
        self.peak = peak(wave) or 1.0
        self.device = str(wave.device)

    def between(self, start: int, stop: int) -> torch.Tensor:
        """Envelopes of samples start..stop, at most `piece`: (23, values); multiples of 4."""
        raise NotImplementedError

    def _stretches(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Samples start..stop of the repeating wave: (from, to, zeros that follow)."""
        while start < stop:
            place = start % self.padded
            count = min(self.padded - place, stop - start)
            end = max(place, min(place + count, self.n_samples))
            yield place, end, place + count - end
            start += count


class QuickEnvelopes(LongEnvelopes):
    """In single precision at 4 kHz, as `quick_envelopes` gives them."""

    piece = 320 * 1024  # 20 s
    reach = 32 * 1024

    def __init__(self, wave: torch.Tensor) -> None:
        super().__init__(wave)
        self.length = round_up(self.piece + 2 * self.reach)
        matrix = quick_envelopes.decays(self.device)[0]
        ending = (wave[-LEAD:].float() / self.peak) @ matrix
        self.endings = ending.view(N_CHANNELS, quick_envelopes.ORDER)

    def between(self, start: int, stop: int) -> torch.Tensor:
        """See `LongEnvelopes`: means of four samples."""
        import torch

        heard = self._circular(start - self.reach, stop + self.reach)
        spectrum = torch.fft.rfft(heard, n=self.length)
        response = quick_envelopes.one_sided(self.length, self.device)
        rows = []
        for channel in range(N_CHANNELS):
            signal = torch.fft.ifft(spectrum * response[channel], n=self.length)
            parts = torch.view_as_real(signal)[self.reach :][: stop - start].clone()
            self._take_off_decay(parts, channel, start, stop)
            magnitude = parts.square().sum(-1).sqrt_()
            pairs = magnitude[::2] + magnitude[1::2]
            rows.append(pairs[::2] + pairs[1::2])
        return torch.stack(rows)

    def _circular(self, start: int, stop: int) -> torch.Tensor:
        import torch

        parts = []
        for first, end, zeros in self._stretches(start, stop):
            parts += [self.wave[first:end].float() / self.peak, self.wave.new_zeros(zeros).float()]
        return torch.cat(parts)

    def _take_off_decay(self, parts: torch.Tensor, channel: int, start: int, stop: int) -> None:
        """Subtract the free decay behind the wave's end, which the next period begins with."""
        shapes = quick_envelopes.decays(self.device)[1][channel]
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


class ExactEnvelopes(LongEnvelopes):
    """In double precision at 16 kHz, as `envelopes` gives them: filtered, cut at the wave's end."""

    piece = 128 * 1024  # 8 s: what the channels take at once is what counts for the memory
    reach = 128 * 1024

    def between(self, start: int, stop: int) -> torch.Tensor:
        """See `LongEnvelopes`: every sample."""
        import torch

        seen = list(self._stretches(start - self.reach, stop + self.reach))
        spectra = [self._spectra(first, end) for first, end, _ in seen]
        response = envelopes.gammatone(FILTERED, self.device)
        length = round_up(self.piece + 2 * self.reach)
        rows = torch.empty(N_CHANNELS, stop - start, dtype=torch.float64, device=self.device)
        for channel in range(N_CHANNELS):
            parts = []
            for (first, end, zeros), spectrum in zip(seen, spectra, strict=True):
                filtered = torch.fft.irfft(spectrum * response[channel], n=FILTERED)
                filtered = filtered[:, TAIL:].flatten()[TAIL : TAIL + end - first]
                parts += [filtered, filtered.new_zeros(zeros)]
            one_sided = torch.fft.rfft(torch.cat(parts), n=length)
            one_sided[1 : length // 2] *= 2
            signal = torch.fft.ifft(one_sided, n=length)
            rows[channel] = signal[self.reach :][: stop - start].abs()
        return rows

    def _spectra(self, first: int, end: int) -> torch.Tensor:
        """Of the wave's samples first..end and the `TAIL` before: (pieces, bins)."""
        import torch

        early = max(first - TAIL, 0)
        heard = self.wave[early:end].double() / self.peak
        ahead = torch.nn.functional.pad(heard, (TAIL - (first - early), 0))
        return overlapping_spectra(ahead[None], FILTERED, TAIL)[0]


def peak(wave: torch.Tensor) -> float:
    """The largest magnitude of a wave, looked at part by part."""
    return max(float(part.abs().max()) for part in parts_of(wave))
