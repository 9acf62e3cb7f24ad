"""A tiny audio language model with random weights, of the class and files of Qwen2-Audio."""

import json

import numpy as np
import soundfile

from metrics.auto_att import checkpoints
from metrics.auto_att.dataset import Rating, Rule, Source, build
from metrics.auto_att.model import PROMPT

SECONDS = 2  # of audio that it hears: 200 mel frames, 50 audio tokens


SPECIALS = ["<pad>", "<unk>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"]


def save_drawn(model, folder):
    """A model with weights that are wide enough for its answers to differ."""
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.3)
    model.save_pretrained(folder)


def words_of_the_prompt():
    """A tokenizer that knows the words of Auto-ATT's prompt."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    split = pre_tokenizers.Whitespace()
    words = sorted({word for word, _ in split.pre_tokenize_str(PROMPT)} | {"Human", "Unclear"})
    vocabulary = {word: i for i, word in enumerate([*SPECIALS, *words])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = split
    return inner


def bytes_alone(words=0):
    """A tokenizer of single bytes, by which everything can be written; filled up to some words."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    named = [*SPECIALS, "<|im_start|>", "<|im_end|>"]
    known = [*named, *alphabet]
    known += [f"word{number}" for number in range(len(known), words)]
    vocabulary = {word: i for i, word in enumerate(known)}
    inner = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return inner


def save_tiny(folder, seed=0, inner=None, **special):
    """Write model, tokenizer and feature extractor as a hub's snapshot has them."""
    import torch
    import transformers

    inner = inner or words_of_the_prompt()
    vocabulary = inner.get_vocab()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        unk_token="<unk>",
        extra_special_tokens=["<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"],
        **special,
    )
    extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=SECONDS)
    transformers.Qwen2AudioProcessor(extractor, tokenizer).save_pretrained(folder)
    config = transformers.Qwen2AudioConfig(
        audio_config={
            "model_type": "qwen2_audio_encoder",
            "num_mel_bins": 16,
            "d_model": 16,
            "encoder_layers": 1,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 16,
            "max_source_positions": 50 * SECONDS,
        },
        text_config={
            "model_type": "qwen2",
            "vocab_size": len(vocabulary),
            "hidden_size": 16,
            "intermediate_size": 24,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
        },
        audio_token_index=vocabulary["<|AUDIO|>"],
    )
    torch.manual_seed(seed)
    model = transformers.Qwen2AudioForConditionalGeneration(config)
    save_drawn(model, folder)
    return folder


def save_voice(path, voice, item, seconds=0.6):
    """A buzz whose pitch is the voice's: something to tell voices apart by."""
    rng = np.random.default_rng([voice, item])
    t = np.arange(int(16_000 * seconds)) / 16_000
    pitch = 90.0 + 60.0 * voice
    wave = sum(np.sin(2 * np.pi * pitch * k * t + rng.uniform(0, 6)) / k for k in range(1, 6))
    soundfile.write(path, 0.2 * wave + 0.02 * rng.standard_normal(len(t)), 16_000)
    return path


def voices(place):
    """A dataset of four voices, each with its own label, in two dimensions; two traps."""
    rows, clips = [], []
    for voice, label in enumerate(["Machine", "Human", "Unclear", "Human"]):
        for item in range(4):
            name = f"v{voice}i{item}"
            path = save_voice(place / f"{name}.flac", voice, item)
            rows += [Rating(name, f"r{k}", label) for k in range(3)]
            clips.append(Source(name, str(path), f"sha-{name}", f"s{voice % 2}", f"v{voice}",
                                f"i{item}", "pq"[item % 2]))  # fmt: skip
    for trap, voice in (("flawed", 5), ("human", 6)):
        path = save_voice(place / f"{trap}.flac", voice, 0)
        clips.append(Source(trap, str(path), f"sha-{trap}", trap, trap, "i0", "", trap))
    return build(rows, clips, Rule(held_out=(("s0", "v2"),)))


def adapter_of(folder):
    from safetensors.torch import load_file

    return load_file(folder / checkpoints.ADAPTER)


def log_of(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def save_adapter(folder):
    """A run that ended before its first step: the tiny model with an adapter that does nothing."""
    from metrics.auto_att import model

    plan = model.ModelPlan(name=str(save_tiny(folder / "model")), rank=2, alpha=2)
    listener = model.load_base(plan, "cpu")
    model.add_adapter(listener, seed=0)
    told = {"model": checkpoints.plan_as_json(plan), "trained_on": {}}
    checkpoints.save(folder / "run" / checkpoints.FINAL, listener.model, told, None)
    return folder / "run"


def save_baseline(folder):
    """A baseline that reads one metric."""
    from metrics.auto_att import baseline

    one = np.ones(1)
    ridge = baseline.Ridge(["srmr_norm:srmr_norm"], 3 * one, 9 * one, one, 0.5, 0.0)
    baseline.write(ridge, folder)
    return folder
