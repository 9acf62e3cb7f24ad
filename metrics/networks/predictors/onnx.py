"""A predictor in one ONNX file: waves in, one score per wave out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics.core import weights
from metrics.core.devices import index, kind
from metrics.networks.predictors.predictor import Predictor

if TYPE_CHECKING:
    import torch


CUDA = "CUDAExecutionProvider"
CPU = "CPUExecutionProvider"

log = logging.getLogger(__name__)


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
            self.device_notes = provider_notes(self.session, device)
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
    (the package onnxruntime-gpu can) it takes all processors: see `provider_notes`. On a GPU it
    computes in float32, too: the runtime would use TF32 by default.
    """
    import onnxruntime
    import torch

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.inter_op_num_threads = 1
    providers: list[Any] = [CPU]
    if kind(device) == "cuda":
        if CUDA in onnxruntime.get_available_providers():
            providers.insert(0, (CUDA, {"device_id": index(device), "use_tf32": "0"}))
        else:
            options.intra_op_num_threads = 0  # as many as there are
    return onnxruntime.InferenceSession(path, options, providers=providers)


def provider_notes(session: Any, device: str) -> dict[str, str]:
    """Return what provenance says of a file that a GPU was asked to run and a processor runs."""
    used = session.get_providers()[0]
    if kind(device) == "cpu" or used == CUDA:
        return {}
    log.warning("ONNX files run on the processor; to use %s, install onnxruntime-gpu", device)
    return {"onnx_provider": used, "onnx_note": f"ONNX Runtime has no {CUDA} here"}
