"""Joined clips: exact times, the same energy, no clicks, and little memory."""

import tracemalloc
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile

from listening.audio import AudioError, join, probed
from tests.listening.encoded import chirp, encode


def sine(seconds: float, rate: int, hz: float = 400.0, level: float = 0.4) -> np.ndarray:
    return level * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)


def saved(folder: Path, name: str, samples: np.ndarray, rate: int, subtype: str = "PCM_24") -> Path:
    soundfile.write(folder / name, samples, rate, subtype=subtype)
    return folder / name


def joined(folder: Path, *parts: Path | float) -> tuple[np.ndarray, int, list[tuple[float, float]]]:
    spans = join(parts, folder / "joined.flac")
    samples, rate = soundfile.read(folder / "joined.flac", always_2d=True)
    return samples, rate, spans


def three_rates(folder: Path) -> list[Path]:
    rates = (16_000, 22_050, 32_000)
    return [saved(folder, f"{rate}.wav", sine(1.2345, rate, 500), rate) for rate in rates]


def test_times_are_exact_to_a_sample_for_parts_of_three_rates(tmp_path: Path) -> None:
    a, b, c = three_rates(tmp_path)
    samples, rate, spans = joined(tmp_path, a, 0.3, b, 0.12345, c)
    assert rate == 32_000
    frames = [
        round(info.frames * rate / info.samplerate) for info in map(soundfile.info, (a, b, c))
    ]
    sizes = [frames[0], 9_600, frames[1], round(0.12345 * rate), frames[2]]
    ends = np.cumsum(sizes)
    exact = [((end - size) / rate, end / rate) for end, size in zip(ends, sizes, strict=True)]
    assert spans == exact
    assert len(samples) == ends[-1]
    for start, end in (spans[1], spans[3]):
        assert not samples[round(start * rate) : round(end * rate)].any(), "gaps are silent"


def test_every_part_keeps_its_energy_and_its_place(tmp_path: Path) -> None:
    parts = three_rates(tmp_path)
    samples, rate, spans = joined(tmp_path, parts[0], 0.5, parts[1], parts[2])
    for start, end in (spans[0], spans[2], spans[3]):
        part = samples[round(start * rate) : round(end * rate), 0]
        same = sine(1.2345, rate, 500)[: len(part)]
        inner = slice(round(0.01 * rate), -round(0.01 * rate))
        assert np.sqrt(np.mean(part[inner] ** 2)) == pytest.approx(0.4 / np.sqrt(2), rel=1e-3)
        assert np.abs(part[inner] - same[inner]).max() < 1e-3, "neither late nor early"
        assert np.sum(part**2) == pytest.approx(np.sum(same**2), rel=0.01)


@pytest.mark.parametrize(("low", "high"), [(8_000, 48_000), (22_050, 44_100), (44_100, 48_000)])
@pytest.mark.parametrize("seconds", [0.001, 0.0501, 3.3333])
def test_a_resampled_part_is_as_long_as_it_says(
    tmp_path: Path, low: int, high: int, seconds: float
) -> None:
    a = saved(tmp_path, "a.wav", sine(seconds, low), low)
    b = saved(tmp_path, "b.wav", sine(0.5, high), high)
    samples, rate, spans = joined(tmp_path, b, a, b)
    wanted = round(soundfile.info(a).frames * high / low)
    assert rate == high
    assert round((spans[1][1] - spans[1][0]) * high) == wanted
    assert len(samples) == 2 * soundfile.info(b).frames + wanted


