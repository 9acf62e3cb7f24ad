"""Networks at their published size, with random weights where the real ones cannot be had.

Speed and memory do not depend on the values of weights. What a package or the kit carries is used
as it is: Resemblyzer, DNSMOS, Distill-MOS, silero-vad. ``tiny`` sizes are for a test on a CPU.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metrics.suite.audiobox_pq import AXES
from tests.metrics import tiny_predictors
from tests.metrics.tiny_listener import SPECIALS, bytes_alone

RANDOM, REAL = "random weights", "real weights"
WORDS_PER_WINDOW = 24  # tokens that Whisper writes of each window: five seconds of speech
WHISPER = {  # by name: layers of encoder and decoder, width, heads, mel bands
    "large-v3-turbo": (32, 4, 1280, 20, 128),
    "large-v3": (32, 32, 1280, 20, 128),
    "tiny": (1, 1, 16, 2, 80),
}


@dataclass(frozen=True)
class Choice:
    """A metric with the parameters that make it load here, and what its weights are."""

    key: str
    parameters: dict[str, Any] = field(default_factory=dict)
    weights: str = RANDOM


class Models:
    """Folders of weights under ``place``, made when they are first asked for."""

    def __init__(self, place: Path, device: str, tiny: bool) -> None:
        self.place, self.device, self.tiny = place, device, tiny

    def choice(self, key: str) -> Choice:
        """Return a metric that loads; raises ImportError where a package it needs is missing."""
        made = {
            "arousal": self._arousal,
            "audiobox_pq": self._audiobox,
            "clap": self._clap,
            "emotion": lambda: self._transformer("emotion", "WavLMForSequenceClassification", True),
            "spoof": lambda: self._transformer("spoof", "WavLMForSequenceClassification", True),
            "speech_bert_score": lambda: self._transformer("speech", "WavLMModel", True),
            "nisqa": self._nisqa,
            "scoreq": self._scoreq,
            "speaker_similarity": self._speaker_similarity,
            "squim_pesq": self._squim,
            "timbre_consistency wavlm": self._xvector,
            "utmos": self._utmos,
            "wer": self.whisper,
            "cer": self.whisper,
        }
        metric = key.partition(" ")[0]
        if key not in made:
            return Choice(metric, {}, REAL)
        parameters = made[key]()
        return Choice(metric, parameters)

    def whisper(self, name: str = "large-v3", precision: str = "float16") -> dict[str, Any]:
        """Return the parameters of a recogniser of Whisper's architecture.

        It writes a fixed number of tokens of each window. float16, as OpenAI's own program and
        VERSA run it on a GPU; float32 on a CPU.
        """
        name = "tiny" if self.tiny else name
        folder = self._folder(f"whisper-{name}", lambda place: self._save_whisper(place, name))
        numbers = precision if self.device != "cpu" else "float32"
        return {"recogniser": "transformers", "model": folder, "precision": numbers}

    def _folder(self, name: str, save: Callable[[Path], object]) -> str:
        """Return the path of a folder, which ``save`` fills the first time."""
        place = self.place / name
        if not place.exists():
            with self._unfinished(name) as unfinished:
                unfinished.mkdir()
                save(unfinished)
        return str(place)

    def _file(self, name: str, save: Callable[[Path], object]) -> str:
        """Return the path of a file, which ``save`` writes the first time."""
        if not (self.place / name).exists():
            with self._unfinished(name) as unfinished:
                save(unfinished)
        return str(self.place / name)

    @contextlib.contextmanager
    def _unfinished(self, name: str) -> Iterator[Path]:
        """Give a place to write to, which gets its name once all is written."""
        self.place.mkdir(parents=True, exist_ok=True)
        unfinished = self.place / f"{name}.{os.getpid()}"
        yield unfinished
        unfinished.rename(self.place / name)

    def random(self, shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
        """Return random tensors of these shapes; variances and norms are positive."""
        import torch

        draw = torch.Generator(self.device).manual_seed(0)
        positive = ("running_var", "norm.weight", "weight_g")
        found = {}
        for name, shape in shapes.items():
            value = torch.empty(shape, device=self.device)
            if name.endswith(positive):
                value.uniform_(0.5, 1.5, generator=draw)
            else:
                value.normal_(0, 0.02, generator=draw)
            found[name] = value.cpu()
        return found

    def _transformer(self, name: str, kind: str, large: bool, **more: Any) -> dict[str, Any]:
        def save(place: Path) -> None:
            save_wavlm(place, kind, large, self.tiny, self.device, **more)

        found = {"model": self._folder(f"{name}-{kind}", save)}
        return {**found, "layer": 1 if self.tiny else 14} if kind == "WavLMModel" else found

    def _xvector(self) -> dict[str, Any]:
        return {"embedding": "wavlm", **self._transformer("voice", "WavLMForXVector", False)}

    def _arousal(self) -> dict[str, Any]:
        import torch
        import transformers
        from safetensors.torch import save_file

        def save(place: Path) -> None:
            labels = {0: "arousal", 1: "dominance", 2: "valence"}
            size = speech_size(True, self.tiny) | {"num_hidden_layers": 1 if self.tiny else 12}
            config = transformers.Wav2Vec2Config(id2label=labels, **size)
            with torch.device(self.device):
                network = transformers.Wav2Vec2Model(config)
            width = config.hidden_size
            head = self.random({
                "classifier.dense.weight": (width, width), "classifier.dense.bias": (width,),
                "classifier.out_proj.weight": (3, width), "classifier.out_proj.bias": (3,),
            })  # fmt: skip
            state = {
                f"wav2vec2.{name}": value.cpu() for name, value in network.state_dict().items()
            }
            config.save_pretrained(place)
            save_file(state | head, place / "model.safetensors", {"format": "pt"})
            transformers.Wav2Vec2FeatureExtractor(do_normalize=True).save_pretrained(place)

        return {"model": self._folder("arousal", save)}

    def _audiobox(self) -> dict[str, Any]:
        from safetensors.torch import save_file

        def save(place: Path) -> None:
            if self.tiny:
                tiny_predictors.audiobox(place)
                return
            shapes = {f"wavlm_model.{n}": s for n, s in wavlm_shapes(large=False).items()}
            for axis in AXES:
                name = f"proj_layer.{axis}"
                for number in (0, 3):
                    shapes |= linear(f"{name}.{number}", 768, 768)
                    shapes |= {f"{name}.{number + 1}.{part}": (768,) for part in ("weight", "bias")}
                shapes |= linear(f"{name}.6", 1, 768) | {f"layer_weights.{axis}": (13,)}
            save_file(self.random(shapes), place / "model.safetensors")
            scales = {axis: {"mean": 5.0, "std": 1.5} for axis in AXES}
            config = {"target_transform": scales, "normalize_embed": True}
            (place / "config.json").write_text(json.dumps(config), encoding="utf-8")

        return {"model": self._folder("audiobox", save)}

    def _clap(self) -> dict[str, Any]:
        import torch
        import transformers

        from tests.metrics import tiny_models

        def save(place: Path) -> None:
            tiny_models.clap(place)
            if not self.tiny:
                torch.manual_seed(0)
                transformers.ClapModel(transformers.ClapConfig()).save_pretrained(place)

        return {"model": self._folder("clap", save)}

    def _nisqa(self) -> dict[str, Any]:
        import torch

        if self.tiny:
            return {"model": self._folder("nisqa", tiny_predictors.nisqa) + "/nisqa.tar"}
        sizes = {"cnn_c_out_1": 16, "cnn_c_out_2": 32, "cnn_c_out_3": 64, "td_sa_d_model": 64,
                 "td_sa_nhead": 1, "td_sa_h": 64, "pool_att_h": 128}  # fmt: skip
        args = tiny_predictors.NISQA | sizes

        def save(path: Path) -> None:
            stored = {"args": args, "model_state_dict": self.random(nisqa_shapes(args))}
            torch.save(stored, path)

        return {"model": self._file("nisqa.tar", save)}

    def _speaker_similarity(self) -> dict[str, Any]:
        import torch

        def save(path: Path) -> None:
            large = wavlm_shapes(large=not self.tiny, tiny=self.tiny)
            inside = {f"feature_extract.model.{n}": s for n, s in large.items()}
            width, layers = (16, 2) if self.tiny else (1024, 24)
            shares = {"feature_weight": (layers + 1,)}
            torch.save({"model": self.random({**inside, **ecapa_shapes(width), **shares})}, path)

        return {"model": self._file("wavlm_large_finetune.pth", save)}

    def _squim(self) -> dict[str, Any]:
        import torch
        from torchaudio.models import squim_objective_base

        def save(path: Path) -> None:
            torch.manual_seed(0)
            torch.save(squim_objective_base().state_dict(), path)

        self._file("squim_objective_dns2020.pth", save)
        return {"chunk_s": 0}

    def _utmos(self) -> dict[str, Any]:
        import torch

        from benchmarks.gpu.scripted import Opinion

        def save(path: Path) -> None:
            torch.manual_seed(0)
            torch.jit.script(Opinion(self.tiny).eval()).save(str(path))

        return {"model": self._file("utmos.pt", save), "layout": "batch_time"}

    def _scoreq(self) -> dict[str, Any]:
        import onnx  # noqa: F401 torch writes with it
        import torch
        import transformers

        from benchmarks.gpu.scripted import Mean

        def save(path: Path) -> None:
            size = speech_size(False, self.tiny)
            config = transformers.Wav2Vec2Config(**size, attn_implementation="eager")
            network = Mean(transformers.Wav2Vec2Model(config)).eval()
            torch.onnx.export(
                network, (torch.zeros(1, 32_000),), str(path), dynamo=False, opset_version=17,
                input_names=["waves"], output_names=["score"],
                dynamic_axes={"waves": {0: "batch", 1: "time"}},
            )  # fmt: skip

        return {"model": self._file("scoreq.onnx", save)}

    def _save_whisper(self, place: Path, name: str) -> None:
        import torch
        import transformers

        above, below, width, heads, bands = WHISPER[name]
        tokenizer, ids = whisper_tokenizer(None if name == "tiny" else 50_257)
        tokenizer.save_pretrained(place)
        transformers.WhisperFeatureExtractor(feature_size=bands).save_pretrained(place)
        end = ids["<|endoftext|>"]
        config = transformers.WhisperConfig(
            vocab_size=len(tokenizer), d_model=width, num_mel_bins=bands,
            encoder_layers=above, decoder_layers=below,
            encoder_attention_heads=heads, decoder_attention_heads=heads,
            encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width,
            begin_suppress_tokens=[end], pad_token_id=end, bos_token_id=end, eos_token_id=end,
            decoder_start_token_id=ids["<|startoftranscript|>"],
        )  # fmt: skip
        torch.manual_seed(0)
        with torch.device(self.device):
            model = transformers.WhisperForConditionalGeneration(config)
        model = model.to(torch.float16 if self.device != "cpu" else torch.float32)
        told = transformers.GenerationConfig(**model.generation_config.to_dict())
        told._from_model_config = False  # as in the published ones; else the rest is not read back
        told.is_multilingual = True
        told.lang_to_id = {"<|en|>": ids["<|en|>"]}
        told.task_to_id = {task: ids[f"<|{task}|>"] for task in ("transcribe", "translate")}
        told.no_timestamps_token_id = ids["<|notimestamps|>"]
        told.min_new_tokens = told.max_new_tokens = 4 if name == "tiny" else WORDS_PER_WINDOW
        told.max_length = None
        model.generation_config = told
        model.save_pretrained(place)


def whisper_tokenizer(words: int | None) -> tuple[Any, dict[str, int]]:
    """Return a tokenizer of bytes, filled up to so many words, with Whisper's special tokens."""
    import transformers
    from tokenizers import pre_tokenizers

    symbols = sorted(pre_tokenizers.ByteLevel.alphabet())
    symbols += [f"word{number}" for number in range(len(symbols), words or 0)]
    special = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|translate|>",
               "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>",
               "<|notimestamps|>"]  # fmt: skip
    tokenizer = transformers.WhisperTokenizer(
        vocab={s: i for i, s in enumerate(symbols)}, merges=[]
    )
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    tokenizer.add_tokens([f"<|{i * 0.02:.2f}|>" for i in range(1501)])
    return tokenizer, dict(zip(special, tokenizer.convert_tokens_to_ids(special), strict=True))


