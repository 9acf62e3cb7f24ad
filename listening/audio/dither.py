"""Sound in whole numbers of 16 bit, the word length of its source hidden by noise."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from functools import cache

import numpy as np
from django.conf import settings

from listening.audio.decoded import LONGEST_KEPT

Noise = Callable[[int], np.ndarray]

FULL_SCALE = 32_768
RUMBLE_STEPS = 8.0  # of 16 bit: some -75 dB, at frequencies that are heard above 0 dB at most
RUMBLE_KNOTS_HZ = 30
NOISE_SAMPLES = LONGEST_KEPT  # drawn once; who asks begins at a place of its own


def dithered(block: np.ndarray, noise: Noise, rumble: Noise) -> np.ndarray:
    """Whole numbers, after triangular noise of one step to each side, and rumble."""
    steps = block * np.float32(FULL_SCALE)
    steps += noise(steps.size).reshape(steps.shape)
    steps += rumble(len(steps))[:, None]
    np.rint(steps, out=steps)
    return np.clip(steps, -FULL_SCALE, FULL_SCALE - 1, out=steps).astype(np.int16)


def rumble_from(rng: np.random.Generator, rate_hz: int) -> Noise:
    """Gives the next so many values of a noise that nobody hears, from 0 to 0.

    It hides what is left of a recording's offset and rumble, and of fades of a room's noise.
    """
    apart = max(round(rate_hz / RUMBLE_KNOTS_HZ), 1)

    def following(values: int) -> np.ndarray:
        knots = rng.normal(0, RUMBLE_STEPS, -(-values // apart) + 1).astype(np.float32)
        knots[0] = knots[-1] = 0
        rise = np.arange(apart, dtype=np.float32) / apart
        return (knots[:-1, None] + np.diff(knots)[:, None] * rise).ravel()[:values]

    return following


def noise_from(rng: np.random.Generator) -> Noise:
    """Gives the next so many values of the noise, which has no end.

    It is the difference of two even ones, each entered at a place that is drawn: two draws that
    overlap in one of them differ by the other.
    """
    tables = _tables(settings.SECRET_KEY)
    places = [int(place) for place in rng.integers(NOISE_SAMPLES, size=2)]

    def following(values: int) -> np.ndarray:
        parts = [table[at : at + values] for table, at in zip(tables, places, strict=True)]
        places[:] = [(at + values) % NOISE_SAMPLES for at in places]
        noise: np.ndarray = parts[0] - parts[1]
        return noise

    return following


@cache
def _tables(secret: str) -> tuple[np.ndarray, np.ndarray]:
    """Even noise from 0 to 1, twice in a row, so that any part of NOISE_SAMPLES is a slice."""
    seed = hmac.digest(secret.encode(), b"dither", "sha256")
    rng = np.random.Generator(np.random.SFC64(int.from_bytes(seed, "big")))
    first, second = (rng.random(NOISE_SAMPLES, np.float32) for _ in range(2))
    return np.concatenate([first, first]), np.concatenate([second, second])
