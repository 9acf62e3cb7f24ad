"""SRMR of batches of equally long waves: envelopes, modulation energies and their ratio.

The numbers are those of SRMRpy (master) with `fast=False`: Falk, Zheng & Chan (2010), and for the
normalised variants Santos, Senoussaoui & Falk (IWAENC 2014). Filters are applied as products of
spectra, so that a batch is a few FFTs: the recursive filters' exact digital responses, from rest.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics.core.wave_memory import release
from metrics.signal import envelopes, filterbanks
from metrics.signal.modulation_filters import (
    FAST_FRAME,
    FRAME,
    PRECISIONS,
    Precision,
    fast_framed_energies,
    frame_count,
    framed_energies,
)

if TYPE_CHECKING:
    import torch

RATE_HZ = 16_000
N_CHANNELS = 23
MIN_SAMPLES = FRAME - 15  # the analytic signal is taken over a multiple of 16 samples
FAST_MIN_SAMPLES = envelopes.FAST_N_FFT + (FAST_FRAME - 1) * envelopes.FAST_STEP
DYNAMIC_RANGE_DB = 30.0  # of the normalised variants
LONG = 600 * RATE_HZ  # samples: longer waves are measured in windows
WINDOW = 60 * RATE_HZ
BLOCK_SAMPLES = {"cpu": 1 << 19, "cuda": 1 << 26}  # (wave, channel) samples worked on at once


@dataclass(frozen=True)
class Variant:
    """One published way to compute SRMR: its highest modulation filter, normalisation, envelopes.

    Fast: envelopes at 400 Hz from short spectra, and K* looked for from the high channels on.
    """

    highest_hz: float
    normalised: bool
    fast: bool = False


Kept = dict[tuple[int, int], "torch.Tensor"]  # envelopes by their first wave and channel

VARIANTS = {
    "slow": Variant(128.0, False),
    "slow_norm30": Variant(30.0, True),
    "slow_norm128": Variant(128.0, True),
    "fast": Variant(128.0, False, fast=True),
    "fast_norm30": Variant(30.0, True, fast=True),
}


@dataclass(frozen=True)
class Srmr:
    """SRMR of one wave (None: undefined) with K*, and the margin of the 90 % step behind K*."""

    value: float | None
    reason: str
    k_star: int | None
    k90_margin: float | None  # percentage points; tiny: K* may flip under rounding


def shortest(variant: str) -> int:
    """Samples that a wave must have."""
    return FAST_MIN_SAMPLES if VARIANTS[variant].fast else MIN_SAMPLES


def srmr(
    waves: torch.Tensor,
    variant: str = "slow",
    precision: str = "float32",
    kept: Kept | None = None,
) -> list[Srmr]:
    """SRMR of each row of `waves`: (batch, samples), floating point, finite, at 16 kHz.

    ``kept`` holds what another variant computed of the same waves in the same precision.

    Independent of level; NaN-free: a silent or too short row has a reason instead of a value.
    """
    import torch

    kind = VARIANTS[variant]
    needed = shortest(variant)
    if waves.shape[-1] < needed:
        short = f"too short: {waves.shape[-1]} samples, SRMR needs {needed} ({needed / 16e3:.2f} s)"
        return [Srmr(None, short, None, None)] * waves.shape[0]
    if is_long(waves.shape[-1]):
        means = torch.stack([mean_over_windows(wave, kind, precision) for wave in waves])
    else:
        means = frame_energies(waves, kind, precision, kept).mean(dim=-1)
    return ratios(means, kind.highest_hz)


def is_long(n_samples: int) -> bool:
    """Whether a wave of so many samples is measured in windows."""
    return n_samples > LONG


def windows(n_samples: int) -> list[slice]:
    """Windows of a minute, one after another; the last one takes what is left, too."""
    starts = range(0, n_samples - WINDOW + 1, WINDOW)
    stops = [*starts[1:], n_samples]
    return [slice(start, stop) for start, stop in zip(starts, stops, strict=True)]


def mean_over_windows(wave: torch.Tensor, kind: Variant, precision: str) -> torch.Tensor:
    """Energy per channel and modulation filter, (23, 8), float64: the mean over a long wave.

    Filters start from rest in each window, and the range of a normalised variant is that of the
    window. Memory does not grow with the wave.
    """
    import torch

    total = torch.zeros(N_CHANNELS, 8, dtype=torch.float64, device=wave.device)
    frames = 0
    for place in windows(len(wave)):
        energy = frame_energies(wave[None, place], kind, precision)[0]
        level = wave[place].abs().max().double()  # the window was scaled to a peak of 1
        total += energy.sum(dim=-1) * level**2
        frames += energy.shape[-1]
        release(wave)
    return total / frames


def frame_energies(
    waves: torch.Tensor, kind: Variant, precision: str, kept: Kept | None = None
) -> torch.Tensor:
    """Energy per channel, modulation filter and frame of a variant: (batch, 23, 8, frames)."""
    if kind.fast:
        energy = fast_energies(waves, kind.highest_hz, PRECISIONS[precision])
    else:
        energy = modulation_energies(waves, kind.highest_hz, PRECISIONS[precision], kept)
    return limited_range(energy) if kind.normalised else energy


def modulation_energies(
    waves: torch.Tensor, highest_hz: float, precision: Precision, kept: Kept | None = None
) -> torch.Tensor:
    """Energy per channel, modulation filter and frame: (batch, 23, 8, frames), float64.

    `waves`: (batch, samples). Each wave is first scaled to a peak of 1. The gammatone envelopes
    are taken from ``kept``, or put there: variants share them.
    """
    import torch

    prepare: Callable[[torch.Tensor], Any] = envelopes.prepare
    compute: Callable[[Any, slice], torch.Tensor] = envelopes.envelopes
    if precision.dtype == "float32":
        prepare, compute = envelopes.prepare_quick, envelopes.quick_envelopes
    n_samples = waves.shape[-1]
    padded = math.ceil(n_samples / 16) * 16
    energies = torch.empty(
        (len(waves), N_CHANNELS, 8, frame_count(n_samples)),
        dtype=torch.float64,
        device=waves.device,
    )
    prepared_rows = -1
    for rows, channels in blocks(len(waves), n_samples, waves.device.type):
        place = rows.start, channels.start
        envelope = kept.get(place) if kept is not None else None
        if envelope is None and (channels.start == 0 or prepared_rows != rows.start):
            prepared_rows = rows.start
            prepared = prepare(unit_peak(waves[rows].to(getattr(torch, precision.dtype))))
        if envelope is None:
            envelope = compute(prepared, channels)
            if kept is not None:
                kept[place] = envelope
        energies[rows, channels] = framed_energies(envelope, padded, highest_hz, precision)
    return energies


def fast_energies(waves: torch.Tensor, highest_hz: float, precision: Precision) -> torch.Tensor:
    """As `modulation_energies` from envelopes at 400 Hz; channels from low to high frequency.

    Frames of 103 columns (257.5 ms) every 26 (65 ms). SRMRpy does not turn the channels round, so
    that the search for K* begins at the high ones; neither does this.
    """
    import torch

    parts = []
    budget = BLOCK_SAMPLES.get(waves.device.type, BLOCK_SAMPLES["cuda"])
    for part in waves.split(max(1, budget // waves.shape[-1])):  # type: ignore[no-untyped-call]
        level = unit_peak(part.to(getattr(torch, precision.dtype)))
        envelope = envelopes.fast_envelopes(level, N_CHANNELS)
        parts.append(fast_framed_energies(envelope, highest_hz, precision))
    return torch.cat(parts)


def unit_peak(waves: torch.Tensor) -> torch.Tensor:
    """Each row of `waves` divided by its largest magnitude; silent rows stay as they are."""
    peak = waves.abs().amax(dim=-1, keepdim=True)
    return waves / peak.masked_fill(peak == 0, 1.0)


def blocks(batch: int, n_samples: int, device: str) -> Iterator[tuple[slice, slice]]:
    """(waves, channels) to work on at once, all channels of some waves before the next waves.

    On a CPU what its cache holds, on a GPU much more.
    """
    budget = BLOCK_SAMPLES.get(device, BLOCK_SAMPLES["cuda"])
    rows = min(max(1, budget // n_samples), batch)
    channels = min(N_CHANNELS, max(1, budget // (n_samples * rows)))
    for row in range(0, batch, rows):
        for channel in range(0, N_CHANNELS, channels):
            yield slice(row, row + rows), slice(channel, channel + channels)


def limited_range(energy: torch.Tensor) -> torch.Tensor:
    """`energy` (batch, 23, 8, frames) clipped to 30 dB below the peak of the channels' mean."""
    peak = energy.mean(dim=1).amax(dim=(-2, -1)).view(-1, 1, 1, 1)
    return energy.clamp(peak * 10 ** (-DYNAMIC_RANGE_DB / 10), peak)


