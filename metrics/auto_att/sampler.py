"""Batches of clips, each from one dimension, in an order that a seed fixes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from metrics.auto_att.dataset import LabelledClip


def batches(
    clips: Sequence[LabelledClip], batch_size: int, seed: int, epoch: int
) -> list[list[LabelledClip]]:
    """One epoch: every clip once, each batch from a single dimension (Wang et al. 2025, 3.5).

    The same clips, seed and epoch give the same batches, so a run that goes on after a break needs
    only to know how many it has seen. A dimension's last batch may be smaller.
    """
    random = Random(f"{seed}/epoch {epoch}")
    epoch_batches = []
    for dimension in sorted({clip.dimension for clip in clips}):
        own = sorted((c for c in clips if c.dimension == dimension), key=lambda c: c.clip)
        random.shuffle(own)
        epoch_batches += [
            own[start : start + batch_size] for start in range(0, len(own), batch_size)
        ]
    random.shuffle(epoch_batches)
    return epoch_batches
