"""A tone only there when each ear gets its own channel (Huggins pitch, Milne et al. 2021)."""

import numpy as np

from listening.checks.check import Check, CheckSettings, Wave, secret_noise
from listening.checks.sounds import (
    EDGE_S,
    INTERVAL_S,
    LEVEL_DBFS,
    PAUSE_S,
    PLACES,
    WHICH,
    Samples,
    faded,
    in_a_row,
    rms,
)
from listening.methods.method import gettext_noop

# Hearing compares the phases at the ears below 1.5 kHz only. 8 kHz, the lowest rate that every
# browser decodes, carries noise far beyond that, and a trial of 4.2 s has 134 KB.
RATE_HZ = 8_000
CENTRE_HZ = 600.0
HALF_BAND = 0.06  # of the centre frequency, to either side
LOWEST_HZ, HIGHEST_HZ = 50.0, 3900.0
FADE_S = 0.02


class Huggins(Check):
    key = "huggins"
    title = gettext_noop("Are your headphones on?")
    text = gettext_noop(
        "Please put headphones on both ears. Each time you hear three noises, one after the other. "
        "In one of them hides a faint steady tone. Say in which one. The tone is meant to be "
        "faint: take your time, and guess if you are not sure."
    )
    question = gettext_noop("In which noise is the tone?")
    options = WHICH
    truths = PLACES
    advice = gettext_noop(
        "The tone was not found every time. Check that you wear headphones, that both sides play "
        "and that no “mono” setting is on. Then try again."
    )
    trials = 6
    pass_at_least = 6
    attempts = 2
    sample_rate_hz = RATE_HZ

    def signal(self, settings: CheckSettings, seed: str, place: int) -> Wave:
        """Three noises; the right one has the band of the tone turned by 180 degrees in one ear."""
        truth = self.plan(settings, seed)[place].truth
        rng = secret_noise(self.key, seed, "noise", place)
        noises = [ears(rng, turned=where == truth) for where in PLACES]
        noises = [faded(noise, RATE_HZ, FADE_S) for noise in noises]
        return in_a_row(noises, RATE_HZ, pause_s=PAUSE_S, edge_s=EDGE_S).astype(np.float32)


def ears(rng: np.random.Generator, *, turned: bool) -> Samples:
    """Flat noise, the same in both ears but for the band that is turned: (samples, 2).

    A random phase turned by 180 degrees is a random phase: by law, each channel alone is the same
    noise whether the band is turned or not.
    """
    n = round(INTERVAL_S * RATE_HZ)
    frequency_hz = np.fft.rfftfreq(n, 1 / RATE_HZ)
    flat = (frequency_hz >= LOWEST_HZ) & (frequency_hz <= HIGHEST_HZ)
    left = flat * np.exp(1j * rng.uniform(0, 2 * np.pi, len(frequency_hz)))
    band = np.abs(frequency_hz - CENTRE_HZ) <= HALF_BAND * CENTRE_HZ
    right = np.where(band, -left, left) if turned else left
    size = rms(LEVEL_DBFS) * n / np.sqrt(2 * flat.sum())
    return np.stack([np.fft.irfft(size * left, n), np.fft.irfft(size * right, n)], axis=1)
