"""What a score was computed with: packages, weights, device, and the code of this package."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from listening.common import plugins
from metrics.core.devices import kind
from metrics.core.lazy_torch import torch
from metrics.core.metric import Metric

PACKAGE = Path(__file__).parents[1]
BESIDE = ("av", "numpy", "soundfile", "soxr")  # these read every clip


def provenance(metric: Metric, device: str) -> dict[str, Any]:
    """Versions, weights' hashes and device of a metric that is loaded; stored with every score."""
    plugin = plugins.plugin_of(type(metric))
    own = {plugin.package} - {""} if plugin else set()
    more = {}
    if plugin:
        files = tuple(plugins.code_of(type(metric)))
        more = {"plugin": plugin.origin, "plugin_code": plugin_mark(files)}
    return {
        "packages": package_versions({*metric.packages, *BESIDE, *own}),
        "weights": dict(metric.weights),
        "device": device_name(device),
        "python": platform.python_version(),
        "sample_rate_hz": metric.sample_rate_hz,
        "code": code_mark(),
        **metric.arithmetic.provenance(device),
        **metric.device_notes,
        **more,
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
    """The first 16 hex digits of the SHA-256 of the pure source of this package."""
    skin = {"migrations", "management"}
    pure = [p for p in PACKAGE.rglob("*.py") if not skin & set(p.relative_to(PACKAGE).parts)]
    return code_hash(PACKAGE, sorted(pure))


@functools.cache
def plugin_mark(files: tuple[Path, ...]) -> str:
    """The same of the files that a plug-in's metric comes with."""
    return code_hash(files[0].parent, files)


def code_hash(folder: Path, files: Sequence[Path]) -> str:
    """The first 16 hex digits of the SHA-256 of files and their names in a folder."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(str(path.relative_to(folder)).encode() + b"\x1e" + path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def device_name(device: str) -> str:
    """The device with its model, such as "cpu x86_64" or "cuda NVIDIA H200"."""
    on_gpu = kind(device) == "cuda"
    model = torch.cuda.get_device_name(device) if on_gpu else platform.machine()
    return f"{device} {model}"
