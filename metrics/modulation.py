"""SRMR of batches of equally long waves: envelopes, modulation energies and their ratio.

The numbers are those of SRMRpy (master) with `fast=False`: Falk, Zheng & Chan (2010), and for the
normalised variants Santos, Senoussaoui & Falk (IWAENC 2014). Filters are applied as products of
spectra, so that a batch is a few FFTs: the recursive filters' exact digital responses, from rest.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metrics import filterbanks, gammatonegram
from metrics.envelopes import boxcar_gain, envelopes, round_up

if TYPE_CHECKING:
    import torch

RATE_HZ = 16_000
N_CHANNELS = 23
FRAME = 4096  # samples: 256 ms
HOP = 1024  # samples: 64 ms
MIN_SAMPLES = FRAME - 15  # the analytic signal is taken over a multiple of 16 samples
FAST_FRAME = 103  # columns of the fast envelopes, 2.5 ms each
FAST_HOP = 26
FAST_MIN_SAMPLES = gammatonegram.N_FFT + (FAST_FRAME - 1) * gammatonegram.HOP
DYNAMIC_RANGE_DB = 30.0  # of the normalised variants
STRETCH = 48_000  # samples: longer waves go through the gammatone filters in pieces
BLOCK_SAMPLES = {"cpu": 1 << 19, "cuda": 1 << 26}  # (wave, channel) samples worked on at once


@dataclass(frozen=True)
class Variant:
    """One published way to compute SRMR: its highest modulation filter, normalisation, envelopes.

    Fast: envelopes at 400 Hz from short spectra, and K* looked for from the high channels on.
    """

    highest_hz: float
    normalised: bool
    fast: bool = False


VARIANTS = {
    "slow": Variant(128.0, False),
    "slow_norm30": Variant(30.0, True),
    "slow_norm128": Variant(128.0, True),
    "fast": Variant(128.0, False, fast=True),
    "fast_norm30": Variant(30.0, True, fast=True),
}


@dataclass(frozen=True)
class Precision:
    """How exact the computation is: number type, rates, and lengths of the filters' tails."""

    dtype: str  # of waves: "float32" or "float64"
    envelope_step: int  # envelopes at RATE_HZ / this
    decimated: bool  # whether modulation filters' outputs are computed at low rates only
    gammatone_tail: int  # samples after which a channel has died away
    modulation_tail: int


