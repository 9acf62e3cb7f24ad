"""SQUIM's MOS: predicted beside a clean recording of any other words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.core import decoding, weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, Sharing
from metrics.core.precision import ANY_LENGTH, Precisions
from metrics.core.published_models import PublishedModel
from metrics.networks.predictors import chunks
from metrics.suite.squim_pesq import SquimPesq, torchaudio_file

MODEL = torchaudio_file(
    "squim_subjective_bvcc_daps.pth", licence="CC BY-NC 4.0", commercial=False, size=360_000_000
)  # the licence is in torchaudio's documentation


@dataclass(frozen=True)
class SquimMosParameters(chunks.ChunkRule):
    """How clips are cut, the file of weights, and the file of the clean recording.

    ``reference`` is a path, or a file in the folder of models. torchaudio repeats it or cuts it to
    the length of each chunk.
    """

    model: str = MODEL.name
    reference: str = ""


class SquimMos(chunks.ChunkedMetric):
    """5 less the predicted loss against a clean recording, the same for all clips."""

    key = "squim_mos"
    version = "1"
    description = "MOS predicted by SQUIM against a clean recording of other words"
    title = "SQUIM MOS"
    source = "Kumar et al. (2023), TorchAudio-SQUIM; torchaudio's SQUIM_SUBJECTIVE and its weights"
    unit = "MOS"
    low = 1.0
    high = 5.0
    higher_is_better = True
    sharing = Sharing(Input.EQUAL, why="no mask, and the network hears a chunk both ways")
    precisions = Precisions(0.01, 0.1, None, "random weights", ANY_LENGTH)
    packages = ("torch", "torchaudio", "numpy")
    at_once_s = SquimPesq.at_once_s
    published_model = MODEL
    parameters_type = SquimMosParameters
    parameters: SquimMosParameters

    def load(self, device: str = "cpu") -> None:
        """Build torchaudio's network with its weights, and read the clean recording."""
        from torchaudio import models

        super().load(device)
        if not self.parameters.reference:
            raise weights.Unavailable(
                "no clean recording: set the parameter reference to a file of clean speech, the "
                "same for all clips that you compare"
            )
        reference = weights.locate(PublishedModel(self.parameters.reference))
        path = weights.locate(*self.models())
        self.weights = weights.hashes([path, reference])
        wave = decoding.load_wave(reference, self.sample_rate_hz)
        self.reference = torch.from_numpy(wave)[None].to(device)
        self.model = models.squim_subjective_base()
        self.model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
        self.model.eval().to(device)

    def predict(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        """MOS of waves, (waves, 1)."""
        reference = self.reference.expand(len(batch), -1)
        mos: torch.Tensor = self.model(torch.stack(list(batch)), reference)
        return mos[:, None]