def speech_size(large: bool, tiny: bool) -> dict[str, Any]:
    """Return the sizes of wav2vec 2.0 and WavLM in transformers, base or large."""
    if tiny:
        return {
            "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
            "intermediate_size": 16, "conv_dim": (8,) * 7, "num_conv_pos_embeddings": 8,
            "num_conv_pos_embedding_groups": 2,
        }  # fmt: skip
    if not large:
        return {}
    return {
        "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
        "intermediate_size": 4096, "feat_extract_norm": "layer", "do_stable_layer_norm": True,
    }  # fmt: skip


def save_wavlm(
    place: Path, kind: str, large: bool, tiny: bool = False, device: str = "cpu", **more: Any
) -> None:
    """Write a WavLM under a head of transformers, and its preprocessor."""
    import torch
    import transformers

    small = {"tdnn_dim": (16,) * 5, "xvector_output_dim": 12} if tiny else {}
    labels = {0: "neutral", 1: "fake", 2: "angry"}
    size = speech_size(large, tiny)
    config = transformers.WavLMConfig(id2label=labels, **small, **size, **more)
    torch.manual_seed(0)
    with torch.device(device):
        network = getattr(transformers, kind)(config)
    network.save_pretrained(place)
    transformers.Wav2Vec2FeatureExtractor(do_normalize=True).save_pretrained(place)


