"""SQUIM's wiring with random weights: which output is which, chunks, files of weights."""

import pytest

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import ParameterError, make_metric
from metrics.suite import squim_pesq
from tests.metrics import reference, tiny_predictors

ROUNDING = 1e-5  # a float32 network: sums in another order move a value by 4e-7
KEYS = ["squim_pesq", "squim_stoi", "squim_si_sdr"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A models folder with random weights of the small network."""
    folder = tmp_path_factory.mktemp("models")
    tiny_predictors.squim(folder)
    return folder


@pytest.fixture
def offline():
    before = weights.folder(), weights.offline()
    yield lambda folder: weights.configure(folder, offline=True)
    weights.configure(*before)


@pytest.fixture
def make(models, offline):
    def made(**parameters):
        offline(models)
        metric = make_metric("squim_pesq", parameters)
        with tiny_predictors.squim_is_small():
            metric.load("cpu")
        return metric

    return made


def values(metric, score):
    return [each.value for each in metric.by_output(score).values()]


@pytest.mark.medium
def test_pesq_comes_first_although_the_network_gives_stoi_first(make):
    metric, wave = make(chunk_s=0), reference.wave("human-0880-clean")
    with torch.inference_mode():
        stoi, pesq, si_sdr = (float(each[0]) for each in metric.model(wave[None]))
    (score,) = metric.measure([wave])
    assert list(metric.by_output(score)) == KEYS
    assert values(metric, score) == pytest.approx([pesq, stoi, si_sdr], rel=ROUNDING)
    assert 0 <= stoi <= 1 <= pesq <= 4.65


@pytest.mark.medium
def test_chunks_are_weighted_by_length_and_a_short_rest_is_dropped(make):
    metric, whole = make(chunk_s=2, rest_s=1), make(chunk_s=0)
    wave = reference.wave("long_same-human")
    (score,) = metric.measure([wave[: 5 * 16_000]])
    parts = [wave[:32_000], wave[32_000:64_000], wave[64_000:80_000]]
    each = [values(whole, s) for s in whole.measure(parts)]
    mean = [(2 * a + 2 * b + c) / 5 for a, b, c in zip(*each, strict=True)]
    assert values(metric, score) == pytest.approx(mean, rel=ROUNDING)
    assert score.details == {"chunks_used": 3, "chunks_total": 3}
    (shorter,) = metric.measure([wave[: 4 * 16_000 + 15_999]])
    assert shorter.details == {"chunks_used": 2, "chunks_total": 2}


@pytest.mark.medium
def test_a_batch_equals_one_by_one(make, monkeypatch):
    metric, wave = make(chunk_s=2), reference.wave("long_same-human")
    waves = [wave[:64_000], wave[64_000:150_000], wave[:20_000], wave[:10_000]]
    batched = metric.measure(waves)
    monkeypatch.setitem(squim_pesq.SquimPesq.at_once_s, "cpu", 0.1)
    for one, score in zip(waves, batched, strict=True):
        (alone,) = metric.measure([one])
        assert values(metric, alone) == pytest.approx(values(metric, score), rel=ROUNDING)


@pytest.mark.medium
def test_silent_chunks_are_left_out(make):
    metric, wave = make(chunk_s=2), reference.wave("human-0880-clean")[:32_000]
    padded = torch.cat([wave, torch.zeros(32_000)])
    alone, longer, silent, short = metric.measure(
        [wave, padded, torch.zeros(64_000), torch.ones(7_999) / 2]
    )
    assert longer.value == pytest.approx(alone.value, rel=ROUNDING)
    assert longer.details == {"chunks_used": 1, "chunks_total": 2}
    assert (silent.value, silent.reason) == (None, "silent")
    assert short.reason.startswith("too short: 0.50 s")


def test_a_missing_file_is_named_with_its_folder(offline, tmp_path):
    offline(tmp_path)
    metric = make_metric("squim_pesq")
    with pytest.raises(weights.Unavailable) as caught:
        metric.load("cpu")
    assert "squim_objective_dns2020.pth" in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "offline" in str(caught.value)


@pytest.mark.slow
def test_torchaudio_s_own_network_is_loaded_from_its_file(offline, tmp_path):
    from torchaudio.models import squim_objective_base

    path = tiny_predictors.squim(tmp_path, squim_objective_base)
    offline(tmp_path)
    metric = make_metric("squim_pesq")
    metric.load("cpu")
    assert metric.weights == {path.name: weights.sha256_of(path)}
    (score,) = metric.measure([reference.wave("human-0880-clean")[:16_000]])
    assert 1 <= score.value <= 4.65


@pytest.mark.parametrize("wrong", [{"chunk_s": 0.5}, {"rest_s": 0.1}, {"rest_s": 11}])
def test_a_rule_that_cannot_be_is_refused(wrong):
    with pytest.raises(ParameterError, match="must be"):
        make_metric("squim_pesq", wrong)


def test_whole_seconds_and_their_fractions_are_the_same_parameter():
    one, other = (make_metric("squim_pesq", {"chunk_s": each}) for each in (10, 10.0))
    assert repr(one.parameters_dict()) == repr(other.parameters_dict())


@pytest.mark.medium
@pytest.mark.parametrize("frames", [300, 355, 1000])
def test_the_recurrent_layers_give_what_torchaudio_s_own_code_gives(make, frames):
    network = make().model.dprnn
    channels = network.conv[0].in_channels
    features = torch.randn(2, channels, frames, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        own, theirs = network.forward(features), type(network).forward(network, features)
    assert own.shape == theirs.shape == (2, frames, network.conv[0].out_channels)
    assert torch.allclose(own, theirs, rtol=0, atol=ROUNDING * float(theirs.abs().max()))
