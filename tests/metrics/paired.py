"""A recording, copies of it that are worse in known ways, and files to name as a reference."""

import numpy as np
import soundfile

from metrics.core import decoding
from metrics.core.metric import Material, make_metric
from tests.metrics import reference

RATE_HZ = 16_000
HUMAN = reference.path("long_same-human")


def human(seconds=4):
    return reference.wave("long_same-human").numpy()[: seconds * RATE_HZ].astype(np.float64)


def noisy(wave, snr_db, seed=0):
    """The wave with white noise, at a signal-to-noise ratio."""
    noise = np.random.default_rng(seed).normal(size=len(wave))
    return wave + noise * np.sqrt(np.mean(wave**2) / np.mean(noise**2)) * 10 ** (-snr_db / 20)


def beside(folder, wave, rate_hz=RATE_HZ):
    """The material of a clip that is compared with this wave."""
    path = folder / f"reference-{len(wave)}.wav"
    soundfile.write(path, wave, rate_hz, subtype="DOUBLE")
    sha256 = decoding.file_sha256(path)
    return Material(reference_audio_path=str(path), reference_audio_sha256=sha256)


def loaded(key, **parameters):
    metric = make_metric(key, parameters)
    metric.load("cpu")
    return metric
