"""SQUIM: PESQ, STOI and SI-SDR predicted without the reference that they are defined by."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from metrics.core import weights
from metrics.core.lazy_torch import functional, torch
from metrics.core.metric import Input, Output, Sharing
from metrics.core.model_hosts import torch_cache
from metrics.core.precision import ANY_LENGTH, Precisions
from metrics.core.published_models import PublishedModel
from metrics.networks.predictors import chunks

TORCHAUDIO = "https://download.pytorch.org/torchaudio/models"
SHA256 = "2c54586fea83fb5eb5394d710038ee89f55cab7011a5bf730bebed4c8777e828"


def torchaudio_file(name: str, sha256: str = "", **facts: Any) -> PublishedModel:
    """A file of weights of torchaudio, which may lie in torch's cache."""
    return PublishedModel(
        name,
        source=f"{TORCHAUDIO}/{name}",
        sha256={name: sha256} if sha256 else {},
        **facts,
        cached=str(torch_cache() / "torchaudio/models" / name),
    )


MODEL = torchaudio_file(
    "squim_objective_dns2020.pth", licence="CC BY 4.0", size=29_584_237, sha256=SHA256
)
CPU_S_PER_S, CPU_S_PER_S2 = 0.12, 0.0095  # as `Metric.cpu_s_per_s`


@dataclass(frozen=True)
class SquimParameters(chunks.ChunkRule):
    """How long clips are cut (LFS-Bench took whole files: chunk_s = 0), and the file of weights."""

    model: str = MODEL.name


class SquimPesq(chunks.ChunkedMetric):
    """Predicted wide-band PESQ (LFS-Bench: sound fidelity), with STOI and SI-SDR."""

    key = "squim_pesq"
    version = "1"
    description = (
        "Wide-band PESQ predicted by SQUIM without a reference (LFS-Bench: sound fidelity)"
    )
    title = "SQUIM PESQ"
    source = "Kumar et al. (2023), TorchAudio-SQUIM; torchaudio's SQUIM_OBJECTIVE and its weights"
    unit = "MOS-LQO"
    low = 1.0
    high = 4.644  # P.862.2 of a raw 4.5
    higher_is_better = True
    more_outputs = (
        Output(
            "squim_stoi",
            "STOI predicted by SQUIM without a reference",
            "",
            0.0,
            1.0,
            True,
            title="SQUIM STOI",
        ),
        Output(
            "squim_si_sdr",
            "SI-SDR predicted by SQUIM without a reference",
            "dB",
            higher_is_better=True,
            title="SQUIM SI-SDR",
        ),
    )
    sharing = Sharing(Input.EQUAL, why="no mask, and the network hears a chunk both ways")
    precisions = Precisions(0.01, 0.1, None, "random weights", ANY_LENGTH)
    packages = ("torch", "torchaudio", "numpy")
    at_once_s = {"cpu": 10.0, "cuda": 120.0}
    published_model = MODEL
    parameters_type = SquimParameters
    parameters: SquimParameters

    def expected_cpu_s(self, clip_s: float) -> float:
        """CPU seconds of a clip, per second of it more where longer pieces go in: attention."""
        piece_s = min(clip_s, self.parameters.chunk_s or clip_s)
        return clip_s * (CPU_S_PER_S + CPU_S_PER_S2 * piece_s)

    def load(self, device: str = "cpu") -> None:
        """Build torchaudio's network with its weights, from the models folder or fetched once."""
        from torchaudio import models

        super().load(device)
        path = weights.locate(*self.models())
        self.weights = weights.hashes([path])
        self.model = models.squim_objective_base()
        self.model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
        self.model.eval().to(device)
        self.model.dprnn.forward = functools.partial(dual_paths, self.model.dprnn)

    def predict(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        """PESQ, STOI and SI-SDR of waves, (waves, 3); the network gives STOI first."""
        with lean_attention():
            stoi, pesq, si_sdr = self.model(torch.stack(list(batch)))
        return torch.stack([pesq, stoi, si_sdr], dim=1)


def dual_paths(network: Any, features: torch.Tensor) -> torch.Tensor:
    """What torchaudio's `DPRNN` makes of (waves, channels, frames): (waves, frames, channels).

    Its recurrent layers want the channels of a frame side by side. They stay so here; torchaudio
    turns them over around every layer, a seventh of the network's time.
    """
    size, hop = network.chunk_size, network.chunk_stride
    rest = size - (hop + features.shape[2] % size) % size
    padded = functional.pad(features.transpose(1, 2), (0, 0, hop, rest + hop))
    shape = (len(padded), -1, size, padded.shape[2])
    halves = [part.reshape(shape) for part in (padded[:, :-hop], padded[:, hop:])]
    x = torch.stack(halves, dim=2).flatten(1, 2)  # (waves, segments, frames of one, channels)
    layers = (network.row_rnn, network.row_norm), (network.col_rnn, network.col_norm)
    for block in range(network.num_blocks):
        for recurrent, norms in layers:
            norm = norms[block]
            heard = recurrent[block](x.flatten(0, 1)).view(x.shape)
            even = functional.layer_norm(heard, heard.shape[1:], eps=norm.eps)
            x = torch.addcmul(x + norm.bias, even, norm.weight).transpose(1, 2)
    convolution, activation = network.conv
    x = functional.linear(x, convolution.weight.flatten(1), convolution.bias)
    first, second = activation(x).unflatten(1, (-1, 2)).unbind(2)
    merged: torch.Tensor = first.flatten(1, 2)[:, hop:] + second.flatten(1, 2)[:, :-hop]
    return merged[:, :-rest]


@contextmanager
def lean_attention() -> Iterator[None]:
    """Attention without the matrix of all pairs of frames, which grows as a clip's square.

    PyTorch's fast path of encoder layers holds that matrix: 8.2 GB for 44 s, 1.2 GB without it.
    """
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
