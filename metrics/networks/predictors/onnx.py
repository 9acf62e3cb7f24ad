"""ONNX files: a predictor in one file, and weights read out of one without an ONNX package."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.core import weights
from metrics.core.devices import index, kind
from metrics.core.lazy_torch import torch
from metrics.core.metric import Metric
from metrics.core.precision import Precisions
from metrics.networks.predictors.predictor import Predictor

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
        path = weights.locate(self.file)
        self.weights = weights.hashes([path])
        try:
            self.session = session(str(path), device)
            self.device_notes = provider_notes(self.session, device)
        except Exception as error:
            raise weights.Unavailable(f"{path} is no ONNX file that runs here: {error}") from error

    def predict(self, waves: torch.Tensor) -> torch.Tensor:
        """One score per wave, (waves,)."""
        first, *others = [put.name for put in self.session.get_inputs()]
        feeds: dict[str, Any] = {first: self.laid_out(waves).cpu().numpy()}
        if self.gives_rate and others:
            feeds[others[0]] = np.array(16_000, np.int64)
        return torch.from_numpy(self.session.run(None, feeds)[0]).reshape(len(waves))


def session(path: str | bytes, device: str) -> Any:
    """Return a session of a file, or of its content: on the GPU where ONNX Runtime can.

    On a processor it has as many threads as torch; in place of a GPU that ONNX Runtime cannot use
    (the package onnxruntime-gpu can) it takes all processors: see `provider_notes`. On a GPU it
    computes in float32, too: the runtime would use TF32 by default.
    """
    import onnxruntime

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


class OnnxMetric(Metric):
    """A metric whose model is one ONNX file, opened as ``session``."""

    packages = ("onnxruntime", "numpy")
    precisions = Precisions(why="an ONNX file computes in float32")

    def load(self, device: str = "cpu") -> None:
        """Open the network's file."""
        super().load(device)
        path = weights.locate(*self.models())
        self.session = session(str(path), device)
        self.device_notes = provider_notes(self.session, device)
        self.weights = weights.hashes([path])


FLOAT = 1  # TensorProto.DataType
# Fields of ONNX messages that are read (onnx.proto3): name -> (number, type, repeated?). A type in
# capitals is another message; protobuf skips what is not named here.
MESSAGES: dict[str, dict[str, tuple[int, str, bool]]] = {
    "Tensor": {
        "dims": (1, "int64", True),
        "data_type": (2, "int32", False),
        "float_data": (4, "float", True),
        "name": (8, "string", False),
        "raw_data": (9, "bytes", False),
    },
    "Node": {
        "input": (1, "string", True),
        "output": (2, "string", True),
        "op_type": (4, "string", False),
    },
    "Graph": {"node": (1, "Node", True), "initializer": (5, "Tensor", True)},
    "Model": {"graph": (7, "Graph", False)},
}


@dataclass(frozen=True)
class OnnxFile:
    """The float tensors of a file by name, and its nodes in order: operation and inputs."""

    tensors: dict[str, NDArray[np.float32]]
    nodes: tuple[tuple[str, tuple[str, ...]], ...]

    def weights_of(self, operation: str) -> list[list[NDArray[np.float32]]]:
        """The stored inputs of each node of an operation such as Conv, in the graph's order."""
        node_weights = [
            [self.tensors[name] for name in inputs if name in self.tensors]
            for kind, inputs in self.nodes
            if kind == operation
        ]
        return [weights for weights in node_weights if weights]


def read(path: Path) -> OnnxFile:
    """The file's weights; a ValueError when it is no ONNX file."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    model = message("Model")()
    try:
        model.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise ValueError(f"{path} is no ONNX file: {error}") from error
    tensors = {t.name: array(t) for t in model.graph.initializer if t.data_type == FLOAT}
    nodes = tuple((node.op_type, tuple(node.input)) for node in model.graph.node)
    return OnnxFile(tensors, nodes)


def inputs_before(file: OnnxFile, name: str) -> tuple[str, ...]:
    """What the node before the one that uses the tensor ``name`` gets."""
    place = next(i for i, (_, inputs) in enumerate(file.nodes) if name in inputs)
    return file.nodes[place - 1][1]


def add_outputs(path: Path, names: Sequence[str]) -> bytes:
    """The file with further outputs of its graph, values of it by their names of under 100 bytes.

    Messages of protobuf that stand one behind the other are merged: no node is looked at.
    """

    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    values = (field(12, field(1, name.encode())) for name in names)  # Graph.output, its name
    return path.read_bytes() + b"".join(field(7, value) for value in values)


def array(tensor: Any) -> NDArray[np.float32]:
    """A float tensor's values in its shape."""
    raw = tensor.raw_data
    flat = np.frombuffer(raw, "<f4") if raw else np.array(tensor.float_data, np.float32)
    return flat.reshape(tuple(tensor.dims)).astype(np.float32)


@functools.cache
def message(name: str) -> Any:
    """The class of one of the messages above."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]

    kinds = descriptor_pb2.FieldDescriptorProto
    described = descriptor_pb2.FileDescriptorProto(
        name="earnest/onnx.proto", package="earnest.onnx", syntax="proto3"
    )
    for title, fields in MESSAGES.items():
        message_type = described.message_type.add(name=title)
        for field, (number, value, many) in fields.items():
            label = kinds.LABEL_REPEATED if many else kinds.LABEL_OPTIONAL
            part = message_type.field.add(name=field, number=number, label=label)
            if value in MESSAGES:
                part.type, part.type_name = kinds.TYPE_MESSAGE, f".earnest.onnx.{value}"
            else:
                part.type = getattr(kinds, f"TYPE_{value.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"earnest.onnx.{name}"))
