"""The arithmetic of a metric's networks: what it allows besides float32, and what is requested.

float32 is the default, and gives the numbers that are published. Everything else is asked for, is
part of a score's parameters, and may move a value by what the metric declares (`Precisions`).
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import shutil
import sysconfig
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from metrics.core.devices import kind
from metrics.core.lazy_torch import torch

PRECISIONS = ("float32", "tf32", "bf16")
NAMES = ("precision", "compile")  # of parameters that any metric takes
ANY_LENGTH = "clips of every length would be compiled anew"  # why a metric is not compiled
RECURRENT = "recurrent networks are not compiled"
COMPILER_REMARKS = (  # patterns of warnings that no user can act on; values are tested
    "Dynamo detected a call to a `functools.lru_cache`",
    "Torchinductor does not support code generation for complex operators",
)
COMPILERS = ("g++", "clang++", "c++")
C_COMPILERS = ("gcc", "clang")  # that Triton looks for
NO_TF32 = "TF32 is arithmetic of NVIDIA GPUs from Ampere on (A100, RTX 30) and has no effect here"
NO_BF16 = "this {} has no bfloat16 arithmetic"
OLDEST_FOR_TRITON = (7, 0)  # compute capability

log = logging.getLogger(__name__)


class PrecisionError(ValueError):
    """A precision that is not known, or that a metric or a device does not have."""


@dataclass(frozen=True)
class Precisions:
    """By how much values may move against float32; None: the metric does not run like that.

    Relative to the value, or to 1 where it is smaller. ``weights``: with which they were measured.
    ``why``: what stands against the rest, in a line.
    """

    tf32: float | None = None
    bf16: float | None = None
    compile: float | None = None
    weights: str = ""
    why: str = ""

    def within(self, arithmetic: Arithmetic) -> float:
        """By how much a value may move; PrecisionError where the metric does not run like that."""
        if refusal := self.refusal(arithmetic):
            raise PrecisionError(refusal)
        moved = 0.0 if arithmetic.precision == "float32" else getattr(self, arithmetic.precision)
        return float(moved + ((self.compile or 0.0) if arithmetic.compile else 0.0))

    def refusal(self, arithmetic: Arithmetic) -> str:
        """Why a metric with these does not run like that; empty when it does."""
        wanted = [name for name in arithmetic.plain_names() if getattr(self, name) is None]
        if not wanted:
            return ""
        allowed = [name for name in (*PRECISIONS[1:], "compile") if getattr(self, name) is not None]
        known = " and ".join(["float32", *allowed])
        refused = " and ".join("not compiled" if w == "compile" else f"not in {w}" for w in wanted)
        return f"{refused}: {self.why or f'it declares {known} only'}"

    def words(self) -> str:
        """As one line: "float32; bf16 within 0.05; …"."""
        names = (*PRECISIONS[1:], "compile")
        allowed = [(name, getattr(self, name)) for name in names]
        tolerances = [f"{name} within {within:g}" for name, within in allowed if within is not None]
        measured = [f"measured with {self.weights}"] if self.weights else []
        return "; ".join(["float32", *tolerances, *measured, *([self.why] if self.why else [])])


@dataclass(frozen=True)
class Arithmetic:
    """What a metric's networks are asked to compute in, and whether they are compiled."""

    precision: str = "float32"
    compile: bool = False

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            known = ", ".join(PRECISIONS)
            raise PrecisionError(f"precision is {self.precision!r}; choose one of {known}")
        if not isinstance(self.compile, bool):
            raise PrecisionError(f"compile is {self.compile!r}; it must be true or false")

    def plain(self) -> dict[str, Any]:
        """What differs from plain float32, as it is stored with a score's parameters."""
        changes = {} if self.precision == "float32" else {"precision": self.precision}
        return {**changes, **({"compile": True} if self.compile else {})}

    def plain_names(self) -> list[str]:
        """What differs from plain float32, in the words of `Precisions`."""
        named = [] if self.precision == "float32" else [self.precision]
        return [*named, *(["compile"] if self.compile else [])]

    def on(self, device: str) -> Arithmetic:
        """Return what a device computes in: float32 where it lacks the precision asked for."""
        return replace(self, precision="float32") if unsupported_reason(self, device) else self

    def provenance(self, device: str) -> dict[str, str]:
        """Return what differs from float32, for a score's provenance.

        Where the device lacks the precision, ``precision`` is the float32 that was computed in,
        ``precision_asked`` what was asked for, and ``precision_note`` says why.
        """
        changes = {} if self.precision == "float32" else {"precision": self.precision}
        if why := unsupported_reason(self, device):
            changes = in_float32(self.precision, why)
        return {**changes, **({"compiled_by": backend(device)} if self.compile else {})}


FLOAT32 = Arithmetic()
_NOW: ContextVar[tuple[Arithmetic, str]] = ContextVar("arithmetic", default=(FLOAT32, "cpu"))


def split_arithmetic(
    parameters: Mapping[str, Any], own: Iterable[str]
) -> tuple[dict[str, Any], Arithmetic | None]:
    """Return a metric's own parameters, and the arithmetic among the rest or None."""
    arithmetic = {
        name: parameters[name] for name in NAMES if name in parameters and name not in set(own)
    }
    rest = {name: value for name, value in parameters.items() if name not in arithmetic}
    return rest, Arithmetic(**arithmetic) if arithmetic else None


