"""Whether a clip sounds like the emotion that was asked for, by emotion2vec's nine classes.

The network needs no package: convolutions, positions, transformer blocks with ALiBi. Names and
sizes are those of the authors' checkpoints, and so is the order of what is computed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metrics.core import weights
from metrics.core.lazy_torch import functional, torch
from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    Input,
    Metric,
    Score,
    Sharing,
    Take,
    undefined,
)
from metrics.core.published_models import FUNASR_LICENCE, HUB, PublishedModel
from metrics.networks.predictors import chunks
from metrics.suite.emotion import emotion_score

AT_ONCE_S = 60.0
FILES = ("config.yaml", "model.pt", "tokens.txt")
MODEL = PublishedModel(
    "emotion2vec/emotion2vec_plus_base", FILES[:2], FILES[2:], source=HUB, licence=FUNASR_LICENCE
)


@dataclass(frozen=True)
class Emotion2vecParameters(chunks.ChunkRule):
    """The model, a folder or a hub's name; longer clips are cut, and probabilities averaged."""

    chunk_s: float = 30.0
    model: str = MODEL.name


class Emotion2vec(Metric):
    """Probability of the label in the column ``emotion``; all probabilities are in the details."""

    key = "emotion2vec"
    version = "1"
    description = "Probability that emotion2vec+ gives to the emotion asked for, of nine classes"
    title = "emotion2vec+"
    source = "Ma et al. (2024), emotion2vec; emotion2vec_plus_base, or others by `model`"
    low = 0.0
    high = 1.0
    higher_is_better = True
    needs = ("attributes.emotion",)
    accepts = Accepts(WIDE_BAND_HZ, chunks.SHORTEST_S)
    packages = ("torch", "PyYAML")
    sharing = Sharing(Input.EQUAL, why="convolutions of positions would hear what is filled up")
    published_model = MODEL
    parameters_type = Emotion2vecParameters
    parameters: Emotion2vecParameters

    def load(self, device: str = "cpu") -> None:
        """Load the network of a folder, or of a hub, onto `device`."""
        super().load(device)
        model = self.parameters.model
        self.network = Emotion2vecNetwork(weights.locate(*self.models()), device)
        self.weights = self.network.weights
        if not self.network.classes:
            raise weights.Unavailable(f"{model} has no classes: take emotion2vec_plus_base")

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One probability per take that says an emotion which the model has."""
        averages = chunks.average_chunks(
            [take.wave for take in takes],
            self.parameters,
            AT_ONCE_S,
            self.network.probabilities,
        )
        return [self._score(take, each) for take, each in zip(takes, averages, strict=True)]

    def _score(self, take: Take, average: chunks.ChunkAverage) -> Score:
        if average.values is None:
            return average.undefined or undefined("silent")
        classes = self.network.classes
        probabilities = dict(zip(classes, map(float, average.values), strict=True))
        return emotion_score(take, probabilities, **average.details)


STRIDES = (5, 2, 2, 2, 2, 2, 2)  # of the convolutions of every published emotion2vec
OUTER = r"^(module\.|d2v_model\.)+"  # what trainers put before names
AUDIO = "modality_encoders.AUDIO."
STATES = ("state_dict", "model_state_dict", "model")  # where a checkpoint keeps its weights
UNUSED = "unuse"  # how the authors mark a class that was not trained
NORM_EPS = 1e-5  # of what is normalised outside the blocks
State = dict[str, "torch.Tensor"]


class Emotion2vecNetwork:
    """A checkpoint on a device: `frames` of waves, and the probabilities of its classes."""

    def __init__(self, place: Path, device: str) -> None:
        import yaml

        try:
            conf = yaml.safe_load((place / FILES[0]).read_text(encoding="utf-8"))["model_conf"]
            self.eps = float(conf.get("norm_eps", NORM_EPS))
            self.normalised = bool(conf["normalize"])
            self.state = state_of(place / FILES[1], device)
        except (OSError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
            raise weights.Unavailable(f"no weights: {place} is incomplete ({error!r})") from error
        self.extra, self.alibi = (
            self.required_weight(f"{AUDIO}extra_tokens"),
            self.required_weight(f"{AUDIO}alibi_scale"),
        )
        self.heads = self.alibi.shape[2]
        self.norm_first = f"{AUDIO}context_encoder.norm.weight" not in self.state
        self.prenet = self._count_numbered(
            rf"{re.escape(AUDIO)}context_encoder\.blocks\.(\d+)\.norm1"
        )
        self.depth = self._count_numbered(r"blocks\.(\d+)\.norm1")
        self.convolutions = self._count_numbered(
            rf"{re.escape(AUDIO)}local_encoder\.conv_layers\.(\d+)"
        )
        if self.convolutions != len(STRIDES):
            difference = f"{self.convolutions} convolutions, not {len(STRIDES)}"
            raise weights.Unavailable(f"{place} is no emotion2vec: {difference}")
        self.classes = classes_of(place / FILES[2], self.state.get("proj.weight"))
        self.weights = weights.hashes([place / FILES[1]])

    def frames(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        """Vectors, (waves, frames, size), of equally long waves, (samples,) at 16 kHz."""
        batch = torch.stack(list(waves))
        if self.normalised:
            batch = functional.layer_norm(batch, batch.shape[1:])
        x = self._add_positions(self._local(batch))
        bias = functional.pad(self._distances(x.shape[1], x), (self.extra.shape[1], 0) * 2)
        x = torch.cat([self.extra.expand(len(x), -1, -1), x], dim=1)
        scales = self.alibi.clamp_min(0)
        outside = (f"{AUDIO}context_encoder.", self.prenet), ("", self.depth)
        number = 0
        for start, count in outside:
            if start and not self.norm_first:
                x = self._norm(x, f"{start}norm")
            for layer in range(count):
                scale = scales[number] if len(scales) > 1 else scales[0]
                x = self._block(x, f"{start}blocks.{layer}.", bias * scale)
                number += 1
        if self.norm_first:
            x = self._norm(x, "norm")
        return x[:, self.extra.shape[1] :]

    def probabilities(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        """Of each wave the probability of each of `classes`, (waves, classes)."""
        scores = self._linear(self.frames(waves).mean(dim=1), "proj")
        trained = list(self.classes.values())
        return scores[:, trained].softmax(dim=-1)

    def _local(self, waves: torch.Tensor) -> torch.Tensor:
        x = waves[:, None]
        for layer, stride in enumerate(STRIDES):
            name = f"{AUDIO}local_encoder.conv_layers.{layer}."
            x = functional.conv1d(x, self.required_weight(f"{name}0.weight"), stride=stride)
            x = self._norm(x.transpose(1, 2), f"{name}2.1", NORM_EPS).transpose(1, 2)
            x = functional.gelu(x)
        normal = self._norm(x.transpose(1, 2), f"{AUDIO}project_features.1", NORM_EPS)
        return self._linear(normal, f"{AUDIO}project_features.2")

    def _add_positions(self, x: torch.Tensor) -> torch.Tensor:
        name = f"{AUDIO}relative_positional_encoder."
        positions = x.transpose(1, 2)
        for layer in range(1, self._count_numbered(rf"{re.escape(name)}(\d+)\.0\.weight", 1) + 1):
            kernel = self.required_weight(f"{name}{layer}.0.weight")
            width, groups = kernel.shape[2], positions.shape[1] // kernel.shape[1]
            bias = self.required_weight(f"{name}{layer}.0.bias")
            positions = functional.conv1d(
                positions, kernel, bias, padding=width // 2, groups=groups
            )[..., : x.shape[1]]
            normal = functional.layer_norm(positions.transpose(1, 2), kernel.shape[:1])
            positions = functional.gelu(normal.transpose(1, 2))
        return x + positions.transpose(1, 2)

    def _distances(self, frames: int, like: torch.Tensor) -> torch.Tensor:
        """How attention falls with distance, (heads, frames, frames). Source: Press et al. 2022."""
        at = torch.arange(frames, device=like.device)
        slopes = torch.tensor(slopes_of(self.heads), dtype=like.dtype, device=like.device)
        return -slopes[:, None, None] * (at - at[:, None]).abs()

    def _block(self, x: torch.Tensor, name: str, bias: torch.Tensor) -> torch.Tensor:
        if self.norm_first:
            x = x + self._attention(self._norm(x, f"{name}norm1"), name, bias)
            inner = self._perceptron(self._norm(x, f"{name}norm2"), name)
            return inner + inner  # as the authors' code has it, without what went in
        x = self._norm(x + self._attention(x, name, bias), f"{name}norm1")
        return self._norm(x + self._perceptron(x, name), f"{name}norm2")

    def _attention(self, x: torch.Tensor, name: str, bias: torch.Tensor) -> torch.Tensor:
        waves, frames, size = x.shape
        joined = self._linear(x, f"{name}attn.qkv")
        parts = joined.reshape(waves, frames, 3, self.heads, size // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        near = query * (size // self.heads) ** -0.5 @ key.transpose(-2, -1) + bias
        heard = (near.softmax(dim=-1) @ value).transpose(1, 2).reshape(waves, frames, size)
        return self._linear(heard, f"{name}attn.proj")

    def _perceptron(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return self._linear(functional.gelu(self._linear(x, f"{name}mlp.fc1")), f"{name}mlp.fc2")

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(
            x, self.required_weight(f"{name}.weight"), self.required_weight(f"{name}.bias")
        )

    def _norm(self, x: torch.Tensor, name: str, eps: float | None = None) -> torch.Tensor:
        weight, bias = self.required_weight(f"{name}.weight"), self.required_weight(f"{name}.bias")
        return functional.layer_norm(x, weight.shape, weight, bias, eps or self.eps)

    def required_weight(self, name: str) -> torch.Tensor:
        """A weight by its name; Unavailable when the checkpoint has none."""
        if name not in self.state:
            raise weights.Unavailable(f"these are no weights of emotion2vec: {name} not found")
        return self.state[name]

    def _count_numbered(self, pattern: str, first: int = 0) -> int:
        """How many numbers there are at a place of the weights' names, from the first on."""
        numbers = {int(match[1]) for name in self.state if (match := re.match(pattern, name))}
        if numbers != set(range(first, first + len(numbers))) or not numbers:
            raise weights.Unavailable(f"these are no weights of emotion2vec: {pattern} not found")
        return len(numbers)


