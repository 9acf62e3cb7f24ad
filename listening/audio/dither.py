"""Sound in whole numbers of 16 bit, the word length of its source hidden by noise."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from functools import cache

import numpy as np
from django.conf import settings

from listening.audio.decoded import LONGEST_KEPT

FULL_SCALE = 32_768
NOISE_SAMPLES = LONGEST_KEPT  # drawn once; who asks begins at a place of its own


def dithered(block: np.ndarray, noise: Callable[[int], np.ndarray]) -> np.ndarray:
    """Whole numbers, after triangular noise of one step to each side."""
    steps = block * np.float32(FULL_SCALE)
    steps += noise(steps.size).reshape(steps.shape)
    np.rint(steps, out=steps)
    return np.clip(steps, -FULL_SCALE, FULL_SCALE - 1, out=steps).astype(np.int16)


def noise_from(rng: np.random.Generator) -> Callable[[int], np.ndarray]:
    """Gives the next so many values of the noise, which has no end.

    It is the difference of two even ones, each entered at a place that is drawn: two draws that
    overlap in one of them differ by the other.
    """
    tables = _tables(settings.SECRET_KEY)
    places = [int(place) for place in rng.integers(NOISE_SAMPLES, size=2)]

    def following(values: int) -> np.ndarray:
        parts = [table[at : at + values] for table, at in zip(tables, places, strict=True)]
        places[:] = [(at + values) % NOISE_SAMPLES for at in places]
        return parts[0] - parts[1]

    return following


@cache
def _tables(secret: str) -> tuple[np.ndarray, np.ndarray]:
    """Even noise from 0 to 1, twice in a row, so that any part of NOISE_SAMPLES is a slice."""
    seed = hmac.digest(secret.encode(), b"dither", "sha256")
    rng = np.random.Generator(np.random.SFC64(int.from_bytes(seed, "big")))
    first, second = (rng.random(NOISE_SAMPLES, np.float32) for _ in range(2))
    return np.concatenate([first, first]), np.concatenate([second, second])
