"""Loudness normalised at import: how large the gain is, and what it does to the served copy."""

from pathlib import Path

import numpy as np
import pyloudnorm
import pytest
import soundfile
from django.conf import LazySettings

from listening.audio import Facts, gain_for, keep_served, local_path, probed

RATE = 16_000


@pytest.fixture(autouse=True)
def media(settings: LazySettings, tmp_path: Path) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path / "media")},
        },
    }


def clip(path: Path, level: float, seconds: float = 3.0, peaks: float | None = None) -> Path:
    """Noise of a level; `peaks` adds single samples that reach so far."""
    samples = np.random.default_rng(8).uniform(-level, level, round(seconds * RATE))
    if peaks is not None:
        samples[RATE] = peaks
    soundfile.write(path, samples, RATE, subtype="PCM_16")
    return path


def normalised(path: Path, target_lufs: float) -> tuple[float, Facts]:
    gain_db = gain_for(probed(path), target_lufs)
    return gain_db, probed(local_path(keep_served(path, gain_db)[0]))


@pytest.mark.parametrize("level", [0.9, 0.2, 0.02, 0.002])
@pytest.mark.parametrize("target_lufs", [-30.0, -23.0])
def test_clips_of_all_levels_come_to_the_target(
    tmp_path: Path, level: float, target_lufs: float
) -> None:
    gain_db, after = normalised(clip(tmp_path / "a.wav", level), target_lufs)
    assert after.loudness_lufs == pytest.approx(target_lufs, abs=0.02)
    before = probed(tmp_path / "a.wav")
    assert before.loudness_lufs is not None
    assert gain_db == pytest.approx(target_lufs - before.loudness_lufs, abs=0.006)


def test_mono_and_the_same_samples_in_both_channels_are_as_loud_at_each_ear(
    tmp_path: Path,
) -> None:
    """The player puts a mono clip on both ears."""
    mono = soundfile.read(clip(tmp_path / "mono.wav", 0.2))[0]
    soundfile.write(tmp_path / "two.wav", np.stack([mono, mono], axis=1), RATE)
    heard = {}
    for name in ("mono", "two"):
        path = tmp_path / f"{name}.wav"
        gain_db = gain_for(probed(path), -23)
        samples, rate = soundfile.read(local_path(keep_served(path, gain_db)[0]), always_2d=True)
        ears = np.repeat(samples, 2, axis=1)[:, :2]
        heard[name] = ears
        assert pyloudnorm.Meter(rate).integrated_loudness(ears) == pytest.approx(-23, abs=0.02)
    assert np.abs(heard["mono"] - heard["two"]).max() < 2**-22


def test_a_peak_never_rises_above_one_decibel_below_full_scale(tmp_path: Path) -> None:
    path = clip(tmp_path / "a.wav", 0.02, peaks=0.5)  # wants some +15 dB, and has room for 5
    gain_db, after = normalised(path, -23)
    assert 4.9 < gain_db <= 5.03
    assert after.peak_dbfs is not None
    assert -1.02 < after.peak_dbfs <= -1
    assert after.loudness_lufs is not None
    assert after.loudness_lufs < -24
    assert after.clipped_share == 0


def test_a_clip_above_the_ceiling_is_brought_under_it(tmp_path: Path) -> None:
    path = clip(tmp_path / "a.wav", 0.02, peaks=0.999)
    gain_db, after = normalised(path, -20)
    assert -1.01 < gain_db < -0.97
    assert after.peak_dbfs is not None
    assert after.peak_dbfs <= -1


def test_silence_gets_no_gain(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "silent.wav", np.zeros(RATE), RATE)
    assert normalised(tmp_path / "silent.wav", -23)[0] == 0
    faint = np.zeros(RATE)
    faint[5] = 2**-15
    soundfile.write(tmp_path / "faint.wav", faint, RATE)
    assert normalised(tmp_path / "faint.wav", -23)[0] == 0


def test_a_clip_that_has_the_target_already_is_copied_exactly(tmp_path: Path) -> None:
    path = clip(tmp_path / "a.wav", 0.1)
    facts = probed(path)
    assert facts.loudness_lufs is not None
    gain_db, _ = normalised(path, facts.loudness_lufs)
    assert gain_db == 0
    copy = local_path(keep_served(path, gain_db)[0])
    assert soundfile.info(copy).subtype == "PCM_16"
    before, after = (soundfile.read(p, dtype="int16")[0] for p in (path, copy))
    assert np.array_equal(before, after)


@pytest.mark.parametrize("gain_db", [-12.5, 3.0])
def test_a_gain_is_nothing_but_a_factor_with_24_bits(tmp_path: Path, gain_db: float) -> None:
    path = clip(tmp_path / "a.wav", 0.3)
    copy = local_path(keep_served(path, gain_db)[0])
    assert soundfile.info(copy).subtype == "PCM_24"
    before, after = soundfile.read(path)[0], soundfile.read(copy)[0]
    assert np.abs(after - before * 10 ** (gain_db / 20)).max() < 2**-22


def test_a_gain_leaves_the_original_as_it_was(tmp_path: Path) -> None:
    path = clip(tmp_path / "a.wav", 0.3)
    before = path.read_bytes()
    keep_served(path, -6.0)
    assert path.read_bytes() == before
