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
from metrics.signal.envelopes import round_up

if TYPE_CHECKING:
    import torch

RATE_HZ = 16_000
FRAME = 4096  # samples: 256 ms
HOP = 1024  # samples: 64 ms
FAST_FRAME = 103  # columns of the fast envelopes, 2.5 ms each
FAST_HOP = 26
TAIL = 64_000  # samples after which the slowest filter has died away
DYING = 130_000  # samples times Hz: after so long a filter has died away to single precision
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
class Precision:
    """How exact the computation is: number type, rates, and length of the filters' tails."""

    dtype: str  # of waves: "float32" or "float64"
    envelope_step: int  # each value of an envelope is the mean of so many samples
    decimated: bool  # whether modulation filters' outputs are computed at low rates only
    circular: bool  # whether envelopes may repeat at once: what a period leaves is taken off


PRECISIONS = {
    "float32": Precision("float32", 4, True, True),
    "float64": Precision("float64", 1, False, False),
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

    prepare: Callable[[torch.Tensor], Any] = envelopes.prepare_exact
    compute: Callable[[Any, slice], torch.Tensor] = envelopes.exact_envelopes
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


def frame_count(n_samples: int) -> int:
    """Number of 256 ms frames every 64 ms in `n_samples`, rounded up to 16 as SRMRpy does."""
    return 1 + (math.ceil(n_samples / 16) * 16 - FRAME) // HOP


def framed_energies(
    envelope: torch.Tensor,
    padded: int,
    highest_hz: float,
    precision: Precision,
) -> torch.Tensor:
    """Energies of the eight modulation filters' outputs, (..., 8, frames), of `envelope`."""
    import torch

    step, device = precision.envelope_step, str(envelope.device)
    length = round_up(padded if precision.circular else padded + TAIL)
    spectrum = torch.fft.rfft(envelope, n=length // step).unsqueeze(-2)
    frames = frame_count(padded)
    states = None
    if precision.circular:
        states = envelope @ last_states(length, highest_hz, step, device)[: envelope.shape[-1]]
    parts = []
    done = 0
    for decimation, response in modulation(length, highest_hz, precision, device):
        product = spectrum[..., : response.shape[-1]] * response
        output = torch.fft.irfft(product, n=length // decimation)
        if states is not None:
            own = states[..., 2 * done : 2 * (done + len(response))]
            take_off_last_period(output, own, done, decimation, highest_hz)
        done += len(response)
        parts.append(frame_energy(output, frames, decimation, hamming_hops(decimation, output)))
    return torch.cat(parts, dim=-2)


def take_off_last_period(
    output: torch.Tensor, states: torch.Tensor, first: int, decimation: int, highest_hz: float
) -> None:
    """Subtract from outputs, (..., filters, samples), what the period before left in the filters.

    Filtering by spectra sees an envelope that repeats. A filter has one pair of poles, so that
    what it does unfed is its state, a complex number in `states`, times a known decay.
    """
    decays = free_decays(highest_hz, decimation, str(output.device))
    for place in range(output.shape[-2]):
        decay = decays[first + place][:, : output.shape[-1]]
        output[..., place, : decay.shape[-1]] -= states[..., 2 * place : 2 * place + 2] @ decay


def fast_framed_energies(
    envelope: torch.Tensor, highest_hz: float, precision: Precision
) -> torch.Tensor:
    """As `framed_energies` of an envelope at 400 Hz, (..., columns)."""
    import torch

    columns = envelope.shape[-1]
    length = round_up(columns + TAIL // envelopes.FAST_STEP)
    response = fast_modulation(length, highest_hz, precision.dtype, str(envelope.device))
    spectrum = torch.fft.rfft(envelope, n=length).unsqueeze(-2)
    output = torch.fft.irfft(spectrum * response, n=length)[..., :columns]
    window = torch.hamming_window(FAST_FRAME, periodic=True, dtype=torch.float64).square()
    frames = output.square().unfold(-1, FAST_FRAME, FAST_HOP)
    energies: torch.Tensor = (frames @ window.to(frames)).double()
    return energies


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


@functools.lru_cache(maxsize=16)
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
        gain = step / decimation / averaging_gain(length, response.shape[-1], step, device)
        kind = torch.complex64 if precision.dtype == "float32" else torch.complex128
        groups.append((decimation, (response * gain).to(kind)))
    return groups


@functools.lru_cache(maxsize=16)
def last_states(length: int, highest_hz: float, step: int, device: str) -> torch.Tensor:
    """What gives the filters' states after periods of `length` from an envelope: (samples, 16).

    Two columns per filter, real and imaginary part of the sum of an envelope's values (means of
    `step` samples) times its pole to the number of samples to come, over all periods before.
    """
    import torch

    poles = filterbanks.modulation_poles(filterbanks.modulation_centres(4.0, highest_hz))[0]
    to_come = torch.arange(length, 0, -step, dtype=torch.float64)
    columns = []
    for pole in poles:
        mean = (pole ** np.arange(step)).mean()
        powers = torch.from_numpy(pole ** to_come.numpy() * (step / mean / (1 - pole**length)))
        columns += [powers.real, powers.imag]
    return torch.stack(columns, dim=1).float().to(device)


@functools.lru_cache(maxsize=8)
def free_decays(highest_hz: float, decimation: int, device: str) -> list[torch.Tensor]:
    """What each filter does unfed from the states of `last_states`: (2, samples) per filter."""
    import torch

    centres = filterbanks.modulation_centres(4.0, highest_hz)
    decays = []
    for centre, pole, residue in zip(centres, *filterbanks.modulation_poles(centres), strict=True):
        time = np.arange(0, DYING / centre, decimation)
        powers = torch.from_numpy(2 * residue * pole**time)
        decays.append(torch.stack([powers.real, -powers.imag]).float().to(device))
    return decays


@functools.lru_cache(maxsize=4)
def fast_modulation(length: int, highest_hz: float, dtype: str, device: str) -> torch.Tensor:
    """Responses of the modulation filters at 400 Hz, (8, length // 2 + 1)."""
    import torch

    centres = filterbanks.modulation_centres(4.0, highest_hz)
    response = filterbanks.modulation_response(centres, length, envelopes.FAST_RATE_HZ, device)
    return response.to(torch.complex64 if dtype == "float32" else torch.complex128)


def averaging_gain(length: int, n_bins: int, count: int, device: str) -> torch.Tensor:
    """Response, (n_bins,), complex128, of a mean of `count` samples on the bins of `length`."""
    import torch

    angle = torch.arange(n_bins, dtype=torch.float64, device=device) * (2 * math.pi / length)
    ones = torch.ones_like(angle)
    return torch.stack([torch.polar(ones, angle * n) for n in range(count)]).mean(0)


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
