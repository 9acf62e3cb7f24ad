"""Both ends of a served copy, made alike: silence and noise before and after the sound cut away.

A recording starts with its room, a synthetic clip with digital silence: whoever looks at the first
samples knows which is which. What is loud stays, with a little before and after it, faded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from listening.common.sound_files import Samples

BEFORE_S = 0.02  # kept before the first sound: weak consonants begin below the threshold
AFTER_S = 0.05  # and after the last: rooms and breath fade slowly
FADE_IN_S = BEFORE_S  # all of it: a room's noise must not begin where silence does elsewhere
FADE_OUT_S = AFTER_S


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
    kept = _between(blocks, start, stop)
    return faded_out(faded_in(kept, fade(rate_hz, FADE_IN_S)), fade(rate_hz, FADE_OUT_S)[::-1])


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
