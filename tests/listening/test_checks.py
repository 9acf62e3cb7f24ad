"""The sounds of the checks, analysed as signals; and what the checks accept."""

import numpy as np
import pytest

from listening.checks import Check, check_named
from listening.checks.volume import LEVEL_DBFS, SYLLABLES_HZ


@pytest.mark.parametrize("key", sorted(Check.registry))
def test_every_check_has_words_a_sound_within_full_scale_and_refuses_nothing_answers(key):
    check = check_named(key)
    page = check.page({})
    assert page["title"]
    assert page["text"]
    assert page["clip"].endswith(".wav")
    signal = check.signal()
    assert signal.dtype == np.float32
    assert 0.1 < np.abs(signal).max() < 1
    with pytest.raises(ValueError, match=r"."):
        check.result({})


def test_the_volume_sound_has_the_level_and_rhythm_of_speech_and_loops_without_a_click():
    check = check_named("volume")
    signal = check.signal().astype(float)
    assert 20 * np.log10(np.sqrt(np.mean(signal**2))) == pytest.approx(LEVEL_DBFS, abs=0.01)
    step = np.abs(np.diff(signal))
    assert abs(signal[0] - signal[-1]) <= step.max()
    envelope = np.abs(np.fft.rfft(signal**2))
    rates_hz = np.fft.rfftfreq(len(signal), 1 / check.sample_rate_hz)
    slow = (rates_hz > 1) & (rates_hz < 16)
    assert rates_hz[slow][envelope[slow].argmax()] == pytest.approx(SYLLABLES_HZ, abs=0.01)


def test_a_study_may_word_its_checks_itself():
    assert check_named("volume").page({"title": "音量"})["title"] == "音量"


def test_an_unknown_check_names_those_there_are():
    with pytest.raises(KeyError, match="volume"):
        check_named("loudness")
