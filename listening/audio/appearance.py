"""A copy of its own for every appearance of a clip: the same sound in bytes that tell nothing.

Raters' browsers get 16-bit FLAC at one constant rate: both ends are quiet in the same faint noise
for a random time, and the word length of the source is hidden by dither. A few beginnings of a
short clip are encoded once and shared; the end of each appearance is its own, and so are its length
and its size. Within one trial no two appearances have the same number of samples.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from django.conf import settings
from soundfile import SoundFile

from listening.audio import flac
from listening.audio.links import ClipRequest
from listening.common.ages import age_s

K = TypeVar("K")
V = TypeVar("V")
BLOCK_FRAMES = 65_536
LONGEST_KEPT = 2**20  # samples; longer clips are decoded block by block, and for each rater anew
MOST_KEPT_BYTES = 32 * 2**20  # in each process
Version = tuple[Path, int, int]  # of a file: place, time, number
Noise = Callable[[int], np.ndarray]
FULL_SCALE = 32_768
RUMBLE_STEPS = 12.0  # of 16 bit: -70 dB below 60 Hz, 24 dB below the threshold of hearing
RUMBLE_KNOTS_HZ = 100
NOISE_SAMPLES = LONGEST_KEPT  # drawn once; who asks begins at a place of its own
SHORTEST_PAD_S = 0.05  # of dither alone, at both ends: no clip has sound, or digital silence, there
LONGEST_PAD_S = 0.3
MEAN_PAD_S = (SHORTEST_PAD_S + LONGEST_PAD_S) / 2
KEPT_UNUSED_S = 2 * 3600.0  # of files
KEPT_BYTES = 32 * 2**20  # of appearances in memory, in each process
KEPT_BEGINNINGS_BYTES = 64 * 2**20
VARIANTS = 4  # beginnings of each clip
MOST_BITS = 12.5  # a sample: noisy speech fits, so that all clips have about one size per second
SPREAD_BITS = 0.1  # less than that, at random
PLACES = 32  # of a trial: at each, the number of samples has another remainder
LENGTH_STEP = flac.PARTITIONS  # lengths are multiples of it, so that the last frame fills its bits
CHUNK = 64 * flac.BLOCK  # samples of each channel of a long clip, coded together


class Recent(Generic[K, V]):
    """A cache of a limited number of bytes; the least recently used entry goes first."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self.entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.lock = Lock()

    def get(self, key: K) -> V | None:
        with self.lock:
            if key not in self.entries:
                return None
            self.entries.move_to_end(key)
            return self.entries[key][0]

    def add(self, key: K, value: V, size_bytes: int) -> None:
        with self.lock:
            if key in self.entries:  # another thread made it meanwhile
                return
            self.entries[key] = value, size_bytes
            self.bytes += size_bytes
            while self.bytes > self.most_bytes:
                _, (_, size) = self.entries.popitem(last=False)
                self.bytes -= size


@dataclass(frozen=True)
class Decoded:
    """A sound as blocks of float32, frames × channels, full scale ±1; none may be changed."""

    rate_hz: int
    channels: int
    blocks: Iterator[np.ndarray]
    is_long: bool = False


recent_samples: Recent[Version, tuple[int, np.ndarray]] = Recent(MOST_KEPT_BYTES)


def version_of(copy: Path) -> Version:
    """FileNotFoundError where there is no such copy (any more)."""
    stat = copy.stat()
    return copy, stat.st_mtime_ns, stat.st_ino


@contextmanager
def decoded(copy: Path) -> Iterator[Decoded]:
    """A served copy's sound; FileNotFoundError where there is no such copy (any more)."""
    version = version_of(copy)
    if cached := recent_samples.get(version):
        rate_hz, samples = cached
        yield Decoded(rate_hz, samples.shape[1], iter([samples]))
        return
    with copy.open("rb") as file, SoundFile(file.fileno(), closefd=False) as sound:
        if sound.frames * sound.channels > LONGEST_KEPT:
            yield Decoded(sound.samplerate, sound.channels, _blocks(sound), is_long=True)
            return
        samples = sound.read(dtype="float32", always_2d=True)
        rate_hz = sound.samplerate
    recent_samples.add(version, (rate_hz, samples), samples.nbytes)
    yield Decoded(rate_hz, samples.shape[1], iter([samples]))


