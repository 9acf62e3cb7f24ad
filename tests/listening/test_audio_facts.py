"""What probing says about a clip, and what it refuses."""

import tracemalloc
from pathlib import Path

import numpy as np
import pyloudnorm
import pytest
import soundfile

from listening.audio import AudioError, probed
from listening.common.loudness import LoudnessMeter

RATE = 16_000


def tone(seconds: float, rate: int = RATE, level: float = 0.5, hz: float = 440.0) -> np.ndarray:
    return level * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)


def speechlike(seconds: float, rate: int, channels: int, seed: int = 1) -> np.ndarray:
    """Noise whose level rises and falls, so that the gates of the loudness meter matter."""
    rng = np.random.default_rng(seed)
    n = round(seconds * rate)
    swell = 10 ** (rng.uniform(-60, -6, n // (rate // 4) + 1) / 20).repeat(rate // 4)[:n]
    return rng.uniform(-1, 1, (n, channels)) * swell[:, None]


def test_the_facts_of_a_tone(tmp_path: Path) -> None:
    path = tmp_path / "tone.wav"
    soundfile.write(path, np.stack([tone(2), tone(2)], axis=1), RATE, subtype="PCM_24")
    facts = probed(path)
    assert (facts.sample_rate_hz, facts.channels, facts.format) == (RATE, 2, "WAV")
    assert facts.duration_s == 2.0
    assert facts.peak_dbfs == pytest.approx(-6.02, abs=0.01)
    assert facts.clipped_share == 0
    assert facts.leading_silence_s == 0
    assert facts.size_bytes == path.stat().st_size
    assert len(facts.sha256) == 64


@pytest.mark.slow
@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 44_100, 48_000])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("seconds", [0.4, 0.73, 3.19, 12.0])
def test_loudness_equals_pyloudnorm(rate: int, channels: int, seconds: float) -> None:
    samples = speechlike(seconds, rate, channels)
    meter = LoudnessMeter(rate, channels, at_ears=True)
    for start in range(0, len(samples), 3_001):
        meter.add(samples[start : start + 3_001])
    at_ears = np.repeat(samples, 2, axis=1) if channels == 1 else samples
    expected = pyloudnorm.Meter(rate).integrated_loudness(at_ears)
    assert meter.integrated_lufs() == pytest.approx(expected, abs=0.01)


@pytest.mark.slow
def test_loudness_does_not_depend_on_how_the_clip_is_cut_into_blocks() -> None:
    samples = speechlike(2.3, 22_050, 1)
    found = []
    for size in (1, 100, 2_205, 10**6):
        meter = LoudnessMeter(22_050, 1)
        for start in range(0, min(len(samples), 20_000 if size == 1 else 10**9), size):
            meter.add(samples[start : start + size])
        found.append(meter.integrated_lufs())
    assert found[1:] == pytest.approx([found[1]] * 3, abs=1e-9)


def test_a_clip_too_short_for_a_gating_block_still_has_a_loudness(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(0.2, 48_000, hz=1_000, level=0.5), 48_000)
    soundfile.write(tmp_path / "b.wav", tone(0.2, 48_000, hz=1_000, level=0.25), 48_000)
    a, b = probed(tmp_path / "a.wav").loudness_lufs, probed(tmp_path / "b.wav").loudness_lufs
    assert a is not None
    assert b is not None
    assert a == pytest.approx(-6.02, abs=0.3)  # a 1 kHz tone of -6 dBFS peak, on both ears
    assert a - b == pytest.approx(6.02, abs=0.01)


def test_digital_silence_has_neither_peak_nor_loudness(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "silent.wav", np.zeros(RATE), RATE)
    facts = probed(tmp_path / "silent.wav")
    assert (facts.peak_dbfs, facts.loudness_lufs, facts.leading_silence_s) == (None, None, 0)


def test_clipping_and_leading_silence_are_measured(tmp_path: Path) -> None:
    quiet = np.full(RATE // 2, 0.001)
    soundfile.write(tmp_path / "late.wav", np.concatenate([quiet, tone(0.5)]), RATE)
    assert probed(tmp_path / "late.wav").leading_silence_s == pytest.approx(0.5, abs=0.011)
    soundfile.write(tmp_path / "hot.wav", np.clip(tone(1, level=2.0), -1, 1), RATE)
    assert probed(tmp_path / "hot.wav").clipped_share == pytest.approx(2 / 3, abs=0.01)


def damaged_flac(tmp_path: Path) -> Path:
    path = tmp_path / "whole.flac"
    soundfile.write(path, speechlike(5, RATE, 1), RATE)
    cut = tmp_path / "cut.flac"
    cut.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return cut


def test_a_flac_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match=r"damaged|ends .* s before"):
        probed(damaged_flac(tmp_path))


@pytest.mark.parametrize("suffix", ["wav", "aiff"])
def test_a_wav_or_aiff_that_was_cut_off_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cut.{suffix}"
    soundfile.write(path, tone(1), RATE)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(AudioError, match=r"Its header states 1\.00 s, 0\.50 s are there"):
        probed(path)


CUT = [("au", r"states 4\.00 s, 2\.00 s are"), ("w64", r"states 4\.00 s, 2\.00 s are")]


