"""A copy of its own for every appearance of a clip: the same sound in bytes that tell nothing.

Raters' browsers get 16-bit FLAC from one encoder, made anew for each token: both ends begin in the
same faint noise, the word length of the source is hidden by dither, and padding of a random length
gives all clips about the same number of bytes per second.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import numpy as np
from django.conf import settings
from soundfile import SoundFile

from listening.audio.decoded import LONGEST_KEPT, Decoded, decoded
from listening.audio.links import ClipRequest
from listening.audio.recent import Recent

SHORTEST_PAD_S = 0.05  # of dither alone, at both ends: no clip has sound, or digital silence, there
LONGEST_PAD_S = 0.3
MEAN_PAD_S = (SHORTEST_PAD_S + LONGEST_PAD_S) / 2
KEPT_UNUSED_S = 2 * 3600.0  # of files
KEPT_BYTES = 32 * 2**20  # in memory, in each process
FULL_SCALE = 32_768
NOISE_SAMPLES = LONGEST_KEPT  # drawn once; each appearance begins at a place of its own
SHARES = tuple(step / 8 for step in range(5, 9))  # of the bytes of PCM: what a file is filled up to
SPREAD = 0.03  # of a file's size, at random
BLOCK_HEAD = 4  # bytes
PADDING = 1  # a FLAC block's kind
LONGEST_BLOCK = 2**24 - 1
STREAMINFO_FRAME_SIZES = slice(8 + 4, 8 + 10)  # least and most bytes of a frame; 0: not known
STREAMINFO_MD5 = slice(8 + 18, 8 + 34)  # of the samples; 0: not known

recent: Recent[bytes, bytes] = Recent(KEPT_BYTES)


def appearance_of(clip: ClipRequest) -> bytes | Path:
    """What a browser gets of a clip, the same each time: its bytes; of a long clip, their file.

    FileNotFoundError where there is no such copy.
    """
    name = _seed("appearance", clip.token)
    with decoded(clip.copy) as sound:
        if not sound.is_long:
            return _recent_bytes(sound, name, pads_of(clip))
        path = folder() / name.hex()[:2] / f"{name.hex()[:32]}.flac"
        try:
            os.utime(path)  # used now: what is used is not cleared away
        except FileNotFoundError:
            _keep(_encoded(sound, name, pads_of(clip)), path)
        return path


def _recent_bytes(sound: Decoded, name: bytes, pads_s: tuple[float, float]) -> bytes:
    """Kept for who asks for them in parts, or again and again."""
    data = recent.get(name)
    if data is None:
        data = _encoded(sound, name, pads_s)
        recent.add(name, data, len(data))
    return data


def _keep(data: bytes, path: Path) -> None:
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


def sample_appearance(copy: Path) -> bytes:
    """What some browser might get of a served copy; the same each time."""
    clip = ClipRequest(copy.stem, copy, trial=0, place=0, in_step=False)
    with decoded(copy) as sound:
        return _encoded(sound, _seed("appearance", clip.token), pads_of(clip))


def clear_appearances(unused_s: float = KEPT_UNUSED_S) -> int:
    """Deletes what no browser has asked for since; it is made again when one does. How many."""
    oldest = time.time() - unused_s
    cleared = 0
    for path in folder().glob("*/*.flac"):
        with contextlib.suppress(FileNotFoundError):  # another one clears, too
            if path.stat().st_mtime < oldest:
                path.unlink()
                cleared += 1
    return cleared


def pads_of(clip: ClipRequest) -> tuple[float, float]:
    """How long it is quiet before and after the sound, in seconds: at random, so that where sound
    begins tells nothing; the same for clips that play together."""
    seed = _seed("pads of a trial", clip.trial) if clip.in_step else _seed("pads", clip.token)
    draws = (int.from_bytes(part, "big") / 2**64 for part in (seed[:8], seed[8:16]))
    before, after = (SHORTEST_PAD_S + (LONGEST_PAD_S - SHORTEST_PAD_S) * draw for draw in draws)
    return before, after


def _seed(purpose: str, what: object) -> bytes:
    return hmac.digest(settings.SECRET_KEY.encode(), f"{purpose} {what}".encode(), "sha256")


def folder() -> Path:
    """Beside the served copies, where a proxy that serves files finds them."""
    return Path(settings.MEDIA_ROOT) / "appearances"


def _encoded(sound: Decoded, seed: bytes, pads_s: tuple[float, float]) -> bytes:
    """FLAC of 16 bit, dithered and filled up by what the seed says; the rate stays."""
    rng = np.random.Generator(np.random.SFC64(int.from_bytes(seed, "big")))
    noise = _noise_from(int(rng.integers(NOISE_SAMPLES)))
    frames = 0
    with _file_in_memory() as file:
        shape = sound.rate_hz, sound.channels, "PCM_16"
        with SoundFile(file.fileno(), "w", *shape, format="FLAC", closefd=False) as flac:
            for block in _padded(sound, *pads_s):
                frames += len(block)
                flac.write(_dithered(block, noise))
        file.seek(0)
        data = bytearray(file.read())
    return _filled(data, 2 * frames * sound.channels, float(rng.random()))


def _file_in_memory() -> BinaryIO:
    """A real file, which libsndfile writes by itself: into a BytesIO each frame of FLAC is handed
    over in Python, so that all threads of a busy process wait for each other."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("clip"), "w+b", buffering=0)
    return TemporaryFile(buffering=0)


