"""How well a clip fits a caption: cosine of CLAP's embeddings of audio and text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import (
    Accepts,
    Input,
    Metric,
    ParameterError,
    Parameters,
    Score,
    Sharing,
    Take,
    check_bounds,
    undefined,
)
from metrics.core.precision import Precisions
from metrics.core.published_models import HUB, PublishedModel
from metrics.networks.predictors import chunks
from metrics.networks.predictors.predictor import exact_inference

MODEL = PublishedModel(
    "laion/clap-htsat-unfused",
    ("config.json", "model.safetensors|*.safetensors|pytorch_model.bin"),
    ("*.json", "*.txt"),
    source=HUB,
    licence="Apache 2.0",
)
LONG = ("mean", "first", "centre")
SHORTEST_S = 0.1  # of audio
AT_ONCE = 8  # chunks of at most ten seconds


@dataclass(frozen=True)
class ClapParameters(Parameters):
    """The model, and what is heard of a clip that is longer than the model's window."""

    model: str = MODEL.name
    long: str = "mean"
    shortest_tail_s: float = 1.0  # a shorter rest of a long clip is left out

    def __post_init__(self) -> None:
        if not self.model:
            raise ParameterError("model is empty; give a folder or a hub name")
        if self.long not in LONG:
            raise ParameterError(f"long is {self.long!r}; it must be {', '.join(LONG)}")
        check_bounds(self, "shortest_tail_s", 0)


class Clap(Metric):
    """Cosine of the embeddings of a caption and of the speech, from a frozen CLAP model."""

    key = "clap"
    version = "1"
    sample_rate_hz = 48_000
    description = "Cosine of CLAP's embeddings of a clip and of its caption"
    title = "CLAP"
    source = "CLAP: Wu et al. (2023), LAION; as a score of speech: NVV-SuperBench (2026)"
    low, high = -1.0, 1.0
    higher_is_better = True
    sharing = Sharing(Input.WINDOWS)
    precisions = Precisions(0.002, 0.02, 0.001, "small random weights")
    needs = ("attributes.caption",)
    packages = ("torch", "numpy", "transformers")
    accepts = Accepts(shortest_s=SHORTEST_S)
    published_model = MODEL
    parameters_type = ClapParameters
    parameters: ClapParameters

    def load(self, device: str = "cpu") -> None:
        """Load network, feature extractor and tokenizer from a folder or the hub."""
        super().load(device)
        weights.need_package("transformers", "transformers")
        import transformers

        library: Any = transformers  # its classes are typed for other uses
        folder = weights.locate(*self.models())
        self.weights = weights.model_hashes(folder, ["*.safetensors", "pytorch_model.bin"])
        with weights.silent_transformers():
            self.network: Any = library.ClapModel.from_pretrained(folder).to(device).eval()
            self.hearing: Any = library.AutoFeatureExtractor.from_pretrained(folder)
            self.reading: Any = library.AutoTokenizer.from_pretrained(folder)
        if self.hearing.sampling_rate != self.sample_rate_hz:
            raise weights.Unavailable(
                f"{self.parameters.model} hears {self.hearing.sampling_rate} Hz, "
                f"this metric gives {self.sample_rate_hz} Hz"
            )

    def compilable(self) -> Sequence[tuple[Any, str]]:
        """The network, whose input has one length."""
        return [(self.network, "get_audio_features")]

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One cosine per take; the chunks of all takes go through the network in small batches."""
        reasons = [self.reason(take) for take in takes]
        usable = [take for take, reason in zip(takes, reasons, strict=True) if not reason]
        chunks = [self.chunks(take.wave) for take in usable]
        heard = iter(self.embed_audio([chunk for part in chunks for chunk in part]))
        scores = iter(
            self.summary(take.material.attribute("caption"), part, [next(heard) for _ in part])
            for take, part in zip(usable, chunks, strict=True)
        )
        return [undefined(reason) if reason else next(scores) for reason in reasons]

    def reason(self, take: Take) -> str:
        """Why a take has no value; empty when it has one."""
        if not take.material.attribute("caption"):
            return "no caption: the clip has no attribute caption"
        if len(take.wave) < SHORTEST_S * self.sample_rate_hz:
            return f"too short: less than {SHORTEST_S} s"
        return ""

    def chunks(self, wave: torch.Tensor) -> list[torch.Tensor]:
        """The parts of a wave that are heard, each at most as long as the model's window."""
        window = int(self.hearing.nb_max_samples)
        if len(wave) <= window or self.parameters.long == "first":
            return [wave[:window]]
        if self.parameters.long == "centre":
            start = (len(wave) - window) // 2
            return [wave[start : start + window]]
        tail = math.ceil(self.parameters.shortest_tail_s * self.sample_rate_hz)
        return [wave[p.start : p.end] for p in chunks.cut(0, len(wave), window, tail)]

    def embed_audio(self, chunks: list[torch.Tensor]) -> list[torch.Tensor]:
        """A unit embedding of each chunk; shorter ones are repeated up to the model's window."""
        embeddings: list[torch.Tensor] = []
        for first in range(0, len(chunks), AT_ONCE):
            batch = [c.detach().cpu().float().numpy() for c in chunks[first : first + AT_ONCE]]
            features = self.hearing(batch, sampling_rate=self.sample_rate_hz, return_tensors="pt")
            with exact_inference():
                out = self.network.get_audio_features(
                    input_features=features["input_features"].to(self.device),
                    is_longer=torch.zeros(len(batch), 1, dtype=torch.bool, device=self.device),
                )
            embeddings += list(out.pooler_output.float().cpu())
        return embeddings

    def read(self, caption: str) -> torch.Tensor:
        """The unit embedding of a caption, cut to what the text model takes."""
        most = self.network.config.text_config.max_position_embeddings - 2
        tokens = self.reading(caption, truncation=True, max_length=most, return_tensors="pt")
        with exact_inference():
            out = self.network.get_text_features(**tokens.to(self.device))
        embedding: torch.Tensor = out.pooler_output[0].float().cpu()
        return embedding

    def summary(self, caption: str, chunks: list[torch.Tensor], heard: list[torch.Tensor]) -> Score:
        """The mean cosine over a clip's chunks, each by its length."""
        caption_vector = self.read(caption).double()
        cosines = [float(caption_vector @ embedding.double()) for embedding in heard]
        sizes = [len(chunk) for chunk in chunks]
        mean = sum(c * size for c, size in zip(cosines, sizes, strict=True)) / sum(sizes)
        heard_s = sum(sizes) / self.sample_rate_hz
        return Score(mean, "", {"chunk_cosines": cosines, "heard_s": heard_s})