def linear(name: str, rows: int, columns: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a matrix and its bias."""
    return {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}


def wavlm_shapes(large: bool, tiny: bool = False) -> dict[str, tuple[int, ...]]:
    """Return the weights of WavLM under its authors' names, base or large."""
    width, inner, heads, layers, channels = (
        (16, 24, 2, 2, 8) if tiny else (1024, 4096, 16, 24, 512) if large
        else (768, 3072, 12, 12, 512)
    )  # fmt: skip
    kernels, groups, positions, buckets = (10, 3, 3, 3, 3, 2, 2), 16, 128, 320
    shapes: dict[str, tuple[int, ...]] = {"mask_emb": (width,)}
    for number, kernel in enumerate(kernels):
        name = f"feature_extractor.conv_layers.{number}"
        shapes[f"{name}.0.weight"] = (channels, channels if number else 1, kernel)
        if large or not number:
            inside = f"{name}.2.1" if large else f"{name}.2"
            shapes |= {f"{inside}.{part}": (channels,) for part in ("weight", "bias")}
    shapes |= linear("post_extract_proj", width, channels)
    shapes |= {f"layer_norm.{part}": (channels,) for part in ("weight", "bias")}
    shapes["encoder.pos_conv.0.bias"] = (width,)
    shapes["encoder.pos_conv.0.weight_g"] = (1, 1, positions)
    shapes["encoder.pos_conv.0.weight_v"] = (width, width // groups, positions)
    shapes["encoder.layers.0.self_attn.relative_attention_bias.weight"] = (buckets, heads)
    for number in range(layers):
        name = f"encoder.layers.{number}"
        shapes[f"{name}.self_attn.grep_a"] = (1, heads, 1, 1)
        shapes |= linear(f"{name}.self_attn.grep_linear", 8, width // heads)
        for part in ("k_proj", "v_proj", "q_proj", "out_proj"):
            shapes |= linear(f"{name}.self_attn.{part}", width, width)
        shapes |= linear(f"{name}.fc1", inner, width) | linear(f"{name}.fc2", width, inner)
        for norm in ("self_attn_layer_norm", "final_layer_norm"):
            shapes |= {f"{name}.{norm}.{part}": (width,) for part in ("weight", "bias")}
    return shapes | {f"encoder.layer_norm.{part}": (width,) for part in ("weight", "bias")}


def ecapa_shapes(features: int, channels: int = 512) -> dict[str, tuple[int, ...]]:
    """Return the weights of UniSpeech's ECAPA-TDNN on features of this width."""
    part, merged = channels // 8, 3 * channels

    def conv(name: str, out: int, into: int, kernel: int) -> dict[str, tuple[int, ...]]:
        return {f"{name}.weight": (out, into, kernel), f"{name}.bias": (out,)}

    def norm(name: str, size: int) -> dict[str, tuple[int, ...]]:
        parts = ("weight", "bias", "running_mean", "running_var")
        return {f"{name}.{each}": (size,) for each in parts}

    shapes = conv("layer1.conv", channels, features, 5) | norm("layer1.bn", channels)
    for number in (2, 3, 4):
        name = f"layer{number}"
        for edge in ("Conv1dReluBn1", "Conv1dReluBn2"):
            shapes |= conv(f"{name}.{edge}.conv", channels, channels, 1)
            shapes |= norm(f"{name}.{edge}.bn", channels)
        for place in range(7):
            shapes |= conv(f"{name}.Res2Conv1dReluBn.convs.{place}", part, part, 3)
            shapes |= norm(f"{name}.Res2Conv1dReluBn.bns.{place}", part)
        shapes |= linear(f"{name}.SE_Connect.linear1", 128, channels)
        shapes |= linear(f"{name}.SE_Connect.linear2", channels, 128)
    shapes |= conv("conv", merged, merged, 1) | conv("pooling.linear1", 128, merged, 1)
    shapes |= conv("pooling.linear2", merged, 128, 1) | norm("bn", 2 * merged)
    return shapes | linear("linear", 256, 2 * merged)


def nisqa_shapes(args: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the weights of NISQA's network of five values with these settings."""
    one, two, three = (args[f"cnn_c_out_{n}"] for n in (1, 2, 3))
    width, inner = args["td_sa_d_model"], args["td_sa_h"]
    shapes: dict[str, tuple[int, ...]] = {}
    channels = (1, one, two, three, three, three, three)
    for layer, (into, out) in enumerate(itertools.pairwise(channels), 1):
        shapes[f"cnn.model.conv{layer}.weight"] = (out, into, 3, 3)
        shapes[f"cnn.model.conv{layer}.bias"] = (out,)
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"cnn.model.bn{layer}.{part}"] = (out,)
    heard = three * args["cnn_pool_3"][0] * 1
    name = "time_dependency.model"
    shapes |= linear(f"{name}.linear", width, heard)
    shapes |= {f"{name}.norm1.{part}": (width,) for part in ("weight", "bias")}
    for number in range(args["td_sa_num_layers"]):
        own = f"{name}.layers.{number}"
        shapes[f"{own}.self_attn.in_proj_weight"] = (3 * width, width)
        shapes[f"{own}.self_attn.in_proj_bias"] = (3 * width,)
        shapes |= linear(f"{own}.self_attn.out_proj", width, width)
        shapes |= linear(f"{own}.linear1", inner, width) | linear(f"{own}.linear2", width, inner)
        for norm in ("norm1", "norm2"):
            shapes |= {f"{own}.{norm}.{part}": (width,) for part in ("weight", "bias")}
    for number in range(5):
        own = f"pool_layers.{number}.model"
        shapes |= linear(f"{own}.linear1", args["pool_att_h"], width)
        shapes |= linear(f"{own}.linear2", 1, args["pool_att_h"]) | linear(
            f"{own}.linear3", 1, width
        )
    return shapes


def listener(size: str, device: str) -> tuple[Any, Any]:
    """Return a Qwen2-Audio with random weights on a device, bfloat16 on a GPU; and its processor.

    ``size``: "0.5b" (the text model of Qwen2.5-0.5B), "7b" (Qwen2-Audio as published) or "tiny".
    """
    import torch
    import transformers

    words, layers, width, inner, heads, shared, above, ears = {
        "tiny": (0, 2, 16, 24, 2, 2, 1, 16),
        "0.5b": (151_936, 24, 896, 4864, 14, 2, 12, 768),
        "7b": (156_032, 32, 4096, 11_008, 32, 32, 32, 1280),
    }[size]
    inner_tokenizer = bytes_alone(words)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner_tokenizer, pad_token="<pad>", unk_token="<unk>",
        eos_token="<|im_end|>", extra_special_tokens=SPECIALS[2:],
    )  # fmt: skip
    seconds, bands = (2, 16) if size == "tiny" else (30, 128)
    extractor = transformers.WhisperFeatureExtractor(feature_size=bands, chunk_length=seconds)
    processor = transformers.Qwen2AudioProcessor(extractor, tokenizer)
    processor.chat_template = transformers.Qwen2AudioProcessor.default_chat_template.fget(None)
    vocabulary = inner_tokenizer.get_vocab()
    config = transformers.Qwen2AudioConfig(
        audio_config={
            "model_type": "qwen2_audio_encoder", "num_mel_bins": bands, "d_model": ears,
            "encoder_layers": above, "encoder_attention_heads": max(2, ears // 64),
            "encoder_ffn_dim": 4 * ears, "max_source_positions": 50 * seconds,
        },
        text_config={
            "model_type": "qwen2", "vocab_size": len(vocabulary), "hidden_size": width,
            "intermediate_size": inner, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": shared,
        },
        audio_token_index=vocabulary["<|AUDIO|>"],
    )  # fmt: skip
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16 if device != "cpu" else torch.float32)
    try:
        with torch.device(device):
            model = transformers.Qwen2AudioForConditionalGeneration(config)
    finally:
        torch.set_default_dtype(before)
    return model.eval(), processor
