"""Recordings that are the same but for codec, level, rate or a trimmed edge, by fingerprints.

The fingerprint of Haitsma and Kalker (2002), "A highly robust audio fingerprinting system", ISMIR:
each 11.6 ms, 32 bits say how the energies of 33 bands between 300 and 2000 Hz change over band and
time. Two recordings are the same where few bits differ. Two takes of one sentence differ in about
half of their bits, as unrelated recordings do. Candidates share a word, or one with its least
certain bits flipped (section 5.2 there).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RATE_HZ = 5512
FRAME = 2048  # samples: 0.37 s
HOP = 64  # samples: 11.6 ms, an overlap of 31/32
BANDS = 33
LOW_HZ, HIGH_HZ = 300.0, 2000.0
SILENT_DB = 50.0  # a frame so far below the loudest says nothing
BIT_ERROR_BOUND = 0.25  # share of bits that differ, from which two recordings are not the same
WEAK_BITS = 2  # the least certain of each word: candidates are sought with them flipped
CORRELATED = 3.0  # successive bits depend on each other: the deviation of the share is three times
STRICT_DEVIATIONS = 10.0  # deviations below one half that a short overlap must reach
MIN_FRAMES = 24  # of overlap: 0.3 s beyond the first frame
MIN_SHARED = 0.8  # of the shorter clip
NEIGHBOURS = 64  # neighbours among equal words that are compared
OFFSET_TOLERANCE = 3  # hops around the offset of the votes
MIN_VOTES = 2
BLOCK = 512  # frames transformed at once

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Fingerprint:
    """One clip: a word of 32 bits for each hop, (frames,), and whether each frame is loud enough.

    ``keys``, (frames, 2^`WEAK_BITS`): the word, and those with its least certain bits flipped.
    """

    words: Words
    loud: NDArray[np.bool_]
    keys: Words


@dataclass(frozen=True)
class Match:
    """Two clips by their places: share of bits that differ, and the second's delay.

    ``offset_s``: where the first sample of the second clip stands in the first one.
    """

    first: int
    second: int
    bit_error_rate: float
    offset_s: float


def fingerprint(wave: NDArray[np.float32]) -> Fingerprint:
    """Return the fingerprint of a mono wave, (samples,) at `RATE_HZ`.

    A wave shorter than one frame and a hop has no words.
    """
    count = (len(wave) - FRAME) // HOP + 1 if len(wave) >= FRAME else 0
    if count < 2:
        nothing = np.zeros((0, 1 << WEAK_BITS), np.uint32)
        return Fingerprint(nothing[:, 0], np.zeros(0, np.bool_), nothing)
    frames = np.lib.stride_tricks.sliding_window_view(wave, FRAME)[::HOP]
    window = np.hanning(FRAME).astype(np.float32)
    first, last = (round(hz * FRAME / RATE_HZ) for hz in (LOW_HZ, HIGH_HZ))
    edges = np.geomspace(first, last, BANDS + 1).round().astype(int) - first
    energies = np.empty((count, BANDS), np.float32)
    for start in range(0, count, BLOCK):
        bins = np.fft.rfft(frames[start : start + BLOCK] * window)[:, first:last]
        power = np.square(bins.real) + np.square(bins.imag)
        energies[start : start + BLOCK] = np.add.reduceat(power, edges[:-1], axis=1)
    slopes = energies[:, :-1] - energies[:, 1:]
    changes = np.diff(slopes, axis=0)
    words = np.packbits(changes > 0, axis=1).view(">u4")[:, 0].astype(np.uint32)
    weak = np.argpartition(np.abs(changes), WEAK_BITS, axis=1)[:, :WEAK_BITS]
    flips = np.uint32(1) << (31 - weak).astype(np.uint32)
    keys = words[:, None]
    for n in range(WEAK_BITS):
        keys = np.concatenate([keys, keys ^ flips[:, n : n + 1]], axis=1)
    total = energies.sum(axis=1)[1:]
    loud = total > total.max() * 10 ** (-SILENT_DB / 10)
    return Fingerprint(words, loud, keys)


def same_recordings(prints: Sequence[Fingerprint]) -> list[Match]:
    """Return the pairs of clips that hold the same recording, those that differ least first."""
    results = []
    for first, second, offset in _candidates(prints):
        match = _compare(prints, first, second, offset)
        if match:
            results.append(match)
    return sorted(results, key=lambda each: (each.bit_error_rate, each.first, each.second))


def max_bit_error_rate(frames: int) -> float:
    """Return the share of differing bits below which an overlap of so many frames is the same.

    Unrelated recordings differ in N(0.5, 3 / (2 sqrt(n))) of n bits (section 4.2 of the paper).
    The paper's bound for music is 0.35. Speech of one synthetic voice comes nearer, so the bound is
    0.25, and ten deviations below one half where few frames are shared.
    """
    deviation = CORRELATED / (2 * float(np.sqrt(32 * frames)))
    return min(BIT_ERROR_BOUND, 0.5 - STRICT_DEVIATIONS * deviation)


def _candidates(prints: Sequence[Fingerprint]) -> Iterator[tuple[int, int, int]]:
    """Pairs of clips that share words at one offset in hops, each pair once, with that offset."""
    variants, clips_in_all = 1 << WEAK_BITS, len(prints)
    words = np.concatenate([np.zeros(0, np.uint32), *(p.keys[p.loud].ravel() for p in prints)])
    sizes = [variants * int(p.loud.sum()) for p in prints]
    clips = np.repeat(np.arange(clips_in_all, dtype=np.int32), sizes)
    places = np.concatenate(
        [np.zeros(0, np.int64), *(np.flatnonzero(p.loud).repeat(variants) for p in prints)]
    ).astype(np.int32)
    order = np.argsort(words, kind="stable")  # by clip and place where words are equal
    words, clips, places = words[order], clips[order], places[order]
    span = 2 * max((len(p.words) for p in prints), default=0) + 1  # of offsets
    votes = [np.zeros(0, np.int64)]
    for reach in range(1, NEIGHBOURS):
        same = np.flatnonzero(words[:-reach] == words[reach:])
        if not len(same):
            break
        same = same[clips[same] != clips[same + reach]]
        pairs = clips[same].astype(np.int64) * clips_in_all + clips[same + reach]
        votes.append(pairs * span + (places[same] - places[same + reach] + span // 2))
    results, counts = np.unique(np.concatenate(votes), return_counts=True)
    results, counts = results[counts >= MIN_VOTES], counts[counts >= MIN_VOTES]
    pairs, offsets = results // span, results % span - span // 2
    best = np.lexsort((-counts, pairs))
    _, first = np.unique(pairs[best], return_index=True)
    for n in best[first].tolist():
        yield int(pairs[n]) // clips_in_all, int(pairs[n]) % clips_in_all, int(offsets[n])


def _compare(prints: Sequence[Fingerprint], first: int, second: int, offset: int) -> Match | None:
    """The best alignment of two clips around an offset; None where they are not the same."""
    a, b = prints[first], prints[second]
    shorter = min(int(a.loud.sum()), int(b.loud.sum()))
    best: tuple[float, int, int] | None = None
    for hops in range(offset - OFFSET_TOLERANCE, offset + OFFSET_TOLERANCE + 1):
        start, stop = max(hops, 0), min(len(a.words), len(b.words) + hops)
        if stop - start < MIN_FRAMES:
            continue
        both = a.loud[start:stop] & b.loud[start - hops : stop - hops]
        frames = int(both.sum())
        if frames < max(MIN_FRAMES, MIN_SHARED * shorter):
            continue
        differ = (a.words[start:stop] ^ b.words[start - hops : stop - hops])[both]
        rate = float(np.bitwise_count(differ).sum()) / (32 * frames)
        if best is None or rate < best[0]:
            best = rate, frames, hops
    if best is None or best[0] >= max_bit_error_rate(best[1]):
        return None
    rate, _, hops = best
    return Match(first, second, rate, hops * HOP / RATE_HZ)
