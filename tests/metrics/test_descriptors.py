"""Level, signal-to-noise ratio and F0 of signals whose numbers are known, and PLCMOS."""

import math

import numpy as np
import pyloudnorm
import pytest
import soundfile

import earnest
from metrics.core.lazy_torch import torch
from metrics.core.metric import ParameterError, make_metric
from metrics.scoring import runner
from metrics.signal import periodicity
from tests.metrics import paired, reference

RATE_HZ = 16_000
# What `ffmpeg -i FILE -af ebur128 -f null -` prints for the noise of the test below, FFmpeg 5.1.9
FFMPEG_LUFS = {1: -16.9, 2: -16.5, 4: -9.5, 5: -7.5, 6: -7.3}


def tone(hz, seconds=2.0, amplitude=0.5):
    return amplitude * torch.sin(
        2 * math.pi * hz * torch.arange(round(seconds * RATE_HZ)) / RATE_HZ
    )


def test_a_tone_has_the_level_that_it_has_by_definition():
    score = make_metric("loudness_lufs").measure([tone(997)])[0]
    assert score.value == pytest.approx(-9.03, abs=0.1)  # BS.1770: a full-scale one has -3.01
    assert score.also["rms_dbfs"] == pytest.approx(20 * math.log10(0.5 / math.sqrt(2)), abs=1e-3)
    assert score.also["peak_dbfs"] == pytest.approx(-6.02, abs=0.01)
    assert score.also["energy_sd_db"] == pytest.approx(0, abs=0.05)


def test_levels_that_cannot_be_told_have_a_reason():
    short, silent, faint = make_metric("loudness_lufs").measure(
        [tone(997, 0.3), torch.zeros(RATE_HZ), tone(997, amplitude=1e-5)]
    )
    assert "too short: 0.30 s" in short.reason
    assert silent.reason == "silent"
    assert faint.reason.startswith("silent: no 25 ms of it are above -103 dBFS")
    (gated,) = make_metric("loudness_lufs").measure([tone(30, amplitude=1e-3)])
    assert gated.reason == "below the loudness gate of -70 LUFS"
    assert gated.also["peak_dbfs"] == pytest.approx(-60, abs=0.01)


def test_a_rate_too_low_for_the_filters_has_levels_and_no_loudness(tmp_path):
    soundfile.write(tmp_path / "low.wav", 0.5 * np.sin(np.arange(4000) / 3), 2000)
    (row,) = earnest.score([{"audio": tmp_path / "low.wav"}], ["loudness_lufs"])
    assert row["scores"]["loudness_lufs"] is None
    assert row["scores"]["rms_dbfs"] == pytest.approx(-9.03, abs=0.05)
    assert "sampling rate of at least 4,000 Hz" in row["reasons"]["loudness_lufs"]


@pytest.mark.parametrize("channels", [1, 2, 4, 5, 6])
@pytest.mark.medium
def test_levels_of_a_file_are_of_all_its_channels_at_its_own_rate(channels, tmp_path):
    """Loudness by pyloudnorm (up to five channels) and FFmpeg's ebur128, RMS and peak by hand."""
    rate_hz, path = 44_100, tmp_path / "a.wav"
    levels = np.array([0.1, 0.03, 0.2, 0.05, 0.15, 0.08])[:channels]
    samples = np.random.default_rng(1).normal(size=(round(3.37 * rate_hz), channels)) * levels
    soundfile.write(path, samples, rate_hz, subtype="FLOAT")
    (scored,) = runner.score_clips(
        make_metric("loudness_lufs"), [runner.clip_from_file(path)], "cpu"
    )
    found = scored.score
    if channels <= 5:
        lufs = pyloudnorm.Meter(rate_hz).integrated_loudness(samples)
        assert found.value == pytest.approx(lufs, abs=1e-4)
    assert found.value == pytest.approx(FFMPEG_LUFS[channels], abs=0.1)
    assert found.also["rms_dbfs"] == pytest.approx(10 * np.log10(np.mean(samples**2)), abs=1e-4)
    assert found.also["peak_dbfs"] == pytest.approx(20 * np.log10(np.abs(samples).max()), abs=1e-4)
    assert found.also["energy_sd_db"] < 0.3


def test_two_equal_channels_are_three_decibels_louder_than_one(tmp_path):
    values = {}
    for channels in (1, 2):
        path = tmp_path / f"{channels}.wav"
        soundfile.write(path, np.repeat(tone(997).numpy()[:, None], channels, axis=1), RATE_HZ)
        (scored,) = runner.score_clips(
            make_metric("loudness_lufs"), [runner.clip_from_file(path)], "cpu"
        )
        values[channels] = scored.score
    assert values[2].value - values[1].value == pytest.approx(3.0103, abs=1e-3)
    assert values[2].also == pytest.approx(values[1].also, abs=1e-3)


def test_noise_under_speech_is_measured_beside_it():
    """Speech where segments say; white noise all along, 10 dB and 30 dB below it."""
    metric = make_metric("snr_db")
    noise = torch.tensor(np.random.default_rng(2).normal(size=4 * RATE_HZ))
    speech = torch.zeros(4 * RATE_HZ, dtype=torch.float64)
    speech[RATE_HZ : 3 * RATE_HZ] = tone(200)
    segments = [(RATE_HZ, 3 * RATE_HZ)]
    for snr_db in (10, 30):
        level = 0.5 / math.sqrt(2) * 10 ** (-snr_db / 20)
        score = metric.ratio(speech + level * noise, segments)
        assert score.value == pytest.approx(snr_db, abs=0.1)
        assert score.details["noise_s"] == pytest.approx(1.8)


