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
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from django.conf import settings
from soundfile import SoundFile

from listening.audio.links import ClipRequest

BLOCK_FRAMES = 65_536
SHORTEST_PAD_S = 0.05  # of dither alone, at both ends: no clip has sound, or digital silence, there
LONGEST_PAD_S = 0.3
MEAN_PAD_S = (SHORTEST_PAD_S + LONGEST_PAD_S) / 2
KEPT_UNUSED_S = 2 * 3600.0
FULL_SCALE = 32_768
SHARES = tuple(step / 8 for step in range(5, 9))  # of the bytes of PCM: what a file is filled up to
SPREAD = 0.03  # of a file's size, at random
BLOCK_HEAD = 4  # bytes
PADDING = 1  # a FLAC block's kind
LONGEST_BLOCK = 2**24 - 1
STREAMINFO_FRAME_SIZES = slice(8 + 4, 8 + 10)  # least and most bytes of a frame; 0: not known
STREAMINFO_MD5 = slice(8 + 18, 8 + 34)  # of the samples; 0: not known


def appearance_of(clip: ClipRequest) -> Path:
    """The file that a browser gets of a clip; made once, and the same each time.

    FileNotFoundError where there is no such copy.
    """
    name = _seed("appearance", clip.token)
    path = folder() / name.hex()[:2] / f"{name.hex()[:32]}.flac"
    try:
        os.utime(path)  # used now: what is used is not cleared away
    except FileNotFoundError:
        for place in (folder(), path.parent):
            place.mkdir(parents=True, exist_ok=True)
            place.chmod(settings.MEDIA_FOLDER_MODE)
        draft = path.with_name(f"{path.stem}.{secrets.token_hex(4)}.flac")
        try:
            with clip.copy.open("rb") as copy:
                write_appearance(copy, draft, name, pads_of(clip))
            draft.chmod(settings.MEDIA_FILE_MODE)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    return path


def sample_appearance(copy: Path) -> bytes:
    """What some browser might get of a served copy; the same each time."""
    clip = ClipRequest(copy.stem, copy, trial=0, place=0, in_step=False)
    with tempfile.TemporaryDirectory() as space, copy.open("rb") as file:
        target = Path(space) / "clip.flac"
        write_appearance(file, target, _seed("appearance", clip.token), pads_of(clip))
        return target.read_bytes()


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


def write_appearance(
    copy: BinaryIO, target: Path, seed: bytes, pads_s: tuple[float, float]
) -> None:
    """FLAC of 16 bit, dithered and filled up by what the seed says; the rate stays."""
    rng = np.random.Generator(np.random.SFC64(int.from_bytes(seed, "big")))
    with SoundFile(copy) as sound:
        shape = {"samplerate": sound.samplerate, "channels": sound.channels}
        with SoundFile(target, "w", **shape, subtype="PCM_16", format="FLAC") as file:
            frames = 0
            for block in _padded(sound, *pads_s):
                frames += len(block)
                file.write(_dithered(block, rng))
    _fill(target, 2 * frames * sound.channels, float(rng.random()))


def _padded(sound: SoundFile, before_s: float, after_s: float) -> Iterator[np.ndarray]:
    yield np.zeros((round(before_s * sound.samplerate), sound.channels), np.float32)
    while len(block := sound.read(BLOCK_FRAMES, dtype="float32", always_2d=True)):
        yield block
    yield np.zeros((round(after_s * sound.samplerate), sound.channels), np.float32)


def _dithered(block: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Whole numbers, after triangular noise of one step to each side."""
    noise = rng.random(block.shape, np.float32) - rng.random(block.shape, np.float32)
    steps = np.rint(block * np.float32(FULL_SCALE) + noise)
    return np.clip(steps, -FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def _fill(path: Path, pcm_bytes: int, draw: float) -> None:
    """Rewrites a FLAC file without what its head says of its frames, filled up with padding."""
    data = bytearray(path.read_bytes())
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
    with path.open("wb") as file:
        file.write(data[:frames] + padding + data[frames:])


def _mark_last(data: bytearray) -> int:
    """Takes the mark of the last block away, since another one follows; where frames begin."""
    place, last = 4, False
    while not last:
        last = bool(data[place] & 0x80)
        data[place] &= 0x7F
        place += BLOCK_HEAD + int.from_bytes(data[place + 1 : place + 4], "big")
    return place
