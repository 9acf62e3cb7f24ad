"""Who speaks when in a clip, and each speaker's part of its wave."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from listening.common.sound_files import open_sound
from listening.common.speaker_turns import turns_of
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, Turn
from metrics.signal import speech

BLOCK_FRAMES = 65_536
PAD_S = 0.03  # by which silero-vad widens every segment at either end


def known_turns(material: Material) -> tuple[Turn, ...]:
    """A clip's turns, else those that its attribute ``turns`` tells.

    Raises ValueError when these cannot be read: a dialogue is not to pass for one voice.
    """
    return material.turns or turns_of(material.attribute("turns"))


def turns_of_channels(path: Path, names: Sequence[str], pause_s: float = 0.2) -> list[Turn]:
    """The turns of a sound with one speaker in each channel, found by the speech detector.

    ``names``: of the speakers, by channel. Speech of one channel with less than ``pause_s`` of
    silence in it is one turn. Returns turns in the order in which they begin, in seconds. Raises
    ValueError where the file has another number of channels.
    """
    import soxr

    with open_sound(path) as sound:
        wave = np.concatenate([*sound.blocks(BLOCK_FRAMES), np.zeros((0, sound.channels))])
        rate_hz = sound.rate_hz
    if wave.shape[1] != len(names):
        raise ValueError(f"{path.name} has {wave.shape[1]} channels, not {len(names)}")
    waves = [
        torch.from_numpy(soxr.resample(channel, rate_hz, speech.RATE_HZ)).float()
        for channel in wave.T
    ]
    found = speech.speech_segments(waves, speech.load_detector())
    turns: list[Turn] = []
    for name, segments in zip(names, found, strict=True):
        own: list[Turn] = []
        for start, end in segments:
            start_s, end_s = start / speech.RATE_HZ + PAD_S, end / speech.RATE_HZ - PAD_S
            if own and start_s - own[-1].end_s < pause_s:
                start_s = own.pop().start_s
            own.append(Turn(name, start_s, end_s))
        turns += own
    return sorted(turns, key=lambda turn: (turn.start_s, turn.end_s))


def have_times(turns: Sequence[Turn]) -> bool:
    """Whether there are turns and each of them has a time."""
    return bool(turns) and all(turn.end_s > turn.start_s for turn in turns)


def speakers_of(turns: Sequence[Turn]) -> list[str]:
    """Every speaker once, in the order of their first turns."""
    return list(dict.fromkeys(turn.speaker for turn in turns))


def speaker_streams(
    wave: torch.Tensor, turns: Sequence[Turn], rate_hz: int
) -> dict[str, torch.Tensor]:
    """Each speaker's stretches of the wave, joined without gaps: {speaker: (samples,)}.

    ``wave``: (samples,) at ``rate_hz``. Speakers come in the order of their first turns. What of a
    turn lies behind the wave's end is left out, and a sample that two turns of one speaker cover
    is taken once; a speaker of whom nothing is left has no stream.
    """
    streams = {}
    for speaker in speakers_of(turns):
        own = [turn for turn in turns if turn.speaker == speaker]
        parts = [wave[start:stop] for start, stop in _stretches(own, rate_hz, len(wave))]
        if parts:
            streams[speaker] = torch.cat(parts)
    return streams


def _stretches(turns: Sequence[Turn], rate_hz: int, n_samples: int) -> list[tuple[int, int]]:
    """(start, stop) in samples, in order, without overlap, inside the wave, none of them empty."""
    spans = sorted((round(turn.start_s * rate_hz), round(turn.end_s * rate_hz)) for turn in turns)
    stretches: list[tuple[int, int]] = []
    reached = 0
    for start, stop in spans:
        start, stop = max(start, reached), min(stop, n_samples)
        if stop > start:
            stretches.append((start, stop))
            reached = stop
    return stretches
