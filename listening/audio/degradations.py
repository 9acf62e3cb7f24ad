"""Degraded copies of a clip: the low-passed anchors of BS.1534-3, and clips with a clear flaw.

Each is as long as its source, in step with it, and at its sampling rate.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from listening.audio.served_sound import plain_flac
from listening.common.loudness import LoudnessMeter
from listening.common.sound_files import AudioError, open_sound
from listening.design.anchors import ANCHORS

Wave = npt.NDArray[np.float64]  # (frames, channels)

BLOCK_FRAMES = 65_536
TRANSITION_HZ = 500  # from the pass band to the stop band, as the mask of BS.1534-3 has it
STOP_DB = 80.0
MNRU_Q_DB = 0.0  # P.810: speech to modulated noise; tests of codecs end at about 5 dB
ROBOT_HZ = 100  # the pitch of a voice whose frames all begin in one phase
FRAME_S = 0.032
SPECTRUM_BAND_HZ = 250  # width of the bands in which the spectrum is kept
HIGHEST_PEAK = 10 ** (-1 / 20)
PAUSE_FRAME_S = 0.02  # the quietest frames are pauses
PAUSE_PERCENTILE = 10


@dataclass(frozen=True)
class Flaw:
    """A degradation that raters must notice, in words for researchers."""

    title: str
    how: str
    make: Callable[[Wave, int, np.random.Generator], Wave]


def low_passed(wave: Wave, rate_hz: int, cut_hz: float) -> Wave:
    """Flat up to the cut within 0.1 dB and 80 dB down 500 Hz above it; linear phase, in step.

    AudioError where the clip has nothing above the cut.
    """
    from scipy.signal import oaconvolve

    if rate_hz / 2 <= cut_hz + TRANSITION_HZ / 2:
        raise AudioError(
            f"At {rate_hz:,} Hz there is nothing above {cut_hz / 1000:g} kHz to take away.",
            "Use a reference of a higher sampling rate.",
        )
    fir = low_pass(rate_hz, cut_hz)
    return np.asarray(oaconvolve(wave, fir[:, None], mode="full", axes=0)[_in_step(fir, wave)])


def low_pass(rate_hz: int, cut_hz: float) -> npt.NDArray[np.float64]:
    """The taps of the filter, of an odd number."""
    from scipy.signal import firwin, kaiserord

    width = min(TRANSITION_HZ, rate_hz / 2 - cut_hz)
    taps, beta = kaiserord(STOP_DB, width / (rate_hz / 2))
    middle = cut_hz + width / 2
    return np.asarray(firwin(taps | 1, middle, window=("kaiser", beta), fs=rate_hz))


def _in_step(fir: npt.NDArray[np.float64], wave: Wave) -> slice:
    return slice(len(fir) // 2, len(fir) // 2 + len(wave))


def modulated_noise(wave: Wave, rate_hz: int, rng: np.random.Generator) -> Wave:
    """Noise that follows the speech, after the MNRU of ITU-T P.810, with the speech's spectrum.

    Its factors are even, not Gaussian: rare peaks would make the clip softer than others.
    """
    factors = rng.uniform(-np.sqrt(3), np.sqrt(3), (len(wave), 1))
    noise = _match_spectrum(wave * factors, wave, rate_hz)
    power, own = (float(np.mean(each**2)) for each in (noise, wave))
    gain = (own / max(power, 1e-20)) ** 0.5 * 10 ** (-MNRU_Q_DB / 20)
    return np.asarray(wave + gain * noise)


def robot(wave: Wave, rate_hz: int, rng: np.random.Generator) -> Wave:
    """One pitch throughout: the phase of every frame is taken away, its spectrum stays."""
    from scipy.signal import ShortTimeFFT, get_window

    hop = round(rate_hz / ROBOT_HZ)
    size = max(round(FRAME_S * rate_hz), 2 * hop)
    transform = ShortTimeFFT(get_window("hann", size), hop, rate_hz)
    columns = [np.abs(transform.stft(channel)).astype(complex) for channel in wave.T]
    turn = np.exp(-2j * np.pi * transform.f * (size // 2) / rate_hz)[:, None]
    channels = [transform.istft(column * turn, k1=len(wave)) for column in columns]
    return _match_spectrum(np.stack(channels, axis=1), wave, rate_hz)


FLAWS: Mapping[str, Flaw] = {
    "robot": Flaw(
        "Robot voice",
        f"one pitch of {ROBOT_HZ} Hz throughout (phase of every frame taken away)",
        robot,
    ),
    "noise": Flaw(
        "Modulated noise",
        "noise as loud as the speech, that follows it and has its spectrum (after ITU-T P.810)",
        modulated_noise,
    ),
}


def flawed(wave: Wave, rate_hz: int, kind: str) -> Wave:
    """Return the clip with a flaw; its spectrum, loudness and noise in pauses stay.

    The same clip gives the same result each time.
    """
    seed = int.from_bytes(hashlib.sha256(wave.tobytes() + kind.encode()).digest()[:8], "big")
    rng = np.random.default_rng(seed)
    degraded = _match_loudness(FLAWS[kind].make(wave, rate_hz, rng), wave, rate_hz)
    return _match_noise_floor(degraded, wave, rate_hz, rng)


def _match_spectrum(wave: Wave, like: Wave, rate_hz: int) -> Wave:
    """Give a wave the long-term spectrum of another, so that its bandwidth does not reveal it.

    In bands wider than the partials of a voice: else noise between them would be taken out again.
    """
    from scipy.signal import firwin2, oaconvolve, welch

    size = min(round(rate_hz / SPECTRUM_BAND_HZ), len(wave))
    own, wanted = (welch(w.mean(axis=1), nperseg=size)[1] for w in (wave, like))
    gain = np.sqrt((wanted + 1e-14) / (own + 1e-14)).clip(1e-3, 10)
    fir = firwin2(2 * len(gain) - 1, np.linspace(0, 1, len(gain)), gain)
    return np.asarray(oaconvolve(wave, fir[:, None], mode="full", axes=0)[_in_step(fir, wave)])


def _match_loudness(wave: Wave, like: Wave, rate_hz: int) -> Wave:
    levels = []
    for each in (wave, like):
        meter = LoudnessMeter(rate_hz, each.shape[1])
        meter.add(each)
        levels.append(meter.integrated_lufs())
    own, wanted = levels
    gain = 1.0 if own is None or wanted is None else 10 ** ((wanted - own) / 20)
    peak = float(np.abs(wave).max(initial=0.0)) * gain
    return wave * gain * min(1.0, HIGHEST_PEAK / peak if peak > 0 else 1.0)


def _match_noise_floor(wave: Wave, like: Wave, rate_hz: int, rng: np.random.Generator) -> Wave:
    """Add the noise of another wave's pauses where the own pauses are quieter."""
    frame = round(PAUSE_FRAME_S * rate_hz)
    own, wanted = (_frame_powers(each, frame) for each in (wave, like))
    missing = float(np.percentile(wanted, PAUSE_PERCENTILE) - np.percentile(own, PAUSE_PERCENTILE))
    if missing <= 0:
        return wave
    in_pauses = np.flatnonzero(wanted <= np.percentile(wanted, PAUSE_PERCENTILE))
    pauses = np.concatenate([like[at * frame : (at + 1) * frame] for at in in_pauses])
    noise = _match_spectrum(rng.standard_normal(wave.shape), pauses, rate_hz)
    return np.asarray(wave + noise * (missing / max(float(np.mean(noise**2)), 1e-20)) ** 0.5)


