"""Whether shares are higher than expected on average: sure at every look, not at one alone.

Each session gives a share between 0 and 1 (of its traps, those that were failed). A gambler bets
that the mean is above what is expected: the wealth is multiplied by 1 + c (share / expected - 1).
If the expectation holds, no bet gains on average, and by Ville's inequality the wealth ever
reaches 1 / alpha with a probability of alpha at most: looking every few minutes costs nothing.
Several bets are held at once, since nobody knows the best. (Waudby-Smith and Ramdas, 2024,
Estimating means of bounded random variables by betting, JRSS B.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, inf, log1p

BETS = (0.75, 0.5, 0.25, 0.125, 0.0625, 0.03125)  # of what may be bet at most
ALPHA = 0.01  # of one study and kind of event, over its whole life


@dataclass(frozen=True)
class Excess:
    """The mean of the shares, the bound below it, and over how many."""

    mean: float
    at_least: float
    sessions: int
    concerned: int  # of which the share is not 0


def wealth(shares: Counter[float], expected: float) -> float:
    """What the bets have come to, from 1; infinite where it is more than can be written."""
    logs = [
        sum(count * log1p(bet * (share / expected - 1)) for share, count in shares.items())
        for bet in BETS
    ]
    most = max(logs)
    if most > 700:
        return inf
    return exp(most) * sum(exp(each - most) for each in logs) / len(BETS)


def excess_of(
    shares: Iterable[float], expected: float, *, looked_for: int = 1, least: int = 3
) -> Excess | None:
    """How far the mean is above what is expected; None while that may be chance.

    `looked_for` kinds are looked for together and share the error. Below `least` sessions that are
    concerned nothing is said, whatever the odds: raters' devices are not dice.
    """
    counts = Counter(shares)
    sessions = counts.total()
    concerned = sessions - counts[0.0]
    threshold = looked_for / ALPHA
    if concerned < least or wealth(counts, expected) < threshold:
        return None
    mean = sum(share * count for share, count in counts.items()) / sessions
    return Excess(mean, _bound(counts, expected, mean, threshold), sessions, concerned)


def _bound(counts: Counter[float], low: float, high: float, threshold: float) -> float:
    """The highest expectation that the bets refute: wealth falls while it rises."""
    for _ in range(40):
        middle = (low + high) / 2
        if wealth(counts, middle) >= threshold:
            low = middle
        else:
            high = middle
    return low


def still_above(shares: Iterable[float], expected: float) -> bool:
    """Whether what was said once still is: the mean itself is above what is expected."""
    counts = Counter(shares)
    total = sum(share * count for share, count in counts.items())
    return bool(counts) and total > expected * counts.total()


def percent(share: float) -> float:
    """With one decimal below 10 %, else without."""
    return round(100 * share, 1 if share < 0.1 else 0)
