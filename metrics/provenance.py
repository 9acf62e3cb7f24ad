"""What a score was computed with: packages, weights, device, and this room's own code."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
from pathlib import Path
from typing import Any

from metrics.devices import kind
from metrics.metric import Metric

ROOM = Path(__file__).parent
BESIDE = ("av", "numpy", "soundfile", "soxr")  # these read every clip


def provenance(metric: Metric, device: str) -> dict[str, Any]:
    """Versions, weights' hashes and device of a metric that is loaded; stored with every score."""
    return {
        "packages": package_versions({*metric.packages, *BESIDE}),
        "weights": dict(metric.weights),
        "device": device_name(device),
        "python": platform.python_version(),
        "sample_rate_hz": metric.sample_rate_hz,
        "code": code_mark(),
    }


def package_versions(names: set[str]) -> dict[str, str]:
    """The installed version of each package; those that are not installed are left out."""
    versions = {}
    for name in sorted(names):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


@functools.cache
def code_mark() -> str:
    """The first 16 hex digits of the SHA-256 of this room's pure source."""
    digest = hashlib.sha256()
    for path in sorted(ROOM.rglob("*.py")):
        name = path.relative_to(ROOM)
        if not {"migrations", "management"} & set(name.parts):
            digest.update(str(name).encode() + b"\x1e" + path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def device_name(device: str) -> str:
    """The device with its model, such as "cpu x86_64" or "cuda NVIDIA H200"."""
    import torch

    on_gpu = kind(device) == "cuda"
    model = torch.cuda.get_device_name(device) if on_gpu else platform.machine()
    return f"{device} {model}"
