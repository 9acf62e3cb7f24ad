"""Networks of transformers that hear waves, with the preprocessor that stands beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics import weights

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

    def values(self, waves: Sequence[Any], rate_hz: int) -> torch.Tensor:
        """What the network gets of waves, (samples,) each and equally long: (waves, samples)."""
        arrays = [np.asarray(wave, np.float32) for wave in waves]
        ready = self.features(arrays, sampling_rate=rate_hz, return_tensors="pt")
        values: torch.Tensor = ready["input_values"]
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
    return Pretrained(network.to(device).eval(), hearing, weights.hashes(found), device)
