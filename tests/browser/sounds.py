"""Short real sounds for the fake house: tones that swell like speech, as WAV bytes."""

import io
from functools import lru_cache

import numpy as np
import soundfile

RATE_HZ = 22_050


@lru_cache(maxsize=64)
def tone(duration_s: float, frequency_hz: float) -> bytes:
    """A mono tone with a 4 Hz swell, peak 0.3, 16 bit."""
    time_s = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    swell = 0.65 + 0.35 * np.sin(2 * np.pi * 4 * time_s)
    wave = 0.3 * swell * np.sin(2 * np.pi * frequency_hz * time_s)
    buffer = io.BytesIO()
    soundfile.write(buffer, wave.astype(np.float32), RATE_HZ, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
