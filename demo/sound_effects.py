"""Sounds computed from a description, by a careful and by a crude synthesiser.

They stand in for the outputs of two text-to-audio systems: the careful one has the grain of the
real sound, the crude one only its outline. The anchor is the careful sound of another text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from recipes import RATE_HZ, Recipe, Wave, faded, random_of, rms
from scipy import signal

SECONDS = 2.0
COUNT = round(SECONDS * RATE_HZ)
TIME_S = np.arange(COUNT) / RATE_HZ
TEXTS = {
    "rain": "Rain falls steadily on a roof.",
    "waves": "Waves break slowly on a beach.",
    "siren": "A siren rises and falls.",
    "alarm": "An alarm clock beeps four times, again and again.",
    "clock": "A clock ticks.",
}


def sound_effects() -> Iterator[Recipe]:
    others = dict(zip(TEXTS, [*list(TEXTS)[2:], *list(TEXTS)[:2]], strict=True))
    for text in TEXTS:
        yield _recipe("careful", text, "computed, with the grain of the sound")
        yield _recipe("crude", text, "computed, only the outline of the sound")
        other = others[text]
        how = f"the careful sound of “{TEXTS[other]}”, computed anew"
        make = partial(MAKERS[other], "careful", f"other_{text}")
        yield Recipe(f"effect-other_{text}", "", how, lambda make=make: faded(make()))


def _recipe(system: str, text: str, how: str) -> Recipe:
    make = partial(MAKERS[text], system, f"{system}_{text}")
    return Recipe(f"effect-{system}_{text}", "", how, lambda: faded(make()))


def band_noise(name: str, low_hz: float, high_hz: float) -> Wave:
    """Unit power."""
    band = signal.butter(2, (low_hz, high_hz), "bandpass", fs=RATE_HZ, output="sos")
    wave = signal.sosfilt(band, random_of(name).standard_normal(COUNT))
    return np.asarray(wave / rms(wave))


def rain(system: str, name: str) -> Wave:
    """A steady hiss; the careful one has some two hundred drops a second upon it."""
    hiss = band_noise(name, 400, 7000)
    if system == "crude":
        return hiss
    random = random_of(f"{name} drops")
    drops = np.zeros(COUNT)
    places = random.integers(0, COUNT, size=round(200 * SECONDS))
    drops[places] = random.exponential(1.0, size=len(places))
    drop = np.exp(-np.arange(round(0.01 * RATE_HZ)) / (0.002 * RATE_HZ))
    drop *= np.sin(2 * np.pi * 2400 * np.arange(len(drop)) / RATE_HZ)
    grain = np.convolve(drops, drop)[:COUNT]
    return np.asarray(0.5 * hiss + 1.5 * grain / rms(grain))


def waves(system: str, name: str) -> Wave:
    """Two swells; those of the crude one are all alike, and without the hiss that runs out."""
    phase = 2 * np.pi * TIME_S / 1.0
    body = band_noise(name, 80, 900) * (0.15 + np.sin(phase / 2) ** 4)
    if system == "crude":
        return body
    return body + 0.5 * band_noise(f"{name} foam", 1500, 6500) * np.sin(phase / 2 - 0.7) ** 6


def siren(system: str, name: str) -> Wave:
    """A tone that glides between 500 and 1,100 Hz; careful: with harmonics and an echo."""
    hz = 800 + 300 * np.sin(2 * np.pi * TIME_S / 1.0)
    phase = 2 * np.pi * np.cumsum(hz) / RATE_HZ
    if system == "crude":
        return np.asarray(np.sin(phase))
    tone = sum(np.sin(k * phase) / k for k in (1, 2, 3, 4))
    echo = np.zeros(COUNT)
    delay = round(0.13 * RATE_HZ)
    echo[delay:] = 0.35 * np.asarray(tone)[:-delay]
    return np.asarray(tone + echo + 0.05 * band_noise(name, 100, 3000))


def alarm(system: str, name: str) -> Wave:
    """Four beeps and a rest, twice; the crude one beeps without a rest."""
    tone = np.sign(np.sin(2 * np.pi * 2000 * TIME_S)) * 0.5 + np.sin(2 * np.pi * 2000 * TIME_S)
    beat = (TIME_S % 0.125) < 0.07
    if system == "crude":
        return np.asarray(np.sin(2 * np.pi * 1000 * TIME_S) * beat)
    rest = (TIME_S % 1.0) < 0.5
    return np.asarray(tone * beat * rest + 0.01 * band_noise(name, 100, 3000))


def clock(system: str, name: str) -> Wave:
    """Tick and tock, half a second apart; those of the crude one are alike and dull."""
    wave = 0.003 * band_noise(name, 100, 3000)
    for number, start_s in enumerate(np.arange(0.2, SECONDS - 0.1, 0.5)):
        start, length = round(start_s * RATE_HZ), round(0.04 * RATE_HZ)
        decay = np.exp(-np.arange(length) / (0.004 * RATE_HZ))
        hz = 700 if system == "crude" else (3100 if number % 2 else 2500)
        click = decay * np.sin(2 * np.pi * hz * np.arange(length) / RATE_HZ)
        if system == "careful":
            click += 0.6 * decay**2 * random_of(f"{name} {number}").standard_normal(length)
        wave[start : start + length] += click
    return np.asarray(wave)


MAKERS: dict[str, Callable[[str, str], Wave]] = {
    "rain": rain,
    "waves": waves,
    "siren": siren,
    "alarm": alarm,
    "clock": clock,
}
