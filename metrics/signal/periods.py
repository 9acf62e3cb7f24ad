"""The periods of a voice: where each begins, how long and how strong it is, and how these vary.

After the manual of Praat: “Sound & Pitch: To PointProcess (cc)”, “PointProcess: Get jitter
(local)”, “Get shimmer (local)”. No code of Praat is here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

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
    found: list[Array] = []
    for start_s, end_s in pitch.stretches():
        own = pitch.within(start_s, end_s)
        marks = marks_within(wave, rate_hz, own, (start_s, end_s))
        if found and len(marks):  # what was found from the stretch before is not found again
            before = found[-1][-1]
            marks = marks[[at - before > NEAR * own.period_s(at) for at in marks]]
        if len(marks):
            found.append(marks)
    return np.concatenate(found) if found else np.empty(0)


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
    found = [(first + summit(around)[0]) / rate_hz]
    for direction in (-1, 1):
        at = found[0]
        while start_s <= at <= end_s:
            mark = next_mark(wave, rate_hz, at, pitch.period_s(at), direction)
            at = mark.at_s
            likeness = LEAST_LIKENESS if start_s <= at <= end_s else EDGE_LIKENESS
            if mark.likeness > likeness and mark.peak > least:
                found.append(at)
    return np.sort(found)


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
    place, height = summit(likeness[top - 1 : top + 2])
    peak = float(np.abs(windows[top]).max())
    return Mark(at_s + (low + top - 1 + place - left) / rate_hz, height, peak)


def summit(values: Array) -> tuple[float, float]:
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
    counted = lengths[accompanied(both) & in_range(lengths)]
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
    near = in_range(np.diff(marks[places])) & (steps(levels) <= AMPLITUDE_FACTOR)
    return float(np.abs(np.diff(levels))[near].mean() / levels.mean()) if near.any() else math.nan


def in_range(lengths: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which lengths in s may be periods."""
    fine: NDArray[np.bool_] = (lengths >= PERIOD_S[0]) & (lengths <= PERIOD_S[1])
    return fine


def neighbours(lengths: Array) -> NDArray[np.bool_]:
    """Of each two lengths in a row, whether both may be periods and are near each other."""
    fine = in_range(lengths)
    both: NDArray[np.bool_] = fine[1:] & fine[:-1] & (steps(lengths) <= PERIOD_FACTOR)
    return both


def accompanied(both: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which lengths have a neighbour that is near."""
    before: NDArray[np.bool_] = np.concatenate([[False], both]) | np.concatenate([both, [False]])
    return before


def steps(values: Array) -> Array:
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
