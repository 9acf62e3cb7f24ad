"""Clips in length-sorted batches; a bad clip has its reason and does not stop the others."""

import logging

import numpy as np
import pytest
import soundfile

from metrics.core import metric as contract
from metrics.core.lazy_torch import torch
from metrics.core.metric import Metric
from metrics.scoring import runner
from metrics.scoring.runner import Clip


@pytest.fixture
def loudness():
    """The largest sample of each wave, 1000 times a second; fails on waves of 0.3 s."""

    class Loudness(Metric):
        key = "test_loudness"
        sample_rate_hz = 1_000

        def __init__(self):
            super().__init__()
            self.batches = []
            self.loaded = []

        def load(self, device="cpu"):
            self.loaded.append(device)

        def score(self, waves):
            self.batches.append([len(wave) for wave in waves])
            if any(len(wave) == 300 for wave in waves):
                raise RuntimeError("odd clip")
            return [float(wave.abs().max()) for wave in waves]

    yield Loudness()
    del contract.Metric.registry["test_loudness"]


@pytest.fixture
def clip(tmp_path):
    def make(n_samples, level=0.5):
        path = tmp_path / f"{n_samples}-{level}.wav"
        soundfile.write(path, level * (-1.0) ** np.arange(n_samples), 1_000, subtype="DOUBLE")
        return runner.clip_from_file(path)

    return make


def test_clips_go_in_batches_from_short_to_long(loudness, clip):
    clips = [clip(n) for n in (900, 100, 500, 200, 2_000)]
    scored = list(runner.score_clips(loudness, clips, "cpu", batch_s=1.0))
    assert loudness.batches == [[100, 200], [500], [900], [2_000]]  # a batch is all as its longest
    assert loudness.loaded == ["cpu"]
    assert {each.clip for each in scored} == set(clips)
    assert all(each.score.value == pytest.approx(0.5) for each in scored)


def test_scores_come_batch_by_batch(loudness, clip):
    """What is scored can be stored before the rest is read."""
    stream = runner.score_clips(loudness, [clip(900), clip(800)], "cpu", batch_s=0.5)
    next(stream)
    assert loudness.batches == [[800]]


def test_a_clip_that_breaks_a_batch_is_found_and_the_others_scored(loudness, clip, caplog):
    clips = [clip(n) for n in (100, 300, 400)]
    with caplog.at_level(logging.CRITICAL):
        scored = list(runner.score_clips(loudness, clips, "cpu"))
    assert [each.score.value for each in scored] == [0.5, None, 0.5]
    assert scored[1].score.failed
    assert scored[1].score.reason == "RuntimeError: odd clip"


def test_unreadable_and_changed_files_fail_with_their_names(loudness, clip, tmp_path):
    text = tmp_path / "notes.wav"
    text.write_text("no audio")
    missing = Clip(str(tmp_path / "gone.wav"), "0" * 64)
    changed = Clip(clip(700).path, "1" * 64)
    clips = [runner.clip_from_file(text), missing, changed, clip(100)]
    scores = {each.clip: each.score for each in runner.score_clips(loudness, clips, "cpu")}
    assert "notes.wav: no audio" in scores[clips[0]].reason
    assert "gone.wav: there is no such file" in scores[missing].reason
    assert "has changed" in scores[changed].reason
    assert all(scores[bad].failed for bad in clips[:3])
    assert scores[clips[3]].value == pytest.approx(0.5)


def test_audio_without_a_value_is_no_failure(loudness, clip):
    (scored,) = runner.score_clips(loudness, [clip(200, float("nan"))], "cpu")
    assert (scored.score.value, scored.score.failed) == (None, False)


def test_nothing_to_score_loads_no_weights(loudness):
    assert list(runner.score_clips(loudness, [], "cpu")) == []
    assert loudness.loaded == []


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert runner.resolve_device("auto") == "cpu"
    with pytest.raises(ValueError, match="no GPU"):
        runner.resolve_device("cuda")
    with pytest.raises(ValueError, match="auto, cpu, cuda or cuda:1"):
        runner.resolve_device("tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [runner.resolve_device(each) for each in ("auto", "cuda:1")] == ["cuda", "cuda:1"]
    with pytest.raises(ValueError, match="the last one is cuda:1"):
        runner.resolve_device("cuda:2")


def test_the_provenance_names_versions_and_device(loudness):
    found = runner.provenance(loudness, "cpu")
    assert found["packages"]["torch"].startswith(torch.__version__.split("+")[0])
    assert found["device"].startswith("cpu ")
    assert found["sample_rate_hz"] == 1_000


def test_a_run_uses_the_threads_it_was_given_and_gives_them_back(loudness, clip):
    before = torch.get_num_threads()
    stream = runner.score_clips(loudness, [clip(100), clip(200)], "cpu", batch_s=0.01, threads=3)
    next(stream)
    assert torch.get_num_threads() == 3
    stream.close()
    assert torch.get_num_threads() == before
