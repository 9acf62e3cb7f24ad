"""PLCMOS: quality of speech after lost packets were concealed, without a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    Input,
    Metric,
    Parameters,
    Score,
    Sharing,
    check_bounds,
)
from metrics.core.precision import Precisions
from metrics.networks.predictors import onnx
from metrics.networks.predictors.chunks import unfit
from metrics.networks.predictors.onnx import provider_notes, session

WINDOW, HOP = 512, 256  # samples
RATER_DIMENSIONS = 64
SHORTEST_S = 0.5
FLOOR = -120.0  # dB under the least power, for spectra that hold zeros


@dataclass(frozen=True)
class PlcmosParameters(Parameters):
    """How many of the network's imaginary raters are averaged, and the seed they are drawn with.

    The package draws 15 anew each time, so that its number differs from run to run.
    """

    raters: int = 15
    seed: int = 0

    def __post_init__(self) -> None:
        check_bounds(self, "raters", 1, 1000)
        check_bounds(self, "seed", 0)


class Plcmos(Metric):
    """A MOS for gaps and their concealment: it also falls with other damage, as speech goes on."""

    key = "plcmos"
    version = "1"
    cpu_s_per_s = 0.01
    description = "PLCMOS v2: predicted MOS of speech with concealed packet losses"
    title = "PLCMOS"
    source = "Diener et al. (2023), PLCMOS; the network of speechmos 0.0.1.1"
    unit = "MOS"
    low = 1.0
    high = 5.0
    higher_is_better = True
    sharing = Sharing(Input.ALONE, 0.0, "its file hears a clip both ways, and has no mask")
    precisions = Precisions(why="an ONNX file computes in float32")
    accepts = Accepts(least_bandwidth_hz=WIDE_BAND_HZ, shortest_s=SHORTEST_S)
    packages = ("onnxruntime", "numpy")
    parameters_type = PlcmosParameters
    parameters: PlcmosParameters

    def load(self, device: str = "cpu") -> None:
        """Open the network."""
        super().load(device)
        path = weights.bundled_file("plcmos_v2.onnx")
        file = onnx.read(path)
        self.heard_as = onnx.inputs_before(file, "dense1.weight")[:2]  # of the clip, no rater
        self.session = session(onnx.add_outputs(path, self.heard_as), device)
        self.device_notes = provider_notes(self.session, device)
        self.tensors = file.tensors
        self.weights = weights.hashes([path])
        draw = np.random.RandomState(self.parameters.seed)
        self.raters = draw.normal(size=(self.parameters.raters, RATER_DIMENSIONS)).astype("float32")

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """The mean over the raters, each wave, (samples,) at 16 kHz, by itself."""
        return [unfit(wave, SHORTEST_S) or self._score(wave) for wave in waves]

    def _score(self, wave: torch.Tensor) -> Score:
        features = log_spectrum(wave.double().cpu().numpy())[None, None].astype(np.float32)
        feeds = {"degraded_audio": features, "rater_embed": self.raters[:1]}
        heard = np.concatenate(self.session.run(list(self.heard_as), feeds), axis=1)
        values = self.opinions(heard)
        return Score(float(np.mean(values)), details={"raters_sd": float(np.std(values))})

    def opinions(self, heard: NDArray[np.float32]) -> NDArray[np.floating]:
        """What each rater says of what is heard of a clip, (1, 64): (raters,).

        The network hears a clip before it knows who rates it: once for all raters.
        """
        rater_vectors = leaky_relu(self._dense(self.raters, "embed_dense"))
        both = np.concatenate([heard.repeat(len(rater_vectors), axis=0), rater_vectors], axis=1)
        return np.asarray(1 + 4 / (1 + np.exp(-self._dense(both, "dense")[:, 0])))

    def _dense(self, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        """Six dense layers of the network, the last without its activation."""
        layers = [f"{name}{part}" for part in ("1", "2.0", "2.1", "2.2", "2.3", "3")]
        for layer in layers:
            x = leaky_relu(x) if layer != layers[0] else x
            x = x @ self.tensors[f"{layer}.weight"].T + self.tensors[f"{layer}.bias"]
        return x


def leaky_relu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """The network's activation: a tenth of what is below 0."""
    return np.where(x > 0, x, np.float32(0.1) * x)


def log_spectrum(wave: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the network sees of a wave, (samples,): (frames, 257).

    Natural log of the squared power over 20, of Hamming windows of 32 ms every 16 ms, the first
    of which begins half a window early.
    """
    frames = -(-(len(wave) + HOP) // HOP)
    padded = np.zeros((frames - 1) * HOP + WINDOW)
    padded[HOP : HOP + len(wave)] = wave
    window = np.hamming(WINDOW + 1)[:-1]
    pieces = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP] * window
    power = np.abs(np.fft.rfft(pieces)) ** 2
    heard = power > 0
    least = np.log(power[heard].min()) + FLOOR / 10 * np.log(10)
    logs: NDArray[np.float64] = np.log(power, where=heard, out=np.full_like(power, least))
    return logs / 20