def in_float32(requested: str, why: str) -> dict[str, str]:
    """Return how provenance says that float32 was computed in, in place of what was asked for."""
    return {"precision": "float32", "precision_asked": requested, "precision_note": why}


def unsupported_reason(arithmetic: Arithmetic, device: str) -> str:
    """Why a device does not compute like that; empty when it does."""
    if arithmetic.precision == "float32":
        return ""
    if arithmetic.precision == "bf16":
        return without_bfloat16(device)
    if kind(device) == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0):
        return ""
    return NO_TF32


@functools.cache
def without_bfloat16(device: str) -> str:
    """Return why a device does not run networks in bfloat16; empty when it does.

    PyTorch is asked first. Without AVX-512, oneDNN has no recurrent layers in bfloat16, and takes
    4 to 40 times as long as in float32 for the others; GPUs before Ampere only emulate it. What
    PyTorch says it has is then tried once, on one small layer of each kind.
    """
    if kind(device) == "cuda":
        with torch.cuda.device(device):
            has = torch.cuda.is_bf16_supported(including_emulation=False)
    else:  # no such query: a build without oneDNN, as on macOS
        query = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
        has = query is None or bool(query())
    name = "GPU" if kind(device) == "cuda" else "processor"
    reason = NO_BF16.format(name)
    if not has:
        return reason
    try:
        _try_bfloat16(device)
    except RuntimeError as error:
        return f"{reason} for all layers ({str(error).strip().splitlines()[0]})"
    return ""


def _try_bfloat16(device: str) -> None:
    """Run a convolution, a recurrent layer and a product in bfloat16."""
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        convolution = torch.nn.Conv1d(8, 8, 3).to(device)
        recurrent = torch.nn.LSTM(8, 8, batch_first=True).to(device)
        product = torch.nn.Linear(8, 8).to(device)
        with torch.autocast(kind(device), torch.bfloat16):
            heard = convolution(torch.zeros(1, 8, 8, device=device)).transpose(1, 2)
            product(recurrent(heard)[0])


@contextlib.contextmanager
def running(arithmetic: Arithmetic, device: str) -> Iterator[None]:
    """Have networks inside compute like that on a device, wherever they say `inference.exact`."""
    before = _NOW.set((arithmetic, device))
    try:
        # Entered only where networks compile: it makes Python repeat warnings that it said once.
        with _without_remarks() if arithmetic.compile else contextlib.nullcontext():
            yield
    finally:
        _NOW.reset(before)


@contextlib.contextmanager
def _without_remarks() -> Iterator[None]:
    """Leave out what PyTorch's compiler remarks when a network's first call compiles it."""
    with warnings.catch_warnings():
        for remark in COMPILER_REMARKS:
            warnings.filterwarnings("ignore", remark)
        yield


@contextlib.contextmanager
def autocast() -> Iterator[None]:
    """Set PyTorch to the arithmetic that is `running`; float32 changes nothing."""
    arithmetic, device = _NOW.get()
    if arithmetic.precision == "bf16":
        with torch.autocast(kind(device), torch.bfloat16):
            yield
    elif arithmetic.precision == "tf32":
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            yield
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before
    else:
        yield


@contextlib.contextmanager
def spectra() -> Iterator[None]:
    """What a network hears stays float32: rounding there costs more than all that follows."""
    arithmetic, device = _NOW.get()
    if arithmetic.precision != "bf16":
        yield
        return
    with torch.autocast(kind(device), enabled=False):
        yield


def tf32_now() -> bool:
    """Whether convolutions may run in TF32."""
    return _NOW.get()[0].precision == "tf32"


@functools.cache
def backend(device: str) -> str:
    """Return the backend of `torch.compile`: "inductor", or "aot_eager" without a compiler.

    Inductor builds C++ for a processor, and Triton's kernels for a GPU, for which Triton builds C.
    Where all of that is there, one small function is compiled as a trial. The other one traces the
    network, gains no time, and is there so that a run does not end.
    """
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "aot_eager"
    if kind(device) == "cuda":
        triton = importlib.util.find_spec("triton") is not None
        builds = triton and any(map(shutil.which, C_COMPILERS))
    else:
        builds = any(map(shutil.which, COMPILERS))
    return "inductor" if builds and _compiles(device) else "aot_eager"


def _compiles(device: str) -> bool:
    """Return whether Inductor compiles a small function here: about 5 s of a processor."""
    if kind(device) == "cuda" and torch.cuda.get_device_capability(device) < OLDEST_FOR_TRITON:
        return False
    try:
        torch.compile(lambda x: x.sin() + 1, backend="inductor")(torch.zeros(8, device=device))
    except Exception as error:  # of compilers, linkers, drivers: each has its own kind
        log.warning("torch.compile does not work here (%s: %s)", type(error).__name__, error)
        return False
    return True


def compile_networks(
    parts: Sequence[tuple[Any, str]], known: dict[tuple[int, str], Any], backend_name: str
) -> None:
    """Put `torch.compile` around attributes of objects; ``known`` has those that carry it already.

    A network is compiled for the first shape that it meets, and once more for any other.
    """
    for owner, name in parts:
        key = (id(owner), name)
        if getattr(owner, name) is not known.get(key):
            known[key] = torch.compile(getattr(owner, name), backend=backend_name)
            setattr(owner, name, known[key])
