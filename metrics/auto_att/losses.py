"""The loss of Auto-ATT: Bradley-Terry over ordered pairs and half squared errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

REDUCTIONS = ("sum", "mean")


@dataclass(frozen=True)
class Loss:
    """The weighted loss of a batch and its two parts; each a tensor without axes."""

    total: torch.Tensor
    bradley_terry: torch.Tensor
    squared: torch.Tensor


def training_loss(
    predicted: torch.Tensor,
    true: torch.Tensor,
    reduction: str = "sum",
    bradley_terry_weight: float = 0.4,
    squared_weight: float = 0.6,
) -> Loss:
    """0.4 Bradley-Terry + 0.6 squared error (Wang et al. 2025, equation 2).

    ``predicted``, ``true``: (clips,) scores in [0, 1]. As printed there, neither part is averaged
    (reduction "sum"), so a batch of n clips weighs its up to n(n - 1) / 2 pairs against n errors.
    "mean" divides each part by its number of terms, which makes batch sizes comparable.
    """
    pairs = bradley_terry(predicted, true, reduction)
    squared = half_squared(predicted, true, reduction)
    return Loss(bradley_terry_weight * pairs + squared_weight * squared, pairs, squared)


def bradley_terry(
    predicted: torch.Tensor, true: torch.Tensor, reduction: str = "sum"
) -> torch.Tensor:
    """Sum of -log sigmoid(p_i - p_j) over the ordered pairs with s_i > s_j; 0 without a pair.

    ``predicted``, ``true``: (clips,). Clips with equal true scores form no pair.
    """
    from torch.nn.functional import logsigmoid

    better = true[:, None] > true[None, :]
    differences = predicted[:, None] - predicted[None, :]
    total = -logsigmoid(differences[better]).sum()
    if _checked(reduction) == "mean":
        return total / better.sum().clamp_min(1)
    return total


def half_squared(
    predicted: torch.Tensor, true: torch.Tensor, reduction: str = "sum"
) -> torch.Tensor:
    """Half the sum of squared differences of two vectors (clips,)."""
    total = (predicted - true).square().sum() / 2
    return total / max(len(true), 1) if _checked(reduction) == "mean" else total


def _checked(reduction: str) -> str:
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction must be one of {', '.join(REDUCTIONS)}, not {reduction!r}")
    return reduction
