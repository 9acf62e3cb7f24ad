"""The way networks are run: no gradients, and a GPU that computes as exactly as a CPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from metrics.core import precision


@contextlib.contextmanager
def exact() -> Iterator[None]:
    """Inference with deterministic algorithms, in float32 unless the run asks for less.

    Without TF32 in convolutions, which torch allows by default (`metrics.core.precision`).
    """
    import torch

    flags = torch.backends.cudnn.flags(
        enabled=True, deterministic=True, allow_tf32=precision.tf32_now()
    )
    with torch.inference_mode(), flags, precision.numbers():
        yield
