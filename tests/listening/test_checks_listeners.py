"""Scripted listeners answer the checks by their ears alone, from the bytes that a browser gets."""

import io
from collections.abc import Callable

import numpy as np
import pytest
import soundfile

from listening.checks import check_named, sounds
from listening.checks.sounds import EDGE_S, INTERVAL_S, PAUSE_S, PLACES, Samples

SESSIONS = [f"listener {k}" for k in range(10)]


def played(key: str, seed: str, place: int) -> tuple[Samples, int]:
    """The sound as it is served: a 16-bit WAV file."""
    check, buffer = check_named(key), io.BytesIO()
    wave = check.signal(check.settings({}), seed, place)
    soundfile.write(buffer, wave, check.sample_rate_hz, subtype="PCM_16", format="WAV")
    heard, rate_hz = soundfile.read(io.BytesIO(buffer.getvalue()), always_2d=True)
    return heard, rate_hz


def headphones(wave: Samples) -> Samples:
    return wave


def one_loudspeaker(wave: Samples) -> Samples:
    return np.repeat(wave.mean(axis=1, keepdims=True), wave.shape[1], axis=1)


def intervals(wave: Samples, rate_hz: int) -> list[Samples]:
    first, step = round(EDGE_S * rate_hz), round((INTERVAL_S + PAUSE_S) * rate_hz)
    return [wave[first + k * step :][: round(INTERVAL_S * rate_hz)] for k in range(3)]


def huggins(wave: Samples, rate_hz: int) -> str:
    """Where the ears differ most; where they do not differ at all, the first."""
    differences = [float(np.sum((p[:, 0] - p[:, 1]) ** 2)) for p in intervals(wave, rate_hz)]
    return PLACES[int(np.argmax(differences))]


def antiphase(wave: Samples, rate_hz: int) -> str:
    powers = [float(np.sum(p**2)) for p in intervals(wave, rate_hz)]
    return PLACES[int(np.argmin(powers))]


def stereo(wave: Samples, rate_hz: int) -> str:
    left, right = (float(np.sum(wave[:, ear] ** 2)) for ear in (0, 1))
    if max(left, right) < 1.1 * min(left, right):
        return "middle"
    return "left" if left > right else "right"


def environment(wave: Samples, rate_hz: int) -> str:
    """The noise before the words of either half."""
    half = round((2 * 0.15 + 2 * sounds.SLOT_S) * rate_hz)
    starts = [round(0.1 * rate_hz), round(0.6 * rate_hz) + half]
    noises = [np.mean(wave[at : at + round(0.12 * rate_hz)] ** 2) for at in starts]
    return "first" if noises[0] < noises[1] else "second"


def digits_in_noise(wave: Samples, rate_hz: int) -> str:
    """The word that fits each slot best."""
    said = ""
    for k in range(3):
        slot = wave[round((0.5 + k * sounds.SLOT_S) * rate_hz) :, 0]
        words = {d: sounds.digit("en", d) for d in "0123456789"}
        fits = {d: slot[: len(w)] @ w / len(w) ** 0.5 for d, w in words.items()}
        said += max(fits, key=lambda d: fits[d])
    return said


LISTENERS = {
    "antiphase": antiphase,
    "digits_in_noise": digits_in_noise,
    "environment": environment,
    "huggins": huggins,
    "stereo": stereo,
}


def passes(key: str, seed: str, through: Callable[[Samples], Samples]) -> bool:
    check = check_named(key)
    settings = check.settings({})
    answers = []
    for place in range(settings.trials):
        wave, rate_hz = played(key, seed, place)
        answers.append(LISTENERS[key](through(wave), rate_hz))
    return check.judge(settings, seed, answers).passed


@pytest.mark.slow
@pytest.mark.parametrize("key", LISTENERS)
def test_a_listener_with_headphones_passes_every_time(key):
    assert all(passes(key, seed, headphones) for seed in SESSIONS)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["huggins", "antiphase", "stereo"])
def test_a_listener_with_one_loudspeaker_does_not_pass(key):
    assert not any(passes(key, seed, one_loudspeaker) for seed in SESSIONS)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["digits_in_noise", "environment"])
def test_checks_of_hearing_and_place_do_not_need_headphones(key):
    assert all(passes(key, seed, one_loudspeaker) for seed in SESSIONS)


def test_every_check_that_asks_something_has_a_listener():
    from listening.checks import Check

    asked = {key for key in Check.registry if check_named(key).trials}
    assert asked == set(LISTENERS), "add to LISTENERS a listener who answers by the sound alone"
