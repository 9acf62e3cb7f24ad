"""What betrays a system before anybody listens: facts of the bytes that browsers are sent.

For every fact and every group of clips (a condition, or all references), the share of pairs, one
clip of the group and one of the others, that the fact puts in order: 0.5 by chance, 1 where it
tells all (the area under the ROC curve, Mann-Whitney). What chance explains is left out.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import soundfile

END_S = 0.05  # of both ends whose level is looked at
HEARD_ABOVE = 1e-3  # of full scale: where the sound is said to begin
EDGE_SHARE = 0.999  # of the energy lies below the edge of the spectrum
FLOOR_DB = -120.0
FEWEST = 5  # clips of a group, and of the others
SHARE_TOLD = 0.8  # of the pairs: less is no use to a rater
SIGNIFICANCE = 0.001  # over all facts and groups together (Bonferroni)
FACTS = {  # of the bytes; the rest is sound, which may be what is studied
    "rate_hz": "the sampling rate",
    "channels": "the number of channels",
    "bits": "the word length",
    "empty_bits": "empty low bits of the samples",
    "bytes_per_s": "bytes per second",
    "start_db": "the level of the first 50 ms",
    "end_db": "the level of the last 50 ms",
    "onset_s": "when the sound begins",
    "level_db": "the level",
    "edge_hz": "the highest frequency",
}
OF_SOUND = ("level_db", "edge_hz")


@dataclass(frozen=True)
class Leak:
    """A fact that tells the clips of a group from all others in this share of pairs."""

    group: str
    fact: str
    share: float

    def __str__(self) -> str:
        return f"{self.group}: {FACTS[self.fact]} ({100 * self.share:.0f} % of pairs)"


def facts_of(data: bytes) -> dict[str, float]:
    """The facts of one clip as a browser gets it; keys are those of `FACTS`."""
    with soundfile.SoundFile(io.BytesIO(data)) as sound:
        rate_hz, bits = sound.samplerate, {"PCM_16": 16, "PCM_24": 24}.get(sound.subtype, 32)
        channels = sound.channels
        whole = sound.read(dtype="int32", always_2d=True)
    samples = whole[:, 0] / 2.0**31
    end = max(round(END_S * rate_hz), 1)
    loud = np.flatnonzero(np.abs(samples) > HEARD_ABOVE)
    used = int(np.bitwise_or.reduce(whole, axis=None)) & 0xFFFF_FFFF
    return {
        "rate_hz": rate_hz,
        "channels": channels,
        "bits": bits,
        "empty_bits": (used & -used).bit_length() - 1 - (32 - bits) if used else 0,
        "bytes_per_s": len(data) * rate_hz / max(len(samples), 1),
        "start_db": _level_db(samples[:end]),
        "end_db": _level_db(samples[-end:]),
        "onset_s": float(loud[0] / rate_hz) if len(loud) else 0.0,
        "level_db": _level_db(samples),
        "edge_hz": _edge_hz(samples, rate_hz),
    }


def leaks(clips: Mapping[str, Sequence[Mapping[str, float]]]) -> list[Leak]:
    """What tells the clips of each group from those of all others, the surest first."""
    from scipy.stats import mannwhitneyu  # pages do not need it

    groups = {group: own for group, own in clips.items() if len(own) >= FEWEST}
    total = sum(map(len, clips.values()))
    tests = max(len(groups) * len(FACTS), 1)
    telling = []
    for group, own in groups.items():
        if total - len(own) < FEWEST:
            continue
        others = [facts for name, each in clips.items() if name != group for facts in each]
        for fact in FACTS:
            x, y = ([_as_seen(facts[fact]) for facts in each] for each in (own, others))
            statistic, p = mannwhitneyu(x, y)
            share = float(statistic) / (len(x) * len(y))
            share = max(share, 1 - share)
            if share >= SHARE_TOLD and p < SIGNIFICANCE / tests:
                telling.append(Leak(group, fact, share))
    return sorted(telling, key=lambda leak: (-leak.share, leak.group, leak.fact))


def _as_seen(value: float) -> float:
    """Four digits: what differs by rounding alone tells nothing."""
    return float(f"{value:.4g}")


def _level_db(samples: np.ndarray) -> float:
    power = float(np.mean(np.square(samples))) if len(samples) else 0.0
    return max(10 * float(np.log10(power)), FLOOR_DB) if power > 0 else FLOOR_DB


def _edge_hz(samples: np.ndarray, rate_hz: int) -> float:
    """Below which nearly all energy lies, by the mean of Hann-windowed spectra of 2,048 samples."""
    size = 2048
    count = max(len(samples) // size, 1)
    frames = np.resize(samples, (count, size)) * np.hanning(size)
    energy = (np.abs(np.fft.rfft(frames, axis=1)) ** 2).sum(axis=0)
    total = energy.sum()
    if total <= 0:
        return 0.0
    edge = int(np.searchsorted(np.cumsum(energy) / total, EDGE_SHARE))
    return edge * rate_hz / size
