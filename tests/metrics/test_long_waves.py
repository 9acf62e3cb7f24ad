"""Waves of hours lie in a file, and SRMR measures them in windows: little memory."""

import numpy as np
import pytest
import soundfile

from metrics.core import decoding, wave_memory
from metrics.core.lazy_torch import torch
from metrics.core.metric import unusable
from metrics.core.silence import silence
from metrics.signal import speech, srmr
from tests.metrics import reference


@pytest.fixture(scope="module")
def wave():
    return torch.from_numpy(decoding.load_wave(reference.path("human-0880-clean"), 16_000))


@pytest.fixture
def seconds_for_minutes(monkeypatch):
    """Waves of over ten seconds are long, and a window is a second."""
    monkeypatch.setattr(srmr, "LONG", 160_000)
    monkeypatch.setattr(srmr, "WINDOW", 16_000)


@pytest.mark.parametrize(
    ("variant", "within"),
    [("slow", 0.01), ("slow_norm30", 0.05), ("fast", 0.01), ("fast_norm30", 0.05)],
)
@pytest.mark.medium
def test_the_windows_of_a_long_wave_give_nearly_its_ratio(wave, variant, within, monkeypatch):
    """A normalised variant limits energies to the range of each window."""
    given = torch.cat([wave, wave * 0.5, wave])[None]
    (usual,) = srmr.srmr(given, variant)
    monkeypatch.setattr(srmr, "LONG", len(wave))
    monkeypatch.setattr(srmr, "WINDOW", len(wave))
    (found,) = srmr.srmr(given, variant)
    assert found.value == pytest.approx(usual.value, rel=within)
    assert found.value != usual.value
    assert found.k_star == usual.k_star


def test_windows_follow_each_other_and_the_last_one_takes_the_rest():
    places = srmr.windows(srmr.LONG + 1_000)
    assert [place.start for place in places[1:]] == [place.stop for place in places[:-1]]
    assert (places[0].start, places[-1].stop) == (0, srmr.LONG + 1_000)
    assert [place.stop - place.start for place in places] == [960_000] * 9 + [961_000]


@pytest.mark.medium
def test_a_score_says_that_it_was_measured_in_windows(wave, seconds_for_minutes):
    from metrics.core.metric import make_metric

    given = torch.cat([wave] * 4)[:168_000]
    for key in ("srmr", "srmr_norm"):
        long, short = make_metric(key).measure([given, given[:160_000]])
        assert list(long.warnings) == ["windows"]
        assert "averaged over 10 windows" in long.warnings["windows"]
        assert short.warnings == {}
        assert long.value == pytest.approx(short.value, rel=0.2)


@pytest.mark.medium
def test_a_silent_long_wave_has_no_value_in_any_variant(seconds_for_minutes):
    for variant in ("slow", "fast", "fast_norm30"):
        (found,) = srmr.srmr(torch.zeros(1, 168_000), variant)
        assert (found.value, found.reason) == (None, "silent")


def test_a_long_wave_lies_in_a_file_with_the_same_samples(tmp_path, monkeypatch):
    path = tmp_path / "a.wav"
    soundfile.write(path, np.random.default_rng(0).normal(0, 0.1, 44_100), 44_100)
    usual = decoding.decode(path, (16_000, 44_100)).waves
    monkeypatch.setattr(wave_memory, "SPOOL_S", 0.1)
    mapped = decoding.decode(path, (16_000, 44_100)).waves
    for rate, samples in mapped.items():
        tensor = torch.from_numpy(samples)
        assert tensor.untyped_storage().data_ptr() in wave_memory._maps
        wave_memory.release(tensor)
        assert np.array_equal(samples, usual[rate])
    before = len(wave_memory._maps)
    del mapped, samples, tensor
    assert len(wave_memory._maps) == before - 2


def test_no_room_for_a_long_wave_is_a_sentence(tmp_path, monkeypatch):
    path = tmp_path / "a.wav"
    soundfile.write(path, np.zeros(8_000), 8_000)
    monkeypatch.setattr(wave_memory, "SPOOL_S", 0.1)

    def full(**named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(wave_memory.tempfile, "TemporaryFile", full)
    with pytest.raises(
        decoding.AudioError, match=r"a\.wav: no space for its samples in .*set TMPDIR"
    ):
        decoding.load_wave(path, 8_000)


class Counting:
    """A speech detector that says how often it ran."""

    def __init__(self):
        self.chunks = 0

    def reset_states(self):
        pass

    def __call__(self, chunk, rate_hz):
        self.chunks += 1
        return torch.zeros(len(chunk), 1)


def test_the_speech_detector_runs_once_per_wave_however_many_ask(wave):
    detector = Counting()
    first, second = wave.clone(), wave.clone()[:16_000]
    speech.speech_segments([first], detector)
    chunks = detector.chunks
    speech.speech_segments([first.float(), second], detector)  # float() of float32 is the same
    assert detector.chunks == chunks + -(-len(second) // 512)
    wave_memory.forget([first])
    speech.speech_segments([first], detector)
    assert detector.chunks == 2 * chunks + -(-len(second) // 512)


def test_shared_work_goes_with_its_wave():
    made = []
    wave = torch.zeros(3)
    assert wave_memory.compute_once(wave, "sum", lambda: made.append(1) or 7) == 7
    assert wave_memory.compute_once(wave, "sum", lambda: made.append(1) or 7) == 7
    assert len(made) == 1
    assert wave_memory.compute_once(torch.zeros(3), "sum", lambda: 8) == 8


@pytest.mark.medium
def test_variants_of_srmr_share_their_gammatone_envelopes(wave, monkeypatch):
    from metrics.core.metric import make_metric
    from metrics.signal import srmr

    given, calls, original = [wave, wave[:30_000]], [], srmr.quick_envelopes
    alone = [score.value for score in make_metric("srmr_norm").measure([w.clone() for w in given])]
    monkeypatch.setattr(srmr, "quick_envelopes", lambda *named: calls.append(1) or original(*named))
    make_metric("srmr").measure(given)
    first = len(calls)
    together = [score.value for score in make_metric("srmr_norm").measure(given)]
    assert len(calls) == first > 0
    assert together == alone


def test_what_was_looked_at_is_let_go_of_part_by_part(monkeypatch):
    monkeypatch.setattr(wave_memory, "AT_ONCE", 100)
    wave, released = torch.ones(950), []
    monkeypatch.setattr(wave_memory, "release", released.append)
    assert [len(part) for part in wave_memory.parts_of(wave)] == [100] * 9 + [50]
    assert len(released) == 10
    for look, times in ((unusable, 1), (silence, 2)):
        released.clear()
        look(wave)
        assert len(released) == 10 * times
    wave[-1] = torch.nan
    assert unusable(wave).reason == "audio holds NaN or infinity; export it again, as 16 or 24 bit"
