"""Whether pairs drawn by the answers so far save answers: from simulated comparisons."""

from __future__ import annotations

from dataclasses import dataclass

FEWEST = 3  # two systems have one pair


@dataclass(frozen=True)
class Saving:
    """Answers that adaptive pairs save for the same order (Kendall's tau) of random pairs.

    Shares of the answers, where strengths have an SD of 1.5 logits (``apart``) and of 0.7
    (``close``), by `benchmarks/simulate_adaptive_pairs.py` at 4 answers per pair; 0 where the two
    do not differ.
    """

    systems: int
    apart: float
    close: float


SAVINGS = (Saving(6, 0.0, 0.0), Saving(10, 0.2, 0.0), Saving(30, 0.2, 0.0))


def saving_of(systems: int) -> Saving:
    """The saving of the largest simulated number of systems that is not above this one.

    Raises ValueError for fewer than three systems.
    """
    if systems < FEWEST:
        raise ValueError(f"{systems} systems have no pairs to choose among")
    return next((each for each in reversed(SAVINGS) if each.systems <= systems), SAVINGS[0])


def pair_advice(systems: int) -> str:
    """Say whether it pays to draw the pairs of so many systems by the answers so far."""
    saving = saving_of(systems)
    more = "Adaptive pairs do not make the strengths themselves more precise."
    if not saving.apart:
        return (
            f"With {systems} systems, adaptive pairs save no answers. Compare all pairs, or draw "
            'them at random (pairs = "random").'
        )
    return (
        f"With {systems} systems whose strengths differ widely (SD 1.5 logits), adaptive pairs "
        f'(pairs = "adaptive") find the same order with about {saving.apart:.0%} fewer answers. '
        f"With close systems (SD 0.7) they save none. {more}"
    )
