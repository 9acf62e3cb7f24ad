"""Audiobox Aesthetics: production quality, with enjoyment, usefulness and complexity.

The network is WavLM's layers in four mixtures, and a perceptron on each.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metrics.core import weights
from metrics.core.lazy_torch import functional, torch
from metrics.core.metric import Input, Output, Sharing, check_bounds
from metrics.core.precision import Precisions
from metrics.core.published_models import HUB, PublishedModel
from metrics.networks.predictors import chunks
from metrics.networks.predictors.wavlm_original import (
    can_be_cut,
    frames_of,
    layers_of,
    samples_of,
    wavlm_of,
    zeros_behind,
)

AXES = ("PQ", "CE", "CU", "PC")
FILES = ("config.json", "model.safetensors")
MODEL = PublishedModel(
    "facebook/audiobox-aesthetics", FILES, source=HUB, licence="CC BY 4.0", size=400_000_000
)
INSIDE = "wavlm_model."
WINDOW_S = 10.0  # the network always hears as much: shorter waves end in zeros
EPS = 1e-5  # of layer normalisation


@dataclass(frozen=True)
class AudioboxParameters(chunks.ChunkRule):
    """The model, a folder or a hub's name; how long clips are cut, 10 s at most."""

    rest_s: float = 0.5
    model: str = MODEL.name

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bounds(self, "chunk_s", 1, WINDOW_S)


class Audiobox(chunks.ChunkedMetric):
    """What a network predicts that people say of any sound, 1 to 10, in four respects."""

    key = "audiobox_pq"
    version = "1"
    cpu_s_per_s = 0.15
    description = "Audiobox Aesthetics: production quality (clear, faithful, without flaws)"
    title = "Audiobox PQ"
    source = "Tjandra et al. (2025), Meta Audiobox Aesthetics; facebook/audiobox-aesthetics"
    unit = "points"
    higher_is_better = True
    more_outputs = tuple(
        Output(
            f"audiobox_{axis.lower()}",
            f"Audiobox: {description}",
            "points",
            higher_is_better=direction,
            title=f"Audiobox {axis}",
        )
        for axis, description, direction in (
            ("CE", "content enjoyment", True),
            ("CU", "content usefulness", True),
            ("PC", "production complexity (how much goes on)", None),
        )
    )
    packages = ("torch", "transformers", "safetensors")
    sharing = Sharing(Input.WINDOWS, why="of 10 s, to which every chunk is filled up")
    precisions = Precisions(0.002, 0.02, 0.001, "small random weights")
    at_once_s = {"cpu": WINDOW_S, "cuda": 240.0}
    similar = {"cpu": 1.0, "cuda": math.inf}  # all are filled up: on a processor nothing is gained
    published_model = MODEL
    parameters_type = AudioboxParameters
    parameters: AudioboxParameters

    def load(self, device: str = "cpu") -> None:
        """Load the network of a folder, or of a hub, onto `device`."""
        super().load(device)
        self.network = AudioboxNetwork(weights.locate(*self.models()), device)
        self.weights = self.network.weights

    def compilable(self) -> Sequence[tuple[Any, str]]:
        """The network, whose input has one length."""
        return [(self.network, "wavlm")]

    def predict(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        return self.network.predict(batch, round(WINDOW_S * self.sample_rate_hz))


class AudioboxNetwork:
    """A checkpoint on a device; `predict` takes waves of 10 s or less."""

    def __init__(self, place: Path, device: str) -> None:
        import safetensors.torch

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
        """The values of `AXES`, (waves, 4), of waves, (samples up to `window`,) each."""
        frames = frames_of(self.wavlm, window)
        heard = [min(-(-len(wave) // (window // frames)), frames) for wave in waves]
        kept = window
        if can_be_cut(self.wavlm):  # frames of zeros alone are not heard: without them
            longest = max(map(len, waves)) + self.wavlm.config.conv_kernel[0]
            kept = min(window, max(longest, samples_of(self.wavlm, max(heard))))
            frames = frames_of(self.wavlm, kept)
        filled = torch.stack([functional.pad(w, (0, kept - len(w))) for w in waves])
        masked = None if min(heard) == frames else heard
        with zeros_behind(self.wavlm, window) if kept < window else contextlib.nullcontext():
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
            values.append(apply_layers(own, mixed)[:, 0] * std + mean)
        return torch.stack(values, dim=1)


def perceptron(state: dict[str, torch.Tensor], start: str) -> list[list[torch.Tensor]]:
    """Weight and bias of each layer under a name, in order: matrices, norms of their values."""
    matches = (re.match(rf"{re.escape(start)}(\d+)\.", name) for name in state)
    numbers = sorted({int(match[1]) for match in matches if match})
    return [[state[f"{start}{n}.{part}"] for part in ("weight", "bias")] for n in numbers]


def apply_layers(layers: list[list[torch.Tensor]], x: torch.Tensor) -> torch.Tensor:
    """What a perceptron makes of vectors; GELU before each matrix but the first."""
    for number, (weight, bias) in enumerate(layers):
        if weight.ndim == 1:
            x = functional.layer_norm(x, weight.shape, weight, bias, EPS)
            continue
        x = functional.linear(functional.gelu(x) if number else x, weight, bias)
    return x
