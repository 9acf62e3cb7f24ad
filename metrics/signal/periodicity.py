"""Pitch and periods of a voice, jitter and shimmer: autocorrelation, a path through its maxima.

After P. Boersma (1993), “Accurate short-term analysis of the fundamental frequency and the
harmonics-to-noise ratio of a sampled sound”, with the defaults of Praat's manual. The periods
themselves, jitter and shimmer follow the manual: “Sound & Pitch: To PointProcess (cc)”,
“PointProcess: Get jitter (local)”, “Get shimmer (local)”. No code of Praat is here.
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
    candidates = candidates_of(wave, rate_hz, low_hz, high_hz, PITCH)
    return best_path(candidates, high_hz, PITCH), candidates.times_s


def harmonicity_db(wave: Array, rate_hz: int, low_hz: float) -> Array:
    """Harmonics over noise, 10 lg(r / (1 - r)) in dB, of each periodic frame."""
    candidates = candidates_of(wave, rate_hz, low_hz, rate_hz / 2, HARMONICITY)
    if not len(candidates.times_s):
        return np.empty(0)
    best = candidates.strengths.argmax(axis=1)[:, None]
    strengths = np.take_along_axis(candidates.strengths, best, 1)[:, 0]
    periodic = np.take_along_axis(candidates.hz, best, 1)[:, 0] > 0
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
            add_maxima(row, rate_hz, (low_hz, high_hz), rule, hz[frame], strengths[frame])
    return Candidates(times, hz, strengths)


def correlations(parts: Array, rate_hz: int, low_hz: float, gaussian: bool) -> tuple[Array, Array]:
    """Normalised autocorrelations of windows, (frames, lags), and their local peaks, (frames,).

    Each is divided by the window's own, so that periods in the window count in full.
    """
    size = parts.shape[1]
    period = round(rate_hz / low_hz)
    middle, half = size // 2, period // 2
    window = gaussian_window(size) if gaussian else np.hanning(size + 2)[1:-1]
    parts = parts - parts[:, middle - period : middle + period].mean(axis=1, keepdims=True)
    parts *= window
    peaks = np.abs(parts[:, middle - half : middle + half]).max(axis=1)
    length = 1 << math.ceil(math.log2(size * 1.5))
    lags = FINER * (period + 2)

    def correlated(rows: Array) -> Array:
        power = np.abs(np.fft.rfft(rows, length)) ** 2
        correlation: Array = np.fft.irfft(power, FINER * length)[..., :lags]
        return correlation

    own, ours = correlated(window), correlated(parts)
    power = np.where(ours[:, :1] > 0, ours[:, :1], np.inf)
    likeness: Array = ours / power / (own / own[0])
    return likeness, peaks


def gaussian_window(size: int) -> Array:
    """A Gaussian window that ends at nought, (size,)."""
    away = (np.arange(1, size + 1) - (size + 1) / 2) / (size + 1)
    edge = math.exp(-12)
    window: Array = (np.exp(-48 * away**2) - edge) / (1 - edge)
    return window


def add_maxima(
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
    strongest = np.argsort(rule.octave * np.log2(within[0] / pitch) - height)[: MOST - 1]
    hz[1 : len(strongest) + 1] = pitch[strongest]
    strengths[1 : len(strongest) + 1] = height[strongest]


def best_path(candidates: Candidates, high_hz: float, rule: Rule) -> Array:
    """The pitch of each frame, (frames,), along the path of most strength and least cost."""
    count = len(candidates.times_s)
    if not count:
        return np.empty(0)
    voiced = candidates.hz > 0
    octaves = np.log2(np.where(voiced, candidates.hz, 1.0))
    local = candidates.strengths - np.where(voiced, rule.octave * (math.log2(high_hz) - octaves), 0)
    best, previous = local[0], np.zeros((count, MOST), int)
    for frame in range(1, count):
        one, other = voiced[frame - 1][:, None], voiced[frame]
        leap = np.abs(octaves[frame - 1][:, None] - octaves[frame])
        cost = np.where(one & other, rule.jump * leap, rule.change * (one != other))
        total = best[:, None] - cost
        previous[frame] = total.argmax(axis=0)
        best = total.max(axis=0) + local[frame]
    chosen = np.empty(count, int)
    chosen[-1] = best.argmax()
    for frame in range(count - 1, 0, -1):
        chosen[frame - 1] = previous[frame, chosen[frame]]
    pitch: Array = np.take_along_axis(candidates.hz, chosen[:, None], 1)[:, 0]
    return pitch


NEAR, FAR = 0.8, 1.25  # periods: where the next mark is looked for
FAINT = 0.0233  # of the loudest sample: what is fainter has no marks
LEAST_LIKENESS, EDGE_LIKENESS = 0.3, 0.7  # of a mark; of one more beyond the voiced stretch
LONE_S = 0.005  # around a frame without another
PERIOD_S = (0.0001, 0.02)  # shorter and longer ones do not count
PERIOD_FACTOR, AMPLITUDE_FACTOR = 1.3, 1.6  # of neighbours: larger steps do not count
AROUND = 0.2  # periods to either side of a mark whose level is its amplitude


@dataclass(frozen=True)
class Pitch:
    """F0 by frame, (frames,) in Hz and 0 where unvoiced, and the frames' times in s, evenly."""

    f0_hz: Array
    times_s: Array

    def stretches(self) -> list[tuple[float, float]]:
        """Start and end in s of what is voiced without a break."""
        voiced = np.concatenate([[False], self.f0_hz > 0, [False]])
        edges = np.flatnonzero(np.diff(voiced.astype(np.int8)))
        half = (self.times_s[1] - self.times_s[0]) / 2 if len(self.times_s) > 1 else LONE_S
        return [
            (float(self.times_s[first] - half), float(self.times_s[last - 1] + half))
            for first, last in zip(edges[::2], edges[1::2], strict=True)
        ]

    def within(self, start_s: float, end_s: float) -> Pitch:
        """The frames of a voiced stretch."""
        inside = (self.times_s > start_s) & (self.times_s < end_s)
        return Pitch(self.f0_hz[inside], self.times_s[inside])

    def period_s(self, at_s: float) -> float:
        """The period at a time, F0 taken linearly between frames and level beyond the ends."""
        return 1 / float(np.interp(at_s, self.times_s, self.f0_hz))


