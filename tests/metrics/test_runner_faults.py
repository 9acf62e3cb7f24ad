"""Many metrics at once: read once, loaded once; memory that ends, weights that are not there."""

import logging
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile

from metrics.core import decoding
from metrics.core import metric as contract
from metrics.core.lazy_torch import torch
from metrics.core.metric import Metric, Output, Score
from metrics.core.weights import Unavailable
from metrics.scoring import runner


@pytest.fixture
def kinds():
    """Metrics of this test's own, which leave the registry afterwards."""

    class Peak(Metric):
        key = "test_peak"
        sample_rate_hz = 8_000

        def load(self, device="cpu"):
            self.loads = getattr(self, "loads", 0) + 1
            self.sizes = []
            self.weights = {"peak.pt": "ab" * 32}

        def score(self, waves):
            self.sizes.append(len(waves))
            return [float(wave.abs().max()) for wave in waves]

    class Missing(Metric):
        key = "test_missing"
        sample_rate_hz = 8_000

        def load(self, device="cpu"):
            raise Unavailable("no weights: big.pt is not in models; put it there")

    class Greedy(Peak):
        key = "test_greedy"
        sample_rate_hz = 16_000
        most = 2

        def score(self, waves):
            self.sizes.append(len(waves))
            if len(waves) > self.most:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
            return [float(wave.abs().max()) for wave in waves]

    class Two(Metric):
        key = "test_two"
        sample_rate_hz = 8_000
        more_outputs = (Output("test_two_more"),)

        def score(self, waves):
            return [
                Score(1.0, also={"test_two_more": 2.0 if len(w) > 800 else None}) for w in waves
            ]

    yield {"peak": Peak, "missing": Missing, "greedy": Greedy, "two": Two}
    runner.forget_models()
    for key in ("test_peak", "test_missing", "test_greedy", "test_two"):
        contract.Metric.registry.pop(key, None)


@pytest.fixture
def clips(tmp_path):
    made = []
    for n in range(7):
        path = tmp_path / f"{n}.wav"
        soundfile.write(
            path, (n + 1) / 10 * (-1.0) ** np.arange(800 + 80 * n), 8_000, subtype="DOUBLE"
        )
        made.append(runner.clip_from_file(path))
    return made


def scored(work, **options):
    found = {}
    for batch in runner.score_work(work, "cpu", **options):
        for each in batch.clips:
            assert (batch.metric.key, each.clip.sha256) not in found
            found[batch.metric.key, each.clip.sha256] = each.score
    return found


def test_a_clip_is_decoded_once_for_all_metrics(kinds, clips, monkeypatch):
    read = []
    original = decoding.decode

    def spy(path, rates, loudness):
        read.append((path, frozenset(rates)))
        return original(path, rates, loudness)

    monkeypatch.setattr(decoding, "decode", spy)
    metrics = [kinds["peak"](), kinds["greedy"](), kinds["two"]()]
    found = scored([(clip, metrics) for clip in clips])
    assert sorted(read) == sorted((c.path, frozenset({8_000, 16_000})) for c in clips)
    assert len(found) == 3 * len(clips)
    peaks = [found["test_peak", clip.sha256].value for clip in clips]
    assert peaks == pytest.approx([(n + 1) / 10 for n in range(7)])


def test_each_metric_scores_only_the_clips_that_miss_it(kinds, clips):
    peak, two = kinds["peak"](), kinds["two"]()
    work = [(clips[0], (peak,)), (clips[1], (two,)), (clips[2], (peak, two)), (clips[3], ())]
    assert set(scored(work)) == {
        ("test_peak", clips[0].sha256),
        ("test_two", clips[1].sha256),
        ("test_peak", clips[2].sha256),
        ("test_two", clips[2].sha256),
    }


def test_a_metric_without_weights_fails_all_its_clips_and_the_others_go_on(kinds, clips):
    found = scored([(clip, [kinds["missing"](), kinds["peak"]()]) for clip in clips])
    missing = [found["test_missing", clip.sha256] for clip in clips]
    assert {score.reason for score in missing} == {
        "no weights: big.pt is not in models; put it there"
    }
    assert all(score.failed for score in missing)
    assert all(found["test_peak", clip.sha256].value for clip in clips)


def test_what_turns_out_to_be_missing_while_scoring_is_the_plain_reason(kinds, clips, monkeypatch):
    def gone(self, waves):
        raise Unavailable("the judge is gone")

    monkeypatch.setattr(kinds["peak"], "score", gone)
    found = scored([(clip, [kinds["peak"]()]) for clip in clips])
    assert {(score.reason, score.failed) for score in found.values()} == {
        ("the judge is gone", True)
    }


