"""Sound files joined into one, with gaps between them: the clips of long-form listening."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from listening.audio.served_sound import (
    BLOCK_FRAMES,
    fade,
    faded_in,
    faded_out,
    plain_flac,
    resampled,
)
from listening.common.input_limits import CLIP_DURATION_S
from listening.common.sound_files import AudioError, Samples, open_sound

FADE_S = 0.005  # at both sides of a joint, so that it does not click


def join(parts: Sequence[Path | float], target: Path) -> list[tuple[float, float]]:
    """Writes files (paths) and silences (seconds) one after the other as FLAC with 24 bit.

    Says from which second to which each part lasts, exact to a sample. The rate is the highest of
    the files' rates, and sound is mono if all of them are; levels stay. The first file's start and
    the last file's end are no joints and stay as they are.
    """
    rate_hz, channels = _common_shape([part for part in parts if isinstance(part, Path)])
    spans = []
    at = 0
    with plain_flac(target, rate_hz, channels, 24) as file:
        for place, part in enumerate(parts):
            start = at
            for block in _part(part, rate_hz, place > 0, place + 1 < len(parts)):
                at += len(block)
                _check_length(at / rate_hz)
                file.write(np.broadcast_to(block, (len(block), channels)))
            spans.append((start / rate_hz, at / rate_hz))
    return spans


def _common_shape(files: Sequence[Path]) -> tuple[int, int]:
    if not files:
        raise ValueError("A joined clip needs at least one sound file.")
    shapes = []
    for path in files:
        with open_sound(path) as sound:
            shapes.append((sound.rate_hz, sound.channels))
    return max(rate_hz for rate_hz, _ in shapes), max(channels for _, channels in shapes)


def _part(
    part: Path | float, rate_hz: int, joint_before: bool, joint_after: bool
) -> Iterator[Samples]:
    if not isinstance(part, Path):
        yield from _silence(round(part * rate_hz))
        return
    joint = fade(rate_hz, FADE_S)
    blocks = resampled(part, rate_hz)
    if joint_before:
        blocks = faded_in(blocks, joint)
    if joint_after:
        blocks = faded_out(blocks, joint[::-1])
    yield from blocks


def _silence(frames: int) -> Iterator[Samples]:
    while frames > 0:
        yield np.zeros((min(frames, BLOCK_FRAMES), 1))
        frames -= BLOCK_FRAMES


def _check_length(seconds: float) -> None:
    if seconds > CLIP_DURATION_S:
        raise AudioError(
            f"The joined clip is longer than {CLIP_DURATION_S // 60} minutes.",
            "Join fewer files, or make the gaps shorter.",
        )
