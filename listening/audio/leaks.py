"""An attack on blindness: what tells clips apart in all that a browser gets, before anyone listens.

Each clip becomes a list of numbers: of its bytes, of its samples, and of what the page and the
headers say of it. For every fact and every group of clips (a system, a role, a kind of trap) a
classifier learns on all items but one, and says of the clips of that one whether they belong to the
group. Where groups are small, one that lies far outside the others is found as well. A second
attack looks for values by which a clip is known again in another trial. What chance explains, over
all facts and groups together, is left out.
"""

from __future__ import annotations

import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, log10
from typing import Any

import numpy as np
import numpy.typing as npt
import soundfile

END_S = 0.05  # of both ends whose level is looked at
FRAME_S = 0.02  # of which the quietest are pauses
HEARD_ABOVE = 3e-3  # of full scale: where the sound is said to begin
EDGE_SHARE = 0.999  # of the energy lies below the edge of the spectrum
RUMBLE_HZ = (0.0, 14.0)
UNHEARD_HZ = (15.0, 45.0)
HUM_HZ = (50.0, 80.0)
INAUDIBLE_FROM_HZ = 20_500.0
HUM_FRAME_S = 0.25
FLOOR_DB = -120.0
FEWEST_OTHERS = 6  # clips, from which the spread of others is known
SHARE_TOLD = 0.8  # of clips of the group and of others, named rightly: less is no use to a rater
SHARE_KNOWN_AGAIN = 0.5  # of the pairs of one clip that have a value in common
SHARE_OF_OTHERS = 0.1  # of the pairs of two clips, at most: else it is no name of a clip
SIGNIFICANCE = 0.001  # over all facts and groups together (Bonferroni); those of sound apart
DIGITS = 4  # what differs by rounding alone tells nothing
FACTS = {
    "rate_hz": "the sampling rate",
    "channels": "the number of channels",
    "bits": "the word length",
    "empty_bits": "empty low bits of the samples",
    "head_bytes": "the size of the file's head",
    "padding_bytes": "the size of padding",
    "head_fields": "sizes and hash in the file's head",
    "bits_per_sample": "the size of the file per sample",
    "samples": "the number of samples",
    "bytes": "the size of the file",
    "offset": "the mean of the samples",
    "offset_size": "the size of the mean of the samples",
    "rumble_db": "the level below 15 Hz",
    "unheard_db": "the level from 15 to 45 Hz",
    "ultrasound_db": "the level above 20 kHz",
    "start_db": "the level of the first 50 ms",
    "end_db": "the level of the last 50 ms",
    "onset_s": "when the sound begins",
    "tail_s": "how long it is quiet at the end",
    "clipped": "the share of samples at full scale",
    "level_db": "the level",
    "peak_db": "the peak",
    "edge_hz": "the highest frequency",
    "pause_db": "the level of pauses",
    "floor_db": "the level of the quietest moment",
    "hum_db": "the level of pauses from 50 to 80 Hz",
}
OF_SOUND = {  # ears notice it, too, and it may be what is studied: length, level, bandwidth, pauses
    *("samples", "bytes", "clipped", "level_db", "peak_db", "edge_hz", "pause_db", "floor_db"),
    "hum_db",
}
LENGTHS = {"samples", "bytes"}  # no two trials have the same ones of a clip, whatever its length
HEARD_AGAIN = OF_SOUND - LENGTHS | {"onset_s", "start_db", "tail_s"}  # beginnings are shared
MARKS = "marks on the page"
PLACES = f"{MARKS} places"  # where one line gives way to the next: the sound pauses there
IS_WORD = " = "  # between the path of a word and the word, in a fact that is 0 or 1
TOKEN = re.compile(r"(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[\w-]{16,}$|[0-9a-f]{16,}$|/[ck]/\S+$")

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sighting:
    """A clip as one browser got it: which clip it is in truth, and all that could be measured."""

    clip: str
    item: str
    groups: frozenset[str]
    facts: Mapping[str, float] = field(hash=False)


