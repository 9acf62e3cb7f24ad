"""Gives the stimuli of a made-up study real, short sounds, so that its pages can be walked."""

import tempfile
from pathlib import Path

import numpy as np
import soundfile

from listening import audio
from listening.models import Study

RATE_HZ = 16_000


def give_sound(study: Study, duration_s: float = 0.2) -> None:
    """Every stimulus gets a tone of its own; no two served copies have the same bytes."""
    time_s = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    with tempfile.TemporaryDirectory() as folder:
        for stimulus in study.stimuli.all():
            path = Path(folder) / "tone.wav"
            wave = 0.1 * np.sin(2 * np.pi * (200 + stimulus.pk % 4000) * time_s)
            soundfile.write(path, wave, RATE_HZ, subtype="PCM_16")
            stimulus.original = audio.keep_original(path)
            stimulus.served, stimulus.served_sha256 = audio.keep_served(path)
            stimulus.sha256 = audio.probed(path).sha256
            stimulus.duration_s = duration_s
            stimulus.save()