def ratios(mean_energy: torch.Tensor, highest_hz: float) -> list[Srmr]:
    """SRMR of each (23, 8) table of `mean_energy`, (batch, 23, 8), averaged over frames."""
    import torch

    by_channel = mean_energy.sum(dim=-1)
    total = by_channel.sum(dim=-1, keepdim=True)
    percent = (by_channel * 100 / total).flip(-1).cumsum(-1)  # from low to high frequency
    k90 = (percent > 90).to(torch.int8).argmax(-1)
    margin = (percent - 90).abs().amin(-1)
    k_star = k_stars(highest_hz).to(k90.device)[k90]
    running = mean_energy.sum(dim=1).cumsum(-1)
    low = running[:, 3]
    high = running.gather(-1, (k_star.clamp_min(5) - 1).unsqueeze(-1)).squeeze(-1) - low
    columns = torch.stack([total.squeeze(-1), low, high, k_star.to(low.dtype), margin], dim=-1)
    return [_as_srmr(*row) for row in columns.tolist()]


def _as_srmr(total: float, low: float, high: float, k_star: float, margin: float) -> Srmr:
    """One row of sums as an Srmr; says why where the ratio has no meaning."""
    if total <= 0:
        return Srmr(None, "silent", None, None)
    if k_star < 5:
        return Srmr(None, "bandwidth below the fifth modulation filter: K* undefined", None, None)
    if high <= 0 or not math.isfinite(low / high):
        return Srmr(None, "no modulation energy in the upper filters", int(k_star), margin)
    return Srmr(low / high, "", int(k_star), margin)


@functools.cache
def k_stars(highest_hz: float) -> torch.Tensor:
    """K* for each channel from low to high, (23,), int64: the last filter of the denominator.

    K* is the number of modulation filters whose lower edge is below the channel's bandwidth.
    """
    import torch

    bandwidth = filterbanks.erb_hz(filterbanks.centre_frequencies(N_CHANNELS))[::-1]
    edges = filterbanks.modulation_lower_edges(filterbanks.modulation_centres(4.0, highest_hz))
    return torch.from_numpy(np.searchsorted(edges, bandwidth, side="left").astype(np.int64))
