"""SpeechBERTScore by a small random WavLM, through the loading code of the real one."""

import pytest

from metrics.core.metric import ParameterError, make_metric
from metrics.core.weights import Unavailable
from tests.metrics import paired, tiny_models


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_models.wavlm(tmp_path_factory.mktemp("wavlm"))


@pytest.mark.slow
def test_each_frame_finds_its_like_whatever_the_order(model):
    metric = paired.loaded("speech_bert_score", model=str(model), layer=2)
    wave = paired.human(3)
    same = metric.compare(wave, wave)
    assert same.value == pytest.approx(1)
    part = metric.compare(wave[:16_000], wave)
    frames = metric.frames([wave[:16_000], wave])
    by_hand = [max(float(one @ other) for other in frames[1]) for one in frames[0]]
    assert part.value == pytest.approx(sum(by_hand) / len(by_hand))
    assert part.details["frames"] == [49, 149]
    assert part.also["speech_bert_recall"] < part.value < 1
    harmonic = 2 / (1 / part.value + 1 / part.also["speech_bert_recall"])
    assert part.also["speech_bert_f1"] == pytest.approx(harmonic)


@pytest.mark.slow
def test_a_layer_that_the_model_lacks_is_named(model):
    with pytest.raises(Unavailable, match=r"layer is 3; .* has 2"):
        paired.loaded("speech_bert_score", model=str(model), layer=3)
    with pytest.raises(ParameterError, match="layer is -1"):
        make_metric("speech_bert_score", {"layer": -1})
