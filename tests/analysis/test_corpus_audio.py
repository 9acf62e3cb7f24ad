"""The same recording is found in every form, and another take of the same sentence is not."""

import csv
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from analysis.corpus.audio_checks import read_audio
from analysis.corpus.clips import Corpus
from analysis.corpus.corpus_report import check_corpus
from analysis.corpus.fingerprint import (
    BIT_ERROR_BOUND,
    RATE_HZ,
    Fingerprint,
    fingerprint,
    max_bit_error_rate,
    same_recordings,
)
from analysis.corpus.sources import read_corpus
from tests.listening.encoded import encode

AUDIO = Path(__file__).resolve().parents[2] / "demo" / "audio"
TAKES = ("human_s0880", "flite-rms_s0880", "excited-rms_s0880", "flite-slt_s0880", "human_s0890")


def wave_of(name: str) -> tuple[np.ndarray, int]:
    wave, rate = soundfile.read(AUDIO / f"{name}.flac", dtype="float32")
    return wave, rate


def mp3(path: Path, wave: np.ndarray, rate: int) -> Path:
    return encode(path.with_suffix(".mp3"), "libmp3lame", wave[:, None], rate, b=32_000)


def ogg(path: Path, wave: np.ndarray, rate: int) -> Path:
    soundfile.write(path.with_suffix(".ogg"), wave, rate, "VORBIS")
    return path.with_suffix(".ogg")


def aac(path: Path, wave: np.ndarray, rate: int) -> Path:
    return encode(path.with_suffix(".m4a"), "aac", wave[:, None], rate)


def wav(path: Path, wave: np.ndarray, rate: int) -> Path:
    soundfile.write(path.with_suffix(".wav"), wave, rate)
    return path.with_suffix(".wav")


def at_rate(path: Path, wave: np.ndarray, rate: int, new_hz: int) -> Path:
    return wav(path, soxr.resample(wave, rate, new_hz), new_hz)


