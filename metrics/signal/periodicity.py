"""How periodic a voice is, and at what pitch: autocorrelation and a path through its maxima.

After P. Boersma (1993), “Accurate short-term analysis of the fundamental frequency and the
harmonics-to-noise ratio of a sampled sound”, with the defaults of Praat's manual. No code of Praat
is here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEP_S = 0.01
FINER = 8  # times closer than samples lie the lags of an autocorrelation
MOST = 15  # candidates of a frame, the unvoiced one among them
AT_ONCE = 256  # frames


@dataclass(frozen=True)
class Rule:
    """How candidates of a frame are weighed; the defaults are those for pitch."""

    periods: float = 3.0  # of the lowest pitch in a window
    silence: float = 0.03  # of the loudest sample: quieter frames are unvoiced
    voicing: float = 0.45  # how periodic a voiced frame is, at least
    octave: float = 0.01  # per octave that a candidate is lower
    jump: float = 0.35  # per octave from frame to frame
    change: float = 0.14  # from voiced to unvoiced, or back
    gaussian: bool = False  # the window, else Hanning's


PITCH = Rule()
HARMONICITY = Rule(9.0, 0.1, 0.0, 0.0, 0.0, 0.0, True)  # 4.5 periods count: half a window


@dataclass(frozen=True)
class Candidates:
    """Of each frame: pitches in Hz (0: unvoiced) and strengths, (frames, MOST); times in s."""

    times_s: Array
    hz: Array
    strengths: Array


def pitch_of(wave: Array, rate_hz: int, low_hz: float, high_hz: float) -> tuple[Array, Array]:
    """F0 in Hz, (frames,), 0 where unvoiced, every 10 ms, and the frames' times in s."""
    found = candidates_of(wave, rate_hz, low_hz, high_hz, PITCH)
    return path(found, high_hz, PITCH), found.times_s


def harmonicity_db(wave: Array, rate_hz: int, low_hz: float) -> Array:
    """Harmonics over noise, 10 lg(r / (1 - r)) in dB, of each periodic frame."""
    found = candidates_of(wave, rate_hz, low_hz, rate_hz / 2, HARMONICITY)
    if not len(found.times_s):
        return np.empty(0)
    best = found.strengths.argmax(axis=1)[:, None]
    strengths = np.take_along_axis(found.strengths, best, 1)[:, 0]
    periodic = np.take_along_axis(found.hz, best, 1)[:, 0] > 0
    r = np.clip(strengths[periodic], 1e-15, 1 - 1e-15)
    ratio: Array = 10 * np.log10(r / (1 - r))
    return ratio


