"""The eight modulation filters: their outputs' energies in frames, from envelopes."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

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
