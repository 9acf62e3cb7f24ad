"""A copy of its own for every appearance of a clip: the same sound in bytes that tell nothing.

Raters' browsers get 16-bit FLAC from one encoder, made anew for each token: both ends begin in the
same faint noise, the word length of the source is hidden by dither, and padding of a random length
gives all clips about the same number of bytes per second.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from django.conf import settings
from soundfile import SoundFile

BLOCK_FRAMES = 65_536
PAD_S = 0.1  # of dither alone at both ends: no clip has sound, or digital silence, at sample 0
FULL_SCALE = 32_768
SHARES = tuple(step / 8 for step in range(5, 9))  # of the bytes of PCM: what a file is filled up to
SPREAD = 0.03  # of a file's size, at random
BLOCK_HEAD = 4  # bytes
PADDING = 1  # a FLAC block's kind
LONGEST_BLOCK = 2**24 - 1
STREAMINFO_FRAME_SIZES = slice(8 + 4, 8 + 10)  # least and most bytes of a frame; 0: not known
STREAMINFO_MD5 = slice(8 + 18, 8 + 34)  # of the samples; 0: not known


def appearance(copy: Path, token: str) -> Path:
    """The file that a token's browser gets of a served copy; made once, and the same each time."""
    name = hmac.digest(settings.SECRET_KEY.encode(), f"appearance {token}".encode(), "sha256")
    path = folder() / name.hex()[:2] / f"{name.hex()[:32]}.flac"
    try:
        os.utime(path)  # used now: what is used is not cleared away
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.stem}.{secrets.token_hex(4)}.flac")
        try:
            write_appearance(copy, draft, name)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    return path


def folder() -> Path:
    """Beside the served copies, where a proxy that serves files finds them."""
    return Path(settings.MEDIA_ROOT) / "appearances"


def write_appearance(copy: Path, target: Path, seed: bytes) -> None:
    """FLAC of 16 bit, dithered and padded by what the seed says; frames and rate stay."""
    rng = np.random.Generator(np.random.SFC64(int.from_bytes(seed, "big")))
    with SoundFile(copy) as sound:
        shape = {"samplerate": sound.samplerate, "channels": sound.channels}
        with SoundFile(target, "w", **shape, subtype="PCM_16", format="FLAC") as file:
            frames = 0
            for block in _padded(sound):
                frames += len(block)
                file.write(_dithered(block, rng))
    _fill(target, 2 * frames * sound.channels, float(rng.random()))


def _padded(sound: SoundFile) -> Iterator[np.ndarray]:
    silence = np.zeros((round(PAD_S * sound.samplerate), sound.channels), np.float32)
    yield silence
    while len(block := sound.read(BLOCK_FRAMES, dtype="float32", always_2d=True)):
        yield block
    yield silence


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
