"""The learning rate over a run: up in equal parts, then down a cosine; no step is without one."""

from __future__ import annotations

import math


def rate_share(step: int, warmup: int, steps: int) -> float:
    """Share of the full rate at a step counted from 0: in (0, 1], 1 at the end of the warm-up.

    Warm-up: (step + 1) / warmup, so that the first step learns, too. Then half a cosine over the
    steps that are left, which ends just above 0 at the last one (Loshchilov and Hutter 2017).
    """
    if step < warmup:
        return (step + 1) / warmup
    left = max(1, steps - warmup)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / left)))
