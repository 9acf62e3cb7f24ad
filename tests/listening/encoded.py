"""Short sounds that FFmpeg writes as M4A, WebM and the like."""

from pathlib import Path

import av
import numpy as np
from av.audio.frame import AudioFrame


def chirp(seconds: float, rate: int, channels: int = 1, level: float = 0.5) -> np.ndarray:
    """A tone that rises from 100 Hz to 3 kHz, so that a shift by a sample shows."""
    time_s = np.arange(round(seconds * rate)) / rate
    wave = level * np.sin(2 * np.pi * (100 * time_s + 1450 / seconds * time_s**2))
    return np.stack([wave * (1 - 0.5 * n) for n in range(channels)], axis=1)


def encode(
    path: Path, codec: str, samples: np.ndarray, rate: int, format: str | None = None, **options
) -> Path:
    """`samples` (floats, or int32 with 24 bits in use) as a real file made by FFmpeg."""
    channels = samples.shape[1]
    layout = {1: "mono", 2: "stereo", 6: "5.1"}[channels]
    kind = "s32" if samples.dtype == np.int32 else "flt"
    if kind == "flt":
        samples = samples.astype(np.float32)
    with av.open(path, "w", format, {key: str(value) for key, value in options.items()}) as file:
        stream = file.add_stream(codec, rate=rate, layout=layout, options={"strict": "-2"})
        frame = AudioFrame.from_ndarray(samples.reshape(1, -1), kind, layout)
        frame.sample_rate, frame.pts = rate, 0
        resampler = av.AudioResampler(stream.codec_context.format, layout, rate)
        for converted in (*resampler.resample(frame), *resampler.resample(None)):
            file.mux(stream.encode(converted))
        file.mux(stream.encode(None))
    return path
