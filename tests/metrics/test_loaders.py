"""SCOREQ, SIGMOS, emotion, spoofing, language: the real loading code on tiny networks."""

import re

import numpy as np
import pytest

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, ParameterError, make_metric
from metrics.core.weights import Unavailable
from metrics.suite import dnsmos_pro, sigmos
from tests.metrics import paired, reference, tiny_models, tiny_predictors

RIPPLE = 0.01 * np.tile([1, -1], 16_000)  # a wave without any is taken for silence


def wave(seconds=2):
    return torch.tensor(paired.human(seconds))


PUT_THERE = ["dnsmos_pro", "nisqa", "scoreq", "scoreq_ref", "sigmos", "speaker_similarity"]


@pytest.mark.parametrize("key", PUT_THERE)
def test_weights_that_are_not_there_are_named_with_the_place_they_are_published(
    key, tmp_path, monkeypatch
):
    monkeypatch.setattr(weights._Place, "folder", tmp_path)
    monkeypatch.setattr(weights._Place, "offline", True)
    with pytest.raises(Unavailable) as caught:
        paired.loaded(key)
    said = re.fullmatch(
        rf"no weights: (\S+) is not in {tmp_path}(, and it may not be fetched \(offline\))?; "
        r"put it there, from (https://\S+)",
        str(caught.value),
    )
    (model,) = make_metric(key).models()
    assert (said[1], said[3]) == (model.name, model.origin)


def test_scoreq_fills_whole_frames_and_averages_chunks(tmp_path):
    metric = paired.loaded(
        "scoreq", model=str(tiny_predictors.onnx(tmp_path)), chunk_s=1, rest_s=0.5
    )
    clip = wave()[:31_900]
    (score,) = metric.measure([clip])
    ends = clip[:16_000].mean() * 16_000, clip[16_000:].sum() * 15_900 / 16_000  # 16,000 with zeros
    assert score.value == pytest.approx(float(sum(ends)) / 31_900, abs=1e-6)
    assert score.details == {"chunks_used": 2, "chunks_total": 2}
    with pytest.raises(ParameterError, match="choose synthetic or telephone"):
        make_metric("scoreq", {"domain": "music"})
    with pytest.raises(Unavailable, match=r"scoreq/adapt_nr_telephone\.onnx"):
        paired.loaded("scoreq", domain="telephone")


def test_sigmos_sees_compressed_spectra_and_names_its_outputs(tmp_path):
    metric = paired.loaded("sigmos", model=str(tiny_predictors.seven(tmp_path)))
    clip = torch.tensor(np.sin(np.arange(48_000) * 0.05))
    (score,) = metric.measure([clip])
    seen = sigmos.compressed_spectrum(clip.numpy())
    assert seen.shape == (3, 101, 481)
    frame = np.pad(clip.numpy(), 480)[4800:5760] * np.sqrt(np.hanning(961)[:-1])
    by_hand = np.fft.rfft(frame)
    assert seen[0, 10] == pytest.approx(np.maximum(abs(by_hand), 1e-6) ** 0.3, rel=1e-4, abs=1e-6)
    loud = abs(by_hand) > 1e-3
    assert (seen[1] + 1j * seen[2])[10][loud] == pytest.approx(
        (by_hand * abs(by_hand) ** -0.7)[loud], rel=1e-4, abs=1e-5
    )
    means = np.cosh(seen.mean(axis=(1, 2)))
    assert score.value == pytest.approx(float(means.mean()), abs=1e-5)
    names = ["coloration", "discontinuity", "loudness", "noise", "reverberation", "signal"]
    given = [score.also[f"sigmos_{name}"] for name in names]
    assert given == pytest.approx([*means, *means], abs=1e-5)
    assert score.also.keys() == {output.key for output in metric.more_outputs}


def test_scoreq_with_a_reference_is_the_distance_of_two_vectors(tmp_path):
    metric = paired.loaded("scoreq_ref", model=str(tiny_predictors.onnx(tmp_path)))
    clip = wave()[:31_900]  # the tiny network's vector is the mean, of whole frames of 320
    wanted = abs(float(clip.sum()) / 32_000 - 0.25)
    (score,) = metric.measure([clip], [paired.beside(tmp_path, np.full(32_000, 0.25) + RIPPLE)])
    assert score.value == pytest.approx(wanted, abs=1e-6)
    (alone,) = metric.measure([clip])
    assert alone.reason == "no reference audio"
    with pytest.raises(Unavailable, match=r"scoreq/fixed_nmr_telephone\.onnx"):
        paired.loaded("scoreq_ref", domain="telephone")


