"""A predictor in one TorchScript file: waves in, one score per wave out."""

from __future__ import annotations

import warnings

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.published_models import HUB, PublishedModel
from metrics.networks.predictors.predictor import Predictor


class TorchScript(Predictor):
    """Any scripted module; by default UTMOS22 strong as utmos-pytorch publishes it."""

    key = "torchscript"
    source = "the scripted module; by default UTMOS22 strong, as published by utmos-pytorch"
    published_model = PublishedModel(
        "Blinorot/UTMOS-PyTorch/utmos_scripted.pt",
        source=HUB,
        licence="UTMOS22: MIT; for the file see its page",
    )
    packages = ("torch",)

    def load(self, device: str = "cpu") -> None:
        """Load the file onto `device`."""
        super().load(device)
        path = weights.locate(self.file)
        self.weights = weights.hashes([path])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # torch would rather export
                loaded = torch.jit.load(str(path), map_location=device)  # type: ignore[no-untyped-call]
            self.model = loaded.eval()
        except RuntimeError as error:
            raise weights.Unavailable(f"{path} is no TorchScript file that torch reads") from error

    def predict(self, waves: torch.Tensor) -> torch.Tensor:
        """One score per wave, (waves,)."""
        rate = (16_000,) if self.gives_rate else ()
        scores: torch.Tensor = self.model(self.laid_out(waves), *rate)
        return scores.reshape(len(waves))
