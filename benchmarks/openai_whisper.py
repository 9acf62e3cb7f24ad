"""OpenAI's Whisper, as VERSA's `whisper_wer` calls it, with the weights of a CTranslate2 model.

`openai-whisper` is no requirement of Earnest: install it beside (`pip install openai-whisper`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

FLOAT16 = 4  # CTranslate2's number of this type
NAMES = {  # what CTranslate2 calls a part, and what OpenAI does
    "decoder/embeddings/weight": "decoder.token_embedding.weight",
    "decoder/position_encodings/encodings": "decoder.positional_embedding",
    "encoder/position_encodings/encodings": "encoder.positional_embedding",
    "decoder/layer_norm": "decoder.ln",
    "encoder/layer_norm": "encoder.ln_post",
}
PARTS = {
    "self_attention/layer_norm": ["attn_ln"],
    "self_attention/linear_0": ["attn.query", "attn.key", "attn.value"],
    "self_attention/linear_1": ["attn.out"],
    "attention/layer_norm": ["cross_attn_ln"],
    "attention/linear_0": ["cross_attn.query"],
    "attention/linear_1": ["cross_attn.key", "cross_attn.value"],
    "attention/linear_2": ["cross_attn.out"],
    "ffn/layer_norm": ["mlp_ln"],
    "ffn/linear_0": ["mlp.0"],
    "ffn/linear_1": ["mlp.2"],
}
ENDS = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}


def variables(file: Path) -> Iterator[tuple[str, NDArray[np.float16]]]:
    """Names and values in a model.bin of CTranslate2 (version 6, float16)."""
    with file.open("rb") as model:

        def number(kind: str) -> int:
            return int(struct.unpack(f"<{kind}", model.read(struct.calcsize(kind)))[0])

        def name() -> str:
            return model.read(number("H"))[:-1].decode()

        assert number("I") == 6, f"{file}: another version of the format"
        name(), number("I")
        for _ in range(number("I")):
            key = name()
            shape = [number("I") for _ in range(number("B"))]
            kind, size = number("B"), number("I")
            values = model.read(size)
            if kind == FLOAT16:
                yield key, np.frombuffer(values, np.float16).reshape(shape)


def state(file: Path) -> dict[str, torch.Tensor]:
    """The state of OpenAI's network."""
    import torch

    found: dict[str, NDArray[np.float16]] = {}
    for key, values in variables(file):
        stem, _, end = key.rpartition("/")
        side, *rest = key.split("/")
        if key in NAMES:
            found[NAMES[key]] = values
        elif stem in NAMES:
            found[f"{NAMES[stem]}.{ENDS[end]}"] = values
        elif rest[0].startswith("layer_"):
            parts = PARTS["/".join(rest[1:-1])]
            for part, piece in zip(parts, np.split(values, len(parts)), strict=True):
                if not part.endswith(".key") or end != "bias":  # there, keys have no bias
                    number = rest[0].removeprefix("layer_")
                    found[f"{side}.blocks.{number}.{part}.{ENDS[end]}"] = piece
        else:
            found[key.replace("/", ".")] = values
    return {name: torch.from_numpy(values.astype(np.float32)) for name, values in found.items()}


def recogniser(folder: Path) -> Callable[[NDArray[np.float32]], str]:
    """A transcript by a beam of five, as VERSA asks for it, of the model in this folder."""
    import torch
    import whisper

    weights = state(folder / "model.bin")
    width = weights["encoder.ln_post.weight"].numel()
    layers = [
        len({key.split(".")[2] for key in weights if key.startswith(f"{side}.blocks.")})
        for side in ("encoder", "decoder")
    ]
    sizes: dict[str, Any] = {
        "n_mels": weights["encoder.conv1.weight"].shape[1],
        "n_audio_ctx": len(weights["encoder.positional_embedding"]),
        "n_audio_state": width,
        "n_audio_head": width // 64,
        "n_audio_layer": layers[0],
        "n_vocab": len(weights["decoder.token_embedding.weight"]),
        "n_text_ctx": len(weights["decoder.positional_embedding"]),
        "n_text_state": width,
        "n_text_head": width // 64,
        "n_text_layer": layers[1],
    }
    network = whisper.model.Whisper(whisper.model.ModelDimensions(**sizes))
    network.load_state_dict(weights)
    network.eval()

    def run(wave: NDArray[np.float32]) -> str:
        with torch.no_grad():
            return str(network.transcribe(torch.from_numpy(wave), beam_size=5, fp16=False)["text"])

    return run