@pytest.mark.slow
def test_dnsmos_pro_sees_the_spectra_of_its_authors_repeated_to_ten_seconds(tmp_path):
    metric = paired.loaded("dnsmos_pro", model=str(tiny_predictors.opinions(tmp_path)))
    clip = wave(3)
    repeated = np.tile(clip.numpy(), 4)[:160_000].astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(repeated, 160), 320)[::160]
    power = np.abs(np.fft.rfft(frames * np.hanning(321)[:-1]))  # as librosa.stft has it
    wanted = np.log10(np.clip(power, 1e-7, 1e7))
    assert dnsmos_pro.log_spectra(torch.from_numpy(repeated)[None])[0].numpy() == pytest.approx(
        wanted, abs=0.01
    )
    (score,) = metric.measure([clip])
    assert score.value == pytest.approx(3 + wanted.mean() / 10, abs=1e-5)
    assert score.also["dnsmos_pro_variance"] == pytest.approx(wanted.var(), rel=1e-4)
    with pytest.raises(ParameterError, match="choose one of BVCC, NISQA, VCC2018"):
        make_metric("dnsmos_pro", {"corpus": "music"})
    with pytest.raises(Unavailable, match=r"dnsmos_pro/NISQA/model_best\.pt"):
        paired.loaded("dnsmos_pro", corpus="NISQA")


@pytest.fixture(scope="module")
def listener(tmp_path_factory):
    return str(tiny_models.listener(tmp_path_factory.mktemp("listener")))


@pytest.mark.slow
def test_the_emotion_asked_for_has_its_probability(listener):
    metric = paired.loaded("emotion", model=listener)
    asked = [Material(attributes={"emotion": name}) for name in ("Ang", "joy", "")]
    angry, joyful, nothing = metric.measure([wave()] * 3, asked)
    found = angry.details["probabilities"]
    assert angry.value == found["ang"]
    assert sum(found.values()) == pytest.approx(1)
    assert found[angry.details["heard"]] == max(found.values())
    assert "knows no 'joy': neu, fake, ang" in joyful.reason
    assert nothing.reason == "no emotion was asked for"


@pytest.mark.slow
def test_arousal_is_told_by_two_layers_above_the_network(tmp_path):
    import transformers
    from safetensors.torch import load_file, save_file

    metric = paired.loaded("arousal", model=str(tiny_models.dimensions(tmp_path)))
    clip = wave()
    (score,) = metric.measure([clip])
    state = load_file(tmp_path / "model.safetensors")
    network = transformers.Wav2Vec2Model(metric.loaded.network.config).eval()
    network.load_state_dict(
        {k.removeprefix("wav2vec2."): v for k, v in state.items() if k.startswith("wav2vec2.")}
    )
    heard = ((clip - clip.mean()) / torch.sqrt(clip.var(correction=0) + 1e-7)).float()
    with torch.inference_mode():
        mean = network(heard[None]).last_hidden_state.mean(1)[0]
    inner = torch.tanh(state["classifier.dense.weight"] @ mean + state["classifier.dense.bias"])
    wanted = state["classifier.out_proj.weight"] @ inner + state["classifier.out_proj.bias"]
    found = [score.value, score.also["dominance"], score.also["valence"]]
    assert found == pytest.approx(wanted.tolist(), abs=1e-5)
    del state["classifier.dense.bias"]
    save_file(state, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(Unavailable, match=r"no classifier\.dense\.bias"):
        paired.loaded("arousal", model=str(tmp_path))


@pytest.mark.slow
def test_a_detector_is_asked_for_its_label(listener):
    clip = wave()
    emotion = paired.loaded("emotion", model=listener).measure([clip])[0]
    (score,) = paired.loaded("spoof", model=listener).measure([clip])
    assert score.value == pytest.approx(emotion.details["probabilities"]["fake"])
    with pytest.raises(Unavailable, match="no label bonafide: neu, fake, ang"):
        paired.loaded("spoof", model=listener, label="bonafide")


def test_the_language_stated_has_its_probability():
    metric = make_metric("language_match")
    metric.network = tiny_predictors.TellsLanguages()
    said = [Material(language=code) for code in ("en-GB", "cmn", "sw", "")]
    english, chinese, swahili, nothing = metric.measure([wave()] * 4, said)
    assert (english.value, chinese.value) == (0.75, 0.2)
    assert english.details == {"heard": "en", "heard_probability": 0.75}
    assert "does not tell sw" in swahili.reason
    assert nothing.reason == "no language"


@pytest.mark.slow
def test_a_model_of_one_language_cannot_tell_languages():
    with pytest.raises(Unavailable, match="knows one language only"):
        paired.loaded("language_match", model=reference.tiny_whisper())
