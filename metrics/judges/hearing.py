"""Chats with sounds as a model's inputs, where its own processor wants pictures' packages, too.

The processors of models that also see load torchvision, of which nothing is needed here: a model
that listens needs its feature extractor, its tokenizer and its template.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class AudioOnly:
    """What `local_model` asks of a processor, for the Omni models of Qwen."""

    audio_token = "<|AUDIO|>"

    def __init__(self, feature_extractor: Any, tokenizer: Any, template: str) -> None:
        self.feature_extractor, self.tokenizer = feature_extractor, tokenizer
        self.template = template

    @classmethod
    def from_folder(cls, folder: Path) -> AudioOnly:
        """From a model's files; ValueError where there is no chat template among them."""
        from transformers import AutoFeatureExtractor, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder)
        kept = folder / "chat_template.json"
        template = tokenizer.chat_template
        if not template and kept.is_file():
            template = json.loads(kept.read_text(encoding="utf-8"))["chat_template"]
        if not template:
            raise ValueError(f"{folder} has no chat template (chat_template.json or .jinja)")
        return cls(AutoFeatureExtractor.from_pretrained(folder), tokenizer, template)

    def apply_chat_template(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> str:
        """The chat as one text, with a token for each sound."""
        text: str = self.tokenizer.apply_chat_template(
            messages, chat_template=self.template, **options
        )
        return text

    def __call__(
        self,
        text: Sequence[str],
        audio: Sequence[NDArray[np.float32]] = (),
        sampling_rate: int = 16_000,
        **options: Any,
    ) -> dict[str, Any]:
        """Inputs of one text and its sounds; each sound's token once per frame that is heard."""
        (whole,) = text
        heard: dict[str, Any] = {}
        if audio:
            features = self.feature_extractor(
                list(audio),
                sampling_rate=sampling_rate,
                padding="max_length",
                return_attention_mask=True,
                return_tensors="pt",
            )
            mask = features["attention_mask"]
            heard = {"input_features": features["input_features"], "feature_attention_mask": mask}
            pieces = whole.split(self.audio_token)
            if len(pieces) != len(audio) + 1:
                raise ValueError(f"{len(pieces) - 1} places for {len(audio)} sounds")
            counts = [frames(int(length)) for length in mask.sum(-1)]
            whole = pieces[0] + "".join(
                self.audio_token * count + piece
                for count, piece in zip(counts, pieces[1:], strict=True)
            )
        return {**self.tokenizer([whole], return_tensors="pt"), **heard}


def frames(mel_frames: int) -> int:
    """Of a sound's mel frames, those that the encoder of Qwen's models gives: a quarter."""
    return ((mel_frames - 1) // 2 + 1 - 2) // 2 + 1
