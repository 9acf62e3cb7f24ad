"""SpeechBrain's ECAPA-TDNN, trained on VoxCeleb; its published weights, without its package."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core import weights
from metrics.core.lazy_torch import functional, torch
from metrics.core.precision import spectra
from metrics.core.published_models import HUB, PublishedModel
from metrics.core.weights import Unavailable, rename_weight
from metrics.networks.embeddings.speaker_embedding import SpeakerEmbedding
from metrics.networks.predictors.layers import batch_norm

FILE = "embedding_model.ckpt"
FFT, STEP, BANDS = 400, 160, 80
LEAST_POWER, RANGE_DB = 1e-10, 80.0


class EcapaTdnn(SpeakerEmbedding):
    """The vector of `EncoderClassifier.encode_batch`: 80 mel bands less their means, ECAPA-TDNN."""

    key = "ecapa"
    source = "SpeechBrain, spkrec-ecapa-voxceleb; Desplanques et al. (2020), ECAPA-TDNN"
    published_model = PublishedModel(
        "speechbrain/spkrec-ecapa-voxceleb",
        (FILE,),
        source=HUB,
        licence="Apache 2.0",
        size=83_316_686,
        sha256={FILE: "0575cb64845e6b9a10db9bcb74d5ac32b326b8dc90352671d345e2ee3d0126a2"},
    )
    packages = ("torch",)

    def load(self, device: str = "cpu") -> None:
        """Read the weights of a folder, or of a hub's model, onto `device`."""
        path = weights.locate(*self.models()) / FILE
        self.network = Ecapa(torch.load(path, map_location=device, weights_only=True), SPEECHBRAIN)
        self.weights = weights.hashes([path])

    def _embed(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        with spectra():
            levels = mel_levels(torch.stack(list(waves)))
        return self.network.embed(levels)


def mel_levels(waves: torch.Tensor) -> torch.Tensor:
    """Mel spectra in dB, each band less its mean, (waves, 80, frames), as SpeechBrain's `Fbank`.

    25 ms Hamming windows every 10 ms; 80 dB below the wave's peak at most.
    """
    window = torch.hamming_window(FFT, device=waves.device)
    spectrum = torch.stft(waves, FFT, STEP, window=window, pad_mode="constant", return_complex=True)
    power = mel_filters().to(waves.device) @ spectrum.abs().square()
    levels = 10 * power.clamp_min(LEAST_POWER).log10()
    levels = torch.maximum(levels, levels.amax(dim=(1, 2), keepdim=True) - RANGE_DB)
    return levels - levels.mean(dim=2, keepdim=True)


@functools.cache
def mel_filters() -> Any:
    """Triangles, (80, 201), even on the mel scale, whose right slope is as wide as their left."""
    top = 2595 * torch.log10(torch.tensor(1 + 8_000 / 700))
    hz = 700 * (10 ** (torch.linspace(0, float(top), BANDS + 2) / 2595) - 1)
    centres, widths = hz[1:-1, None], (hz[1:-1] - hz[:-2])[:, None]
    away = (torch.linspace(0, 8_000, FFT // 2 + 1) - centres).abs() / widths
    return (1 - away).clamp_min(0)


State = Mapping[str, "torch.Tensor"]
DILATIONS = (2, 3, 4)  # of the three blocks


@dataclass(frozen=True)
class Dialect:
    """What one code calls the parts, and in what it differs."""

    names: tuple[tuple[str, str], ...]  # its names, and ours
    edges: str  # what convolutions see beyond the ends: "reflect", "constant" (zeros)
    passes_first: bool  # which of a block's parts is not convolved: the first or the last
    least_variance: float


SPEECHBRAIN = Dialect(
    (
        (r"\.(conv|norm)\.\1\.", r".\1."),
        (r"^blocks\.0\.", "first."),
        (r"^blocks\.", "block."),
        (r"\.tdnn1\.", ".before."),
        (r"\.tdnn2\.", ".after."),
        (r"\.res2net_block\.blocks\.", ".part."),
        (r"\.se_block\.conv1\.conv\.", ".squeeze."),
        (r"\.se_block\.conv2\.conv\.", ".excite."),
        (r"\.shortcut\.conv\.", ".shortcut."),
        (r"^mfa\.", "merged."),
        (r"^asp\.tdnn\.", "looked."),
        (r"^asp\.conv\.conv\.", "weighed."),
        (r"^asp\.conv\.", "weighed."),
        (r"^asp_bn\.norm\.", "norm."),
        (r"^fc\.conv\.", "final."),
    ),
    "reflect",
    True,
    1e-12,
)
UNISPEECH = Dialect(
    (
        (r"^layer1\.", "first."),
        (r"^layer2\.", "block.1."),
        (r"^layer3\.", "block.2."),
        (r"^layer4\.", "block.3."),
        (r"\.Conv1dReluBn1\.", ".before."),
        (r"\.Conv1dReluBn2\.", ".after."),
        (r"\.Res2Conv1dReluBn\.convs\.(\d+)\.", r".part.\1.conv."),
        (r"\.Res2Conv1dReluBn\.bns\.(\d+)\.", r".part.\1.norm."),
        (r"\.SE_Connect\.linear1\.", ".squeeze."),
        (r"\.SE_Connect\.linear2\.", ".excite."),
        (r"^conv\.", "merged.conv."),
        (r"^pooling\.linear1\.", "looked.conv."),
        (r"^pooling\.linear2\.", "weighed."),
        (r"^bn\.", "norm."),
        (r"^linear\.", "final."),
        (r"\.bn\.", ".norm."),
    ),
    "constant",
    False,
    1e-9,
)


class Ecapa:
    """The network on the device of its weights; `embed` takes features.

    Source: Desplanques et al. (2020), ECAPA-TDNN.
    """

    def __init__(self, state: State, dialect: Dialect) -> None:
        self.dialect = dialect
        self.state = {rename_weight(name, dialect.names): value for name, value in state.items()}
        needed = ("first.conv.weight", "block.3.excite.weight", "weighed.weight", "final.weight")
        if missing := [name for name in needed if name not in self.state]:
            raise Unavailable(f"these are no weights of ECAPA-TDNN: {', '.join(missing)} not found")

    def embed(self, features: torch.Tensor) -> torch.Tensor:
        """Vectors, (waves, dimensions), of features, (waves, bands, frames)."""
        x = self._layer(features, "first")
        outputs = []
        for number, dilation in enumerate(DILATIONS, 1):
            x = self._block(x, f"block.{number}", dilation)
            outputs.append(x)
        pooled = self._pool(self._layer(torch.cat(outputs, dim=1), "merged"))
        return self._linear(batch_norm(pooled, self.state, "norm"), "final")

    def _layer(self, x: torch.Tensor, name: str, dilation: int = 1) -> torch.Tensor:
        """A convolution that keeps the length, the positive part, and a norm where there is one."""
        kernel = self.state[f"{name}.conv.weight"]
        edge = dilation * (kernel.shape[2] - 1) // 2
        if edge:
            x = functional.pad(x, (edge, edge), self.dialect.edges)
        x = functional.conv1d(x, kernel, self.state[f"{name}.conv.bias"], dilation=dilation).relu()
        normed = f"{name}.norm.weight" in self.state
        return batch_norm(x, self.state, f"{name}.norm") if normed else x

    def _block(self, x: torch.Tensor, name: str, dilation: int) -> torch.Tensor:
        """Convolutions of parts that hear each other, weighed by what the whole is like."""
        inner = self._layer(x, f"{name}.before")
        parts = list(inner.chunk(self._count_convolutions(name) + 1, dim=1))
        untouched = parts.pop(0 if self.dialect.passes_first else -1)
        heard: list[torch.Tensor] = []
        for number, part in enumerate(parts):
            mixed = part + heard[-1] if heard else part
            heard.append(self._layer(mixed, f"{name}.part.{number}", dilation))
        heard.insert(0 if self.dialect.passes_first else len(heard), untouched)
        inner = self._layer(torch.cat(heard, dim=1), f"{name}.after")
        squeezed = self._linear(inner.mean(dim=2), f"{name}.squeeze").relu()
        inner = inner * self._linear(squeezed, f"{name}.excite").sigmoid()[:, :, None]
        if f"{name}.shortcut.weight" in self.state:
            bias = self.state[f"{name}.shortcut.bias"]
            x = functional.conv1d(x, self.state[f"{name}.shortcut.weight"], bias)
        return x + inner

    def _count_convolutions(self, name: str) -> int:
        """How many parts of a block have a convolution."""
        pattern = re.compile(rf"{name}\.part\.\d+\.conv\.weight")
        return sum(pattern.fullmatch(key) is not None for key in self.state)

    def _pool(self, x: torch.Tensor) -> torch.Tensor:
        """Means and deviations over frames by learnt weights, (waves, 2 channels)."""
        seen = x
        if self.state["looked.conv.weight"].shape[1] == 3 * x.shape[1]:
            even = torch.full_like(x[:, :1], 1 / x.shape[2])
            seen = torch.cat([x, *(s[:, :, None].expand_as(x) for s in self._moments(x, even))], 1)
        if "looked.norm.weight" in self.state:
            looked = self._layer(seen, "looked")
        else:  # no positive part in this code
            kernel, bias = (self.state[f"looked.conv.{part}"] for part in ("weight", "bias"))
            looked = functional.conv1d(seen, kernel, bias)
        weights = functional.conv1d(
            looked.tanh(), self.state["weighed.weight"], self.state["weighed.bias"]
        ).softmax(dim=2)
        return torch.cat(self._moments(x, weights), dim=1)

    def _moments(self, x: torch.Tensor, weights: torch.Tensor) -> list[torch.Tensor]:
        mean = (weights * x).sum(dim=2)
        variance = (weights * (x - mean[:, :, None]).square()).sum(dim=2)
        return [mean, variance.clamp_min(self.dialect.least_variance).sqrt()]

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(
            x, self.state[f"{name}.weight"].flatten(1), self.state[f"{name}.bias"]
        )
