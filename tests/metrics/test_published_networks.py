"""NISQA, Audiobox, ECAPA-TDNN and WavLM-large: the numbers of their authors' own code.

Weights are small and made again by `filled`; networks.json holds what the authors' code said.
"""

from unittest import mock

import pytest

from metrics.core.lazy_torch import torch
from metrics.core.metric import ParameterError, Score, make_metric
from metrics.core.weights import Unavailable
from metrics.networks.embeddings import embedding_type
from tests.metrics import filled, paired, reference, tiny_predictors

ROUNDING = 1e-5


@pytest.fixture(scope="module")
def networks():
    return reference.networks()


@pytest.mark.slow
def test_nisqa_gives_the_values_of_torchmetrics_in_their_order(tmp_path, networks):
    metric = paired.loaded("nisqa", model=str(tiny_predictors.nisqa(tmp_path)))
    scores = metric.measure(list(torch.from_numpy(filled.waves(96_000))))
    names = ["noisiness", "discontinuity", "coloration", "loudness"]
    for score, row in zip(scores, networks["nisqa_dim"]["outputs"], strict=True):
        found = [score.value, *(score.also[f"nisqa_{name}"] for name in names)]
        assert found == pytest.approx(row, abs=ROUNDING)


@pytest.mark.parametrize("told", reference.networks()["nisqa"], ids=lambda t: t["args"]["pool"])
def test_other_networks_of_nisqa_give_the_values_of_its_package(tmp_path, told):
    path = tmp_path / "nisqa_tts.tar"
    args = {**tiny_predictors.NISQA, **told["args"]}
    torch.save({"args": args, "model_state_dict": filled.tensors(told["shapes"])}, path)
    metric = paired.loaded("nisqa", model=str(path))
    levels = torch.from_numpy(filled.waves(48 * 75).reshape(2, 48, 75)) * 100 - 30
    each = mock.patch.object(metric.network, "decibels", side_effect=list(levels[:, None]))
    with each, torch.inference_mode():
        values = metric.network.predict(torch.zeros(2, 48_000))
    assert values[:, 0].tolist() == pytest.approx(told["outputs"], abs=ROUNDING)


@pytest.mark.medium
def test_a_network_of_nisqa_hears_at_the_rate_that_it_was_trained_at(tmp_path):
    metric = paired.loaded(
        "nisqa", model=str(tiny_predictors.nisqa(tmp_path, ms_sr=16_000, ms_fmax=8_000))
    )
    assert metric.network.resample(torch.zeros(2, 48_000)).shape == (2, 16_000)
    assert (metric.network.hop, metric.network.window) == (160, 320)
    one = paired.loaded("nisqa", model=str(tiny_predictors.nisqa(tmp_path, model="NISQA")))
    named = one.by_output(Score(3.0))
    assert named["nisqa"].value == 3.0
    assert named["nisqa_loudness"].reason.endswith("gives the overall quality only")


def test_another_kind_of_nisqa_is_refused_by_name(tmp_path):
    with pytest.raises(Unavailable, match="not built here: td_2 = 'lstm'"):
        paired.loaded("nisqa", model=str(tiny_predictors.nisqa(tmp_path, td_2="lstm")))
    (tmp_path / "no.tar").write_bytes(b"no checkpoint")
    with pytest.raises(Unavailable, match="no checkpoint of NISQA"):
        paired.loaded("nisqa", model=str(tmp_path / "no.tar"))
    with pytest.raises(ParameterError, match=r"chunk_s is 60.0; it must be in 1\.\.52"):
        make_metric("nisqa", {"chunk_s": 60})


@pytest.mark.slow
def test_audiobox_gives_the_values_of_its_package_on_whole_and_filled_windows(tmp_path, networks):
    told = networks["audiobox"]
    metric = paired.loaded("audiobox_pq", model=str(tiny_predictors.audiobox(tmp_path)))
    for samples, wanted in zip(told["lengths"], told["outputs"], strict=True):
        scores = metric.measure(list(torch.from_numpy(filled.waves(samples))))
        for number, score in enumerate(scores):
            found = [*(score.also[f"audiobox_{axis}"] for axis in ("ce", "cu", "pc")), score.value]
            assert found == pytest.approx([axis[number] for axis in wanted], abs=ROUNDING)
    whole, part = (torch.from_numpy(filled.waves(n, 1)[0]) for n in told["lengths"])
    (score,) = metric.measure([torch.cat([whole, part])])
    each = [one.value for one in metric.measure([whole, part])]
    mean = (each[0] * len(whole) + each[1] * len(part)) / (len(whole) + len(part))
    assert score.value == pytest.approx(mean, abs=ROUNDING)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(Unavailable, match="incomplete"):
        paired.loaded("audiobox_pq", model=str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "samples", "file"),
    [("ecapa", 24_000, "embedding_model.ckpt"), ("wavlm_large", 16_000, "wavlm_large.pth")],
)
def test_voices_have_the_vectors_of_their_authors_code(tmp_path, networks, key, samples, file):
    state = filled.tensors(networks[key]["shapes"])
    state["feature_extract.model.final_proj.weight"] = torch.zeros(2, 2)  # of training only
    given = tmp_path / file
    torch.save(state if key == "ecapa" else {"model": state}, given)
    made = embedding_type(key)(str(tmp_path if key == "ecapa" else given))
    made.load()
    found = made.embed(torch.from_numpy(filled.waves(samples)))
    wanted = torch.nn.functional.normalize(torch.tensor(networks[key]["outputs"]).double(), dim=1)
    assert torch.allclose(found, wanted, atol=ROUNDING)
    assert set(made.weights) == {file}
    assert not torch.allclose(found[0], found[1], atol=0.01)


@pytest.mark.slow
def test_weights_of_another_network_are_refused(tmp_path, networks):
    torch.save({"layer.weight": torch.zeros(2, 2)}, tmp_path / "embedding_model.ckpt")
    with pytest.raises(Unavailable, match=r"no weights of ECAPA-TDNN: first\.conv\.weight"):
        embedding_type("ecapa")(str(tmp_path)).load()
    lacking = filled.tensors(networks["wavlm_large"]["shapes"])
    del lacking["feature_extract.model.encoder.layers.1.fc2.bias"]
    torch.save({"model": lacking}, tmp_path / "lacking.pth")
    with pytest.raises(Unavailable, match=r"layers\.1\.feed_forward\.output_dense\.bias not found"):
        embedding_type("wavlm_large")(str(tmp_path / "lacking.pth")).load()
    with pytest.raises(Unavailable, match="no such checkpoint"):
        embedding_type("wavlm_large")(str(tmp_path / "embedding_model.ckpt")).load()
