"""SIGMOS: what listeners of P.804 would say of a clip, in seven respects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.core.lazy_torch import torch
from metrics.core.metric import Accepts, Input, Output, Parameters, Score, Sharing
from metrics.core.published_models import PublishedModel
from metrics.networks.predictors.chunks import unfit
from metrics.networks.predictors.onnx import OnnxMetric

FILE = "model-sigmos_1697718653_41d092e8-epo-200.onnx"
MODEL = PublishedModel(
    f"sigmos/{FILE}",
    source=f"https://github.com/microsoft/SIG-Challenge/raw/main/ICASSP2024/sigmos/{FILE}",
    size=26_264_942,
    sha256={FILE: "f939dcc1945055a435565b4369e27dafd0f87df3cea4e2ff6eb81225e52cc53b"},
    page="https://github.com/microsoft/SIG-Challenge",
)
WINDOW, HOP = 960, 480  # samples: 20 ms every 10 ms
COMPRESSION = 0.3
SHORTEST_S = 0.5
ORDER = ("coloration", "discontinuity", "loudness", "noise", "reverberation", "signal", "overall")


@dataclass(frozen=True)
class SigmosParameters(Parameters):
    """The network's file: a path, or a name in the folder of models."""

    model: str = MODEL.name


class Sigmos(OnnxMetric):
    """Overall quality, with coloration, discontinuity, loudness, noise, reverberation, signal."""

    key = "sigmos"
    version = "1"
    description = "SIGMOS: predicted overall quality as in ITU-T P.804"
    title = "SIGMOS overall"
    source = "Ristea et al. (2024), ICASSP 2024 Speech Signal Improvement Challenge; its ONNX file"
    unit = "MOS"
    low = 1.0
    high = 5.0
    higher_is_better = True
    sample_rate_hz = 48_000
    sharing = Sharing(Input.ALONE, 0.0, "its file takes one spectrum at a time")
    accepts = Accepts(shortest_s=SHORTEST_S)
    more_outputs = tuple(
        Output(
            f"sigmos_{name}",
            f"SIGMOS: {name} (5: none of it is heard)",
            *("MOS", 1.0, 5.0, True),
            title=f"SIGMOS {name}",
        )
        for name in ORDER[:-1]
    )
    published_model = MODEL
    parameters_type = SigmosParameters
    parameters: SigmosParameters

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 48 kHz."""
        return [unfit(wave, SHORTEST_S, self.sample_rate_hz) or self._score(wave) for wave in waves]

    def _score(self, wave: torch.Tensor) -> Score:
        features = compressed_spectrum(wave.double().cpu().numpy())
        feeds = {put.name: features[None] for put in self.session.get_inputs()}
        values = self.session.run(None, feeds)[0].reshape(-1)
        named = {f"sigmos_{name}": float(v) for name, v in zip(ORDER, values, strict=True)}
        return Score(named.pop("sigmos_overall"), also=named)


def compressed_spectrum(wave: NDArray[np.float64]) -> NDArray[np.float32]:
    """What the network sees of a wave, (samples,): (3, frames, 481), float32.

    Magnitude, real and imaginary part, compressed by the power 0.3; square-root Hann windows, the
    first of which begins half a window early.
    """
    last = len(wave) % HOP or HOP
    padded = np.pad(wave, (WINDOW - HOP, WINDOW - last))
    window = np.sqrt(np.hanning(WINDOW + 1)[:-1])
    pieces = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP] * window
    spectrum = np.fft.rfft(pieces)
    power = np.maximum(np.abs(spectrum) ** 2, 1e-12)
    magnitude = power ** (COMPRESSION / 2)
    turned = spectrum * power ** ((COMPRESSION - 1) / 2)
    return np.stack([magnitude, turned.real, turned.imag]).astype(np.float32)