def state_of(path: Path, device: str) -> State:
    """The weights of a checkpoint by the authors' names, without what trainers put before them."""
    try:
        stored: Any = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:
        raise weights.Unavailable(f"{path} is no such checkpoint: {error}") from error
    for inside in STATES:
        stored = stored.get(inside, stored)
    named = {re.sub(OUTER, "", name): value for name, value in stored.items()}
    return {name: v.float() for name, v in named.items() if isinstance(v, torch.Tensor)}


def classes_of(path: Path, head: torch.Tensor | None) -> dict[str, int]:
    """The trained classes and their places, from tokens.txt: "生气/angry" is angry.

    Empty where the checkpoint has no classes (emotion2vec_base).
    """
    if head is None:
        return {}
    try:
        lines = path.read_text(encoding="utf-8").split()
    except OSError as error:
        raise weights.Unavailable(f"no labels: {path} is missing; put it there") from error
    if len(lines) != len(head):
        raise weights.Unavailable(f"{path} names {len(lines)} labels, the weights have {len(head)}")
    named = [line.rpartition("/")[2].lower().replace("<unk>", "unknown") for line in lines]
    return {name: place for place, name in enumerate(named) if not name.startswith(UNUSED)}


def slopes_of(heads: int) -> list[float]:
    """By how much each head's attention falls per frame: powers of 2 to -8, and those between."""
    whole = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (head + 1) / whole) for head in range(whole)]
    between = [2 ** (-4 * (head + 1) / whole) for head in range(0, 2 * whole, 2)]
    return slopes + between[: heads - whole]
