"""What is done to a sound before raters hear it, block by block.

It is resampled, freed of an offset (DC), of the low frequencies that its study removes and of what
is above 20 kHz, trimmed to what is heard between silence at both ends, and brought to the loudness
that its study names.
Clips of long-form listening are files joined into one, with gaps between them. All is written as
plain FLAC.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Protocol

import numpy as np
from soundfile import LibsndfileError, SoundFile

from listening.audio.long_sounds import bounded
from listening.common.input_limits import CLIP_DURATION_S
from listening.common.sound_files import AudioError, Samples, open_sound
from listening.common.speaker_turns import Excerpt

BLOCK_FRAMES = 65_536
CUT_EDGES_HZ = {20: (15.0, 20.0), 50: (45.0, 60.0)}  # all below is removed, all above stays
HIGH_EDGES_HZ = (19_500.0, 20_500.0)  # all below stays, all above is removed
LONGEST_AT_ONCE = 2**21  # frames: longer clips are filtered in parts
MARGIN_S = 1.0  # on both sides of a part, that the filter looks at
BEFORE_S = 0.02  # kept before the first sound: weak consonants begin below the threshold
AFTER_S = 0.05  # and after the last: rooms and breath fade slowly
FADE_IN_S = BEFORE_S  # all of it: a room's noise must not begin where silence does elsewhere
FADE_OUT_S = AFTER_S
HIGHEST_PEAK_DBFS = -1.0  # after a gain
FADE_S = 0.005  # at both sides of a joint, so that it does not click


def resampled(path: Path, rate_hz: int, most_samples: int | None = None) -> Iterator[Samples]:
    """The file at another rate, to the sample as long as its own length says.

    IsLong where it has more samples than `most_samples`.
    """
    from soxr import ResampleStream

    with open_sound(path) as sound:
        blocks = bounded(sound.blocks(BLOCK_FRAMES), most_samples)
        if sound.rate_hz == rate_hz:
            yield from blocks
            return
        stream = ResampleStream(sound.rate_hz, rate_hz, sound.channels, "float64", "VHQ")
        frames_in = frames_out = 0
        for block in blocks:
            frames_in += len(block)
            part = stream.resample_chunk(block)
            frames_out += len(part)
            yield part
        rest = round(frames_in * rate_hz / sound.rate_hz) - frames_out
        end = stream.resample_chunk(np.zeros((0, sound.channels)), last=True)[: max(rest, 0)]
        yield np.pad(end, ((0, max(rest - len(end), 0)), (0, 0)))


def remove_inaudible(
    blocks: Iterable[Samples], rate_hz: int, low_cut_hz: int, *, faded: bool
) -> Iterator[Samples]:
    """The clip without what nobody hears, as long as before and with all phases kept.

    One that is ``faded`` at both ends is filtered as it will be heard, between silences; any other
    as if it went on beyond its ends, so that an offset does not end in a click there.
    """
    margin = round(MARGIN_S * rate_hz)
    held: list[Samples] = []
    before, count = 0, 0  # frames at the start of `held` that were given already, and all of them
    for block in blocks:
        held.append(block)
        count += len(block)
        if count - before >= LONGEST_AT_ONCE + margin:
            wave = np.concatenate(held)
            cut_wave = _filtered(wave, rate_hz, low_cut_hz, margin, faded)
            yield cut_wave[before : count - margin]
            held, before, count = [wave[count - 2 * margin :]], margin, 2 * margin
    if count > before:
        yield _filtered(np.concatenate(held), rate_hz, low_cut_hz, margin, faded)[before:]


def _filtered(wave: Samples, rate_hz: int, low_cut_hz: int, margin: int, faded: bool) -> Samples:
    from scipy.fft import next_fast_len  # pages do not need it

    size = next_fast_len(len(wave) + 2 * margin, real=True)
    whole = np.pad(wave, ((margin, margin), (0, 0)), "constant" if faded else "symmetric")
    removed = np.fft.rfft(whole, size, axis=0)
    low, high = _low_weights(size, rate_hz, low_cut_hz), _high_weights(size, rate_hz)
    removed[: len(low)] *= low
    removed[len(low) : len(removed) - len(high)] = 0
    removed[len(removed) - len(high) :] *= high
    return wave - np.fft.irfft(removed, size, axis=0)[margin : margin + len(wave)]


def _low_weights(size: int, rate_hz: int, low_cut_hz: int) -> Samples:
    """How much of each of the lowest frequencies is taken out, (frequencies, 1)."""
    below_hz, above_hz = CUT_EDGES_HZ[low_cut_hz]
    hz = np.arange(0, above_hz, rate_hz / size)
    return 1 - _rise((hz - below_hz) / (above_hz - below_hz))


def _high_weights(size: int, rate_hz: int) -> Samples:
    """How much of each of the highest frequencies is taken out; none at rates that lack them."""
    below_hz, above_hz = HIGH_EDGES_HZ
    hz = np.arange(int(below_hz * size / rate_hz) + 1, size // 2 + 1) * rate_hz / size
    return _rise((hz - below_hz) / (above_hz - below_hz))


def _rise(share: Samples) -> Samples:
    """From 0 to 1 along half a cosine."""
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * share.clip(0, 1)))[:, None]


@dataclass(frozen=True)
class Span:
    """What is kept of a clip, in seconds."""

    start_s: float
    end_s: float

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s


class Sounding(Protocol):
    """What must be known of a clip, such as `listening.audio.Facts`."""

    @property
    def duration_s(self) -> float: ...

    @property
    def leading_silence_s(self) -> float: ...

    @property
    def trailing_silence_s(self) -> float: ...


def span_of(clip: Sounding) -> Span:
    """From just before the first to just after the last 10 ms less than 40 dB below the peak."""
    return Span(
        max(clip.leading_silence_s - BEFORE_S, 0.0),
        min(clip.duration_s - clip.trailing_silence_s + AFTER_S, clip.duration_s),
    )


def common_span(clips: Iterable[Sounding]) -> Span:
    """One span for clips that are switched between while they play: they stay in step."""
    spans = [span_of(clip) for clip in clips]
    return Span(min(span.start_s for span in spans), max(span.end_s for span in spans))


def cut(blocks: Iterable[Samples], rate_hz: int, span: Span) -> Iterator[Samples]:
    """The frames of the span, faded in and out."""
    start, stop = round(span.start_s * rate_hz), round(span.end_s * rate_hz)
    frames = _between(blocks, start, stop)
    return faded_out(faded_in(frames, fade(rate_hz, FADE_IN_S)), fade(rate_hz, FADE_OUT_S)[::-1])


def _between(blocks: Iterable[Samples], start: int, stop: int) -> Iterator[Samples]:
    at = 0
    for block in blocks:
        part = block[max(start - at, 0) : max(stop - at, 0)]
        at += len(block)
        if len(part):
            yield part


def faded_in(blocks: Iterable[Samples], fade: Samples) -> Iterator[Samples]:
    heard = 0
    for block in blocks:
        risen = fade[heard : heard + len(block)]
        if len(risen):
            block = np.concatenate([block[: len(risen)] * risen, block[len(risen) :]])
        heard += len(block)
        yield block


def faded_out(blocks: Iterable[Samples], fade: Samples) -> Iterator[Samples]:
    """Keeps back as much as the fade is long, for no block knows that it is the last."""
    held: Samples | None = None
    for block in blocks:
        held = block if held is None else np.concatenate([held, block])
        if len(held) > len(fade):
            yield held[: -len(fade)]
            held = held[-len(fade) :]
    if held is not None and len(held):
        yield held * fade[-len(held) :]


def fade(rate_hz: int, seconds: float) -> Samples:
    """The rising half of a Hann window, (frames, 1)."""
    frames = max(1, round(seconds * rate_hz))
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * (np.arange(frames)[:, None] + 0.5) / frames))


class Measured(Protocol):
    """What must be known of a clip, such as `listening.audio.Facts`."""

    @property
    def loudness_lufs(self) -> float | None: ...

    @property
    def peak_dbfs(self) -> float | None: ...


def gain_for(clip: Measured, target_lufs: float | None) -> float:
    """The gain in dB that brings a clip to the target, as far as its peak stays below -1 dBFS.

    0 where the study names no target, and for clips that are silent or too quiet to measure. A clip
    with high peaks stays softer than the target: limiting it would change how it sounds.
    """
    if target_lufs is None or clip.loudness_lufs is None or clip.peak_dbfs is None:
        return 0.0
    room_db = floor((HIGHEST_PEAK_DBFS - clip.peak_dbfs) * 100) / 100
    return min(round(target_lufs - clip.loudness_lufs, 2), room_db)


@contextlib.contextmanager
def plain_flac(target: Path, rate_hz: int, channels: int, bits: int) -> Iterator[SoundFile]:
    """A new FLAC file without tags; floats beyond full scale are held there."""
    subtype = f"PCM_{bits}"
    try:
        # An open file, not its path: with a path, libsndfile waits for the disk at every close.
        with (
            target.open("w+b") as file,
            SoundFile(file, "w", rate_hz, channels, subtype, format="FLAC") as copy,
        ):
            yield copy
    except LibsndfileError as error:
        raise AudioError(
            f"The sound cannot be copied as FLAC ({error.error_string}).",
            "Save it again as FLAC or WAV.",
        ) from None


SoundPart = Path | Excerpt | float


def join(
    parts: Sequence[SoundPart], target: Path, *, mono: bool = False
) -> list[tuple[float, float]]:
    """Writes files (paths), parts of files and silences (seconds) in a row as FLAC with 24 bit.

    Says from which second to which each part lasts, exact to a sample. The rate is the highest of
    the files' rates, and sound is mono if all of them are; levels stay. With ``mono`` it is the
    mean of the channels. Parts of files are faded at both ends. The first file's start and
    the last file's end are no joints and stay as they are.
    """
    files = [part.sound if isinstance(part, Excerpt) else part for part in parts]
    rate_hz, channels = _common_shape([file for file in files if isinstance(file, Path)])
    channels = 1 if mono else channels
    spans = []
    at = 0
    with plain_flac(target, rate_hz, channels, 24) as file:
        for place, part in enumerate(parts):
            start = at
            for block in _part(part, rate_hz, place > 0, place + 1 < len(parts)):
                at += len(block)
                _check_length(at / rate_hz)
                block = block.mean(axis=1, keepdims=True) if mono else block
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
    part: SoundPart, rate_hz: int, joint_before: bool, joint_after: bool
) -> Iterator[Samples]:
    if isinstance(part, Excerpt) and isinstance(part.sound, Path):
        span = Span(part.start_s, part.end_s)
        yield from cut(resampled(part.sound, rate_hz), rate_hz, span)
        return
    if not isinstance(part, (Path, int, float)):
        raise TypeError(f"{part!r} names no file")
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
