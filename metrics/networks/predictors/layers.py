"""Layers of networks that are built from a checkpoint's own names."""

from __future__ import annotations

from collections.abc import Mapping

from metrics.core.lazy_torch import functional, torch

EPS = 1e-5  # of batch normalisation: torch's default, which the published networks keep


def batch_norm(x: torch.Tensor, state: Mapping[str, torch.Tensor], name: str) -> torch.Tensor:
    """Channels, (batch, channels, …), less the mean of the training, over its deviation."""
    mean, variance, scale, shift = (
        state[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
    )
    return functional.batch_norm(x, mean, variance, scale, shift, eps=EPS)
