"""DNSMOS Pro: a predicted MOS with the variance of raters' opinions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, Output, ParameterError, Sharing
from metrics.core.precision import Precisions
from metrics.core.published_models import PublishedModel
from metrics.networks.predictors import chunks
from metrics.networks.predictors.torchscript import TorchScript

GITHUB = "https://github.com/fcumlin/DNSMOSPro"
CORPORA = ("BVCC", "NISQA", "VCC2018")
FFT, STEP = 320, 160  # samples
LEAST, MOST = 1e-7, 1e7  # of a magnitude


@dataclass(frozen=True)
class DnsmosProParameters(chunks.ChunkRule):
    """What the network learnt from, its file, and how long clips are cut.

    `repeat`: chunks shorter than `chunk_s` are repeated until they fill it, as in training.
    """

    corpus: str = "BVCC"
    model: str = ""  # empty: dnsmos_pro/CORPUS/model_best.pt of the folder of models
    repeat: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.corpus not in CORPORA:
            raise ParameterError(f"corpus is {self.corpus!r}; choose one of {', '.join(CORPORA)}")


class DnsmosPro(chunks.ChunkedMetric):
    """The mean of the normal distribution that the network gives for raters' opinions."""

    key = "dnsmos_pro"
    version = "1"
    description = "DNSMOS Pro: predicted MOS (BVCC: of synthetic speech)"
    title = "DNSMOS Pro"
    source = "Cumlin et al. (2024), DNSMOS Pro; its TorchScript files"
    unit = "MOS"
    higher_is_better = True
    more_outputs = (
        Output(
            "dnsmos_pro_variance",
            "DNSMOS Pro: variance of raters' opinions",
            title="DNSMOS Pro variance",
        ),
    )
    sharing = Sharing(Input.EQUAL, why="a scripted or exported network has no mask")
    precisions = Precisions(why="a scripted or exported network stays as it was made")
    at_once_s = {"cpu": 10.0, "cuda": 600.0}
    parameters_type = DnsmosProParameters
    parameters: DnsmosProParameters

    def models(self) -> list[PublishedModel]:
        """The scripted network of the corpus."""
        path = f"{self.parameters.corpus}/model_best.pt"
        source = f"{GITHUB}/raw/main/runs/{path}"
        own = PublishedModel(f"dnsmos_pro/{path}", source=source, licence="MIT", page=GITHUB)
        return [own.renamed(self.parameters.model)]

    def load(self, device: str = "cpu") -> None:
        """Load the scripted network onto `device`."""
        super().load(device)
        self.network = TorchScript(str(weights.locate(self.models()[0])))
        self.network.load(device)
        self.weights = self.network.weights
        self.device_notes = self.network.device_notes

    def predict(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        """Mean and variance, (waves, 2), of equally long waves, (samples,) each."""
        equal = torch.stack(list(batch))
        wanted = round(self.parameters.chunk_s * self.sample_rate_hz)
        if self.parameters.repeat and equal.shape[1] < wanted:
            times = -(-wanted // equal.shape[1])
            equal = equal.repeat(1, times)[:, :wanted]
        values: torch.Tensor = self.network.model(log_spectra(equal)[:, None])
        return values


def log_spectra(waves: torch.Tensor) -> torch.Tensor:
    """Logarithms (base 10) of magnitudes, (waves, frames, 161): 20 ms every 10 ms.

    The first and last frames reach into zeros, as librosa's spectra do.
    """
    window = torch.hann_window(FFT, device=waves.device)
    spectrum = torch.stft(waves, FFT, STEP, window=window, pad_mode="constant", return_complex=True)
    return spectrum.abs().clamp(LEAST, MOST).log10().transpose(1, 2)
