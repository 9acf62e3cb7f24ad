"""A predictor in one ONNX file: waves in, one score per wave out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics import weights
from metrics.devices import index, kind
from metrics.predictors.predictor import Predictor

if TYPE_CHECKING:
    import torch


log = logging.getLogger(__name__)

CUDA = "CUDAExecutionProvider"


class Onnx(Predictor):
    """Any ONNX model whose first input takes float32 waves and whose first output is the score."""

    key = "onnx"
    source = "the ONNX file"
    packages = ("onnxruntime",)

    def load(self, device: str = "cpu") -> None:
        """Open the file with as many threads as torch has; on the GPU where onnxruntime can."""
        super().load(device)
        path = self.model_path()
        self.weights = weights.hashes([path])
        try:
            self.session = session(str(path), device)
        except Exception as error:
            raise weights.Unavailable(f"{path} is no ONNX file that runs here: {error}") from error

    def predict(self, waves: torch.Tensor) -> torch.Tensor:
        """One score per wave, (waves,)."""
        import torch

        first, *others = [put.name for put in self.session.get_inputs()]
        given: dict[str, Any] = {first: self.laid_out(waves).cpu().numpy()}
        if self.gives_rate and others:
            given[others[0]] = np.array(16_000, np.int64)
        return torch.from_numpy(self.session.run(None, given)[0]).reshape(len(waves))


def session(path: str | bytes, device: str) -> Any:
    """Return a session of a file, or of its content: on the GPU where ONNX Runtime can.

    On a processor it has as many threads as torch; in place of a GPU that ONNX Runtime cannot use
    (the package onnxruntime-gpu can) it takes all processors, and the log says so.
    """
    import onnxruntime
    import torch

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.inter_op_num_threads = 1
    providers: list[Any] = ["CPUExecutionProvider"]
    if kind(device) == "cuda":
        if CUDA in onnxruntime.get_available_providers():
            providers.insert(0, (CUDA, {"device_id": index(device)}))
        else:
            options.intra_op_num_threads = 0  # as many as there are
            log.warning("ONNX Runtime has no CUDA here: install onnxruntime-gpu for this network")
    return onnxruntime.InferenceSession(path, options, providers=providers)
