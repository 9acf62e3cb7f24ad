"""A copy of its own for every appearance of a clip: the same sound in bytes that tell nothing.

Raters' browsers get 16-bit FLAC from one encoder: both ends are quiet in the same faint noise for a
random time, the word length of the source is hidden by dither, and padding of a random length gives
all clips about the same number of bytes per second. A few beginnings of a short clip are encoded
once and shared; the end of each appearance is its own, and so are its length and its size.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from django.conf import settings

from listening.ages import age_s
from listening.audio import flac
from listening.audio.decoded import Decoded, Version, decoded, version_of
from listening.audio.dither import dithered, noise_from
from listening.audio.links import ClipRequest
from listening.audio.recent import Recent

SHORTEST_PAD_S = 0.05  # of dither alone, at both ends: no clip has sound, or digital silence, there
LONGEST_PAD_S = 0.3
MEAN_PAD_S = (SHORTEST_PAD_S + LONGEST_PAD_S) / 2
KEPT_UNUSED_S = 2 * 3600.0  # of files
KEPT_BYTES = 32 * 2**20  # of appearances in memory, in each process
KEPT_BEGINNINGS_BYTES = 64 * 2**20
VARIANTS = 4  # beginnings of each clip
SHARES = tuple(step / 8 for step in range(5, 9))  # of the bytes of PCM: what a file is filled up to
SPREAD = 0.03  # of a file's size, at random


@dataclass(frozen=True)
class Beginning:
    """A quiet start and a clip up to its last whole frame: what several appearances share."""

    rate_hz: int
    frames: bytes
    count: int
    rest: np.ndarray  # the samples that follow


recent: Recent[bytes, bytes] = Recent(KEPT_BYTES)
beginnings: Recent[tuple[Version, int], Beginning] = Recent(KEPT_BEGINNINGS_BYTES)


def appearance_of(clip: ClipRequest) -> bytes | Path:
    """What a browser gets of a clip, the same each time: its bytes; of a long clip, their file.

    FileNotFoundError where there is no such copy.
    """
    name, which = _seed("appearance", clip.token), (version_of(clip.copy), _variant(clip))
    if data := recent.get(name):
        return data
    if clip.in_step or not (begun := beginnings.get(which)):
        with decoded(clip.copy) as sound:
            if sound.is_long:
                return _file(sound, name, pads_of(clip))
            if clip.in_step:  # many sounds that begin together: each is encoded whole
                return _kept(name, _encoded(sound, name, pads_of(clip)))
            begun = _begun(clip, sound)
        beginnings.add(which, begun, len(begun.frames) + begun.rest.nbytes)
    return _kept(name, _ended(begun, name, pads_of(clip)[1]))


def sample_appearance(copy: Path) -> bytes:
    """What some browser might get of a served copy; the same each time."""
    clip = ClipRequest(copy.stem, copy, trial=0, place=0, in_step=False)
    name, pads_s = _seed("appearance", clip.token), pads_of(clip)
    with decoded(copy) as sound:
        if sound.is_long:
            return _encoded(sound, name, pads_s)
        return _ended(_begun(clip, sound), name, pads_s[1])


def clear_appearances(unused_s: float = KEPT_UNUSED_S) -> int:
    """Deletes what no browser has asked for since; it is made again when one does. How many."""
    cleared = 0
    for path in folder().glob("*/*.flac"):
        with contextlib.suppress(FileNotFoundError):  # another one clears, too
            if age_s(path.stat().st_mtime) > unused_s:
                path.unlink()
                cleared += 1
    return cleared


def folder() -> Path:
    """Beside the served copies, where a proxy that serves files finds them."""
    return Path(settings.MEDIA_ROOT) / "appearances"


def _kept(name: bytes, data: bytes) -> bytes:
    """For who asks in parts, or again and again."""
    recent.add(name, data, len(data))
    return data


def _file(sound: Decoded, name: bytes, pads_s: tuple[float, float]) -> Path:
    path = folder() / name.hex()[:2] / f"{name.hex()[:32]}.flac"
    try:
        os.utime(path)  # used now: what is used is not cleared away
    except FileNotFoundError:
        _write(_encoded(sound, name, pads_s), path)
    return path


def _write(data: bytes, path: Path) -> None:
    """There whole or not at all, whoever else makes it now."""
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
    begins tells nothing; the same for clips that play together."""
    if clip.in_step:
        seed = _seed("pads of a trial", clip.trial)
        return _pad_s(seed[:8]), _pad_s(seed[8:])
    return _pad_s(_seed("pad before", _beginning_of(clip))), _pad_s(_seed("pad after", clip.token))


def _pad_s(seed: bytes) -> float:
    draw = int.from_bytes(seed[:8], "big") / 2**64
    return SHORTEST_PAD_S + (LONGEST_PAD_S - SHORTEST_PAD_S) * draw


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


def _encoded(sound: Decoded, seed: bytes, pads_s: tuple[float, float]) -> bytes:
    """FLAC of 16 bit, dithered and filled up by what the seed says; the rate stays."""
    rng = _rng(seed)
    noise = noise_from(rng)
    samples = 0
    with flac.file_in_memory() as file:
        with flac.encoder(file, sound.rate_hz, sound.channels) as made:
            for block in _padded(sound, *pads_s):
                samples += block.size
                made.write(dithered(block, noise))
        file.seek(0)
        data = file.read()
    begin = flac.end_of_head(data)
    return _filled(data[:begin], data[begin:], samples, rng)


def _begun(clip: ClipRequest, sound: Decoded) -> Beginning:
    noise = noise_from(_rng(_seed("beginning", _beginning_of(clip))))
    blocks = list(_padded(sound, pads_of(clip)[0], 0))
    samples, steps = np.concatenate(blocks), np.concatenate([dithered(b, noise) for b in blocks])
    count = len(samples) // flac.BLOCK
    _, frames = flac.encoded(steps[: count * flac.BLOCK], sound.rate_hz)
    rest = samples[count * flac.BLOCK :].copy()
    return Beginning(sound.rate_hz, b"".join(frames), count, rest)


def _ended(begun: Beginning, seed: bytes, after_s: float) -> bytes:
    """A beginning that is there; the rest and a quiet end of its own."""
    rng = _rng(seed)
    noise = noise_from(rng)
    quiet = np.zeros((round(after_s * begun.rate_hz), begun.rest.shape[1]), np.float32)
    end = np.concatenate([begun.rest, quiet])
    head, last = flac.encoded(dithered(end, noise), begun.rate_hz)
    frames = begun.frames + b"".join(flac.renumbered(frame, begun.count) for frame in last)
    length = begun.count * flac.BLOCK + len(end)
    return _filled(flac.with_total(head, length), frames, length * quiet.shape[1], rng)


def _padded(sound: Decoded, before_s: float, after_s: float) -> Iterator[np.ndarray]:
    yield np.zeros((round(before_s * sound.rate_hz), sound.channels), np.float32)
    yield from sound.blocks
    yield np.zeros((round(after_s * sound.rate_hz), sound.channels), np.float32)


def _filled(head: bytes, frames: bytes, samples: int, rng: np.random.Generator) -> bytes:
    """A file as long as others of so many samples."""
    made, pcm = len(head) + len(frames), 2 * samples
    share = next((each for each in SHARES if each * pcm >= made), SHARES[-1])
    wanted = round(share * pcm * (1 + SPREAD * float(rng.random())))
    return flac.filled(head, frames, wanted - made)
