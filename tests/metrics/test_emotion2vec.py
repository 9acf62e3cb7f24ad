"""emotion2vec: the numbers of FunASR's network, its labels, and checkpoints that do not fit.

Weights are small and made again by `filled`; networks.json holds what FunASR's code said.
"""

import numpy as np
import pytest

from metrics.core.lazy_torch import torch
from metrics.core.metric import Material
from metrics.core.weights import Unavailable
from metrics.suite.emotion2vec import Emotion2vecNetwork
from tests.metrics import filled, paired, reference, tiny_predictors

TOLD = reference.networks()["emotion2vec"]


def waves():
    return [*torch.from_numpy(filled.waves(24_000))]


@pytest.mark.parametrize("number", range(len(TOLD)))
@pytest.mark.medium
def test_vectors_and_probabilities_are_those_of_funasr(tmp_path, number):
    network = Emotion2vecNetwork(tiny_predictors.emotion2vec(tmp_path, number), "cpu")
    with torch.inference_mode():
        vectors = network.frames(waves()).mean(dim=1)
        probabilities = network.probabilities(waves())
    assert torch.allclose(vectors, torch.tensor(TOLD[number]["vectors"]), atol=1e-5)
    assert torch.allclose(probabilities, torch.tensor(TOLD[number]["outputs"]), atol=1e-5)
    assert not torch.allclose(vectors[0], vectors[1], atol=0.01)
    assert list(network.classes)[0::8] == ["angry", "unknown"]


@pytest.mark.medium
def test_a_clip_has_the_probability_of_the_emotion_asked_for(tmp_path):
    folder = tiny_predictors.emotion2vec(tmp_path)
    metric = paired.loaded("emotion2vec", model=str(folder))
    asked = [Material(attributes={"emotion": name}) for name in ("Happy", "bored", "")]
    happy, bored, nothing = metric.measure([waves()[0]] * 3, asked)
    wanted = TOLD[0]["outputs"][0]
    assert happy.value == pytest.approx(wanted[3], abs=1e-5)
    assert sum(happy.details["probabilities"].values()) == pytest.approx(1)
    assert happy.details["heard"] == list(happy.details["probabilities"])[int(np.argmax(wanted))]
    assert bored.reason.startswith("the model knows no 'bored': angry, disgusted, fearful")
    assert nothing.reason == "no emotion was asked for"
    untrained = tiny_predictors.EMOTIONS.replace("其他/other", "unuse_2")
    (folder / "tokens.txt").write_text("\n".join(untrained.split()), encoding="utf-8")
    trained = paired.loaded("emotion2vec", model=str(folder))
    (again,) = trained.measure(waves()[:1], asked[:1])
    assert again.value == pytest.approx(wanted[3] / (1 - wanted[5]), abs=1e-5)


def test_a_recording_of_other_emotion_is_further_away(tmp_path):
    metric = paired.loaded("emotion_similarity", model=str(tiny_predictors.emotion2vec(tmp_path)))
    ours, theirs = (wave.double().numpy() for wave in waves())
    (same,) = metric.measure([waves()[0]], [paired.beside(tmp_path, ours)])
    (other,) = metric.measure([waves()[0]], [paired.beside(tmp_path, theirs)])
    one, two = np.array(TOLD[0]["vectors"])
    wanted = one @ two / np.linalg.norm(one) / np.linalg.norm(two)
    assert same.value == pytest.approx(1, abs=1e-6)
    assert other.value == pytest.approx(wanted, abs=1e-5)
    assert metric.measure([waves()[0]], [Material()])[0].reason == "no reference audio"


@pytest.mark.medium
def test_checkpoints_that_do_not_fit_are_refused_by_name(tmp_path):
    folder = tiny_predictors.emotion2vec(tmp_path)
    stored = torch.load(folder / "model.pt", weights_only=True)["model"]

    def saved(state):
        torch.save({"model": state}, folder / "model.pt")
        return folder

    lacking = {k: v for k, v in stored.items() if not k.endswith("blocks.1.attn.proj.bias")}
    with pytest.raises(Unavailable, match=r"blocks\.1\.attn\.proj\.bias not found"):
        Emotion2vecNetwork(saved(lacking), "cpu").frames(waves())
    with pytest.raises(Unavailable, match="extra_tokens not found"):
        Emotion2vecNetwork(saved({"layer.weight": torch.zeros(2)}), "cpu")
    vectors_only = {k: v for k, v in stored.items() if "proj.weight" not in k or "attn" in k}
    with pytest.raises(Unavailable, match="has no classes: take emotion2vec_plus_base"):
        paired.loaded("emotion2vec", model=str(saved(vectors_only)))
    (folder / "tokens.txt").write_text("angry", encoding="utf-8")
    with pytest.raises(Unavailable, match="names 1 labels, the weights have 9"):
        Emotion2vecNetwork(saved(stored), "cpu")
    (folder / "model.pt").write_bytes(b"no checkpoint")
    with pytest.raises(Unavailable, match="no such checkpoint"):
        Emotion2vecNetwork(folder, "cpu")
    (folder / "config.yaml").write_text("model: Other", encoding="utf-8")
    with pytest.raises(Unavailable, match="incomplete"):
        Emotion2vecNetwork(folder, "cpu")