PRECISIONS = {
    "float32": Precision("float32", 4, True, 2000, 32_000),
    "float64": Precision("float64", 1, False, 6000, 64_000),
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


def srmr(waves: torch.Tensor, variant: str = "slow", precision: str = "float32") -> list[Srmr]:
    """SRMR of each row of `waves`: (batch, samples), floating point, finite, at 16 kHz.

    Independent of level; NaN-free: a silent or too short row has a reason instead of a value.
    """
    kind = VARIANTS[variant]
    needed = shortest(variant)
    if waves.shape[-1] < needed:
        short = f"too short: {waves.shape[-1]} samples, SRMR needs {needed} ({needed / 16e3:.2f} s)"
        return [Srmr(None, short, None, None)] * waves.shape[0]
    compute = fast_energies if kind.fast else modulation_energies
    energy = compute(waves, kind.highest_hz, PRECISIONS[precision])
    if kind.normalised:
        energy = limited_range(energy)
    return ratios(energy.mean(dim=-1), kind.highest_hz)


def modulation_energies(
    waves: torch.Tensor, highest_hz: float, precision: Precision
) -> torch.Tensor:
    """Energy per channel, modulation filter and frame: (batch, 23, 8, frames), float64.

    `waves`: (batch, samples). Each wave is first scaled to a peak of 1.
    """
    import torch

    level = unit_peak(waves.to(getattr(torch, precision.dtype)))
    n_samples = level.shape[-1]
    padded = math.ceil(n_samples / 16) * 16
    length = round_up(min(n_samples, STRETCH) + precision.gammatone_tail)
    spectra = overlapping_spectra(level, length, precision.gammatone_tail)
    response = gammatone(length, precision.dtype, str(waves.device))
    energies = torch.empty(
        (len(waves), N_CHANNELS, 8, frame_count(n_samples)),
        dtype=torch.float64,
        device=waves.device,
    )
    for rows, channels in blocks(len(waves), n_samples, waves.device.type):
        pieces = torch.fft.irfft(spectra[rows, None] * response[channels, None], n=length)
        filtered = pieces[..., precision.gammatone_tail :].flatten(-2)[..., :n_samples]
        envelope = envelopes(filtered, padded, precision.envelope_step)
        energies[rows, channels] = framed_energies(envelope, padded, highest_hz, precision)
    return energies


def fast_energies(waves: torch.Tensor, highest_hz: float, precision: Precision) -> torch.Tensor:
    """As `modulation_energies` from envelopes at 400 Hz; channels from low to high frequency.

    Frames of 103 columns (257.5 ms) every 26 (65 ms). SRMRpy does not turn the channels round, so
    that the search for K* begins at the high ones; neither does this.
    """
    import torch

    budget = BLOCK_SAMPLES.get(waves.device.type, BLOCK_SAMPLES["cuda"])
    rows = max(1, budget // waves.shape[-1])
    level = unit_peak(waves.to(getattr(torch, precision.dtype)))
    parts = [level[first : first + rows] for first in range(0, len(level), rows)]
    return torch.cat([_fast_energies(part, highest_hz, precision) for part in parts])


def _fast_energies(waves: torch.Tensor, highest_hz: float, precision: Precision) -> torch.Tensor:
    import torch

    envelope = gammatonegram.envelopes(waves, N_CHANNELS)
    columns = envelope.shape[-1]
    length = round_up(columns + precision.modulation_tail // gammatonegram.HOP)
    response = fast_modulation(length, highest_hz, precision.dtype, str(waves.device))
    spectrum = torch.fft.rfft(envelope, n=length).unsqueeze(-2)
    output = torch.fft.irfft(spectrum * response, n=length)[..., :columns]
    window = torch.hamming_window(FAST_FRAME, periodic=True, dtype=torch.float64).square()
    frames = output.square().unfold(-1, FAST_FRAME, FAST_HOP)
    energies: torch.Tensor = (frames @ window.to(frames)).double()
    return energies


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


def unit_peak(waves: torch.Tensor) -> torch.Tensor:
    """Each row of `waves` divided by its largest magnitude; silent rows stay as they are."""
    peak = waves.abs().amax(dim=-1, keepdim=True)
    return waves / peak.masked_fill(peak == 0, 1.0)


def frame_count(n_samples: int) -> int:
    """Number of 256 ms frames every 64 ms in `n_samples`, rounded up to 16 as SRMRpy does."""
    return 1 + (math.ceil(n_samples / 16) * 16 - FRAME) // HOP


def blocks(batch: int, n_samples: int, device: str) -> Iterator[tuple[slice, slice]]:
    """(waves, channels) to work on at once: on a CPU what its cache holds, on a GPU much more."""
    budget = BLOCK_SAMPLES.get(device, BLOCK_SAMPLES["cuda"])
    channels = min(N_CHANNELS, max(1, budget // n_samples))
    rows = max(1, budget // (n_samples * N_CHANNELS))
    for row in range(0, batch, rows):
        for channel in range(0, N_CHANNELS, channels):
            yield slice(row, row + rows), slice(channel, channel + channels)


def framed_energies(
    envelope: torch.Tensor, padded: int, highest_hz: float, precision: Precision
) -> torch.Tensor:
    """Energies of the eight modulation filters' outputs, (..., 8, frames), of `envelope`."""
    import torch

    step, device = precision.envelope_step, str(envelope.device)
    length = round_up(padded + precision.modulation_tail)
    spectrum = torch.fft.rfft(envelope, n=length // step).unsqueeze(-2)
    frames = frame_count(padded)
    parts = []
    for decimation, response in modulation(length, highest_hz, precision, device):
        product = spectrum[..., : response.shape[-1]] * response
        output = torch.fft.irfft(product, n=length // decimation)
        parts.append(frame_energy(output, frames, decimation, hamming_hops(decimation, output)))
    return torch.cat(parts, dim=-2)


def frame_energy(
    output: torch.Tensor, frames: int, decimation: int, window_hops: torch.Tensor
) -> torch.Tensor:
    """Hamming-weighted energy per frame, (..., frames), of `output`, (..., samples).

    A frame is four hops: each hop is weighted by the four quarters of the squared window in one
    matrix product, and a frame adds four neighbouring results.
    """
    hop, quarters = HOP // decimation, FRAME // HOP
    used = output[..., : (frames + quarters - 1) * hop]
    hops = used.square().reshape(*used.shape[:-1], -1, hop) @ window_hops
    energy = hops[..., :frames, 0].clone()
    for quarter in range(1, quarters):
        energy += hops[..., quarter : quarter + frames, quarter]
    return energy


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


@functools.lru_cache(maxsize=3)
def gammatone(length: int, dtype: str, device: str) -> torch.Tensor:
    """Responses of the gammatone channels, (23, length // 2 + 1), complex as goes with `dtype`."""
    import torch

    centres = filterbanks.centre_frequencies(N_CHANNELS)
    response = filterbanks.gammatone_response(centres, length, RATE_HZ, device)
    return response.to(torch.complex64 if dtype == "float32" else torch.complex128)


@functools.lru_cache(maxsize=4)
def modulation(
    length: int, highest_hz: float, precision: Precision, device: str
) -> list[tuple[int, torch.Tensor]]:
    """(decimation, responses (filters, bins)) of neighbouring modulation filters, low to high.

    The slower a filter, the lower the rate at which its output is computed; the gains make the
    result equal to the full-rate output, taken every `decimation` samples.
    """
    import torch

    centres = filterbanks.modulation_centres(4.0, highest_hz)
    decimations = [decimation_for(float(hz)) if precision.decimated else 1 for hz in centres]
    groups = []
    for decimation in sorted(set(decimations), reverse=True):
        members = centres[[d == decimation for d in decimations]]
        response = filterbanks.modulation_response(members, length, RATE_HZ, device, decimation)
        step = precision.envelope_step
        gain = step / decimation / boxcar_gain(length, response.shape[-1], step, device)
        kind = torch.complex64 if precision.dtype == "float32" else torch.complex128
        groups.append((decimation, (response * gain).to(kind)))
    return groups


@functools.lru_cache(maxsize=4)
def fast_modulation(length: int, highest_hz: float, dtype: str, device: str) -> torch.Tensor:
    """Responses of the modulation filters at 400 Hz, (8, length // 2 + 1)."""
    import torch

    centres = filterbanks.modulation_centres(4.0, highest_hz)
    response = filterbanks.modulation_response(centres, length, gammatonegram.RATE_HZ, device)
    return response.to(torch.complex64 if dtype == "float32" else torch.complex128)


def decimation_for(centre_hz: float) -> int:
    """How many samples apart the output of a modulation filter is taken in float32.

    Measured: one step coarser costs 1e-4 in SRMR, mostly in the upper filters of noisy pauses.
    """
    return 8 if centre_hz < 50 else 4


def hamming_hops(decimation: int, like: torch.Tensor) -> torch.Tensor:
    """The squared periodic Hamming window of 4,096 points as (hop, 4), every `decimation`."""
    return _hamming_hops(decimation, like.dtype, str(like.device))


@functools.lru_cache(maxsize=16)
def _hamming_hops(decimation: int, dtype: torch.dtype, device: str) -> torch.Tensor:
    """The window behind `hamming_hops`, kept per type and device."""
    import torch

    window = torch.hamming_window(FRAME, periodic=True, dtype=torch.float64).square() * decimation
    hops = window[::decimation].view(FRAME // HOP, HOP // decimation).T
    return hops.contiguous().to(dtype=dtype, device=device)
