"""The devices that metrics run on: their names, their threads, and memory that ends."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from metrics.core.lazy_torch import torch

OUT_OF_MEMORY = "out of memory"


def resolve_device(wanted: str) -> str:
    """The device to use for "auto", "cpu", "cuda" or "cuda:1"; ValueError when it is not there."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", wanted):
        raise ValueError(f"device {wanted!r} is not known; choose auto, cpu, cuda or cuda:1")
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "auto":
        return "cuda" if there else "cpu"
    if wanted.startswith("cuda"):
        if not there:
            raise ValueError(f"device {wanted} was asked for, but torch finds no GPU; use cpu")
        if index(wanted) >= there:
            last = f"cuda:{there - 1}"
            raise ValueError(f"device {wanted} is not there: the last one is {last}")
    return wanted


def kind(device: str) -> str:
    """What sort of device it is: "cpu" or "cuda"."""
    return device.partition(":")[0]


def index(device: str) -> int:
    """The number of a GPU, 0 of the plain "cuda"."""
    return int(device.partition(":")[2] or 0)


@contextlib.contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Let torch compute with this many threads, and afterwards with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the device or the machine had no memory left, whichever library says so."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    message = str(error).lower()
    return "out of memory" in message or "failed to allocate memory" in message


def empty_cache(device: str) -> None:
    """Give back the memory of the device that torch holds without need."""
    if kind(device) == "cuda":
        torch.cuda.empty_cache()
