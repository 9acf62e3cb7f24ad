"""What a device is and can do: its name, number types, ceilings, and how busy it was."""

from __future__ import annotations

import contextlib
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

SIZE = 8192  # of the square matrices whose product is the ceiling
WATCH_EVERY_S = 0.05


def facts(device: str) -> dict[str, Any]:
    """Return name, driver, software and number types of a device, for the record."""
    import torch
    import transformers

    known: dict[str, Any] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "processors": os.cpu_count(),
    }
    if device == "cpu":
        return {"card": f"no GPU ({platform.processor() or platform.machine()})", **known}
    properties = torch.cuda.get_device_properties(device)
    capability = (properties.major, properties.minor)
    types = ["float32", "float64", "float16"]
    types += ["bfloat16"] if torch.cuda.is_bf16_supported() else []
    types += ["TF32"] if capability >= (8, 0) else []
    types += ["float8"] if capability >= (8, 9) else []
    return {
        "card": properties.name,
        "memory_gib": round(properties.total_memory / 2**30, 1),
        "driver": _driver(),
        "cuda": torch.version.cuda,
        "capability": ".".join(map(str, capability)),
        "types": types,
        **known,
    }


def ceilings(device: str) -> dict[str, float]:
    """Return measured TFLOP/s of a matrix product in each type, and TB/s of a copy on the card."""
    import torch

    found = {}
    for name, dtype, tf32 in (
        ("bfloat16_tflops", torch.bfloat16, False),
        ("tf32_tflops", torch.float32, True),
        ("float32_tflops", torch.float32, False),
    ):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        one, other = (torch.randn(SIZE, SIZE, device=device).to(dtype) for _ in range(2))
        spent = seconds_of(lambda a=one, b=other: a @ b, device, 0.3)  # type: ignore[misc]
        found[name] = round(2 * SIZE**3 / spent / 1e12, 1)
    torch.backends.cuda.matmul.allow_tf32 = False
    source = torch.empty(2**31, dtype=torch.uint8, device=device).random_()
    target = torch.empty_like(source)
    spent = seconds_of(lambda: target.copy_(source), device, 0.3)
    return found | {"copy_tb_s": round(2 * len(source) / spent / 1e12, 2)}


def synchronise(device: str) -> None:
    """Wait until a GPU has done what it was given."""
    if device != "cpu":
        import torch

        torch.cuda.synchronize(device)


def seconds_of(run: Callable[[], object], device: str, least_s: float) -> float:
    """Return seconds per call, after one call to warm up, over ``least_s`` seconds of calls."""
    run()
    synchronise(device)
    begun, calls = time.perf_counter(), 0
    while True:
        run()
        synchronise(device)
        calls += 1
        spent = time.perf_counter() - begun
        if spent >= least_s:
            return spent / calls


@dataclass
class Watched:
    """What a device did meanwhile."""

    seconds: float = 0.0
    peak_gib: float | None = None  # of memory that torch held
    shares: list[float] = field(default_factory=list)

    @property
    def busy(self) -> float | None:
        """Share of the time in which a kernel ran, by the driver's own count; None: not known."""
        return sum(self.shares) / len(self.shares) if self.shares else None

    def figures(self, audio_s: float) -> dict[str, Any]:
        """Return hours of audio per hour, how busy the card was, and the peak of its memory."""
        return {
            "audio_h_per_h": round(audio_s / self.seconds, 1),
            "seconds": round(self.seconds, 3),
            "audio_s": round(audio_s, 1),
            "busy": None if self.busy is None else round(self.busy, 2),
            "peak_gib": None if self.peak_gib is None else round(self.peak_gib, 2),
        }


@contextlib.contextmanager
def watched(device: str) -> Iterator[Watched]:
    """Time what runs inside, and ask the driver how busy the card is and torch for its memory."""
    seen = Watched()
    stop = threading.Event()
    handle = _handle(device)

    def look() -> None:
        import pynvml

        while not stop.wait(WATCH_EVERY_S):
            seen.shares.append(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100)

    watcher = threading.Thread(target=look, daemon=True) if handle is not None else None
    if device != "cpu":
        import torch

        torch.cuda.reset_peak_memory_stats(device)
    synchronise(device)
    begun = time.perf_counter()
    if watcher:
        watcher.start()
    try:
        yield seen
        synchronise(device)
    finally:
        seen.seconds = time.perf_counter() - begun
        stop.set()
        if watcher:
            watcher.join()
    if device != "cpu":
        seen.peak_gib = torch.cuda.max_memory_allocated(device) / 2**30


def _handle(device: str) -> Any:
    if device == "cpu":
        return None
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(int(device.partition(":")[2] or 0))
        pynvml.nvmlDeviceGetUtilizationRates(handle)
    except Exception:
        return None
    return handle


def _driver() -> str:
    try:
        import pynvml

        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except Exception as error:
        return f"not known ({error})"