@dataclass(frozen=True)
class Verdict:
    """How often a fact named the clips of a group, and all others, rightly, and its p-value."""

    group: str
    fact: str
    named: int  # clips of the group that were found
    of_group: int
    mistaken: int  # other clips that were taken for some of the group
    of_others: int
    p: float

    @property
    def share(self) -> float:
        """Rightly named, clips of the group and others weighted alike: 0.5 by chance."""
        return (self.named / self.of_group + 1 - self.mistaken / self.of_others) / 2

    @property
    def is_of_sound(self) -> bool:
        """Whether whoever listens, or looks at what the screen marks, knows as much."""
        return self.fact in OF_SOUND or self.fact.startswith(PLACES)

    def __str__(self) -> str:
        return (
            f"{self.group}: {title_of(self.fact)} (identifies {self.named} of {self.of_group} "
            f"clips, and wrongly {self.mistaken} of {self.of_others} others)"
        )


@dataclass(frozen=True)
class RecognisedClips:
    """A fact that has one value wherever a clip is heard, and others for other clips."""

    fact: str
    same: int
    pairs: int  # of one clip in two trials
    share_of_others: float  # of pairs of two clips
    p: float
    is_of_sound = False

    def __str__(self) -> str:
        return (
            f"any clip, known again: {title_of(self.fact)} (in {self.same} of {self.pairs} pairs)"
        )


Leak = Verdict | RecognisedClips


def title_of(fact: str) -> str:
    return FACTS.get(fact, fact)


# --- Facts ---------------------------------------------------------------------------------------


def facts_of(data: bytes, metadata: Mapping[str, Any] | None = None) -> dict[str, float]:
    """The facts of one clip as a browser gets it: its file, and what else is said of it."""
    return {**_facts_of_file(data), **facts_of_metadata(metadata or {})}


def facts_of_metadata(metadata: Mapping[str, Any]) -> dict[str, float]:
    """Every number that is said of a clip beside its file, under its path."""
    return {name: n for key, value in metadata.items() for name, n in _numbers_in(value, key)}


