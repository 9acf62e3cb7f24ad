"""Clips of unequal length in one batch score what they score alone, or do not share it."""

import math
import warnings

import numpy as np
import pytest

from metrics.core.lazy_torch import torch
from metrics.core.metric import buckets, make_metric
from metrics.networks.embeddings import embedding_type
from metrics.networks.predictors import chunks, pretrained
from metrics.networks.predictors.pretrained import MaskedNetwork
from tests.metrics import paired, reference, tiny_models

SIZES = (16_000, 19_100, 17_777)
NEAR = 1e-5  # absolute, of numbers of the size of 1: float32 sums in another order


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch):
    """On a processor clips of unequal length share no network's batch: it would cost, not gain."""
    monkeypatch.setitem(pretrained.SIMILAR, "cpu", pretrained.SIMILAR["cuda"])


def clips():
    wave = reference.wave("long_same-human")
    return [wave[9_000 * place :][:size] for place, size in enumerate(SIZES)]


def test_buckets_hold_what_is_similar_and_fits():
    sizes = [100, 40, 124, 126, 100, 300]
    assert list(buckets(sizes, 1_000)) == [[1], [0, 4], [2], [3], [5]]
    assert list(buckets(sizes, 1_000, 1.25)) == [[1], [0, 4, 2], [3], [5]]
    assert list(buckets(sizes, 240, 1.25)) == [[1], [0, 4], [2], [3], [5]]
    assert list(buckets(sizes, 10_000, math.inf)) == [[1, 0, 4, 2, 3, 5]]
    pieces = chunks.whole_pieces([torch.zeros(size) for size in sizes])
    assert [[p.index for p in b] for b in chunks.batches(pieces, 1_000)] == [
        [1], [0, 4], [2], [3], [5],
    ]  # fmt: skip


def network(kind, norm, **more):
    """A network of two layers, random, with its first layer normalised by ``norm``."""
    import transformers as hf

    config = getattr(hf, f"{kind}Config")(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        conv_dim=(8,) * 7, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
        feat_extract_norm=norm, **more,
    )  # fmt: skip
    torch.manual_seed(3)
    return getattr(hf, f"{kind}Model")(config).eval()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Support for mismatched")
