"""Hidden states of networks of transformers that hear waves; a feature names model and layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from metrics.core import shared_work, weights
from metrics.distribution.feature import Array, Feature, pieces
from metrics.networks.predictors.inference import exact
from metrics.networks.predictors.pretrained import WEIGHTS

if TYPE_CHECKING:
    import torch

SHORTEST = 1_600  # samples: 0.1 s
EPS = 1e-7  # of the wave's variance, as in the authors' preprocessors


class HiddenStates(Feature):
    """What a layer says of each frame of a clip; the wave goes in with mean 0 and variance 1."""

    kind: ClassVar[str] = ""  # the class of transformers
    layer: ClassVar[int] = -1

    def load(self, device: str = "cpu") -> None:
        """Load the network of a folder, or of a hub, onto `device`."""
        self.device = device
        self.network, self.weights = network_of(self.model, self.kind, device)
        layers = self.network.config.num_hidden_layers
        if self.layer > layers:
            raise weights.Unavailable(f"{self.model} has {layers} layers, not {self.layer}")

    def frames(self, wave: torch.Tensor) -> Array:
        """(frames, size) of a wave, (samples,) at 16 kHz."""
        name = ("hidden states", self.model, self.layer)
        heard: Array = shared_work.once(wave, name, lambda: self._heard(wave))
        return heard

    def _heard(self, wave: torch.Tensor) -> Array:
        found = []
        for piece in pieces(wave, self.rate_hz, SHORTEST):
            given = piece.float().to(self.device)
            given = (given - given.mean()) / (given.var(correction=0) + EPS).sqrt()
            with exact():
                states = self.network(given[None], output_hidden_states=True).hidden_states
            found.append(states[self.layer][0].double().cpu().numpy())
        return np.concatenate(found) if found else np.empty((0, 1))

    def of(self, wave: torch.Tensor) -> Array:
        """A vector for each frame."""
        return self.frames(wave)


def network_of(model: str, kind: str, device: str) -> tuple[Any, dict[str, str]]:
    """A network of transformers on a device, and the SHA-256 of its file of weights."""
    weights.need_package("transformers", "transformers")
    import transformers

    place = weights.model_files(model, ("config.json", *WEIGHTS), "of the last two one is enough")
    given: Any = transformers  # its classes are typed for other uses
    with weights.silent_transformers():
        try:
            network = getattr(given, kind).from_pretrained(place)
        except OSError as error:
            raise weights.Unavailable(f"no weights: {place} is incomplete ({error})") from error
    found = [place / name for name in WEIGHTS if (place / name).is_file()][:1]
    return network.to(device).eval(), weights.hashes(found)
