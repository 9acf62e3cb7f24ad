"""Whether pairs drawn by the answers so far save answers: from simulated comparisons."""

from __future__ import annotations

FEWEST = 3  # two systems have one pair
FEWEST_TO_SAVE = 8


# Of the answers of random pairs, for the same Kendall's tau, with strengths of SD 1.5 logits: 10
# and 30 systems with 4 answers per pair, by benchmarks/simulate_adaptive_pairs.py. None with 0.7.
SAVED = 0.2


def pair_advice(systems: int) -> str:
    """Say whether it pays to draw the pairs of so many systems by the answers so far.

    Raises ValueError for fewer than three systems.
    """
    if systems < FEWEST:
        raise ValueError(f"{systems} systems have no pairs to choose among")
    more = "Adaptive pairs do not make the strengths themselves more precise."
    if systems < FEWEST_TO_SAVE:
        return (
            f"With {systems} systems, adaptive pairs save no answers. Compare all pairs, or draw "
            'them at random (pairs = "random").'
        )
    return (
        f"With {systems} systems whose strengths differ widely (SD 1.5 logits), adaptive pairs "
        f'(pairs = "adaptive") find the same order with about {SAVED:.0%} fewer answers. '
        f"With close systems (SD 0.7) they save none. {more}"
    )