def mark_facts(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the page says of a clip's lines, apart from where one gives way to the next: the screen
    shows that, and the sound pauses there."""
    if not lines:
        return {}
    heard = [line for line in lines if line["start_s"] < line["end_s"]] or lines
    places = [line["start_s"] for line in heard[1:]]
    ends = {"begin": heard[0]["start_s"], "end": heard[-1]["end_s"]}
    return {MARKS: {**ends, "places": places}}


def _facts_of_file(data: bytes) -> dict[str, float]:
    with soundfile.SoundFile(io.BytesIO(data)) as sound:
        rate_hz, bits = sound.samplerate, {"PCM_16": 16, "PCM_24": 24}.get(sound.subtype, 32)
        channels = sound.channels
        whole = sound.read(dtype="int32", always_2d=True)
    samples = whole[:, 0] / 2.0**31
    end = max(round(END_S * rate_hz), 1)
    loud = np.flatnonzero(np.abs(samples) > HEARD_ABOVE)
    first, last = (int(loud[0]), int(loud[-1])) if len(loud) else (0, len(samples) - 1)
    used = int(np.bitwise_or.reduce(whole, axis=None)) & 0xFFFF_FFFF
    levels = _levels_db(samples[first : last + 1], max(round(FRAME_S * rate_hz), 1))
    mean = float(samples.mean()) if len(samples) else 0.0
    peak = float(np.abs(samples).max(initial=0.0))
    return {
        "rate_hz": rate_hz,
        "channels": channels,
        "bits": bits,
        "empty_bits": (used & -used).bit_length() - 1 - (32 - bits) if used else 0,
        **_facts_of_head(data),
        "bits_per_sample": 8 * len(data) / max(whole.size, 1),
        "samples": len(samples),
        "bytes": len(data),
        "offset": 2.0**15 * mean,
        "offset_size": 2.0**15 * abs(mean),
        **_facts_of_inaudible(samples, rate_hz),
        "start_db": _level_db(samples[:end]),
        "end_db": _level_db(samples[-end:]),
        "onset_s": first / rate_hz,
        "tail_s": (len(samples) - 1 - last) / rate_hz,
        "clipped": float(np.mean(np.abs(samples) >= 1 - 2.0**-14)) if len(samples) else 0.0,
        "level_db": _level_db(samples),
        "peak_db": max(20 * log10(peak), FLOOR_DB) if peak > 0 else FLOOR_DB,
        "edge_hz": _edge_hz(samples, rate_hz),
        "pause_db": float(np.percentile(levels, 10)),
        "floor_db": float(levels.min()),
        "hum_db": _hum_db(samples, rate_hz),
    }


def _facts_of_head(data: bytes) -> dict[str, float]:
    """What stands in a FLAC file before its first frame."""
    end, padding, is_last = 4, 0, not data.startswith(b"fLaC")
    while not is_last and end + 4 <= len(data):
        is_last, kind = bool(data[end] & 0x80), data[end] & 0x7F
        size = int.from_bytes(data[end + 1 : end + 4], "big")
        padding += size if kind == 1 else 0
        end += 4 + size
    fields = data[12:18] + data[26:42] if data.startswith(b"fLaC") else b""
    return {"head_bytes": end, "padding_bytes": padding, "head_fields": len(fields.strip(b"\0"))}


def _numbers_in(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """Every number of a value from JSON, or of headers, under its path; words as 0 and 1.

    Of a token (letters and digits that are drawn for one address) only its length is a fact.
    """
    if isinstance(value, Mapping):
        yield f"{name}: keys", len(value)
        for key, part in value.items():
            yield from _numbers_in(part, f"{name} {key}")
    elif isinstance(value, list | tuple):
        yield f"{name}: length", len(value)
        for place, part in enumerate(value):
            yield from _numbers_in(part, f"{name} {place}")
    elif isinstance(value, str):
        yield f"{name}: letters", len(value)
        try:
            yield name, float(value)
        except ValueError:
            if not TOKEN.search(value):
                yield f"{name}{IS_WORD}{value[:40]}", 1.0
    elif value is None:
        yield f"{name}{IS_WORD}none", 1.0
    else:
        yield name, float(value)


def _level_db(samples: Numbers) -> float:
    return _in_db(float(np.mean(np.square(samples))) if len(samples) else 0.0)


def _levels_db(samples: Numbers, frame: int) -> Numbers:
    """Of each frame; of all of them, where they are fewer than one."""
    count = max(len(samples) // frame, 1)
    power = np.square(np.resize(samples, (count, frame))).mean(axis=1)
    return np.asarray(10 * np.log10(np.maximum(power, 10 ** (FLOOR_DB / 10))))


def _facts_of_inaudible(samples: Numbers, rate_hz: int) -> dict[str, float]:
    """Without the mean, which is a fact of its own."""
    size = _quick_size(max(len(samples), 1))
    alone = samples - samples.mean() if len(samples) else samples
    power = np.square(np.abs(np.fft.rfft(alone, size))) * 2 / (size * max(len(samples), 1))
    bands = {
        "rumble_db": RUMBLE_HZ,
        "unheard_db": UNHEARD_HZ,
        "ultrasound_db": (INAUDIBLE_FROM_HZ, rate_hz / 2),
    }
    levels = {}
    for name, (low_hz, high_hz) in bands.items():
        first, last = (int(hz * size / rate_hz) for hz in (low_hz, high_hz))
        levels[name] = _in_db(float(power[first + 1 : last + 1].sum()))
    return levels


def _quick_size(count: int) -> int:
    """A length of at least ``count`` without large prime factors, which make transforms slow."""
    return min(m << max(0, (-(-count // m) - 1).bit_length()) for m in (8, 9, 10, 12, 15))


def _hum_db(samples: Numbers, rate_hz: int) -> float:
    """Of the quietest tenth of frames, each under a Hann window."""
    size = max(min(round(HUM_FRAME_S * rate_hz), len(samples)), 1)
    window = np.hanning(size + 2)[1:-1]
    frames = np.resize(samples, (max(len(samples) // size, 1), size)) * window
    first, last = (round(hz * size / rate_hz) for hz in HUM_HZ)
    power = np.square(np.abs(np.fft.rfft(frames, axis=1)[:, first : last + 1])).sum(axis=1)
    return _in_db(float(np.percentile(2 * power / (size * np.square(window).sum()), 10)))


def _in_db(power: float) -> float:
    return max(10 * log10(power), FLOOR_DB) if power > 0 else FLOOR_DB


def _edge_hz(samples: Numbers, rate_hz: int) -> float:
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


# --- Which group a clip belongs to ---------------------------------------------------------------


def leaks(sightings: Sequence[Sighting]) -> list[Leak]:
    """What tells groups, and what knows clips again, beyond chance; the surest first."""
    all_verdicts = verdicts(sightings)
    counts = Counter(each.is_of_sound for each in all_verdicts)
    telling = [
        each
        for each in all_verdicts
        if each.share >= SHARE_TOLD and each.p < SIGNIFICANCE / counts[each.is_of_sound]
    ]
    best: dict[tuple[str, str], Verdict] = {}
    for each in telling:
        known = best.get((each.group, each.fact))
        if known is None or (each.share, -each.p) > (known.share, -known.p):
            best[each.group, each.fact] = each
    groups = sorted(best.values(), key=lambda leak: (-leak.share, leak.group, leak.fact))
    return [*recognised_clips(sightings), *groups]


def verdicts(sightings: Sequence[Sighting]) -> list[Verdict]:
    """The attack of every fact on every group, whether it tells anything or not."""
    clips: dict[str, list[Sighting]] = defaultdict(list)
    for each in sightings:
        clips[each.clip].append(each)
    firsts = [seen[0] for seen in clips.values()]
    items = np.unique([each.item for each in firsts], return_inverse=True)[1]
    groups = sorted({group for each in firsts for group in each.groups})
    members = {g: np.array([g in each.groups for each in firsts]) for g in groups}
    results = []
    for fact in _names(sightings):
        values = np.array([_mean_of(seen, fact) for seen in clips.values()])
        step = _step(float(np.nanmax(np.abs(values))))
        for seen in (values, _relative_to_item(values, items)):
            known = ~np.isnan(seen)
            for group, own in members.items() if known.any() and np.ptp(seen[known]) > 0 else ():
                if own[known].any() and (~own)[known].sum() >= FEWEST_OTHERS:
                    attacked = seen[known], own[known]
                    results.append(_learnt(group, fact, *attacked, items[known]))
                    if IS_WORD not in fact:  # a word that nobody else has lies far by its nature
                        results.append(_far(group, fact, *attacked, step))
    return results


def _names(sightings: Iterable[Sighting]) -> list[str]:
    return list(dict.fromkeys(fact for each in sightings for fact in each.facts))


def _mean_of(seen: Sequence[Sighting], fact: str) -> float:
    """NaN where there is no such number for a clip."""
    mean = float(np.mean([_value(each, fact) for each in seen]))
    return float(f"{mean:.{DIGITS}g}")


def _value(each: Sighting, fact: str) -> float:
    """A word that is not said counts as 0."""
    return each.facts.get(fact, 0.0 if IS_WORD in fact else np.nan)


def _relative_to_item(values: Numbers, items: npt.NDArray[np.intp]) -> Numbers:
    """How far each clip is from the middle of its item, as who hears them all may know."""
    centred = np.full(len(values), np.nan)
    for item in np.unique(items):
        own = (items == item) & ~np.isnan(values)
        if own.sum() > 1:
            centred[own] = values[own] - np.median(values[own])
    return centred


def _learnt(
    group: str, fact: str, values: Numbers, own: Flags, items: npt.NDArray[np.intp]
) -> Verdict:
    """A threshold, learnt on all items but the one whose clips are then named.

    One that learns on all of them and names too few is no better when some are left out.
    """
    at, side = _threshold(values[own], values[~own])
    named = side * values > side * at
    fitted = _verdict(group, fact, named, own, 1.0)
    if fitted.share < SHARE_TOLD or len(np.unique(items[own])) < 2:
        return fitted
    for item in np.unique(items):
        left_out = items == item
        rest = own & ~left_out, ~own & ~left_out
        if rest[1].any():
            at, side = _threshold(values[rest[0]], values[rest[1]])
            named[left_out] = side * values[left_out] > side * at
    return _verdict(group, fact, named, own)


def _threshold(own: Numbers, others: Numbers) -> tuple[float, int]:
    """Where, and on which side of it, most clips of both kinds are named rightly."""
    both = np.unique(np.concatenate([own, others]))
    cuts = np.concatenate([[both[0] - 1], (both[1:] + both[:-1]) / 2])
    above = 1 - np.searchsorted(np.sort(own), cuts) / len(own)
    above -= 1 - np.searchsorted(np.sort(others), cuts) / len(others)
    place = int(np.argmax(np.abs(above)))
    return float(cuts[place]), 1 if above[place] >= 0 else -1


def _verdict(group: str, fact: str, named: Flags, own: Flags, p: float | None = None) -> Verdict:
    """By Fisher's exact test: what guessing so many would name."""
    from scipy.stats import hypergeom  # pages do not need it

    hits, mistaken = int((named & own).sum()), int((named & ~own).sum())
    of_group, all_clips = int(own.sum()), len(own)
    if p is None:
        p = float(hypergeom.sf(hits - 1, all_clips, of_group, hits + mistaken))
    return Verdict(group, fact, hits, of_group, mistaken, all_clips - of_group, p)


def _far(group: str, fact: str, values: Numbers, own: Flags, step: float) -> Verdict:
    """All clips of a group beyond all others, and far for how the others spread.

    For groups too small to learn from. The spread counts the rounding of what is compared, so that
    one step of the last digit is not far.
    """
    from scipy.stats import t as student

    inside, others = values[own], values[~own]
    if not (inside.min() > others.max() or inside.max() < others.min()):
        return Verdict(group, fact, 0, len(inside), 0, len(others), 1.0)
    spread = others.var(ddof=1) + step**2
    nearest = np.abs(inside - others.mean()).min()
    distance = float(nearest / (spread * (1 + 1 / len(others))) ** 0.5)
    p = 2 * float(student.sf(distance, len(others) - 1))
    return Verdict(group, fact, len(inside), len(inside), 0, len(others), p)


def _step(value: float) -> float:
    """By which the last digit counts that is looked at."""
    return 10.0 ** (floor(log10(value)) + 1 - DIGITS) if value > 0 else 1.0


# --- Which clip it is ----------------------------------------------------------------------------


def recognised_clips(sightings: Sequence[Sighting]) -> list[RecognisedClips]:
    """Facts whose exact value a clip keeps wherever it is heard, and others do not share."""
    names = (name for name in _names(sightings) if not name.startswith(PLACES))
    facts = [name for name in names if name not in HEARD_AGAIN]
    shared_facts = [each for fact in facts if (each := _shared(sightings, fact)) is not None]
    bound = SIGNIFICANCE / max(len(shared_facts), 1)
    return [
        each
        for each in shared_facts
        if each.p < bound
        and each.same / each.pairs >= SHARE_KNOWN_AGAIN
        and each.share_of_others <= SHARE_OF_OTHERS
    ]


def _shared(sightings: Sequence[Sighting], fact: str) -> RecognisedClips | None:
    """Pairs of sightings with one value: of one clip, and of two."""
    from scipy.stats import binom

    values: Counter[float] = Counter()
    by_clip: dict[str, Counter[float]] = defaultdict(Counter)
    for each in sightings:
        value = _value(each, fact)
        if np.isnan(value):
            continue
        values[value] += 1
        by_clip[each.clip][value] += 1
    pairs = sum(_pairs(seen.total()) for seen in by_clip.values())
    others = _pairs(values.total()) - pairs
    if not pairs or not others:
        return None
    same = sum(_pairs(n) for seen in by_clip.values() for n in seen.values())
    shared = (sum(map(_pairs, values.values())) - same) / others
    p = float(binom.sf(same - 1, pairs, max(shared, 1 / others)))
    return RecognisedClips(fact, same, pairs, shared, p)


def _pairs(count: int) -> int:
    return count * (count - 1) // 2
