"""Gives the stimuli of a made-up study real, short sounds, so that its pages can be walked."""

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from listening import audio
from listening.models import Study

RATE_HZ = 16_000


def give_sound(study: Study, duration_s: float = 0.2) -> None:
    """Every stimulus gets a tone of its own; no two served copies have the same bytes."""
    for number, stimulus in enumerate(study.stimuli.order_by("pk")):
        for field, value in _stored_tone(number, duration_s).items():
            setattr(stimulus, field, value)
        stimulus.save()


@lru_cache(maxsize=1000)
def _stored_tone(number: int, duration_s: float) -> dict[str, Any]:
    """Stored once per test run: what the Stimulus keeps about it."""
    time_s = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    tone_hz = 200 + 10 * (37 * number % 101)  # in no order of conditions
    wave = 0.1 * np.sin(2 * np.pi * tone_hz * time_s)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tone.wav"
        soundfile.write(path, wave, RATE_HZ, subtype="PCM_16")
        served, served_sha256 = audio.keep_served(path)
        return {
            "original": audio.keep_original(path),
            "sha256": audio.probed(path).sha256,
            "served": served,
            "served_sha256": served_sha256,
            "duration_s": duration_s,
        }