def marks_of(wave: Array, rate_hz: int, pitch: Pitch) -> Array:
    """Times in s of the periods, rising, in all voiced stretches of a wave, (samples,)."""
    by_stretch: list[Array] = []
    for start_s, end_s in pitch.stretches():
        own = pitch.within(start_s, end_s)
        marks = marks_within(wave, rate_hz, own, (start_s, end_s))
        if by_stretch and len(marks):  # what was found from the stretch before is not found again
            before = by_stretch[-1][-1]
            marks = marks[[at - before > NEAR * own.period_s(at) for at in marks]]
        if len(marks):
            by_stretch.append(marks)
    return np.concatenate(by_stretch) if by_stretch else np.empty(0)


def marks_within(wave: Array, rate_hz: int, pitch: Pitch, stretch: tuple[float, float]) -> Array:
    """The marks of one voiced stretch, from the strongest sample at its middle outwards."""
    start_s, end_s = stretch
    middle = (start_s + end_s) / 2
    period = pitch.period_s(middle)
    first = max(0, round((middle - period / 2) * rate_hz))
    around = np.abs(wave[first : round((middle + period / 2) * rate_hz) + 1])
    if not len(around) or not around.any():
        return np.empty(0)
    least = FAINT * np.abs(wave).max()
    times_s = [(first + parabolic_peak(around)[0]) / rate_hz]
    for direction in (-1, 1):
        at = times_s[0]
        while start_s <= at <= end_s:
            mark = next_mark(wave, rate_hz, at, pitch.period_s(at), direction)
            at = mark.at_s
            likeness = LEAST_LIKENESS if start_s <= at <= end_s else EDGE_LIKENESS
            if mark.likeness > likeness and mark.peak > least:
                times_s.append(at)
    return np.sort(times_s)


@dataclass(frozen=True)
class Mark:
    """Where a period is, how like its neighbour, and its strongest sample."""

    at_s: float
    likeness: float
    peak: float


