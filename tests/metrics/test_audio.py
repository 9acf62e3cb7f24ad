"""Audio files of many kinds as mono float32 waves; broken files named."""

import numpy as np
import pytest
import soundfile
import soxr

from listening.common.sound_files import open_sound
from metrics.core import decoding
from tests.listening.encoded import encode


def tone(rate_hz, seconds=1.0, hz=440.0):
    return 0.5 * np.sin(2 * np.pi * hz * np.arange(round(rate_hz * seconds)) / rate_hz)


def written(folder, name, samples, rate_hz, **options):
    path = folder / name
    soundfile.write(path, samples, rate_hz, **options)
    return path


def off(found, wanted):
    """The largest difference between two waves of one length."""
    assert found.shape == wanted.shape
    return np.abs(found - wanted).max(initial=0)


FORMATS = [
    ("a.wav", "PCM_16"),
    ("a.wav", "PCM_U8"),
    ("a.wav", "FLOAT"),
    ("a.wav", "DOUBLE"),
    ("a.flac", "PCM_24"),
    ("a.ogg", "VORBIS"),
    ("a.mp3", "MPEG_LAYER_III"),
    ("a.aiff", "PCM_16"),
]
RATES = [(44_100, 16_000), (8_000, 16_000), (48_000, 16_000), (997, 1000)]


@pytest.mark.parametrize(("name", "subtype"), FORMATS)
def test_any_format_soundfile_reads_gives_mono_float32(tmp_path, name, subtype):
    path = written(tmp_path, name, tone(16_000), 16_000, subtype=subtype)
    wave = decoding.load_wave(path, 16_000)
    assert wave.dtype == np.float32
    assert len(wave) == 16_000
    assert np.abs(wave[1000:-1000]).max() == pytest.approx(0.5, abs=0.02)


def test_channels_are_averaged(tmp_path):
    left, right = tone(16_000, hz=300), tone(16_000, hz=500)
    stereo = written(tmp_path, "s.wav", np.stack([left, right], axis=1), 16_000, subtype="DOUBLE")
    assert off(decoding.load_wave(stereo, 16_000), (left + right) / 2) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 22_050, 24_000, 44_100, 44_101, 48_000, 96_000])
def test_a_tone_survives_resampling(tmp_path, rate_hz):
    path = written(tmp_path, "t.wav", tone(rate_hz), rate_hz, subtype="FLOAT")
    wave = decoding.load_wave(path, 16_000)
    assert len(wave) == 16_000
    inner = slice(500, -500)
    assert off(wave[inner], tone(16_000)[inner]) < 3e-3


def test_a_tone_above_the_new_nyquist_frequency_does_not_come_back(tmp_path):
    path = written(tmp_path, "t.wav", tone(48_000, hz=12_000), 48_000, subtype="FLOAT")
    assert np.abs(decoding.load_wave(path, 16_000)[500:-500]).max() < 2e-3


@pytest.mark.slow
@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("n_samples", [1, 999, 30_000])
def test_resampling_in_blocks_equals_resampling_in_one_piece(rates, n_samples):
    samples = np.random.default_rng(0).normal(size=n_samples).astype(np.float32)
    resampler = decoding.Resampler(*rates)
    parts = [resampler(samples[start : start + 700]) for start in range(0, n_samples, 700)]
    got = np.concatenate([*parts, resampler.flush()])
    assert off(got, soxr.resample(samples, *rates, quality="VHQ")) < 1e-5


def test_a_file_is_decoded_once_for_all_rates(tmp_path, monkeypatch):
    path = written(tmp_path, "t.wav", tone(44_100), 44_100, subtype="FLOAT")
    opened = []

    class Spy(soundfile.SoundFile):
        def __init__(self, *given, **named):
            opened.append(given)
            super().__init__(*given, **named)

    monkeypatch.setattr(soundfile, "SoundFile", Spy)
    waves = decoding.load_waves(path, (8_000, 16_000, 44_100))
    assert len(opened) == 1
    assert {rate: len(wave) for rate, wave in waves.items()} == {
        8_000: 8_000,
        16_000: 16_000,
        44_100: 44_100,
    }
    monkeypatch.undo()
    assert off(waves[16_000], decoding.load_wave(path, 16_000)) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("a.m4a", "aac"),
        ("a.mp4", "aac"),
        ("a.webm", "libopus"),
        ("a.aac", "aac"),
        ("b.m4a", "alac"),
    ],
)
def test_containers_that_only_ffmpeg_reads_give_the_same_sound(tmp_path, name, codec):
    samples = tone(48_000, seconds=1.5)
    path = encode(tmp_path / name, codec, samples[:, None], 48_000)
    wave = decoding.load_wave(path, 16_000)
    extra_s = 0.1 if name.endswith((".aac", ".webm")) else 0.0  # padding that nobody names
    assert 24_000 <= len(wave) <= 24_000 + 16_000 * extra_s
    inner = wave[6_000:18_000]
    assert np.sqrt(np.mean(inner**2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.05)
    assert decoding.duration_s(path) == pytest.approx(1.5, abs=0.1)
    with open_sound(path) as served:  # what raters hear
        heard = np.concatenate(list(served.blocks(4_096, "float32")))[:, 0]
    assert off(heard, decoding.load_wave(path, 48_000)) < 1e-6


def test_a_cut_container_is_named(tmp_path):
    path = encode(tmp_path / "c.m4a", "aac", tone(48_000)[:, None], 48_000)
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(decoding.AudioError, match=r"c\.m4a"):
        decoding.load_wave(path, 16_000)


def test_full_scale_of_16_bits_is_exact(tmp_path):
    path = written(tmp_path, "i.wav", np.array([-32768, 0, 16384], np.int16), 16_000)
    assert decoding.load_wave(path, 16_000).tolist() == [-1.0, 0.0, 0.5]


@pytest.mark.parametrize(
    ("content", "said"), [(None, "no such file"), (b"", "is empty"), (b"words " * 99, "read")]
)
def test_a_file_that_is_no_audio_is_named(tmp_path, content, said):
    path = tmp_path / "clip.wav"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(decoding.AudioError, match=said) as caught:
        decoding.load_wave(path, 16_000)
    assert str(path) in str(caught.value)
    with pytest.raises(decoding.AudioError):
        decoding.duration_s(path)


def test_a_file_without_samples_is_named(tmp_path):
    path = written(tmp_path, "empty.wav", np.zeros(0), 16_000)
    with pytest.raises(decoding.AudioError, match=r"empty\.wav: the file holds no samples"):
        decoding.load_wave(path, 16_000)


def test_an_absurdly_long_file_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(decoding, "MAX_DURATION_S", 0.5)
    path = written(tmp_path, "long.wav", tone(16_000), 16_000)
    with pytest.raises(decoding.AudioError, match=r"long\.wav: longer than"):
        decoding.load_wave(path, 16_000)


def test_a_changed_file_is_noticed(tmp_path):
    path = written(tmp_path, "c.wav", tone(16_000), 16_000)
    before = decoding.file_sha256(path)
    decoding.check_unchanged(path, before)
    written(tmp_path, "c.wav", tone(16_000, hz=500), 16_000)
    with pytest.raises(decoding.AudioError, match="has changed"):
        decoding.check_unchanged(path, before)
