"""What a made sound is, and how sound gets into demo/audio, at which rate and level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
import soundfile
from pyloudnorm import Meter
from scipy import signal

Wave = npt.NDArray[np.float64]

DEMO = Path(__file__).parent
AUDIO = DEMO / "audio"
RATE_HZ = 16_000
LEVEL_LUFS = -23.0


@dataclass(frozen=True)
class Recipe:
    """One file: its name, what it is made from and how, and the making."""

    name: str
    sources: str
    how: str
    make: Callable[[], Wave]
    keep_level: bool = False  # else it is brought to LEVEL_LUFS like the recordings
    rate_hz: int = RATE_HZ
    opus_level: float | None = None  # compression level of a file that is kept as Opus

    @property
    def file(self) -> Path:
        return AUDIO / f"{self.name}.{'flac' if self.opus_level is None else 'opus'}"


class LacksError(Exception):
    """What it takes to make a file, and is not here."""


def sound(name: str) -> Wave:
    wave, rate_hz = soundfile.read(AUDIO / f"{name}.flac")
    return at_rate(wave, rate_hz)


def at_rate(wave: Wave, rate_hz: int, wanted_hz: int = RATE_HZ) -> Wave:
    if rate_hz == wanted_hz:
        return wave
    ratio = Fraction(wanted_hz, rate_hz)
    return np.asarray(signal.resample_poly(wave, ratio.numerator, ratio.denominator))


def levelled(wave: Wave, rate_hz: int) -> Wave:
    """One constant gain; never beyond full scale."""
    gain = 10 ** ((LEVEL_LUFS - Meter(rate_hz).integrated_loudness(wave)) / 20)
    return np.asarray(wave * min(gain, 0.99 / np.abs(wave).max()))


def faded(wave: Wave) -> Wave:
    ramp = np.linspace(0, 1, round(0.01 * RATE_HZ))
    edges = np.ones(len(wave))
    edges[: len(ramp)], edges[-len(ramp) :] = ramp, ramp[::-1]
    return wave * edges


def rms(wave: Wave) -> float:
    return float(np.sqrt(np.mean(wave**2)))


def random_of(name: str) -> np.random.Generator:
    return np.random.default_rng(crc32(name.encode()))


def write(file: Path, wave: Wave, rate_hz: int = RATE_HZ, opus_level: float | None = None) -> None:
    """As FLAC, or as Opus at this compression level (0 the most bits, 1 the fewest)."""
    if opus_level is None:
        soundfile.write(file, wave, rate_hz, subtype="PCM_16", compression_level=1.0)
    else:
        kind = {"format": "OGG", "subtype": "OPUS"}
        soundfile.write(file, wave, rate_hz, compression_level=opus_level, **kind)
