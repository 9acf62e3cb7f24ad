"""CLAP on a tiny random model of the real class, saved and loaded as the real one."""

import pytest

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, ParameterError, make_metric
from tests.metrics import tiny_models

RATE_HZ = 48_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_models.clap(tmp_path_factory.mktemp("clap"))


def made(folder, **parameters):
    metric = make_metric("clap", {"model": str(folder), **parameters})
    metric.load()
    return metric


@pytest.fixture(scope="module")
def metric(folder):
    return made(folder)


def noise(seconds, seed=1):
    made = torch.randn(int(seconds * RATE_HZ), generator=torch.Generator().manual_seed(seed))
    return made * 0.1


def said(caption):
    return Material(attributes={"caption": caption})


@pytest.mark.slow
def test_a_batch_is_the_clips_one_by_one(metric):
    waves = [noise(1), noise(11.5, 2), noise(0.01), torch.zeros(RATE_HZ)]
    materials = [said("a man laughs"), said("a very long caption " * 20), said("x"), said("y")]
    together = metric.measure(waves, materials)
    for score, wave, material in zip(together, waves, materials, strict=True):
        (alone,) = metric.measure([wave], [material])
        assert score.value == pytest.approx(alone.value, abs=1e-5)
    assert [bool(s.reason) for s in together] == [False, False, True, True]
    assert together[0].value != pytest.approx(together[1].value)


@pytest.mark.slow
def test_the_cosine_is_that_of_the_model_itself(metric):
    import transformers as hf

    wave = noise(2)
    features = metric.hearing(wave.numpy(), sampling_rate=RATE_HZ, return_tensors="pt")
    tokens = metric.reading("a sigh", return_tensors="pt")
    with torch.inference_mode():
        out = hf.ClapModel.from_pretrained(metric.parameters.model)(**tokens, **features)
    wanted = float(out.text_embeds[0] @ out.audio_embeds[0])
    assert metric.measure([wave], [said("a sigh")])[0].value == pytest.approx(wanted, abs=1e-5)


@pytest.mark.slow
def test_a_long_clip_is_heard_whole_first_or_in_the_middle(folder, metric):
    wave, caption = noise(12), said("a cough")
    (mean,) = metric.measure([wave], [caption])
    parts = metric.measure([wave[: 10 * RATE_HZ], wave[10 * RATE_HZ :]], [caption] * 2)
    assert mean.value == pytest.approx((10 * parts[0].value + 2 * parts[1].value) / 12, abs=1e-5)
    (first,) = made(folder, long="first").measure([wave], [caption])
    assert first.value == pytest.approx(parts[0].value, abs=1e-5)
    (centre,) = made(folder, long="centre").measure([wave], [caption])
    (middle,) = metric.measure([wave[RATE_HZ : 11 * RATE_HZ]], [caption])
    assert centre.value == pytest.approx(middle.value, abs=1e-5)


@pytest.mark.slow
def test_a_short_rest_of_a_long_clip_is_left_out(metric):
    (score,) = metric.measure([noise(10.5)], [said("a yawn")])
    assert score.details["heard_s"] == 10


@pytest.mark.slow
def test_a_clip_without_a_caption_has_no_value(metric):
    (score,) = metric.measure([noise(1)], [Material()])
    assert (score.value, score.reason) == (None, "no caption: the clip has no attribute caption")


@pytest.mark.slow
def test_the_weights_are_recorded_and_missing_ones_named(metric, tmp_path):
    assert len(metric.weights["model.safetensors"]) == 64
    before = weights.folder(), weights.offline()
    weights.configure(tmp_path, offline=True)
    try:
        with pytest.raises(weights.Unavailable, match="laion/clap-htsat-unfused"):
            make_metric("clap").load()
    finally:
        weights.configure(*before)


@pytest.mark.parametrize("given", [{"long": "random"}, {"model": ""}, {"shortest_tail_s": -1}])
def test_parameters_are_checked(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        make_metric("clap", given)