@pytest.mark.parametrize("norm", ["group", "layer"])
@pytest.mark.parametrize("kind", ["WavLM", "Wav2Vec2"])
def test_what_only_training_needs_can_go_without_a_change(kind, norm):
    """By the code of transformers alone, and without the layers behind the one that is read."""
    made = network(kind, norm, do_stable_layer_norm=norm == "layer", conv_bias=norm == "layer")
    waves = torch.stack([wave[: min(SIZES)] for wave in clips()])
    mask = torch.ones(waves.shape, dtype=torch.long)
    mask[1, 12_000:] = 0
    with torch.inference_mode():
        theirs = made(waves, attention_mask=mask, output_hidden_states=True).hidden_states
        pretrained.for_inference(made)
        own = made(waves, attention_mask=mask, output_hidden_states=True).hidden_states
        pretrained.keep_layers(made, 1)
        cut = made(waves, attention_mask=mask, output_hidden_states=True).hidden_states
    heard = MaskedNetwork(made).frames(12_000)
    assert not any("parametrizations" in name for name in made.state_dict())
    for one, other in zip(theirs, own, strict=True):
        assert torch.allclose(one[0], other[0], atol=NEAR)
        assert torch.allclose(one[1, :heard], other[1, :heard], atol=NEAR)
    assert len(cut) == 2
    assert torch.equal(cut[1], own[1])


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["group", "layer"])
@pytest.mark.parametrize("kind", ["WavLM", "Wav2Vec2", "Hubert", "UniSpeech", "UniSpeechSat"])
def test_a_masked_network_hears_each_clip_as_alone(kind, norm):
    made = network(kind, norm)
    assert pretrained.similar(made.config, "cuda:1") == 1.25
    plain = [(wave - wave.mean()) / wave.std() for wave in clips()]
    with torch.inference_mode():
        alone = [made(wave[None]).last_hidden_state[0] for wave in plain]
        masked = MaskedNetwork(made)
        together = masked(plain).last_hidden_state
        mask = torch.nn.utils.rnn.pad_sequence([torch.ones(s) for s in SIZES], batch_first=True)
        filled = torch.nn.utils.rnn.pad_sequence(plain, batch_first=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            unaware = made(filled, attention_mask=mask.long()).last_hidden_state
    for place, wanted in enumerate(alone):
        assert masked.frames(SIZES[place]) == len(wanted)
        assert (together[place, : len(wanted)] - wanted).abs().max() < NEAR
    worst = max(float((unaware[i, : len(w)] - w).abs().max()) for i, w in enumerate(alone))
    assert (worst > 1e-3) == (norm == "group")  # what transformers does with the same mask


@pytest.mark.medium
def test_networks_that_would_leak_take_equal_lengths_only():
    assert (
        pretrained.similar(network("Hubert", "layer", conv_pos_batch_norm=True).config, "cuda") == 1
    )
    assert pretrained.similar(network("Wav2Vec2", "layer", add_adapter=True).config, "cuda") == 1

    class Config:
        model_type = "data2vec-audio"

    assert pretrained.similar(Config, "cuda") == 1
    Config.model_type = "audio-spectrogram-transformer"
    assert pretrained.similar(Config, "cuda") == math.inf


@pytest.fixture(scope="module", params=["group", "layer"])
def norm(request):
    return request.param


@pytest.mark.slow
def test_labels_of_a_clip_do_not_depend_on_its_company(tmp_path, norm):
    folder = tiny_models.listener(tmp_path, feat_extract_norm=norm)
    metric = paired.loaded("spoof", model=str(folder))
    batches, heard = [], metric.loaded.masked.network.forward
    metric.loaded.masked.network.forward = lambda *given, **more: (
        batches.append(len(given[0])) or heard(*given, **more)
    )
    together = [score.value for score in metric.measure(clips())]
    assert batches == [3]
    alone = [metric.measure([wave])[0].value for wave in clips()]
    assert together == pytest.approx(alone, rel=1e-5)
    assert max(alone) - min(alone) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("key", ["wavlm", "resemblyzer"])
def test_whole_clips_are_embedded_side_by_side(tmp_path, key):
    model = str(tiny_models.wavlm(tmp_path, "WavLMForXVector")) if key == "wavlm" else ""
    made = embedding_type(key)(model)
    made.load()
    together = made.embed(clips())
    alone = torch.cat([made.embed([wave]) for wave in clips()])
    assert (together - alone).abs().max() < NEAR
    assert (alone[0] - alone[1]).abs().max() > 1e-4


@pytest.mark.slow
def test_pairs_are_compared_side_by_side(tmp_path, norm):
    folder = tiny_models.wavlm(tmp_path, feat_extract_norm=norm)
    metric = paired.loaded("speech_bert_score", model=str(folder), layer=2)
    first, second, third = (wave.numpy().astype(np.float64) for wave in clips())
    pairs = [(first, second), (third, first)]
    together = metric.compare_all(pairs)
    for pair, score in zip(pairs, together, strict=True):
        alone = metric.compare(*pair)
        by_itself = metric.score_frames(*(metric.frames([wave])[0] for wave in pair))
        assert score.details == alone.details
        assert score.value == pytest.approx(by_itself.value, abs=NEAR)
        assert score.also == pytest.approx(by_itself.also, abs=NEAR)


@pytest.mark.gpu
@pytest.mark.slow
def test_a_gpu_hears_masked_clips_as_a_processor_hears_each(tmp_path, norm):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    folder = str(tiny_models.listener(tmp_path, feat_extract_norm=norm))
    here, there = paired.loaded("spoof", model=folder), make_metric("spoof", {"model": folder})
    there.load("cuda")
    alone = [here.measure([wave])[0].value for wave in clips()]
    together = [score.value for score in there.measure([wave.cuda() for wave in clips()])]
    assert together == pytest.approx(alone, rel=there.sharing.within)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["audiobox_pq", "nisqa", "speaker_similarity"])
def test_clips_of_unequal_length_score_in_one_batch_what_they_score_alone(
    key, tmp_path, monkeypatch
):
    """As on a GPU: on a processor each of them would have a batch of its own."""
    from benchmarks.gpu.models import Models
    from metrics.core import weights
    from metrics.core.metric import Material
    from metrics.networks.embeddings import wavlm_large
    from metrics.suite import audiobox_pq, nisqa

    for limits in (
        *(audiobox_pq.Audiobox.similar, audiobox_pq.Audiobox.at_once_s),
        *(nisqa.Nisqa.similar, nisqa.Nisqa.at_once_s),
        *(wavlm_large.SIMILAR, wavlm_large.AT_ONCE_S),
    ):
        monkeypatch.setitem(limits, "cpu", limits["cuda"])
    monkeypatch.setattr(weights._Place, "folder", tmp_path)
    metric = paired.loaded(key, **Models(tmp_path, "cpu", tiny=True).choice(key).parameters)
    beside = Material(reference_path=str(paired.HUMAN))
    rate = metric.sample_rate_hz
    wave = reference.wave("long_same-human", rate)
    waves = [wave[rate * place :][: size * rate // 16_000] for place, size in enumerate(SIZES)]
    alone = [metric.by_output(metric.measure([each], [beside])[0]) for each in waves]
    together = metric.measure(waves, [beside] * len(waves))
    for one, other in zip(alone, map(metric.by_output, together), strict=True):
        for output, score in one.items():
            assert other[output].value == pytest.approx(score.value, rel=metric.sharing.within)
    values = {score.value for score in together}
    assert len(values) == len(waves)