@pytest.mark.parametrize(("suffix", "said"), [*CUT, ("ogg", "ends in the middle of a page")])
def test_other_files_that_were_cut_off_are_refused(tmp_path: Path, suffix: str, said: str) -> None:
    path = tmp_path / f"cut.{suffix}"
    noise = np.random.default_rng(1).normal(0, 0.1, 4 * RATE)  # which no coding makes small
    soundfile.write(path, noise, RATE)
    probed(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(AudioError, match=said):
        probed(path)


@pytest.mark.parametrize("length", [b"\xff\xff\xff\xff", b"\x24\xf0\xff\x7f"])
def test_a_wav_that_was_written_to_a_pipe_is_accepted(tmp_path: Path, length: bytes) -> None:
    path = tmp_path / "piped.wav"
    soundfile.write(path, tone(1), RATE)
    data = bytearray(path.read_bytes())
    data[4:8] = data[40:44] = length
    path.write_bytes(data)
    assert probed(path).duration_s == 1.0


@pytest.mark.slow
def test_memory_does_not_grow_with_the_clip(tmp_path: Path) -> None:
    path = tmp_path / "long.wav"
    soundfile.write(path, np.tile(np.float32(tone(10)), 12), RATE, subtype="PCM_16")
    probed(path)  # imports are not what is measured
    tracemalloc.start()
    try:
        assert probed(path).duration_s == 120
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * 1024**2  # all of it as float64 would be 15 MB


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"This is a note and no sound.", "no sound file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(2_000), "no sound file"),
        (b"RIFF\x00\x00\x00\x00WAVE", "no sound"),
        (b"fLaC" + bytes(100), "no sound"),
        (bytes(10_000), "no sound file"),
    ],
)
def test_a_file_without_sound_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "clip.wav"
    path.write_bytes(content)
    with pytest.raises(AudioError, match=words):
        probed(path)


def test_a_wav_without_samples_is_refused(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "none.wav", np.zeros(0), RATE)
    with pytest.raises(AudioError, match="0 samples"):
        probed(tmp_path / "none.wav")


def test_headerless_samples_are_refused(tmp_path: Path) -> None:
    (tmp_path / "clip.raw").write_bytes(bytes(4_000))
    with pytest.raises(AudioError, match="no sound file"):
        probed(tmp_path / "clip.raw")


def test_more_than_two_channels_are_refused(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "six.wav", np.zeros((RATE, 6)), RATE)
    with pytest.raises(AudioError, match="6 channels"):
        probed(tmp_path / "six.wav")


@pytest.mark.parametrize("rate", [2_000, 384_000])
def test_a_rate_that_no_browser_plays_is_refused(tmp_path: Path, rate: int) -> None:
    soundfile.write(tmp_path / "odd.wav", np.zeros(rate), rate)
    with pytest.raises(AudioError, match=f"{rate} Hz"):
        probed(tmp_path / "odd.wav")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_that_are_no_numbers_are_refused(tmp_path: Path, value: float) -> None:
    samples = tone(1)
    samples[RATE // 2] = value
    soundfile.write(tmp_path / "nan.wav", samples, RATE, subtype="FLOAT")
    with pytest.raises(AudioError, match="no numbers"):
        probed(tmp_path / "nan.wav")


@pytest.mark.parametrize(
    ("peak", "words"),
    [
        (8_191.75, r"reach 8,191.75, 78 dB over full scale, which is 1. Divide them by 32,768"),
        (4e6, "Divide them by 8,388,608"),
        (1e9, "Divide them by 2,147,483,648"),
        (5.0, "14 dB over full scale, which is 1. Make it quieter"),
    ],
)
def test_floats_of_another_scale_are_refused_with_the_remedy(
    tmp_path: Path, peak: float, words: str
) -> None:
    soundfile.write(tmp_path / "a.wav", tone(1, level=peak, hz=1_000), RATE, subtype="FLOAT")
    with pytest.raises(AudioError, match=words):
        probed(tmp_path / "a.wav")


def test_floats_a_little_over_full_scale_are_accepted(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(1, level=3.9), RATE, subtype="FLOAT")
    assert probed(tmp_path / "a.wav").peak_dbfs == pytest.approx(11.8, abs=0.1)


@pytest.mark.medium
def test_a_clip_of_more_than_half_an_hour_is_refused(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "long.flac", np.zeros(4_000 * (30 * 60 + 1), "int16"), 4_000)
    with pytest.raises(AudioError, match="longer than 30 minutes"):
        probed(tmp_path / "long.flac")


def test_a_file_of_more_than_500_megabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.wav"
    with path.open("wb") as file:
        file.truncate(501 * 1024**2)  # a hole: takes no room on the disk
    with pytest.raises(AudioError, match="501 MB"):
        probed(path)


@pytest.mark.parametrize(
    ("suffix", "kind", "subtype"),
    [
        ("mp3", "MP3", None),
        ("ogg", "OGG", "VORBIS"),
        ("opus", "OGG", "OPUS"),
        ("aiff", "AIFF", "PCM_24"),
        ("caf", "CAF", "ALAC_16"),
        ("au", "AU", "ULAW"),
    ],
)
def test_other_common_formats_are_accepted(
    tmp_path: Path, suffix: str, kind: str, subtype: str | None
) -> None:
    path = tmp_path / f"clip.{suffix}"
    soundfile.write(path, tone(2, 48_000), 48_000, format=kind, subtype=subtype)
    facts = probed(path)
    assert facts.format == kind
    assert facts.duration_s == pytest.approx(2, abs=0.1)
