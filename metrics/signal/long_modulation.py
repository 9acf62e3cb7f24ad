"""Modulation energies of waves of any length, stretch by stretch: memory does not grow with them.

The same filters as for shorter waves. Modulation filters begin before a stretch, after which what
they did not see has died away, and that part is dropped (overlap-save).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING

import numpy as np

from metrics.core.long_waves import release
from metrics.signal import gammatonegram
from metrics.signal.envelopes import round_up
from metrics.signal.long_envelopes import ExactEnvelopes, QuickEnvelopes, peak
from metrics.signal.modulation_filters import (
    FAST_FRAME,
    FAST_HOP,
    FRAME,
    HOP,
    PRECISIONS,
    TAIL,
    Precision,
    fast_framed_energies,
    frame_count,
    frame_energy,
    hamming_hops,
    modulation,
)
from metrics.signal.quick_envelopes import N_CHANNELS

if TYPE_CHECKING:
    import torch

LONG = 60 * 16_000  # samples: longer waves are done in stretches
BEHIND = FRAME - HOP  # samples that the last frame of a stretch needs after it
WARM = {"float32": 48 * HOP, "float64": 64 * HOP}  # the slowest filter is down to 7e-9, 7e-12
FAST_WARM = TAIL // gammatonegram.HOP  # columns
FAST_FRAMES = 300  # of a stretch: 20 s


def long_energies(
    wave: torch.Tensor, highest_hz: float, precision: str = "float32"
) -> Iterator[torch.Tensor]:
    """Energies of a long wave, (samples,) at 16 kHz, in stretches of frames.

    Yields (23, 8, frames), float64, in order; all of them are as many as `frame_count` says. The
    wave's level does not matter: it is brought to a peak of 1.
    """
    import torch

    chosen, before = PRECISIONS[precision], WARM[precision]
    step = chosen.envelope_step
    envelopes = (QuickEnvelopes if precision == "float32" else ExactEnvelopes)(wave)
    stretch = envelopes.piece - BEHIND  # samples that a stretch yields frames of
    frames = frame_count(len(wave))
    kind = getattr(torch, chosen.dtype)
    known = torch.zeros(N_CHANNELS, before // step, dtype=kind, device=wave.device)
    end = 0  # of the envelopes that are known, in samples
    for first in range(0, frames, stretch // HOP):
        until = min(first * HOP + envelopes.piece, envelopes.padded)
        if until > end:
            known = torch.cat([known, envelopes.between(end, until)], dim=1)
        end = until
        count = min(stretch // HOP, frames - first)
        length = round_up(before + envelopes.piece)
        yield _framed(known, length, count, highest_hz, chosen, before)
        release(wave)
        known = known[:, stretch // step :].clone()  # else all that was known stays


def _framed(
    envelopes: torch.Tensor,
    length: int,
    frames: int,
    highest_hz: float,
    precision: Precision,
    before: int,
) -> torch.Tensor:
    """Energies, (23, 8, frames), of envelopes, (23, values), behind the first samples `before`.

    ``length``: of a transform, in samples.
    """
    import torch

    device = str(envelopes.device)
    channels = []
    for envelope in envelopes:  # one at a time: what a processor's cache holds
        spectrum = torch.fft.rfft(envelope, n=length // precision.envelope_step)
        parts = []
        for decimation, response in modulation(length, highest_hz, precision, device):
            product = spectrum[: response.shape[-1]] * response
            output = torch.fft.irfft(product, n=length // decimation)[..., before // decimation :]
            window = hamming_hops(decimation, output)
            parts.append(frame_energy(output, frames, decimation, window))
        channels.append(torch.cat(parts, dim=-2))
    return torch.stack(channels).double()


def long_fast_energies(
    wave: torch.Tensor, highest_hz: float, precision: str = "float32"
) -> Iterator[torch.Tensor]:
    """As `long_energies` of the fast variants: from envelopes at 400 Hz, low channels first."""
    import torch

    chosen, most = PRECISIONS[precision], peak(wave) or 1.0
    columns = gammatonegram.column_count(len(wave))
    frames = 1 + (columns - FAST_FRAME) // FAST_HOP
    for first in range(0, frames, FAST_FRAMES):
        count = min(FAST_FRAMES, frames - first)
        start = first * FAST_HOP
        early = max(start - FAST_WARM, 0)
        stop = start + (count - 1) * FAST_HOP + FAST_FRAME
        last = len(wave)  # where the last column is at zero, if it is
        if stop < columns:
            last = (stop - 1) * gammatonegram.HOP + gammatonegram.N_FFT + 1
        part = wave[early * gammatonegram.HOP : last].to(getattr(torch, chosen.dtype)) / most
        envelope = gammatonegram.envelopes(part, N_CHANNELS)[:, : stop - early]
        yield fast_framed_energies(envelope, highest_hz, chosen, start - early)
        release(wave)


def limited(parts: Iterable[torch.Tensor], range_db: float) -> Iterator[torch.Tensor]:
    """The parts, (23, 8, frames), limited to a range below the peak of the channels' mean.

    The peak is known only when all have come: they wait in a nameless file in TMPDIR.
    """
    peaks, shapes = [], []
    with tempfile.TemporaryFile(prefix="earnest-energies-") as file:
        for part in parts:
            peaks.append(float(part.mean(dim=0).max()))
            shapes.append((part.shape, part.device))
            file.write(part.cpu().numpy().tobytes())
        file.seek(0)
        most = max(peaks)
        for shape, device in shapes:
            yield _read(file, shape).to(device).clamp(most * 10 ** (-range_db / 10), most)


def _read(file: IO[bytes], shape: torch.Size) -> torch.Tensor:
    import torch

    held = np.frombuffer(bytearray(file.read(8 * shape.numel())))
    return torch.from_numpy(held).view(shape)