def test_without_rests_or_noise_there_is_no_ratio():
    metric, wave = make_metric("snr_db"), tone(200)
    assert metric.ratio(wave, []).reason == "no speech"
    assert "no 0.2 s without" in metric.ratio(wave, [(0, len(wave))]).reason
    padded = torch.cat([wave, torch.zeros(RATE_HZ)])
    assert "digital silence" in metric.ratio(padded, [(0, len(wave))]).reason
    assert "as loud as" in metric.ratio(torch.cat([wave * 0.1, wave]), [(0, len(wave))]).reason


@pytest.mark.medium
def test_f0_of_a_glide_is_found_with_its_range_and_speed():
    seconds = np.arange(2 * RATE_HZ) / RATE_HZ
    hz = 100 * 2 ** (seconds / 2)  # an octave in two seconds
    phase = 2 * np.pi * np.cumsum(hz) / RATE_HZ
    wave = torch.tensor(sum(np.sin(n * phase) / n for n in range(1, 20)) * 0.2)
    (score,) = make_metric("f0_median_hz").measure([wave])
    assert score.value == pytest.approx(100 * math.sqrt(2), rel=0.01)
    assert score.also["f0_range_semitones"] == pytest.approx(0.9 * 12, abs=0.3)
    assert score.also["f0_sd_semitones"] == pytest.approx(12 / math.sqrt(12), abs=0.1)
    assert score.also["f0_change"] == pytest.approx(6, abs=0.3)
    assert score.also["voiced_share"] > 0.95


@pytest.mark.medium
def test_noise_has_no_f0_and_wrong_bounds_are_named():
    noise = torch.tensor(np.random.default_rng(0).normal(size=4_000) * 0.01)
    assert "too little voice" in make_metric("f0_median_hz").measure([noise])[0].reason
    with pytest.raises(ParameterError, match="high_hz"):
        make_metric("f0_median_hz", {"low_hz": 700})


@pytest.mark.medium
def test_jitter_shimmer_and_noise_are_those_that_were_made():
    """Pulses whose periods and heights alternate; then a steady voice in noise 20 dB below it."""
    marks = np.cumsum(np.tile([0.0099, 0.0101], 60)) + 0.02
    assert 100 * periodicity.jitter(marks) == pytest.approx(2, abs=1e-3)
    assert math.isnan(periodicity.jitter(marks[:2]))
    seconds = np.arange(int(marks[-1] * RATE_HZ) + 800) / RATE_HZ
    heights = np.tile([1.0, 1.1], 60)
    wave = sum(
        h * np.exp(-(((seconds - m) / 4e-4) ** 2)) for h, m in zip(heights, marks, strict=True)
    )
    (score,) = make_metric("jitter").measure([torch.tensor(wave)])
    assert score.value == pytest.approx(2, abs=0.05)
    assert score.also["shimmer"] == pytest.approx(100 * 0.1 / 1.05, abs=0.3)
    hz = 120 * 2 ** (0.02 * seconds)
    voice = sum(np.sin(n * 2 * np.pi * np.cumsum(hz) / RATE_HZ) / n for n in range(1, 30))
    (noisy,) = make_metric("jitter").measure([torch.tensor(paired.noisy(voice, 20))])
    assert noisy.also["hnr_db"] == pytest.approx(20, abs=0.5)
    (short,) = make_metric("jitter", {"low_hz": 40}).measure([tone(150, 0.21)])
    assert short.also["hnr_db"] is None  # its window is 0.225 s
    (lone,) = periodicity.Pitch(np.array([100.0]), np.array([0.1])).stretches()
    assert lone == pytest.approx((0.095, 0.105))
    noise = torch.tensor(np.random.default_rng(0).normal(size=8_000) * 0.01)
    assert "too little voice" in make_metric("jitter").measure([noise])[0].reason
    with pytest.raises(ParameterError, match="high_hz"):
        make_metric("jitter", {"low_hz": 700})


@pytest.mark.slow
@pytest.mark.parametrize("row", reference.rows("praat.csv"), ids=lambda row: row["clip"])
def test_jitter_shimmer_and_harmonicity_are_near_praat(row):
    (score,) = make_metric("jitter").measure([reference.wave(row["clip"])])
    assert score.details["periods"] == pytest.approx(int(row["points"]), abs=3)
    assert score.value == pytest.approx(float(row["jitter"]), rel=0.03)
    assert score.also["shimmer"] == pytest.approx(float(row["shimmer"]), rel=0.02)
    assert score.also["hnr_db"] == pytest.approx(float(row["hnr_db"]), abs=0.03)


@pytest.mark.slow
def test_plcmos_is_that_of_its_package_with_the_same_draws():
    """Its values: of speechmos 0.0.1.1, the mean over the two raters drawn with seed 0."""
    metric = paired.loaded("plcmos", raters=2)
    speech = paired.human(3).astype(np.float32)
    gaps = speech.copy()
    for start in range(8_000, 40_000, 4_000):
        gaps[start : start + 1_600] = 0
    values = [score.value for score in metric.measure([torch.tensor(w) for w in (speech, gaps)])]
    assert values == pytest.approx([4.615756, 2.107017], abs=1e-4)
    with pytest.raises(ParameterError, match="raters is 0"):
        make_metric("plcmos", {"raters": 0})
