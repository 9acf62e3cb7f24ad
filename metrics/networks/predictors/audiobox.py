"""The network of Audiobox Aesthetics: WavLM's layers in four mixtures, and a perceptron on each."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metrics.core import weights
from metrics.networks.predictors.wavlm_original import frames_of, layers_of, wavlm_of

if TYPE_CHECKING:
    import torch

AXES = ("CE", "CU", "PC", "PQ")
FILES = ("config.json", "model.safetensors")
INSIDE = "wavlm_model."
WINDOW_S = 10.0  # the network always hears as much: shorter waves end in zeros
EPS = 1e-5  # of layer normalisation


class AudioboxNetwork:
    """A checkpoint on a device; `predict` takes waves of 10 s or less."""

    def __init__(self, model: str, device: str) -> None:
        import safetensors.torch

        place = weights.model_files(model, FILES)
        try:
            config = json.loads((place / FILES[0]).read_text(encoding="utf-8"))
            state = safetensors.torch.load_file(place / FILES[1], device=device)
            self.scales = [
                (config["target_transform"][axis]["std"], config["target_transform"][axis]["mean"])
                for axis in AXES
            ]
            self.shares = [state[f"layer_weights.{axis}"].softmax(dim=0) for axis in AXES]
        except (OSError, KeyError, ValueError) as error:
            raise weights.Unavailable(f"no weights: {place} is incomplete ({error!r})") from error
        self.normalised = bool(config.get("normalize_embed", True))
        inside = {k.removeprefix(INSIDE): v for k, v in state.items() if k.startswith(INSIDE)}
        self.wavlm = wavlm_of(inside, device)
        self.perceptrons = [perceptron(state, f"proj_layer.{axis}.") for axis in AXES]
        self.weights = weights.hashes([place / FILES[1]])

    def predict(self, waves: Sequence[torch.Tensor], window: int) -> torch.Tensor:
        """The four values, (waves, 4), of waves, (samples up to `window`,) each."""
        import torch
        from torch.nn import functional

        filled = torch.stack([functional.pad(w, (0, window - len(w))) for w in waves])
        frames = frames_of(self.wavlm, window)
        heard = [min(-(-len(wave) // (window // frames)), frames) for wave in waves]
        masked = None if min(heard) == frames else heard  # frames of zeros alone are not heard
        layers = layers_of(self.wavlm, filled, masked)
        counts = torch.tensor(heard, device=filled.device)[:, None]
        inside = (torch.arange(frames, device=filled.device) < counts)[..., None]
        means = torch.stack([(layer * inside).sum(dim=1) / counts for layer in layers])
        values = []
        for shares, own, (std, mean) in zip(
            self.shares, self.perceptrons, self.scales, strict=True
        ):
            mixed = torch.einsum("lbc,l->bc", means[: len(shares)], shares)
            if self.normalised:
                mixed = functional.normalize(mixed, dim=-1)
            values.append(applied(own, mixed)[:, 0] * std + mean)
        return torch.stack(values, dim=1)


def perceptron(state: dict[str, torch.Tensor], start: str) -> list[list[torch.Tensor]]:
    """Weight and bias of each layer under a name, in order: matrices, norms of their values."""
    found = (re.match(rf"{re.escape(start)}(\d+)\.", name) for name in state)
    numbers = sorted({int(match[1]) for match in found if match})
    return [[state[f"{start}{n}.{part}"] for part in ("weight", "bias")] for n in numbers]


def applied(layers: list[list[torch.Tensor]], x: torch.Tensor) -> torch.Tensor:
    """What a perceptron makes of vectors; GELU before each matrix but the first."""
    from torch.nn import functional

    for number, (weight, bias) in enumerate(layers):
        if weight.ndim == 1:
            x = functional.layer_norm(x, weight.shape, weight, bias, EPS)
            continue
        x = functional.linear(functional.gelu(x) if number else x, weight, bias)
    return x
