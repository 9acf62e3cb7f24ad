"""Paraformer and other models by FunASR."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from metrics.core import weights
from metrics.core.published_models import FUNASR_LICENCE, HUB, PublishedModel
from metrics.networks.recognisers.recogniser import Recogniser

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MODEL = PublishedModel(
    "funasr/paraformer-zh",  # NVV-SuperBench: paraformer-zh for Chinese
    ("*.pt",),
    ("*.yaml", "*.json", "*.mvn", "seg_dict", "*.model"),
    source=HUB,
    licence=FUNASR_LICENCE,
)
TAG = re.compile(r"<\|[^|<>]*\|>")  # such as <|zh|>, which SenseVoice writes before its text


class FunAsr(Recogniser):
    """A model of FunASR by hub name or folder; the language is the model's own."""

    key = "funasr"
    published_model = MODEL
    default_model = MODEL.name
    packages = ("funasr",)
    network: Any = None

    def load(self) -> None:
        """Load the network from a folder, without FunASR's own search for updates."""
        weights.need_package("funasr", "funasr")
        from funasr import AutoModel

        folder = weights.locate(*self.models())
        self.weights = weights.model_hashes(folder, ["*.pt"])
        self.network = AutoModel(
            model=str(folder), device=self.device, disable_update=True, disable_pbar=True
        )

    def transcribe(self, wave: npt.NDArray[np.float32], language: str) -> str:
        """The whole wave at once, one clip per batch."""
        parts = self.network.generate(input=wave, fs=16_000, batch_size=1)
        return TAG.sub("", " ".join(str(part["text"]) for part in parts))
