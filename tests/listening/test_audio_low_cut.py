"""Served copies lose what nobody hears: an offset, and what is below 20 Hz; the rest stays."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from listening.audio import keep_served, local_path, served_sound
from listening.audio.served_sound import without_rumble

RATE = 16_000


def tone(hz: float, seconds: float = 2.0):
    """From silence to silence, so that it has no other frequencies."""
    t = np.arange(round(seconds * RATE)) / RATE
    return (0.3 * np.sin(2 * np.pi * hz * t) * np.hanning(len(t)))[:, None]


def filtered(wave, size: int = 65_536):
    blocks = [wave[at : at + size] for at in range(0, len(wave), size)]
    return np.concatenate(list(without_rumble(blocks, RATE, faded=False)))


@pytest.mark.parametrize("hz", [0.0, 3.0, 12.0])
def test_an_offset_and_rumble_are_gone_and_a_voice_stays(hz: float):
    rumble = tone(hz) if hz else np.full((2 * RATE, 1), 0.01)
    heard = filtered(tone(120) + rumble)
    assert len(heard) == 2 * RATE
    amid = slice(RATE // 2, -RATE // 2)
    assert np.abs(heard - tone(120))[amid].max() < 1e-3
    assert abs(heard.mean()) < 1e-5
    spectrum = np.abs(np.fft.rfft(heard[:, 0]))[: 2 * 14]
    assert spectrum.max() < 1e-3 * np.abs(np.fft.rfft(tone(120)[:, 0])).max()


def test_what_is_heard_is_not_changed():
    wave = tone(30) + tone(4000)
    assert np.abs(filtered(wave) - wave).max() < 1e-4


def test_a_long_clip_is_filtered_in_parts_alike(monkeypatch):
    rng = np.random.default_rng(1)
    wave = rng.standard_normal((12 * RATE, 2)) + 0.2
    whole = filtered(wave)
    monkeypatch.setattr(served_sound, "LONGEST_AT_ONCE", 3 * RATE)
    assert np.abs(filtered(wave, 10_000) - whole).max() < 2e-3


def test_the_original_stays_and_the_served_copy_has_no_offset(tmp_path: Path):
    source = tmp_path / "a.wav"
    soundfile.write(source, tone(200) + 0.02, RATE, subtype="PCM_16")
    before = source.read_bytes()
    served = soundfile.read(local_path(keep_served(source, low_cut=True)[0]))[0]
    assert abs(served.mean()) < 1e-5
    assert np.abs(served[: RATE // 100]).max() < 1e-3  # and no click
    assert source.read_bytes() == before
