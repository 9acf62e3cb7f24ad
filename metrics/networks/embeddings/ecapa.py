"""SpeechBrain's ECAPA-TDNN, trained on VoxCeleb; its published weights, without its package."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from metrics.core import weights
from metrics.core.precision import spectra
from metrics.networks.embeddings.ecapa_network import SPEECHBRAIN, Ecapa
from metrics.networks.embeddings.speaker_embedding import SpeakerEmbedding

if TYPE_CHECKING:
    import torch

FILE = "embedding_model.ckpt"
FFT, STEP, BANDS = 400, 160, 80
LEAST_POWER, RANGE_DB = 1e-10, 80.0


class EcapaTdnn(SpeakerEmbedding):
    """The vector of `EncoderClassifier.encode_batch`: 80 mel bands less their means, ECAPA-TDNN."""

    key = "ecapa"
    source = "SpeechBrain, spkrec-ecapa-voxceleb; Desplanques et al. (2020), ECAPA-TDNN"
    default_model = "speechbrain/spkrec-ecapa-voxceleb"
    packages = ("torch",)

    def load(self, device: str = "cpu") -> None:
        """Read the weights of a folder, or of a hub's model, onto `device`."""
        import torch

        path = weights.model_files(self.model, (FILE,)) / FILE
        if not path.is_file():
            raise weights.Unavailable(f"no weights: {path} is missing; put it there")
        self.network = Ecapa(torch.load(path, map_location=device, weights_only=True), SPEECHBRAIN)
        self.weights = weights.hashes([path])

    def _embed(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        import torch

        with spectra():
            levels = mel_levels(torch.stack(list(waves)))
        return self.network.embed(levels)


def mel_levels(waves: torch.Tensor) -> torch.Tensor:
    """Mel spectra in dB, each band less its mean, (waves, 80, frames), as SpeechBrain's `Fbank`.

    25 ms Hamming windows every 10 ms; 80 dB below the wave's peak at most.
    """
    import torch

    window = torch.hamming_window(FFT, device=waves.device)
    spectrum = torch.stft(waves, FFT, STEP, window=window, pad_mode="constant", return_complex=True)
    power = mel_filters().to(waves.device) @ spectrum.abs().square()
    levels = 10 * power.clamp_min(LEAST_POWER).log10()
    levels = torch.maximum(levels, levels.amax(dim=(1, 2), keepdim=True) - RANGE_DB)
    return levels - levels.mean(dim=2, keepdim=True)


@functools.cache
def mel_filters() -> Any:
    """Triangles, (80, 201), even on the mel scale, whose right slope is as wide as their left."""
    import torch

    top = 2595 * torch.log10(torch.tensor(1 + 8_000 / 700))
    hz = 700 * (10 ** (torch.linspace(0, float(top), BANDS + 2) / 2595) - 1)
    centres, widths = hz[1:-1, None], (hz[1:-1] - hz[:-2])[:, None]
    away = (torch.linspace(0, 8_000, FFT // 2 + 1) - centres).abs() / widths
    return (1 - away).clamp_min(0)