def _padded(sound: Decoded, before_s: float, after_s: float) -> Iterator[np.ndarray]:
    yield np.zeros((round(before_s * sound.rate_hz), sound.channels), np.float32)
    yield from sound.blocks
    yield np.zeros((round(after_s * sound.rate_hz), sound.channels), np.float32)


def _dithered(block: np.ndarray, noise: Callable[[int], np.ndarray]) -> np.ndarray:
    """Whole numbers, after triangular noise of one step to each side."""
    steps = block * np.float32(FULL_SCALE)
    steps += noise(steps.size).reshape(steps.shape)
    np.rint(steps, out=steps)
    return np.clip(steps, -FULL_SCALE, FULL_SCALE - 1, out=steps).astype(np.int16)


def _noise_from(place: int) -> Callable[[int], np.ndarray]:
    """Gives the next so many values of the noise, which has no end."""
    whole = _noise(settings.SECRET_KEY)

    def following(values: int) -> np.ndarray:
        nonlocal place
        begin, place = place, (place + values) % NOISE_SAMPLES
        return whole[begin : begin + values]

    return following


@cache
def _noise(secret: str) -> np.ndarray:
    """Triangular noise of ±1, twice in a row, so that any part of NOISE_SAMPLES is a slice."""
    seed = hmac.digest(secret.encode(), b"dither", "sha256")
    rng = np.random.Generator(np.random.SFC64(int.from_bytes(seed, "big")))
    once = rng.random(NOISE_SAMPLES, np.float32) - rng.random(NOISE_SAMPLES, np.float32)
    return np.concatenate([once, once])


def _filled(data: bytearray, pcm_bytes: int, draw: float) -> bytes:
    """A FLAC file without what its head says of its frames, filled up with padding."""
    data[STREAMINFO_FRAME_SIZES] = bytes(6)
    data[STREAMINFO_MD5] = bytes(16)
    frames = _mark_last(data)
    share = next((each for each in SHARES if each * pcm_bytes >= len(data)), SHARES[-1])
    missing = round(share * pcm_bytes * (1 + SPREAD * draw)) - len(data)
    padding = bytearray()
    while missing > BLOCK_HEAD:
        size = min(missing - BLOCK_HEAD, LONGEST_BLOCK)
        padding += bytes([PADDING]) + size.to_bytes(3, "big") + bytes(size)
        missing -= size + BLOCK_HEAD
    padding += bytes([PADDING | 0x80]) + bytes(3)  # the last block, empty
    return b"".join((data[:frames], padding, data[frames:]))


def _mark_last(data: bytearray) -> int:
    """Takes the mark of the last block away, since another one follows; where frames begin."""
    place, last = 4, False
    while not last:
        last = bool(data[place] & 0x80)
        data[place] &= 0x7F
        place += BLOCK_HEAD + int.from_bytes(data[place + 1 : place + 4], "big")
    return place