def _blocks(sound: SoundFile) -> Iterator[np.ndarray]:
    while len(block := sound.read(BLOCK_FRAMES, dtype="float32", always_2d=True)):
        yield block


def dithered(block: np.ndarray, noise: Noise, rumble: Noise) -> np.ndarray:
    """Whole numbers, after triangular noise of one step to each side, and rumble."""
    steps = block * np.float32(FULL_SCALE)
    steps += noise(steps.size).reshape(steps.shape)
    steps += rumble(len(steps))[:, None]
    np.rint(steps, out=steps)
    return np.clip(steps, -FULL_SCALE, FULL_SCALE - 1, out=steps).astype(np.int16)


def rumble_from(rng: np.random.Generator, rate_hz: int) -> Noise:
    """Return a source of inaudible noise, which gives the next n values, from 0 to 0.

    It hides what is left of a recording's offset, rumble and hum, and of fades of a room's noise.
    """
    apart = max(round(rate_hz / RUMBLE_KNOTS_HZ), 1)

    def following(values: int) -> np.ndarray:
        knots = rng.normal(0, RUMBLE_STEPS, -(-values // apart) + 1).astype(np.float32)
        knots[0] = knots[-1] = 0
        rise = np.arange(apart, dtype=np.float32) / apart
        return (knots[:-1, None] + np.diff(knots)[:, None] * rise).ravel()[:values]

    return following


def noise_from(rng: np.random.Generator) -> Noise:
    """Return an endless source of dither, which gives its next n values.

    It is the difference of two even ones, each entered at a place that is drawn: two draws that
    overlap in one of them differ by the other.
    """
    tables = _tables(settings.SECRET_KEY)
    places = [int(place) for place in rng.integers(NOISE_SAMPLES, size=2)]

    def following(values: int) -> np.ndarray:
        parts = [table[at : at + values] for table, at in zip(tables, places, strict=True)]
        places[:] = [(at + values) % NOISE_SAMPLES for at in places]
        noise: np.ndarray = parts[0] - parts[1]
        return noise

    return following


@cache
def _tables(secret: str) -> tuple[np.ndarray, np.ndarray]:
    """Even noise from 0 to 1, twice in a row, so that any part of NOISE_SAMPLES is a slice."""
    seed = hmac.digest(secret.encode(), b"dither", "sha256")
    rng = np.random.Generator(np.random.SFC64(int.from_bytes(seed, "big")))
    first, second = (rng.random(NOISE_SAMPLES, np.float32) for _ in range(2))
    return np.concatenate([first, first]), np.concatenate([second, second])


@dataclass(frozen=True)
class Beginning:
    """A quiet start and a clip up to its last whole frame: what several appearances share."""

    rate_hz: int
    frames: bytes
    count: int
    rest: np.ndarray  # the samples that follow

    @property
    def samples(self) -> int:
        """Samples of each channel, ``rest`` included."""
        return self.count * flac.BLOCK + len(self.rest)


recent_copies: Recent[bytes, bytes] = Recent(KEPT_BYTES)
beginnings: Recent[tuple[Version, int], Beginning] = Recent(KEPT_BEGINNINGS_BYTES)


def appearance_of(clip: ClipRequest) -> bytes | Path:
    """What a browser gets of a clip, the same each time: its bytes; of a long clip, their file.

    FileNotFoundError where there is no such copy.
    """
    name, which = _seed("appearance", clip.token), (version_of(clip.copy), _variant(clip))
    if data := recent_copies.get(name):
        return data
    if clip.in_step or not (begun := beginnings.get(which)):
        with decoded(clip.copy) as sound:
            if sound.is_long:
                return _stored_file(sound, name, clip)
            if clip.in_step:  # many sounds that begin together: each is encoded whole
                return _remember(name, _encode(sound, name, clip))
            begun = _encode_beginning(clip, sound)
        beginnings.add(which, begun, len(begun.frames) + begun.rest.nbytes)
    return _remember(name, _append_end(begun, name, clip))


def sample_appearance(copy: Path, trial: int = 0, place: int = 0) -> bytes:
    """What some browser might get of a served copy; the same each time."""
    clip = ClipRequest(f"{copy.stem} {trial} {place}", copy, trial, place, in_step=False)
    name = _seed("appearance", clip.token)
    with decoded(copy) as sound:
        return (
            _encode(sound, name, clip)
            if sound.is_long
            else _append_end(_encode_beginning(clip, sound), name, clip)
        )


def clear_appearances(unused_s: float = KEPT_UNUSED_S) -> int:
    """Delete the files that no browser asked for in that time; return how many."""
    cleared = 0
    for path in folder().glob("*/*.flac"):
        with contextlib.suppress(FileNotFoundError):  # another one clears, too
            if age_s(path.stat().st_mtime) > unused_s:
                path.unlink()
                cleared += 1
    return cleared


def folder() -> Path:
    """The folder next to the served copies, where a proxy that serves files finds it."""
    return Path(settings.MEDIA_ROOT) / "appearances"


def _remember(name: bytes, data: bytes) -> bytes:
    """Cache the bytes for a browser that asks in parts or again."""
    recent_copies.add(name, data, len(data))
    return data


def _stored_file(sound: Decoded, name: bytes, clip: ClipRequest) -> Path:
    path = folder() / name.hex()[:2] / f"{name.hex()[:32]}.flac"
    try:
        os.utime(path)  # used now: what is used is not cleared away
    except FileNotFoundError:
        _write(_encode(sound, name, clip), path)
    return path


def _write(data: bytes, path: Path) -> None:
    """Write the file whole or not at all, also while another process writes it."""
    draft = path.with_name(f"{path.stem}.{secrets.token_hex(4)}.flac")
    try:
        try:
            draft.write_bytes(data)
        except FileNotFoundError:
            for place in (folder(), path.parent):
                place.mkdir(parents=True, exist_ok=True)
                place.chmod(settings.MEDIA_FOLDER_MODE)
            draft.write_bytes(data)
        draft.chmod(settings.MEDIA_FILE_MODE)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


# --- What is drawn -------------------------------------------------------------------------------


def pads_of(clip: ClipRequest) -> tuple[float, float]:
    """How long it is quiet before and after the sound, in seconds: at random, so that where sound
    begins tells nothing. Clips that play together begin together; their ends differ, so that no
    length tells which of them are one recording."""
    if clip.in_step:
        before = _seed("pad before a trial", clip.trial)
    else:
        before = _seed("pad before", _beginning_of(clip))
    return _pad_s(before), _pad_s(_seed("pad after", clip.token))


def lead_in_s(served: str, trial: int, place: int) -> float:
    """How long a clip that is heard alone is quiet before its sound, in seconds.

    ``served`` is the storage name of its copy; ``trial`` and ``place`` are those of its address.
    """
    return pads_of(ClipRequest("", Path(served), trial, place, in_step=False))[0]


def _pad_s(seed: bytes) -> float:
    draw = int.from_bytes(seed[:8], "big") / 2**64
    return SHORTEST_PAD_S + (LONGEST_PAD_S - SHORTEST_PAD_S) * draw


def _quiet_start(clip: ClipRequest, rate_hz: int) -> int:
    """Samples of each channel before the sound."""
    return round(pads_of(clip)[0] * rate_hz)


def _quiet_end(clip: ClipRequest, rate_hz: int, before: int) -> int:
    """Samples of each channel after the sound: with so many before them, no other place of the
    trial has as many as this one."""
    after = round(pads_of(clip)[1] * rate_hz)
    seed = int.from_bytes(_seed("lengths", clip.trial)[:8], "big")
    first, step = seed % PLACES, seed // PLACES | 1  # odd: it comes to each remainder once
    remainder = LENGTH_STEP * (first + step * clip.place)
    return after + (remainder - before - after) % (LENGTH_STEP * PLACES)


def _variant(clip: ClipRequest) -> int:
    """Which of a clip's beginnings: places of a trial have different ones, as far as they go, so
    that a sound which comes twice in a trial is not told by its bytes."""
    return (int.from_bytes(_seed("variant", clip.trial)[:8], "big") + clip.place) % VARIANTS


def _beginning_of(clip: ClipRequest) -> str:
    return f"{clip.copy.stem} {_variant(clip)}"


def _rng(seed: bytes) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(int.from_bytes(seed, "big")))


def _seed(purpose: str, what: object) -> bytes:
    return hmac.digest(settings.SECRET_KEY.encode(), f"{purpose} {what}".encode(), "sha256")


# --- What is encoded -----------------------------------------------------------------------------


def _encode(sound: Decoded, seed: bytes, clip: ClipRequest) -> bytes:
    """Return dithered FLAC of 16 bits; the seed gives its bits per sample."""
    rng = _rng(seed)
    noises, bits = (noise_from(rng), rumble_from(rng, sound.rate_hz)), _bits(rng)
    parts, count, ready, waiting = [], 0, 0, []
    for block in _padded_blocks(sound, clip):
        waiting.append(dithered(block, *noises))
        ready += len(block)
        if ready >= CHUNK:
            samples = np.concatenate(waiting)
            whole = ready // flac.BLOCK * flac.BLOCK
            parts.append(flac.encoded(samples[:whole], sound.rate_hz, count, bits))
            count += whole // flac.BLOCK
            ready, waiting = ready - whole, [samples[whole:]]
    parts.append(flac.encoded(np.concatenate(waiting), sound.rate_hz, count, bits))
    head = flac.head(sound.rate_hz, sound.channels, count * flac.BLOCK + ready)
    return b"".join((head, *parts))


def _encode_beginning(clip: ClipRequest, sound: Decoded) -> Beginning:
    rng = _rng(_seed("beginning", _beginning_of(clip)))
    noises = noise_from(rng), rumble_from(rng, sound.rate_hz)
    quiet = np.zeros((_quiet_start(clip, sound.rate_hz), sound.channels), np.float32)
    samples = np.concatenate([quiet, *sound.blocks])
    count = len(samples) // flac.BLOCK
    steps = dithered(samples[: count * flac.BLOCK], *noises)
    frames = flac.encoded(steps, sound.rate_hz, 0, _bits(rng))
    return Beginning(sound.rate_hz, frames, count, samples[count * flac.BLOCK :].copy())


def _append_end(begun: Beginning, seed: bytes, clip: ClipRequest) -> bytes:
    """Append the rest of the clip and its own quiet end to a beginning."""
    rng = _rng(seed)
    noises = noise_from(rng), rumble_from(rng, begun.rate_hz)
    channels = begun.rest.shape[1]
    after = _quiet_end(clip, begun.rate_hz, begun.samples)
    end = np.concatenate([begun.rest, np.zeros((after, channels), np.float32)])
    last = flac.encoded(dithered(end, *noises), begun.rate_hz, begun.count, _bits(rng))
    head = flac.head(begun.rate_hz, channels, begun.samples + after)
    return head + begun.frames + last


def _bits(rng: np.random.Generator) -> float:
    """Draw the bits per sample, so that it does not show which clips fill them."""
    return MOST_BITS - SPREAD_BITS * float(rng.random())


def _padded_blocks(sound: Decoded, clip: ClipRequest) -> Iterator[np.ndarray]:
    samples = _quiet_start(clip, sound.rate_hz)
    yield np.zeros((samples, sound.channels), np.float32)
    for block in sound.blocks:
        samples += len(block)
        yield block
    after = _quiet_end(clip, sound.rate_hz, samples)
    yield np.zeros((after, sound.channels), np.float32)