def _frame_powers(wave: Wave, frame: int) -> npt.NDArray[np.float64]:
    """Mean powers of whole frames; of the whole wave where it is shorter than a frame."""
    count = max(len(wave) // frame, 1)
    return np.asarray([np.mean(part**2) for part in np.array_split(wave[: count * frame], count)])


def read_wave(path: Path) -> tuple[Wave, int]:
    """Return all samples of a clip and its rate; AudioError where it cannot be read."""
    with open_sound(path) as sound:
        blocks = list(sound.blocks(BLOCK_FRAMES))
        empty = np.zeros((0, sound.channels))
        return np.concatenate(blocks) if blocks else empty, sound.rate_hz


def write_wave(path: Path, wave: Wave, rate_hz: int) -> None:
    """Write FLAC of 24 bits; the caller keeps samples within full scale."""
    with plain_flac(path, rate_hz, wave.shape[1], 24) as file:
        file.write(wave)


def write_degraded(source: Path, target: Path, way: str) -> None:
    """Write an anchor or a flawed copy of the source as FLAC; AudioError where that fails."""
    wave, rate_hz = read_wave(source)
    degraded = (
        low_passed(wave, rate_hz, ANCHORS[way]) if way in ANCHORS else flawed(wave, rate_hz, way)
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part.flac")
    write_wave(part, degraded * _clipping_gain(degraded), rate_hz)
    os.replace(part, target)


def _clipping_gain(wave: Wave) -> float:
    """Return the gain that keeps a peak, which a filter may raise, within full scale."""
    peak = float(np.abs(wave).max(initial=0.0))
    return 0.999 / peak if peak > 0.999 else 1.0