def loudest_click(samples: np.ndarray, rate: int) -> float:
    """What lies above 4 kHz in 5 ms, at its most; a tone of 400 Hz that never jumps has none."""
    size = rate // 200
    frames = np.lib.stride_tricks.sliding_window_view(samples, size)[:: size // 4]
    spectrum = np.abs(np.fft.rfft(frames * np.hanning(size), axis=1))
    return float(spectrum[:, round(4_000 / rate * size) :].max())


def test_joints_do_not_click(tmp_path: Path) -> None:
    rate = 32_000
    high = np.cos(2 * np.pi * 400 * np.arange(rate) / rate) * 0.5  # begins and ends at its peak
    a = saved(tmp_path, "a.wav", high, rate)
    b = saved(tmp_path, "b.wav", -high, rate)
    naked = np.concatenate([high, np.zeros(rate // 10), -high, high])
    samples, _, spans = joined(tmp_path, a, 0.1, b, a)
    assert len(samples) == len(naked)
    inner = slice(rate // 2, -rate // 2)  # the very start and end are no joints
    clicks = loudest_click(naked[inner], rate), loudest_click(samples[inner, 0], rate)
    assert clicks[0] > 20 * clicks[1]
    steps = np.abs(np.diff(samples[inner, 0])).max(), np.abs(np.diff(naked[inner])).max()
    assert steps[0] < 0.06 < 0.4 < steps[1]
    for at in (round(spans[1][0] * rate), round(spans[3][0] * rate)):
        assert np.abs(samples[at - 3 : at]).max() < 0.01


def test_the_first_start_and_the_last_end_stay_as_they_are(tmp_path: Path) -> None:
    rate = 16_000
    wave = np.full(rate, 0.25)
    a = saved(tmp_path, "a.wav", wave, rate)
    samples, _, _ = joined(tmp_path, a, a)
    assert samples[0, 0] == samples[-1, 0] == 0.25
    assert samples[rate - 1, 0] < 0.01
    assert samples[rate, 0] < 0.01
    untouched = np.ones(2 * rate, bool)
    untouched[rate - 80 : rate + 80] = False  # 5 ms on either side
    assert (samples[untouched, 0] == 0.25).all()


def test_one_part_alone_is_copied_exactly(tmp_path: Path) -> None:
    noise = np.random.default_rng(2).integers(-(2**15), 2**15, (70_001, 2)).astype(np.int16)
    path = saved(tmp_path, "a.wav", noise, 22_050, "PCM_16")
    assert join([path], tmp_path / "joined.flac") == [(0.0, 70_001 / 22_050)]
    kept = soundfile.read(tmp_path / "joined.flac", dtype="int16")[0]
    assert np.array_equal(kept, noise)


def test_mono_goes_to_both_ears_when_another_part_is_stereo(tmp_path: Path) -> None:
    rate = 24_000
    mono = saved(tmp_path, "mono.wav", sine(0.5, rate), rate)
    left = saved(tmp_path, "left.wav", np.stack([sine(0.5, rate), np.zeros(rate // 2)], 1), rate)
    samples, _, spans = joined(tmp_path, mono, 0.1, left)
    assert samples.shape[1] == 2
    end = round(spans[0][1] * rate)
    assert np.array_equal(samples[:end, 0], samples[:end, 1])
    assert samples[:end].any()
    begin = round(spans[2][0] * rate)
    assert samples[begin:, 0].any()
    assert not samples[begin:, 1].any()


@pytest.mark.parametrize("parts", [(0.25, "a", 0.5), ("a", 0.0, "a"), (0.1, 0.2, "a")])
def test_silence_may_stand_anywhere(tmp_path: Path, parts: Sequence[str | float]) -> None:
    path = saved(tmp_path, "a.wav", sine(0.5, 16_000), 16_000)
    mixed = [path if part == "a" else float(part) for part in parts]
    samples, rate, spans = joined(tmp_path, *mixed)
    assert len(spans) == len(parts)
    assert spans[0][0] == 0
    assert all(before[1] == after[0] for before, after in pairwise(spans))
    assert round(spans[-1][1] * rate) == len(samples)
    seconds = [end - start for start, end in spans]
    assert seconds == pytest.approx([0.5 if part == "a" else part for part in parts], abs=1e-9)


def test_parts_shorter_than_the_fades_are_joined_too(tmp_path: Path) -> None:
    blip = saved(tmp_path, "blip.wav", np.full(20, 0.5), 16_000)
    samples, _, spans = joined(tmp_path, 0.1, blip, 0.1, blip, blip)
    assert len(samples) == 3_200 + 60
    assert samples.any()
    assert [round((end - start) * 16_000) for start, end in spans] == [1_600, 20, 1_600, 20, 20]


@pytest.mark.medium
def test_other_formats_are_joined_through_the_same_door(tmp_path: Path) -> None:
    rate = 16_000
    m4a = encode(tmp_path / "a.m4a", "aac", chirp(1.5, rate), rate)
    webm = encode(tmp_path / "b.webm", "libopus", chirp(1, rate), rate)
    samples, joined_rate, spans = joined(tmp_path, m4a, 0.2, webm)
    assert joined_rate == 48_000
    assert len(samples) == 72_000 + 9_600 + 48_000
    assert [end for _, end in spans] == pytest.approx([1.5, 1.7, 2.7], abs=1e-9)
    assert probed(tmp_path / "joined.flac").duration_s == pytest.approx(2.7)


@pytest.mark.slow
def test_twenty_minutes_are_joined_with_little_memory(tmp_path: Path) -> None:
    long = saved(tmp_path, "long.wav", np.tile(np.float32(sine(10, 8_000)), 60), 8_000, "PCM_16")
    short = saved(tmp_path, "short.wav", sine(1, 16_000), 16_000)
    join([short, short], tmp_path / "warm.flac")  # imports are not what is measured
    tracemalloc.start()
    try:
        spans = join([long, 1.0, short, 1.0, long], tmp_path / "joined.flac")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert spans[-1][1] == 1_203
    assert peak < 20 * 1024**2  # all of it as float64 would be 154 MB


def test_a_broken_part_is_named_by_what_is_wrong_with_it(tmp_path: Path) -> None:
    good = saved(tmp_path, "a.wav", sine(0.5, 16_000), 16_000)
    (tmp_path / "bad.wav").write_bytes(b"no sound at all, whatever the name says")
    with pytest.raises(AudioError, match="no sound file"):
        join([good, 0.1, tmp_path / "bad.wav"], tmp_path / "joined.flac")


@pytest.mark.medium
def test_a_joined_clip_of_more_than_half_an_hour_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, "a.wav", np.zeros(4_000), 4_000)
    with pytest.raises(AudioError, match="longer than 30 minutes"):
        join([path, 1_800.0], tmp_path / "joined.flac")


def test_silence_alone_is_no_clip(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one sound file"):
        join([1.0], tmp_path / "joined.flac")
