"""What is odd about a clip's audio: told with every score of it, for the score may be, too."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from metrics.core.audio_facts import AudioFacts
from metrics.core.metric import Accepts, Score

TITLES = {
    "truncated": "Sound missing",
    "no_length": "Length not stated",
    "length": "Header states another length",
    "over_full_scale": "Over full scale",
    "clipped": "Clipped",
    "dc_offset": "Offset from zero",
    "silent_channel": "Silent channel",
    "channels_cancel": "Channels cancel",
    "narrow_band": "Narrow-band audio",
    "odd_reference": "Odd reference audio",
    "windows": "Scored in windows",
    "speakers": "Other number of speakers",
}
STATES_LENGTH = frozenset({"WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF", "FLAC"})
CLIPPED_SHARE = 1e-4
DC = 0.02
CANCELLED_DB = 6.0  # beyond what channels without likeness lose in their mean
MOST_DB = 100.0  # more is told as this
OVER = 1 + 1e-4  # resampling and decoding may pass 1 by a hair
NOT_HEARD = (
    "silent",
    "no speech",
    "too little speech",
)  # of a mean whose channels cancel


def input_warnings(facts: AudioFacts, accepts: Accepts) -> dict[str, str]:
    """The warnings of a clip for a metric: words with their numbers, by code (`TITLES`)."""
    by_code = dict(_audio_warnings(facts))
    edge, least = facts.bandwidth_hz, accepts.least_bandwidth_hz
    if edge is not None and least and edge < least:
        why = "" if facts.rate_hz < 2 * least else ": upsampled, or from a lossy copy"
        by_code["narrow_band"] = (
            f"sound ends at about {edge:.0f} Hz, at a rate of {facts.rate_hz} Hz{why}; "
            f"this metric is meant for sound up to {least:.0f} Hz"
        )
    return by_code


def _audio_warnings(facts: AudioFacts) -> Iterator[tuple[str, str]]:
    if facts.missing:
        yield "truncated", f"{_clause(facts.missing)}; copy the file again"
    elif facts.header_s is None and facts.container in STATES_LENGTH:
        unstated = f"its header states no length, {facts.duration_s:.2f} s are there"
        yield "no_length", _clause(facts.length_note) or unstated
    elif facts.length_note:
        yield "length", _clause(facts.length_note)
    if facts.peak > OVER:
        over_db = 20 * math.log10(facts.peak)
        yield (
            "over_full_scale",
            f"its peak is {facts.peak:.3g}, {over_db:.1f} dB over full scale; make it quieter",
        )
    if facts.clipped > CLIPPED_SHARE:
        yield "clipped", f"{100 * facts.clipped:.2g} % of its samples are cut off at full scale"
    if abs(facts.dc) > DC:
        yield "dc_offset", f"its mean is {facts.dc:.2g} of full scale, that of sound is 0"
    if silent := facts.silent_channels if len(facts.silent_channels) < facts.channels else ():
        down_db = 20 * math.log10(facts.channels / (facts.channels - len(silent)))
        yield (
            "silent_channel",
            f"{_channels(silent)} of {facts.channels} without sound: the mean of all channels, "
            f"which metrics hear, is {down_db:.1f} dB below that of the others; save these alone",
        )
    if cancels(facts):
        below = min(facts.cancelled_db or 0.0, MOST_DB)
        yield (
            "channels_cancel",
            f"the mean of its {facts.channels} channels lies {below:.0f} dB or more below them; "
            "turn one round, or save one alone",
        )


def _channels(numbers: tuple[int, ...]) -> str:
    """Channels by their numbers: "channel 2", "channels 3, 4"."""
    return f"channel{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _clause(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def cancels(facts: AudioFacts) -> bool:
    """Whether the channels' mean is much quieter than that of channels without any likeness."""
    usual_db = 10 * math.log10(facts.channels)
    return facts.cancelled_db is not None and facts.cancelled_db > usual_db + CANCELLED_DB


def add_input_warnings(score: Score, facts: AudioFacts, accepts: Accepts) -> Score:
    """The score with the warnings of its audio; "silent" is not said where channels cancel."""
    by_code = input_warnings(facts, accepts)
    reason = score.reason
    if "channels_cancel" in by_code and reason.startswith(NOT_HEARD):
        reason = f"channels cancel: {by_code['channels_cancel']} ({reason})"
    if not by_code:
        return score
    return dataclasses.replace(score, reason=reason, warnings={**by_code, **score.warnings})


def reference_warning(facts: AudioFacts, accepts: Accepts) -> dict[str, str]:
    """What is odd about a recording that clips are compared with: one warning of their scores."""
    words = "; ".join(input_warnings(facts, accepts).values())
    return {"odd_reference": f"its reference audio: {words}"} if words else {}


def with_reference_warnings(score: Score, odd: dict[str, str]) -> Score:
    """The score of a clip with the warnings of the recording that it is compared with."""
    return dataclasses.replace(score, warnings={**odd, **score.warnings}) if odd else score
