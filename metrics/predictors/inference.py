"""The way networks are run: no gradients, and a GPU that computes as exactly as a CPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def exact() -> Iterator[None]:
    """Inference without TF32 in convolutions and with deterministic algorithms."""
    import torch

    flags = torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False)
    with torch.inference_mode(), flags:
        yield
