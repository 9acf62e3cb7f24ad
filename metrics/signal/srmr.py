"""SRMR of batches of equally long waves: envelopes, modulation energies and their ratio.

The numbers are those of SRMRpy (master) with `fast=False`: Falk, Zheng & Chan (2010), and for the
normalised variants Santos, Senoussaoui & Falk (IWAENC 2014). Filters are applied as products of
spectra, so that a batch is a few FFTs: the recursive filters' exact digital responses, from rest.

Envelopes of the gammatone channels come in three ways. Exact: filtered from rest, cut at the wave's
end, its analytic signal taken as if it repeated, in double precision, as SRMRpy does. Quick: the
wave itself repeats, so that multiplied by the one-sided response its spectrum is the analytic
signal at once; what that adds is the filters' free decay behind the wave's end, a sum of eight
functions per channel, which is taken off near both ends. Fast, as SRMRpy with `fast=True` (D. P. W.
Ellis, "Gammatone-like spectrograms", 2009): magnitudes of 10 ms Hann windows every 2.5 ms, weighted
by the magnitude responses of the gammatone filters.

The filterbanks (gammatone: 23 channels; modulation: 8 filters) follow Slaney, "An efficient
implementation of the Patterson-Holdsworth auditory filter bank" (Apple TR 35, 1993), and Falk,
Zheng & Chan, "A non-intrusive quality and intelligibility measure of reverberant and dereverberated
speech" (IEEE TASLP 18(7), 2010).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.core.lazy_torch import torch
from metrics.core.wave_memory import release

RATE_HZ = 16_000
FRAME = 4096  # samples: 256 ms
HOP = 1024  # samples: 64 ms
FAST_FRAME = 103  # columns of the fast envelopes, 2.5 ms each
FAST_HOP = 26
TAIL = 64_000  # samples after which the slowest filter has died away
DYING = 130_000  # samples times Hz: after so long a filter has died away to single precision
N_CHANNELS = 23
LOWEST_HZ = 125.0  # of the gammatone channels
MIN_SAMPLES = FRAME - 15  # the analytic signal is taken over a multiple of 16 samples
FAST_N_FFT = 512
FAST_WINDOW = 160  # samples: 10 ms at 16 kHz
FAST_STEP = 40  # samples: 2.5 ms at 16 kHz
FAST_RATE_HZ = 400.0  # of the envelopes
FAST_MARGIN = (FAST_N_FFT - FAST_WINDOW) // 2  # samples beside the window in a transform
FAST_MIN_SAMPLES = FAST_N_FFT + (FAST_FRAME - 1) * FAST_STEP
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


SharedEnvelopes = dict[tuple[int, int], "torch.Tensor"]  # envelopes by their first wave and channel

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
    shared: SharedEnvelopes | None = None,
) -> list[Srmr]:
    """SRMR of each row of `waves`: (batch, samples), floating point, finite, at 16 kHz.

    ``shared`` holds what another variant computed of the same waves in the same precision.

    Independent of level; NaN-free: a silent or too short row has a reason instead of a value.
    """
    kind = VARIANTS[variant]
    needed = shortest(variant)
    if waves.shape[-1] < needed:
        short = f"too short: {waves.shape[-1]} samples, SRMR needs {needed} ({needed / 16e3:.2f} s)"
        return [Srmr(None, short, None, None)] * waves.shape[0]
    if is_long(waves.shape[-1]):
        means = torch.stack([mean_over_windows(wave, kind, precision) for wave in waves])
    else:
        means = frame_energies(waves, kind, precision, shared).mean(dim=-1)
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
    waves: torch.Tensor, kind: Variant, precision: str, shared: SharedEnvelopes | None = None
) -> torch.Tensor:
    """Energy per channel, modulation filter and frame of a variant: (batch, 23, 8, frames)."""
    if kind.fast:
        energy = fast_energies(waves, kind.highest_hz, PRECISIONS[precision])
    else:
        energy = modulation_energies(waves, kind.highest_hz, PRECISIONS[precision], shared)
    return limited_range(energy) if kind.normalised else energy


def modulation_energies(
    waves: torch.Tensor,
    highest_hz: float,
    precision: Precision,
    shared: SharedEnvelopes | None = None,
) -> torch.Tensor:
    """Energy per channel, modulation filter and frame: (batch, 23, 8, frames), float64.

    `waves`: (batch, samples). Each wave is first scaled to a peak of 1. The gammatone envelopes
    are taken from ``shared``, or put there: variants share them.
    """
    prepare: Callable[[torch.Tensor], Any] = prepare_exact
    compute: Callable[[Any, slice], torch.Tensor] = exact_envelopes
    if precision.dtype == "float32":
        prepare, compute = prepare_quick, quick_envelopes
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
        envelope = shared.get(place) if shared is not None else None
        if envelope is None and (channels.start == 0 or prepared_rows != rows.start):
            prepared_rows = rows.start
            prepared = prepare(unit_peak(waves[rows].to(getattr(torch, precision.dtype))))
        if envelope is None:
            envelope = compute(prepared, channels)
            if shared is not None:
                shared[place] = envelope
        energies[rows, channels] = framed_energies(envelope, padded, highest_hz, precision)
    return energies


def fast_energies(waves: torch.Tensor, highest_hz: float, precision: Precision) -> torch.Tensor:
    """As `modulation_energies` from envelopes at 400 Hz; channels from low to high frequency.

    Frames of 103 columns (257.5 ms) every 26 (65 ms). SRMRpy does not turn the channels round, so
    that the search for K* begins at the high ones; neither does this.
    """
    parts = []
    budget = BLOCK_SAMPLES.get(waves.device.type, BLOCK_SAMPLES["cuda"])
    for part in waves.split(max(1, budget // waves.shape[-1])):  # type: ignore[no-untyped-call]
        level = unit_peak(part.to(getattr(torch, precision.dtype)))
        envelope = fast_envelopes(level)
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
    bandwidth = erb_hz(centre_frequencies())[::-1]
    edges = modulation_lower_edges(modulation_centres(highest_hz))
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
    step, device = precision.envelope_step, str(envelope.device)
    length = round_up(padded if precision.circular else padded + TAIL)
    spectrum = torch.fft.rfft(envelope, n=length // step).unsqueeze(-2)
    frames = frame_count(padded)
    states = None
    if precision.circular:
        states = envelope @ last_states(length, highest_hz, step, device)[: envelope.shape[-1]]
    parts = []
    filters_before = 0
    for decimation, response in modulation(length, highest_hz, precision, device):
        product = spectrum[..., : response.shape[-1]] * response
        output = torch.fft.irfft(product, n=length // decimation)
        if states is not None:
            own = states[..., 2 * filters_before : 2 * (filters_before + len(response))]
            take_off_last_period(output, own, filters_before, decimation, highest_hz)
        filters_before += len(response)
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
    columns = envelope.shape[-1]
    length = round_up(columns + TAIL // FAST_STEP)
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
    centres = modulation_centres(highest_hz)
    decimations = [decimation_for(float(hz)) if precision.decimated else 1 for hz in centres]
    groups = []
    for decimation in sorted(set(decimations), reverse=True):
        members = centres[[d == decimation for d in decimations]]
        response = modulation_response(members, length, RATE_HZ, device, decimation)
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
    poles = modulation_poles(modulation_centres(highest_hz))[0]
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
    centres = modulation_centres(highest_hz)
    decays = []
    for centre, pole, residue in zip(centres, *modulation_poles(centres), strict=True):
        time = np.arange(0, DYING / centre, decimation)
        powers = torch.from_numpy(2 * residue * pole**time)
        decays.append(torch.stack([powers.real, -powers.imag]).float().to(device))
    return decays


@functools.lru_cache(maxsize=4)
def fast_modulation(length: int, highest_hz: float, dtype: str, device: str) -> torch.Tensor:
    """Responses of the modulation filters at 400 Hz, (8, length // 2 + 1)."""
    centres = modulation_centres(highest_hz)
    response = modulation_response(centres, length, FAST_RATE_HZ, device)
    return response.to(torch.complex64 if dtype == "float32" else torch.complex128)


def averaging_gain(length: int, n_bins: int, count: int, device: str) -> torch.Tensor:
    """Response, (n_bins,), complex128, of a mean of `count` samples on the bins of `length`."""
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
    window = torch.hamming_window(FRAME, periodic=True, dtype=torch.float64).square() * decimation
    hops = window[::decimation].view(FRAME // HOP, HOP // decimation).T
    return hops.contiguous().to(dtype=dtype, device=device)


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
    response = gammatone(waves.length, str(waves.spectra.device))[channels, None]
    pieces = torch.fft.irfft(waves.spectra[:, None] * response, n=waves.length)
    filtered = pieces[..., GAMMATONE_TAIL:].flatten(-2)[..., : waves.n_samples]
    return analytic_magnitude(filtered, math.ceil(waves.n_samples / 16) * 16)


def overlapping_spectra(waves: torch.Tensor, length: int, tail: int) -> torch.Tensor:
    """Spectra of pieces of `length` that begin `tail` samples early: (batch, pieces, bins).

    The first `tail` samples of each filtered piece are to be thrown away; what is left of the
    pieces, side by side, is the filtered wave (overlap-save).
    """
    step = length - tail
    pieces = -(-waves.shape[-1] // step)
    longer = torch.nn.functional.pad(waves, (tail, pieces * step - waves.shape[-1]))
    spectra: torch.Tensor = torch.fft.rfft(longer.unfold(-1, length, step))
    return spectra


@functools.lru_cache(maxsize=3)
def gammatone(length: int, device: str) -> torch.Tensor:
    """Responses of the gammatone channels, (23, length // 2 + 1), complex128."""
    return gammatone_response(length, device)


def analytic_magnitude(filtered: torch.Tensor, padded: int) -> torch.Tensor:
    """|x + i Hilbert(x)| of `filtered` followed by zeros up to `padded`, periodic in `padded`.

    A length with a large prime factor has slow transforms: there the Hilbert transform is the
    same circular convolution, made as a linear one of twice the length.
    """
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
    response = gammatone_response(length, device) / 2
    response[:, [0, -1]] /= 2
    return response.to(torch.complex64)


@functools.lru_cache(maxsize=2)
def ending_decays(device: str) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The free decays of the filters, as eight orthonormal functions of time per channel.

    Returns: what gives their amounts from the last samples of a wave, (LEAD, 23 * 8); and for each
    channel a quarter of their analytic signals, (2, 8, edge, 2), after and before they start.
    """
    response = gammatone_response(DECAY_PERIOD)
    matrices, shapes = [], []
    for centre, channel in zip(centre_frequencies(), response, strict=True):
        of_shapes = torch.fft.rfft(_decay_shapes(float(centre)), n=DECAY_PERIOD)
        matrices.append(torch.fft.irfft(of_shapes.conj() * channel)[:, 1 : LEAD + 1].flip(-1))
        of_shapes[:, 1:-1] *= 2
        signal = torch.view_as_real(torch.fft.ifft(of_shapes, n=DECAY_PERIOD) / 4)
        edge = FAR if centre < FAR_BELOW_HZ else NEAR
        shapes.append(torch.stack([signal[:, :edge], signal[:, -edge:]]).float().to(device))
    return torch.cat(matrices).T.float().contiguous().to(device), shapes


def _decay_shapes(centre_hz: float) -> torch.Tensor:
    """Orthonormal functions, (8, samples), that span what four equal pole pairs do unfed."""
    time = torch.arange(3 * LEAD, dtype=torch.float64)
    width = float(erb_hz(np.array(centre_hz)))
    fade = torch.exp(time * (-1.019 * 2 * math.pi * width / RATE_HZ))
    angle = time * (2 * math.pi * centre_hz / RATE_HZ)
    columns = [time**k * fade * wave(angle) for k in range(4) for wave in (torch.cos, torch.sin)]
    scaled = torch.stack([column / column.norm() for column in columns], dim=1)
    orthonormal: torch.Tensor = torch.linalg.qr(scaled)[0].T.contiguous()
    return orthonormal


def fast_envelopes(waves: torch.Tensor) -> torch.Tensor:
    """Envelopes at 400 Hz, (batch, 23, columns), channels from low to high frequency.

    `waves`: (batch, samples) at 16 kHz, at least 512 of them. When the last transform ends with the
    wave, SRMRpy leaves that column at zero; so does this.
    """
    columns = 1 + (waves.shape[-1] - FAST_N_FFT) // FAST_STEP
    used = waves[..., FAST_MARGIN : FAST_MARGIN + (columns - 1) * FAST_STEP + FAST_WINDOW]
    window = torch.hann_window(FAST_WINDOW, dtype=torch.float64).to(waves)
    spectra = torch.fft.rfft(used.unfold(-1, FAST_WINDOW, FAST_STEP) * window, n=FAST_N_FFT)
    envelope: torch.Tensor = (
        spectra.abs() @ gammatone_magnitudes(waves.dtype, str(waves.device))
    ).mT / FAST_N_FFT
    if (waves.shape[-1] - FAST_N_FFT) % FAST_STEP == 0:
        envelope[..., -1] = 0
    return envelope


@functools.lru_cache(maxsize=4)
def gammatone_magnitudes(dtype: torch.dtype, device: str) -> torch.Tensor:
    """Magnitudes of the gammatone responses, (257, 23), from low to high frequency."""
    response = gammatone_response(FAST_N_FFT, device)
    magnitudes: torch.Tensor = response.abs().flip(0).T.contiguous().to(dtype)
    return magnitudes


EAR_Q = 9.26449  # Glasberg and Moore (1990)
MIN_BANDWIDTH_HZ = 24.7
MODULATION_Q = 2.0


def centre_frequencies() -> NDArray[np.float64]:
    """Centre frequencies in Hz, (23,), from high to low, even on the ERB scale."""
    corner = EAR_Q * MIN_BANDWIDTH_HZ
    highest = RATE_HZ / 2 + corner
    steps = np.arange(1, N_CHANNELS + 1) / N_CHANNELS
    return np.asarray(highest * ((LOWEST_HZ + corner) / highest) ** steps - corner)


def erb_hz(centre_hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Equivalent rectangular bandwidth in Hz of a filter at `centre_hz`, same shape."""
    return centre_hz / EAR_Q + MIN_BANDWIDTH_HZ


def gammatone_response(length: int, device: str = "cpu") -> torch.Tensor:
    """Slaney's four-section gammatone of each channel on the bins of an rfft of `length`.

    Returns complex128, (23, length // 2 + 1), with gain 1 at each centre frequency.
    """
    delay, centre_hz = _unit_delay(length, 1, device), centre_frequencies()
    channels = [
        _gammatone_at(delay, centre, width)
        for centre, width in zip(centre_hz, erb_hz(centre_hz), strict=True)
    ]
    return torch.stack(channels)


def _gammatone_at(delay: torch.Tensor, centre_hz: float, width_hz: float) -> torch.Tensor:
    """One channel's response where z^-1 takes the values `delay`; scaled to 1 at its centre."""
    decay = math.exp(-1.019 * 2 * math.pi * width_hz / RATE_HZ)
    angle = 2 * math.pi * centre_hz / RATE_HZ
    zeros = [
        -decay * (math.cos(angle) + side * math.sqrt(3 + slope * 2**1.5) * math.sin(angle))
        for slope in (1, -1)
        for side in (1, -1)
    ]

    def response(z1: torch.Tensor) -> torch.Tensor:
        numerator = torch.ones_like(z1)
        for zero in zeros:
            numerator = numerator * (1 + zero * z1)
        pole_pair = 1 + z1 * (-2 * decay * math.cos(angle) + decay**2 * z1)
        return numerator / (pole_pair * pole_pair).square()

    at_centre = torch.polar(
        torch.ones(1, dtype=torch.float64, device=delay.device),
        torch.full((1,), -angle, dtype=torch.float64, device=delay.device),
    )
    return response(delay) / response(at_centre).abs()


def modulation_centres(highest_hz: float) -> NDArray[np.float64]:
    """Centre frequencies in Hz of the modulation filters, (8,), evenly spaced in log from 4 Hz."""
    return np.geomspace(4.0, highest_hz, 8)


def modulation_lower_edges(centre_hz: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lower 3 dB edges in Hz, (8,), of the modulation filters."""
    half_width = np.tan(np.pi * centre_hz / RATE_HZ) / MODULATION_Q * RATE_HZ / (2 * np.pi)
    return np.asarray(centre_hz - half_width)


def modulation_response(
    centre_hz: NDArray[np.float64],
    length: int,
    rate_hz: float,
    device: str = "cpu",
    decimation: int = 1,
) -> torch.Tensor:
    """Second-order band passes (Q = 2) on the first bins of an rfft of `length`.

    Only the bins below the Nyquist frequency of rate / decimation are computed.
    Returns complex128, (filters, length // (2 * decimation) + 1).
    """
    z1 = _unit_delay(length, decimation, device)
    rows = []
    for centre in centre_hz:
        warped = math.tan(math.pi * centre / rate_hz)
        width = warped / MODULATION_Q
        numerator = width * (1 - z1 * z1)
        rows.append(
            numerator
            / (
                (1 + width + warped**2)
                + (2 * warped**2 - 2) * z1
                + (1 - width + warped**2) * (z1 * z1)
            )
        )
    return torch.stack(rows)


def modulation_poles(
    centre_hz: NDArray[np.float64],
) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """(poles, residues), each (8,), of the modulation filters.

    The impulse response after its first sample is twice the real part of residue * pole ** n.
    """
    warped = np.tan(math.pi * centre_hz / RATE_HZ)
    width = warped / MODULATION_Q
    lead = 1 + width + warped**2
    half = (warped**2 - 1) / lead
    poles = -half + 1j * np.sqrt((1 - width + warped**2) / lead - half**2)
    residues = width / lead * (1 - poles**-2) / (1 - poles.conj() / poles)
    return poles, residues


def _unit_delay(length: int, decimation: int, device: str) -> torch.Tensor:
    """z^-1 on the first `length // (2 * decimation) + 1` bins of a DFT of `length`."""
    bins = torch.arange(length // (2 * decimation) + 1, dtype=torch.float64, device=device)
    angle = bins * (-2 * math.pi / length)
    return torch.polar(torch.ones_like(angle), angle)
