"""Whisper, wav2vec 2.0 and other recognisers in the format of Hugging Face transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from metrics.core import weights
from metrics.core.devices import kind
from metrics.core.lazy_torch import torch
from metrics.core.published_models import HUB, PublishedModel
from metrics.networks.recognisers.recogniser import RATE_HZ, Recogniser, whisper_code

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MODEL = PublishedModel(
    "openai/whisper-large-v3",
    ("config.json", "model.safetensors|*.safetensors|pytorch_model*.bin"),
    ("*.json", "*.txt"),
    source=HUB,
    licence="Apache 2.0",
    size=3_100_000_000,
)
WINDOW_S = 30
CPU_WINDOWS = 4  # heard at once on a processor
MOST_WINDOWS = 128  # on a GPU: beyond it each takes as long
MEMORY_SHARE = 0.5  # of the free memory of a GPU
ENCODER_ACTIVATIONS = 24  # tensors of the size of a window's frames that a layer needs


class Transformers(Recogniser):
    """Any model of the pipeline "automatic-speech-recognition", by hub name or folder."""

    key = "transformers"
    published_model = MODEL
    default_model = MODEL.name
    packages = ("transformers",)
    pipeline: Any = None

    def load(self) -> None:
        """Load network, feature extractor and tokenizer from a folder."""
        weights.need_package("transformers", "transformers")
        import transformers

        folder = weights.locate(*self.models())
        self.weights = weights.model_hashes(folder, ["*.safetensors", "pytorch_model*.bin"])
        with weights.silent_transformers():
            self.pipeline = transformers.pipeline(
                "automatic-speech-recognition",
                model=str(folder),
                device=self.device,
                dtype=getattr(torch, self.options.precision),
            )
        keep_cross_attention(self.pipeline.model)
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
        at_once = self.windows_at_once() if short else 1
        texts: dict[int, str] = {}
        for start in range(0, len(short), at_once):
            places = short[start : start + at_once]
            heard = self.transcribe_windows([waves[i] for i in places], language)
            texts |= zip(places, heard, strict=True)
        return [
            texts[i] if i in texts else self.transcribe(wave, language)
            for i, wave in enumerate(waves)
        ]

    def transcribe_windows(
        self, waves: Sequence[npt.NDArray[np.float32]], language: str
    ) -> list[str]:
        """Return Whisper's text of waves of 30 s or less, (samples,) each, in one batch.

        Spectra are computed where the network is: on a processor they would take longer than the
        network does on a GPU.
        """
        features = self.pipeline.feature_extractor(
            list(waves), sampling_rate=RATE_HZ, return_tensors="pt", device=self.device
        )
        model = self.pipeline.model
        with torch.inference_mode():
            tokens = model.generate(
                features["input_features"].to(self.device, model.dtype),
                return_timestamps=False,
                **self.generation_options(language),
            )
        texts: list[str] = self.pipeline.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return texts

    def windows_at_once(self) -> int:
        """Return how many windows the memory of the device holds; 4 on a processor.

        Each beam holds the keys and values of a whole window in every layer of the decoder.
        """
        if kind(self.device) == "cpu":
            return CPU_WINDOWS
        model = self.pipeline.model
        config = model.config
        number = torch.finfo(model.dtype).bits // 8
        frames = config.max_source_positions * config.d_model * number
        keys_and_values = 2 * config.decoder_layers * self.options.beam
        free = torch.cuda.mem_get_info(self.device)[0] + torch.cuda.memory_reserved(self.device)
        free -= torch.cuda.memory_allocated(self.device)
        fitting = int(MEMORY_SHARE * free / (frames * (keys_and_values + ENCODER_ACTIVATIONS)))
        return max(1, min(fitting, MOST_WINDOWS))

    def generation_options(self, language: str) -> dict[str, Any]:
        """Return the options of Whisper's beam search."""
        options: dict[str, Any] = {"num_beams": self.options.beam, "do_sample": False}
        if self.languages != {"en"}:
            options |= {"language": whisper_code(language), "task": "transcribe"}
        return options

    def transcribe(self, wave: npt.NDArray[np.float32], language: str) -> str:
        """Whisper: its own windows of 30 s; others: chunks of 30 s that overlap by 5 s."""
        audio = {"raw": wave, "sampling_rate": RATE_HZ}
        long = len(wave) > WINDOW_S * RATE_HZ
        if not self.is_whisper:
            chunks = {"chunk_length_s": WINDOW_S, "stride_length_s": 5} if long else {}
            return str(self.pipeline(audio, **chunks)["text"])
        if not long:
            return self.transcribe_windows([wave], language)[0]
        options = self.generation_options(language)
        return str(self.pipeline(audio, return_timestamps=True, generate_kwargs=options)["text"])


def keep_cross_attention(model: Any) -> None:
    """Have a beam search leave the keys and values of the audio where they are.

    transformers puts them into the order of the beams after every token. All beams of a window
    hear the same audio, so nothing changes but the time: for Whisper large-v3 half of all.
    """
    prepare = getattr(model, "_prepare_cache_for_generation", None)
    if prepare is None:  # another version of transformers: slower, and as right
        return

    def prepared(generation_config: Any, model_kwargs: dict[str, Any], *more: Any) -> Any:
        cached = prepare(generation_config, model_kwargs, *more)
        cache = getattr(model_kwargs.get("past_key_values"), "cross_attention_cache", None)
        if cache is not None:
            cache.reorder_cache = lambda order: None
        return cached

    model._prepare_cache_for_generation = prepared