def test_a_package_that_is_missing_and_a_model_that_breaks_are_reasons(kinds, clips, monkeypatch):
    def no_package(self, device="cpu"):
        raise ModuleNotFoundError("No module named 'funasr'")

    monkeypatch.setattr(kinds["peak"], "load", no_package)
    (score,) = scored([(clips[0], [kinds["peak"]()])]).values()
    assert score.failed
    assert score.reason.startswith("no package: No module named 'funasr'; install")


def test_a_batch_too_large_for_the_memory_is_halved(kinds, clips, caplog):
    greedy = kinds["greedy"]()
    with caplog.at_level(logging.CRITICAL):
        found = scored([(clip, [greedy]) for clip in clips])
    assert greedy.sizes == [7, 3, 1, 2, 4, 2, 2]
    assert all(score.value for score in found.values())


def test_a_clip_too_large_alone_fails_with_the_reason(kinds, clips, monkeypatch, caplog):
    monkeypatch.setattr(kinds["greedy"], "most", 0)
    with caplog.at_level(logging.CRITICAL):
        found = scored([(clip, [kinds["greedy"](), kinds["peak"]()]) for clip in clips[:3]])
    for clip in clips[:3]:
        greedy = found["test_greedy", clip.sha256]
        assert (greedy.value, greedy.reason, greedy.failed) == (None, "out of memory", True)
        assert found["test_peak", clip.sha256].value


def test_models_are_loaded_once_per_process(kinds, clips):
    first, second = kinds["peak"](), kinds["peak"]()
    scored([(clips[0], [first])])
    scored([(clips[1], [second])])
    assert first.loads == 1
    assert not hasattr(second, "loads")


def test_metric_by_metric_has_one_model_at_a_time_and_the_same_scores(kinds, clips, monkeypatch):
    held = []
    original = runner.score_group

    def spy(*given):
        held.append(len(runner._LOADED))
        return original(*given)

    usual = kinds["peak"](), kinds["two"]()
    together = scored([(clip, usual) for clip in clips])
    together = {key: s.value for key, s in together.items()}
    monkeypatch.setattr(runner, "score_group", spy)
    metrics = kinds["peak"](), kinds["two"]()
    apart = scored([(clip, metrics) for clip in clips], metric_by_metric=True)
    assert {key: s.value for key, s in apart.items()} == together
    assert held == [1, 1]


def test_a_model_that_finds_no_room_beside_others_is_scored_alone(kinds, clips, monkeypatch):
    original = kinds["two"].load

    def load(self, device="cpu"):
        if runner._LOADED:
            raise torch.OutOfMemoryError("CUDA out of memory")
        original(self, device)

    monkeypatch.setattr(kinds["two"], "load", load)
    metrics = kinds["peak"](), kinds["two"]()
    found = scored([(clip, metrics) for clip in clips])
    assert all(score.value for score in found.values())


@pytest.mark.parametrize("ahead", [False, True])
def test_reading_ahead_changes_nothing(kinds, clips, ahead):
    metrics = [kinds["peak"](), kinds["two"]()]
    usual = scored([(clip, metrics) for clip in clips], batch_s=10)
    assert scored([(clip, metrics) for clip in clips], batch_s=0.3, ahead=ahead) == usual


def test_a_reader_ahead_ends_with_its_run(kinds, clips):
    stream = runner.score_work([(c, [kinds["peak"]()]) for c in clips], "cpu", 0.1, ahead=True)
    next(stream)
    stream.close()


def test_memory_stays_below_the_bound(kinds, clips, monkeypatch):
    held = []
    original = runner.score_group

    def spy(group, read, device):
        held.append(sum(decoding.duration_s(clip.path) for clip, _ in group))
        return original(group, read, device)

    monkeypatch.setattr(runner, "score_group", spy)
    scored([(clip, [kinds["peak"]()]) for clip in clips], batch_s=0.35)
    assert max(held) <= 0.35
    assert len(held) < len(clips)


def test_weights_and_code_are_in_the_provenance(kinds, clips):
    (batch,) = runner.score_work([(clips[0], [kinds["peak"]()])], "cpu")
    found = runner.provenance(batch.metric, "cpu")
    assert found["weights"] == {"peak.pt": "ab" * 32}
    assert len(found["code"]) == 16
    assert set(found["packages"]) >= {"numpy", "soxr", "soundfile", "torch"}


def test_what_is_not_there_while_scoring_is_a_sentence_and_no_fault(caplog):
    class Spent:
        key = "spent"

        def measure(self, waves, materials):
            raise Unavailable("the budget of this month is spent")

    clip = SimpleNamespace(material=None)
    scores = runner.score_batch(Spent(), [(clip, None), (clip, None)], "cpu")
    assert {(s.value, s.reason, s.failed) for s in scores} == {
        (None, "the budget of this month is spent", True)
    }
    assert caplog.text == ""
