"""Whisper, wav2vec 2.0 and other recognisers in the format of Hugging Face transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from metrics import weights
from metrics.devices import kind
from metrics.recognisers.recogniser import RATE_HZ, Recogniser, whisper_code

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

WANTED = ("*.json", "*.txt", "*.safetensors", "*.bin")
WINDOW_S = 30
AT_ONCE = {"cpu": 4, "cuda": 16}  # clips


class Transformers(Recogniser):
    """Any model of the pipeline "automatic-speech-recognition", by hub name or folder."""

    key = "transformers"
    default_model = "openai/whisper-large-v3"
    packages = ("transformers",)
    pipeline: Any = None

    def load(self) -> None:
        """Load network, feature extractor and tokenizer from a folder."""
        weights.need_package("transformers", "transformers")
        import torch
        import transformers

        folder = weights.model_files(self.model, WANTED)
        self.weights = weights.model_hashes(folder, ["*.safetensors", "pytorch_model*.bin"])
        with weights.silent_transformers():
            self.pipeline = transformers.pipeline(
                "automatic-speech-recognition",
                model=str(folder),
                device=self.device,
                dtype=getattr(torch, self.options.precision),
            )
        if self.pipeline.tokenizer.pad_token is None:  # batches want one, and nothing hears it
            self.pipeline.tokenizer.pad_token = self.pipeline.tokenizer.eos_token

    @property
    def is_whisper(self) -> bool:
        """Whether the network is a Whisper: it is told the language, and writes by beam search."""
        return bool(self.pipeline and self.pipeline.model.config.model_type == "whisper")

    @property
    def languages(self) -> set[str]:
        """The languages that a Whisper takes; English for one that takes none."""
        known = getattr(self.pipeline.model.generation_config, "lang_to_id", None) or {}
        return {token.strip("<|>") for token in known} or {"en"}

    def refusal(self, language: str) -> str:
        """A reason when a Whisper was not trained on the language."""
        if not self.is_whisper or whisper_code(language) in self.languages:
            return ""
        return f"language {language}: {self.model} cannot hear it"

    def transcribe_all(self, waves: Sequence[npt.NDArray[np.float32]], language: str) -> list[str]:
        """Whisper hears clips of up to 30 s side by side: each is filled up to that anyway."""
        if not self.is_whisper:
            return super().transcribe_all(waves, language)
        short = [i for i, wave in enumerate(waves) if len(wave) <= WINDOW_S * RATE_HZ]
        heard = self.pipeline(
            [{"raw": waves[i], "sampling_rate": RATE_HZ} for i in short],
            batch_size=AT_ONCE[kind(self.device)],
            return_timestamps=False,
            generate_kwargs=self.told(language),
        )
        texts = dict(zip(short, (str(each["text"]) for each in heard), strict=True))
        return [
            texts[i] if i in texts else self.transcribe(wave, language)
            for i, wave in enumerate(waves)
        ]

    def told(self, language: str) -> dict[str, Any]:
        """What Whisper's beam search is told."""
        options: dict[str, Any] = {"num_beams": self.options.beam, "do_sample": False}
        if self.languages != {"en"}:
            options |= {"language": whisper_code(language), "task": "transcribe"}
        return options

    def transcribe(self, wave: npt.NDArray[np.float32], language: str) -> str:
        """Whisper: its own windows of 30 s; others: chunks of 30 s that overlap by 5 s."""
        given = {"raw": wave, "sampling_rate": RATE_HZ}
        long = len(wave) > WINDOW_S * RATE_HZ
        if not self.is_whisper:
            chunks = {"chunk_length_s": WINDOW_S, "stride_length_s": 5} if long else {}
            return str(self.pipeline(given, **chunks)["text"])
        told = self.told(language)
        return str(self.pipeline(given, return_timestamps=long, generate_kwargs=told)["text"])
