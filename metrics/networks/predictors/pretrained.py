"""Networks of transformers that hear waves, with the preprocessor that stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics.core import weights
from metrics.networks.predictors.masking import Masked, similar

if TYPE_CHECKING:
    import torch

WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # the first is taken where both are there
FILES = ("config.json", "preprocessor_config.json", *WEIGHTS)


@dataclass(frozen=True)
class Pretrained:
    """A network on a device, its preprocessor, and its weights (file name -> SHA-256)."""

    network: Any
    features: Any
    weights: dict[str, str]
    device: str
    masked: Masked

    @property
    def similar(self) -> float:
        """How much longer than the shortest the waves of a batch may be."""
        return similar(self.network.config, self.device)

    def heard(self, waves: Sequence[Any], rate_hz: int, **more: Any) -> Any:
        """What the network gives of waves, (samples,) each, as long as `similar` allows."""
        return self.masked([self.ready(wave, rate_hz) for wave in waves], **more)

    def ready(self, wave: Any, rate_hz: int) -> torch.Tensor:
        """What the network gets of a wave: normalised by itself, so that company is no matter."""
        given = np.asarray(wave, np.float32)
        ready = self.features([given], sampling_rate=rate_hz, return_tensors="pt")
        values: torch.Tensor = ready["input_values"][0]
        return values.to(self.device)


def pretrained(
    model: str, kind: str, device: str, features: str = "AutoFeatureExtractor"
) -> Pretrained:
    """A network of the class ``kind`` and its preprocessor from a folder or a hub's model.

    Raises `weights.Unavailable` when a file is missing, with the place to put it.
    """
    weights.need_package("transformers", "transformers")
    import transformers

    place = weights.model_files(model, FILES, "of the last two one is enough")
    given: Any = transformers  # its classes are typed for other uses
    with weights.silent_transformers():
        try:
            hearing = getattr(given, features).from_pretrained(place)
            network = getattr(given, kind).from_pretrained(place)
        except OSError as error:
            raise weights.Unavailable(f"no weights: {place} is incomplete ({error})") from error
    found = [place / name for name in WEIGHTS if (place / name).is_file()][:1]
    network = network.to(device).eval()
    return Pretrained(network, hearing, weights.hashes(found), device, Masked(network))
