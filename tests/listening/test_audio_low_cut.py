"""Served copies lose an offset and the frequencies that nobody hears; the rest stays."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from listening.audio import keep_served, level_after_cut, local_path, probed, served_sound
from listening.audio.served_sound import CUT_EDGES_HZ, remove_inaudible
from listening.design.studyfile.entries import LOW_CUTS_HZ

RATE = 16_000
AMID = slice(RATE // 2, -RATE // 2)


def tone(hz: float, seconds: float = 2.0, level: float = 0.3):
    """From silence to silence, so that it has no other frequencies."""
    t = np.arange(round(seconds * RATE)) / RATE
    return (level * np.sin(2 * np.pi * hz * t) * np.hanning(len(t)))[:, None]


def filtered(wave, low_cut_hz: int, size: int = 65_536):
    blocks = [wave[at : at + size] for at in range(0, len(wave), size)]
    return np.concatenate(list(remove_inaudible(blocks, RATE, low_cut_hz, faded=False)))


def test_each_choice_of_a_study_has_its_edges():
    assert set(CUT_EDGES_HZ) == set(LOW_CUTS_HZ)


@pytest.mark.parametrize(
    ("low_cut_hz", "hz"), [(20, 0.0), (20, 3.0), (20, 12.0), (50, 0.0), (50, 20.0), (50, 42.0)]
)
def test_an_offset_and_rumble_are_gone_and_a_voice_stays(low_cut_hz: int, hz: float):
    rumble = tone(hz) if hz else np.full((2 * RATE, 1), 0.01)
    heard = filtered(tone(120) + rumble, low_cut_hz)
    assert len(heard) == 2 * RATE
    assert np.abs(heard - tone(120))[AMID].max() < 1e-3
    assert abs(heard.mean()) < 1e-5
    gone = round(2 * (CUT_EDGES_HZ[low_cut_hz][0] - 1))
    spectrum = np.abs(np.fft.rfft(heard[:, 0]))[:gone]
    assert spectrum.max() < 1e-3 * np.abs(np.fft.rfft(tone(120)[:, 0])).max()


@pytest.mark.parametrize(("low_cut_hz", "hz"), [(20, 30), (50, 62), (50, 80)])
def test_what_is_heard_is_not_changed(low_cut_hz: int, hz: float):
    """The lowest voices keep level and phase, so that clips which play in step stay so."""
    wave = tone(hz) + tone(4000)
    assert np.abs(filtered(wave, low_cut_hz) - wave).max() < 3e-4


def test_a_low_voice_keeps_its_level_from_60_hz_on():
    heard = filtered(tone(60, seconds=4.0), 50)
    level_db = 10 * np.log10(np.square(heard).sum() / np.square(tone(60, seconds=4.0)).sum())
    assert abs(level_db) < 0.5


def test_nothing_is_heard_before_a_voice_begins():
    """Of a low voice that starts within 10 ms; masking hides the last 20 ms before it."""
    t = np.arange(2 * RATE) / RATE - 1
    rise = np.clip(t / 0.01, 0, 1)
    voice = (rise * np.sin(2 * np.pi * 80 * t))[:, None]
    before = filtered(voice, 50)[: round(0.98 * RATE)]
    loudest = np.square(before).reshape(-1, RATE // 50).mean(axis=1).max()  # of 20 ms
    assert 10 * np.log10(loudest / 0.5) < -30  # a voice of 60 dB: the threshold at 80 Hz is 31.5


@pytest.mark.parametrize(
    ("rate_hz", "hz", "stays"),
    [
        (48_000, 19_000, True),
        (48_000, 21_000, False),
        (44_100, 21_500, False),
        (32_000, 15_900, True),
    ],
)
def test_what_is_above_20_khz_is_gone(rate_hz: int, hz: float, stays: bool):
    """A clip of 44.1 kHz brought to 48 kHz is empty there; others hold noise of microphones."""
    t = np.arange(rate_hz) / rate_hz
    wave = (0.3 * np.sin(2 * np.pi * hz * t) * np.hanning(rate_hz))[:, None]
    heard = np.concatenate(list(remove_inaudible([wave], rate_hz, 50, faded=True)))
    assert np.abs(heard - (wave if stays else 0)).max() < 1e-4


@pytest.mark.medium
def test_a_long_clip_is_filtered_in_parts_alike(monkeypatch):
    rng = np.random.default_rng(1)
    wave = rng.standard_normal((12 * RATE, 2)) + 0.2
    whole = filtered(wave, 50)
    monkeypatch.setattr(served_sound, "LONGEST_AT_ONCE", 3 * RATE)
    assert np.abs(filtered(wave, 50, 10_000) - whole).max() < 2e-3


def test_the_original_stays_and_the_served_copy_has_no_offset(tmp_path: Path):
    source = tmp_path / "a.wav"
    soundfile.write(source, tone(200) + 0.02, RATE, subtype="PCM_16")
    before = source.read_bytes()
    served = soundfile.read(local_path(keep_served(source, low_cut_hz=50)[0]))[0]
    assert abs(served.mean()) < 1e-5
    assert np.abs(served[: RATE // 100]).max() < 1e-3  # and no click
    assert source.read_bytes() == before


@pytest.mark.parametrize("offset", [0.0, 0.05])
@pytest.mark.parametrize("rumble_hz", [0.0, 35.0])
def test_the_level_of_a_clip_is_that_without_what_is_cut(
    tmp_path: Path, offset: float, rumble_hz: float
):
    """A rumble as strong as the voice would make raters hear the voice 3 dB softer."""
    rumble = tone(rumble_hz) if rumble_hz else 0
    for name, wave in {"voice": tone(150), "as recorded": tone(150) + rumble + offset}.items():
        soundfile.write(tmp_path / f"{name}.wav", wave, RATE, subtype="PCM_24")
    voice = probed(tmp_path / "voice.wav")
    path = tmp_path / "as recorded.wav"
    level = level_after_cut(path, probed(path), 50)
    assert level.loudness_lufs == pytest.approx(voice.loudness_lufs, abs=0.02)
    assert level.peak_dbfs == pytest.approx(voice.peak_dbfs, abs=0.3)


def test_a_clip_with_few_low_frequencies_is_not_decoded_again_for_its_level(tmp_path: Path):
    path = tmp_path / "voice.wav"
    soundfile.write(path, tone(150), RATE, subtype="PCM_24")
    facts = probed(path)
    path.unlink()
    for low_cut_hz in (20, 50):
        level = level_after_cut(path, facts, low_cut_hz)
        assert (level.loudness_lufs, level.peak_dbfs) == (facts.loudness_lufs, facts.peak_dbfs)