def candidates_of(
    wave: Array, rate_hz: int, low_hz: float, high_hz: float, rule: Rule
) -> Candidates:
    """What each frame of a wave, (samples,), may be; no frames where it is shorter than one."""
    size = round(rule.periods / low_hz * rate_hz)
    size -= size % 2
    count = math.floor((len(wave) - size) / (STEP_S * rate_hz)) + 1 if len(wave) >= size else 0
    middles = len(wave) / rate_hz / 2 + (np.arange(count) - (count - 1) / 2) * STEP_S
    times = np.asarray(middles, np.float64)
    hz, strengths = np.zeros((count, MOST)), np.full((count, MOST), -np.inf)
    starts = np.clip(np.round(times * rate_hz).astype(int) - size // 2, 0, len(wave) - size)
    loudest = np.abs(wave - wave.mean()).max(initial=0)
    for first in range(0, count, AT_ONCE):
        own = slice(first, first + AT_ONCE)
        parts = wave[starts[own, None] + np.arange(size)]
        likeness, peaks = correlations(parts, rate_hz, low_hz, rule.gaussian)
        quiet = 2 - peaks / max(loudest, 1e-300) * (1 + rule.voicing) / rule.silence
        strengths[own, 0] = rule.voicing + np.maximum(0, quiet)
        for frame, row in enumerate(likeness, first):
            maxima(row, rate_hz, (low_hz, high_hz), rule, hz[frame], strengths[frame])
    return Candidates(times, hz, strengths)


def correlations(parts: Array, rate_hz: int, low_hz: float, gaussian: bool) -> tuple[Array, Array]:
    """Normalised autocorrelations of windows, (frames, lags), and their local peaks, (frames,).

    Each is divided by the window's own, so that periods in the window count in full.
    """
    size = parts.shape[1]
    period = round(rate_hz / low_hz)
    middle, half = size // 2, period // 2
    window = bell(size) if gaussian else np.hanning(size + 2)[1:-1]
    parts = parts - parts[:, middle - period : middle + period].mean(axis=1, keepdims=True)
    parts *= window
    peaks = np.abs(parts[:, middle - half : middle + half]).max(axis=1)
    length = 1 << math.ceil(math.log2(size * 1.5))
    lags = FINER * (period + 2)

    def correlated(rows: Array) -> Array:
        power = np.abs(np.fft.rfft(rows, length)) ** 2
        found: Array = np.fft.irfft(power, FINER * length)[..., :lags]
        return found

    own, ours = correlated(window), correlated(parts)
    power = np.where(ours[:, :1] > 0, ours[:, :1], np.inf)
    likeness: Array = ours / power / (own / own[0])
    return likeness, peaks


def bell(size: int) -> Array:
    """A Gaussian window that ends at nought, (size,)."""
    away = (np.arange(1, size + 1) - (size + 1) / 2) / (size + 1)
    edge = math.exp(-12)
    window: Array = (np.exp(-48 * away**2) - edge) / (1 - edge)
    return window


def maxima(
    row: Array, rate_hz: int, within: tuple[float, float], rule: Rule, hz: Array, strengths: Array
) -> None:
    """Put the maxima of an autocorrelation behind the unvoiced candidate, the strongest ones."""
    coarse = row[::FINER]
    tops = np.flatnonzero((coarse[1:-1] > coarse[:-2]) & (coarse[1:-1] >= coarse[2:])) + 1
    tops = tops[(tops >= 2) & (coarse[tops] > rule.voicing / 2)] * FINER
    tops += row[tops[:, None] + np.arange(-FINER, FINER + 1)].argmax(axis=1) - FINER
    before, here, after = row[tops - 1], row[tops], row[tops + 1]
    off = (before - after) / (before - 2 * here + after) / 2
    height = here - (before - after) * off / 4
    height = np.where(height > 1, 1 / height, height)
    pitch = FINER * rate_hz / (tops + off)
    fits = (pitch >= within[0]) & (pitch <= within[1])
    pitch, height = pitch[fits], height[fits]
    kept = np.argsort(rule.octave * np.log2(within[0] / pitch) - height)[: MOST - 1]
    hz[1 : len(kept) + 1] = pitch[kept]
    strengths[1 : len(kept) + 1] = height[kept]


def path(found: Candidates, high_hz: float, rule: Rule) -> Array:
    """The pitch of each frame, (frames,), along the path of most strength and least cost."""
    count = len(found.times_s)
    if not count:
        return np.empty(0)
    voiced = found.hz > 0
    octaves = np.log2(np.where(voiced, found.hz, 1.0))
    local = found.strengths - np.where(voiced, rule.octave * (math.log2(high_hz) - octaves), 0)
    best, came = local[0], np.zeros((count, MOST), int)
    for frame in range(1, count):
        one, other = voiced[frame - 1][:, None], voiced[frame]
        leap = np.abs(octaves[frame - 1][:, None] - octaves[frame])
        cost = np.where(one & other, rule.jump * leap, rule.change * (one != other))
        total = best[:, None] - cost
        came[frame] = total.argmax(axis=0)
        best = total.max(axis=0) + local[frame]
    chosen = np.empty(count, int)
    chosen[-1] = best.argmax()
    for frame in range(count - 1, 0, -1):
        chosen[frame - 1] = came[frame, chosen[frame]]
    pitch: Array = np.take_along_axis(found.hz, chosen[:, None], 1)[:, 0]
    return pitch
