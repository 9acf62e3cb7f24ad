"""Conversations in two channels, computed from single turns with the timing that is named here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import accumulate

import numpy as np
from recipes import RATE_HZ, Recipe, Wave, sound

START_S = 0.25
# Seconds from the end of a turn to the start of the next: below 0 they overlap.
OFFSETS_S = {
    "flite-duo": {"d1": (0.2, 0.35, -0.3), "d2": (0.25, -0.4, 0.15), "d3": (0.3, 0.1, 0.45)},
    "mixed-duo": {"d1": (1.1, 0.9, 1.4), "d2": (0.8, 1.2, 1.0), "d3": (1.3, -0.1, 0.7)},
}


def conversations() -> Iterator[Recipe]:
    """Speaker A in the left channel, speaker B in the right one."""
    for system, dialogues in OFFSETS_S.items():
        for dialogue, offsets_s in dialogues.items():
            sources = " ".join(f"{system}_{dialogue}_t{n}" for n in range(1, 5))
            words = ", ".join(f"{each:g}" for each in offsets_s)
            how = f"A left, B right; each turn begins {words} s after the one before it ended"
            make = partial(conversation, system, dialogue)
            yield Recipe(f"talk-{system}_{dialogue}", sources, how, make, keep_level=True)


def turn_spans(system: str, dialogue: str) -> list[tuple[str, float, float]]:
    """Speaker, start and end in seconds of each turn."""
    lengths_s = [len(_spoken(system, dialogue, n)) / RATE_HZ for n in range(1, 5)]
    steps = zip(lengths_s, OFFSETS_S[system][dialogue], strict=False)
    starts_s = accumulate((length + offset for length, offset in steps), initial=START_S)
    spans = zip("ABAB", starts_s, lengths_s, strict=True)
    return [(speaker, start, start + length) for speaker, start, length in spans]


def conversation(system: str, dialogue: str) -> Wave:
    """The turns at their places, (frames, 2)."""
    spans = turn_spans(system, dialogue)
    whole = np.zeros((round((spans[-1][2] + START_S) * RATE_HZ), 2))
    for n, (speaker, start_s, _) in enumerate(spans, start=1):
        wave = _spoken(system, dialogue, n)
        start = round(start_s * RATE_HZ)
        whole[start : start + len(wave), "AB".index(speaker)] += wave
    return whole


def _spoken(system: str, dialogue: str, n: int) -> Wave:
    """A turn without the silence at its ends."""
    wave = sound(f"{system}_{dialogue}_t{n}")
    heard = np.flatnonzero(np.abs(wave) > 0.01 * np.abs(wave).max())
    return wave[heard[0] : heard[-1] + 1]
