"""Probabilities that a guess passes."""

from __future__ import annotations

from math import comb


def at_least(right: int, trials: int, chance: float) -> float:
    """Probability of `right` or more of `trials` when each is right with this chance."""
    if not 0 <= chance <= 1 or trials < 0:
        raise ValueError(f"{trials} trials with a chance of {chance:g} cannot be")
    terms = (
        comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(max(right, 0), trials + 1)
    )
    return min(1.0, sum(terms))


def in_attempts(once: float, attempts: int) -> float:
    """Probability of passing at least one of so many attempts, each drawn anew."""
    return 1.0 - float((1.0 - once) ** attempts)