def next_mark(wave: Array, rate_hz: int, at_s: float, period_s: float, direction: int) -> Mark:
    """The next mark that way, where one period around it is most like that around this one.

    Likeness is the normalised cross-correlation, its largest maximum between samples by a parabola.
    Where there is none, the mark is a period on and like nothing.
    """
    none = Mark(at_s + direction * period_s, -1.0, 0.0)
    left, right = (round((at_s + side * period_s / 2) * rate_hz) for side in (-1, 1))
    reach = sorted(direction * factor * period_s * rate_hz for factor in (NEAR, FAR))
    low, high = left + math.floor(reach[0]), left + math.ceil(reach[1])
    if min(low, left) < 0 or max(right, high + right - left) >= len(wave):
        return none
    own = wave[left : right + 1]
    windows = np.lib.stride_tricks.sliding_window_view(wave[low : high + len(own)], len(own))
    power = np.sqrt((windows**2).sum(axis=1) * (own**2).sum())
    likeness = (windows @ own) / np.where(power > 0, power, np.inf)
    inner = likeness[1:-1]
    maxima = np.flatnonzero((inner >= likeness[:-2]) & (inner >= likeness[2:])) + 1
    if not len(maxima):
        return none
    top = int(maxima[likeness[maxima].argmax()])
    place, height = parabolic_peak(likeness[top - 1 : top + 2])
    peak = float(np.abs(windows[top]).max())
    return Mark(at_s + (low + top - 1 + place - left) / rate_hz, height, peak)


def parabolic_peak(values: Array) -> tuple[float, float]:
    """Where the largest of some values lies, between samples by a parabola, and how high."""
    top = int(values.argmax())
    if not 0 < top < len(values) - 1:
        return float(top), float(values[top])
    before, here, after = values[top - 1 : top + 2]
    bend = before - 2 * here + after
    if not bend < 0:
        return float(top), float(here)
    off = (before - after) / bend / 2
    return top + off, float(here - (before - after) * off / 4)


def jitter(marks: Array) -> float:
    """Mean difference of neighbouring periods over the mean period; NaN of too few.

    ``marks``: their times in s, rising. Praat's “jitter (local)”: periods of 0.1 to 20 ms, of which
    neither is over 1.3 times the other; the mean is over those with such a neighbour.
    """
    lengths = np.diff(marks)
    both = neighbours(lengths)
    counted = lengths[has_near_neighbour(both) & in_range(lengths)]
    return float(np.abs(np.diff(lengths))[both].mean() / counted.mean()) if both.any() else math.nan


def shimmer(wave: Array, rate_hz: int, marks: Array) -> float:
    """Mean difference of neighbouring periods' amplitudes over the mean one; NaN of too few.

    Praat's “shimmer (local)”: periods as for jitter, amplitudes within 1.6 times each other.
    """
    lengths = np.diff(marks)
    places = np.flatnonzero(neighbours(lengths)) + 1
    heard = [
        level_at(wave, rate_hz, marks[i], AROUND * lengths[i - 1], AROUND * lengths[i])
        for i in places
    ]
    levels = np.array(heard)
    places, levels = places[levels > 0], levels[levels > 0]
    near = in_range(np.diff(marks[places])) & (step_ratios(levels) <= AMPLITUDE_FACTOR)
    return float(np.abs(np.diff(levels))[near].mean() / levels.mean()) if near.any() else math.nan


def in_range(lengths: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which lengths in s may be periods."""
    fine: NDArray[np.bool_] = (lengths >= PERIOD_S[0]) & (lengths <= PERIOD_S[1])
    return fine


def neighbours(lengths: Array) -> NDArray[np.bool_]:
    """Of each two lengths in a row, whether both may be periods and are near each other."""
    fine = in_range(lengths)
    both: NDArray[np.bool_] = fine[1:] & fine[:-1] & (step_ratios(lengths) <= PERIOD_FACTOR)
    return both


def has_near_neighbour(both: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which lengths have a neighbour that is near."""
    before: NDArray[np.bool_] = np.concatenate([[False], both]) | np.concatenate([both, [False]])
    return before


def step_ratios(values: Array) -> Array:
    """How many times the larger of each two values in a row is the smaller."""
    larger: Array = np.maximum(values[1:], values[:-1]) / np.minimum(values[1:], values[:-1])
    return larger


def level_at(wave: Array, rate_hz: int, at_s: float, left_s: float, right_s: float) -> float:
    """The root of the mean square around a time, weighted by a raised cosine on either side."""
    first, last = math.ceil((at_s - left_s) * rate_hz), math.floor((at_s + right_s) * rate_hz)
    places = np.arange(max(0, first), min(len(wave) - 1, last) + 1)
    away = places / rate_hz - at_s
    weights = 0.5 + 0.5 * np.cos(np.pi * away / np.where(away < 0, left_s, right_s))
    if not weights.sum() > 0:
        return 0.0
    squares = (wave[places] * weights) ** 2
    return float(np.sqrt(squares.sum() / (weights**2).sum()))