FORMS = {
    "mp3 of 32 kbit/s": mp3,
    "ogg": ogg,
    "aac": aac,
    "48 kHz": lambda path, wave, rate: at_rate(path, wave, rate, 48_000),
    "8 kHz": lambda path, wave, rate: at_rate(path, wave, rate, 8_000),
    "100 ms trimmed": lambda path, wave, rate: wav(path, wave[rate // 10 :], rate),
    "250 ms of silence before": lambda path, wave, rate: wav(
        path, np.concatenate([np.zeros(rate // 4, np.float32), wave]), rate
    ),
    "26 dB softer": lambda path, wave, rate: wav(path, wave / 20, rate),
    "all at once": lambda path, wave, rate: mp3(
        path, 0.3 * soxr.resample(wave[rate // 10 :], rate, 24_000), 24_000
    ),
}


@pytest.fixture(scope="module")
def takes() -> dict[str, Fingerprint]:
    return {name: read_audio(str(AUDIO / f"{name}.flac")).print for name in TAKES}


@pytest.mark.medium
@pytest.mark.parametrize("form", FORMS)
def test_the_same_recording_is_found_in_another_form(tmp_path: Path, takes, form: str):
    prints = list(takes.values())
    for place in (0, 1):  # a man who reads, and a synthetic voice
        wave, rate = wave_of(TAKES[place])
        copy = read_audio(str(FORMS[form](tmp_path / f"{place}", wave, rate)))
        matches = same_recordings([*prints, copy.print])
        assert [(match.first, match.second) for match in matches] == [(place, len(prints))]
        assert matches[0].bit_error_rate < 0.15
        moved = {"100 ms trimmed": 0.1, "all at once": 0.1, "250 ms of silence before": -0.25}
        if form != "mp3 of 32 kbit/s":  # codecs add a delay of their own
            assert matches[0].offset_s == pytest.approx(moved.get(form, 0.0), abs=0.06)


def test_other_takes_of_a_sentence_are_other_recordings(takes):
    assert same_recordings(list(takes.values())) == []


@pytest.mark.soak
def test_no_two_different_recordings_of_the_demo_match_by_chance():
    """Clips are stretched at random, each to another length, so that none is left twice."""
    rng = np.random.default_rng(5)
    alike = ("effect", "spoken")  # wrong effects on purpose; one instruction in four clips
    names = sorted(p.stem for p in AUDIO.glob("*.flac") if not p.stem.startswith(alike))
    waves = []
    for n, name in enumerate(names):
        wave, rate = wave_of(name)
        mono = wave if wave.ndim == 1 else wave.mean(axis=1)
        waves.append(soxr.resample(mono, rate * (0.7 + 0.7 * n / len(names)), RATE_HZ))
    order = rng.permutation(len(waves))
    prints = [fingerprint(np.ascontiguousarray(waves[n], np.float32)) for n in order]
    matches = same_recordings(prints)
    apart = [
        (names[order[m.first]], names[order[m.second]])
        for m in matches
        if names[order[m.first]].split("_")[-1] != names[order[m.second]].split("_")[-1]
    ]
    assert len(prints) > 200
    assert apart == []


def test_a_short_overlap_must_be_more_alike():
    """Unrelated bits differ in one half; the deviation of their share is that of the paper."""
    assert max_bit_error_rate(10_000) == BIT_ERROR_BOUND
    assert max_bit_error_rate(50) == pytest.approx(0.5 - 10 * 3 / (2 * np.sqrt(32 * 50)))
    rng = np.random.default_rng(1)
    noise = [fingerprint(rng.normal(size=RATE_HZ * 3).astype(np.float32)) for _ in range(2)]
    differ = np.bitwise_count(noise[0].words ^ noise[1].words).mean() / 32
    assert differ == pytest.approx(0.5, abs=4 * 3 / (2 * np.sqrt(32 * len(noise[0].words))))


@pytest.mark.parametrize("samples", [0, 1, 2047, 2048, 2112, 3000])
def test_short_and_silent_clips_have_no_recording_in_common(samples: int):
    silent = fingerprint(np.zeros(samples, np.float32))
    assert same_recordings([silent, silent]) == []
    assert same_recordings([]) == []


def test_the_hash_is_of_samples_and_not_of_files(tmp_path: Path):
    wave, rate = soundfile.read(AUDIO / "human_s0880.flac", dtype="int16")
    soundfile.write(tmp_path / "a.wav", wave, rate, "PCM_16")
    soundfile.write(tmp_path / "b.flac", np.stack([wave, wave], axis=1), rate, "PCM_16")
    soundfile.write(tmp_path / "c.wav", wave, rate + 1, "PCM_16")
    (tmp_path / "d.wav").write_bytes(b"nothing")
    a, b, c, d = (read_audio(str(tmp_path / n)) for n in ("a.wav", "b.flac", "c.wav", "d.wav"))
    assert a.samples_sha256 == b.samples_sha256 != c.samples_sha256
    assert a.duration_s == pytest.approx(len(wave) / rate)
    assert (d.duration_s, bool(d.reason), bool(d.remedy)) == (None, True, True)
    assert read_audio(str(tmp_path / "none.wav")).reason == "There is no such file."


@pytest.mark.medium
def test_versions_of_an_item_are_told_apart_from_copies(tmp_path: Path):
    for condition in ("human", "codec", "other"):
        (tmp_path / condition).mkdir()
    for item in ("s0880", "s0890", "s0930"):
        wave, rate = wave_of(f"human_{item}")
        wav(tmp_path / "human" / item, wave, rate)
        mp3(tmp_path / "codec" / item, wave, rate)
    copied, rate = wave_of("human_s0890")
    for item, wave in (("s0880", copied / 2), ("s0930", wave_of("flite-slt_s0930")[0])):
        wav(tmp_path / "other" / item, wave, rate)
    corpus: Corpus = read_corpus(tmp_path)
    report = check_corpus(corpus)
    rows = list(csv.DictReader(report.files["findings.csv"].splitlines()))
    got = {each["check"]: each for each in rows}
    assert [each["check"] for each in rows].count("version") == 2
    assert [each["check"] for each in rows].count("near_audio") == 1
    assert got["near_audio"]["others"].count(";") == 1  # three clips of one recording
    assert "other/s0880.wav" in got["near_audio"]["row"] + got["near_audio"]["others"]
    assert report.findings == 1  # versions are as they should be
