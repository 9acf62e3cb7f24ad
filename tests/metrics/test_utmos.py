"""Predictors by adapter: TorchScript, ONNX, UTMOSv2, with tiny models and a stand-in package."""

import sys
import types

import numpy as np
import pytest

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import ParameterError, make_metric
from tests.metrics import reference, tiny_predictors

ROUNDING = 1e-5  # float32
MEAN_OFF = 1e-4  # float32, and a mean of 48,000 samples summed in whatever order


@pytest.fixture
def models(tmp_path):
    """A models folder; nothing may be fetched."""
    before = weights.folder(), weights.offline()
    weights.configure(tmp_path, offline=True)
    yield tmp_path
    weights.configure(*before)


def loaded(**parameters):
    metric = make_metric("utmos", parameters)
    metric.load("cpu")
    return metric


def level(wave):
    return float(wave.double().square().mean().sqrt())


def test_a_scripted_model_scores_waves_with_a_channel_axis(models):
    path = tiny_predictors.scripted(models)
    metric = loaded(model="predictor.pt")
    wave = reference.wave("human-0880-clean")
    (score,) = metric.measure([wave])
    assert score.value == pytest.approx(3 + level(wave) + len(wave) * 1e-6, rel=ROUNDING)
    assert metric.weights == {path.name: weights.sha256_of(path)}
    assert metric.packages == ("torch", "numpy")


def test_a_scripted_model_may_want_plain_waves_and_their_rate(models):
    tiny_predictors.scripted(models, "LevelAtRate")
    metric = loaded(model="predictor.pt", layout="batch_time", gives_rate=True)
    wave = reference.wave("human-0880-clean")
    assert metric.measure([wave])[0].value == pytest.approx(3.016 + level(wave), rel=ROUNDING)


def test_an_onnx_model_scores_waves(models):
    path = tiny_predictors.onnx(models)
    metric = loaded(predictor="onnx", model=str(path), layout="batch_time")
    wave = reference.wave("human-0880-clean")
    first, second = metric.measure([wave + 0.25, wave])
    assert first.value == pytest.approx(float(wave.double().mean()) + 0.25, abs=MEAN_OFF)
    assert second.value == pytest.approx(float(wave.double().mean()), abs=MEAN_OFF)
    assert "onnxruntime" in metric.packages
    assert metric.predictor.session.get_session_options().intra_op_num_threads == 1


def test_a_batch_equals_one_by_one_and_long_clips_are_cut(models):
    tiny_predictors.scripted(models)
    metric, wave = loaded(model="predictor.pt", chunk_s=2), reference.wave("long_same-human")
    waves = [wave[:40_000], wave[40_000:80_000], wave[:100_000]]
    together = metric.measure(waves)
    for one, score in zip(waves, together, strict=True):
        assert metric.measure([one])[0].value == pytest.approx(score.value, rel=ROUNDING)
    assert together[2].details == {"chunks_used": 3, "chunks_total": 3}  # the rest is under 1 s
    silent, short = metric.measure([torch.zeros(16_000), torch.ones(4_000)])
    assert (silent.value, silent.reason) == (None, "silent")
    assert "too short" in short.reason


def test_models_that_are_not_there_are_named(models):
    with pytest.raises(weights.Unavailable, match=r"Blinorot/UTMOS-PyTorch.*utmos_scripted\.pt"):
        make_metric("utmos").load("cpu")
    with pytest.raises(weights.Unavailable, match=r"mine\.pt"):
        make_metric("utmos", {"model": "mine.pt"}).load("cpu")
    with pytest.raises(weights.Unavailable, match="pip install git"):
        make_metric("utmos", {"predictor": "utmosv2"}).load("cpu")
    (models / "mine.pt").write_text("no model")
    for kind in ("torchscript", "onnx"):
        with pytest.raises(weights.Unavailable, match=r"mine\.pt is no"):
            make_metric("utmos", {"predictor": kind, "model": "mine.pt"}).load("cpu")


def test_a_model_of_the_hub_may_lie_in_the_models_folder(models):
    folder = models / "Blinorot" / "UTMOS-PyTorch"
    folder.mkdir(parents=True)
    tiny_predictors.scripted(folder).rename(folder / "utmos_scripted.pt")
    assert loaded().measure([reference.square_wave(16_000)])[0].value == pytest.approx(
        3.516, rel=ROUNDING
    )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"predictor": "oracle"}, "torchscript"),
        ({"predictor": "onnx"}, "needs a model"),
        ({"layout": "time"}, "batch_time or"),
    ],
)
def test_wrong_parameters_are_refused(wrong, words):
    with pytest.raises(ParameterError, match=words):
        make_metric("utmos", wrong)


def test_utmosv2_is_called_one_by_one_with_a_fixed_seed(models, monkeypatch):
    calls = []

    class Model:
        def predict(self, *, data, **options):
            calls.append((data.shape, options))
            start = np.random.randint(0, data.shape[1] - 8_000)  # noqa: NPY002 as the package does
            return data[:, start : start + 8_000].std(axis=1)

    package = types.ModuleType("utmosv2")
    package.__spec__ = types.SimpleNamespace(submodule_search_locations=[])
    package.create_model = lambda checkpoint_path: Model()
    monkeypatch.setitem(sys.modules, "utmosv2", package)
    file = models / "fusion_stage3" / "fold0_s42_best_model.pth"
    file.parent.mkdir()
    file.write_bytes(b"weights")

    with pytest.raises(weights.Unavailable, match=r"mine\.pth"):  # and never another file instead
        loaded(predictor="utmosv2", model="mine.pth")
    metric = loaded(predictor="utmosv2")
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    wave = reference.wave("human-0880-clean")
    first, _, same = metric.measure([wave, wave[:40_000], wave])
    assert first.value == same.value == metric.measure([wave])[0].value
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    assert {shape for shape, _ in calls} == {(1, len(wave)), (1, 40_000)}
    assert calls[0][1]["num_repetitions"] == 5
    assert list(metric.weights) == ["fold0_s42_best_model.pth"]
