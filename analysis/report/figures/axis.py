"""Axes: round ticks that span the data, and where on the drawing a value stands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_DUST = 1e-9  # relative spread below which numbers are the same but for rounding


@dataclass(frozen=True)
class Axis:
    """Ticks (rising), and the places in px of the first and the last of them."""

    ticks: Sequence[float]
    start: float
    end: float

    def place(self, value: float) -> float:
        """Where the value stands, px; what lies outside stands at the nearer end."""
        low, high = self.ticks[0], self.ticks[-1]
        share = (min(max(value, low), high) - low) / (high - low)
        return round(self.start + share * (self.end - self.start), 2)

    def holds(self, value: float) -> bool:
        """Whether the value lies between the first and the last tick."""
        return self.ticks[0] <= value <= self.ticks[-1]


def axis_of(
    values: Iterable[float | None],
    start: float,
    end: float,
    ends: Sequence[float] | None = None,
    about: int = 5,
) -> Axis:
    """An axis over the values, or over the ends of a bounded scale; 0 to 1 where there are none."""
    known = [value for value in values if value is not None]
    edges = list(ends) if ends else known
    ticks = nice_ticks(min(edges), max(edges), about) if edges else [0.0, 1.0]
    return Axis(ticks, start, end)


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers that span low to high: about that many steps of 1, 2, 2.5 or 5 times 10^k."""
    if high - low <= max(_DUST * max(abs(low), abs(high)), _DUST**1.5):
        room = max(abs(low) * 0.1, 0.1)
        low, high = low - room, high + room
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * f for f in (1, 2, 2.5, 5, 10) if power * f >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = 3 - math.floor(math.log10(step))
    return [round(i * step, digits) + 0.0 for i in range(first, last + 1)]


def known(value: Any) -> float | None:
    """A finite number as float; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def decimals_for(values: Iterable[float | None]) -> int:
    """Decimals that suit numbers of this size: 3 below 10, 2 below 100, 1 below 1000, else 0."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    return 3 if largest < 10 else 2 if largest <= 100 else 1 if largest < 1000 else 0


def tick_text(value: float) -> str:
    """A tick as people read it, with a true minus sign."""
    return f"{value:g}".replace("-", "−")


def number_text(value: float | None, decimals: int = 3) -> str:
    """A number with that many decimals and a true minus sign; a dash for none."""
    return "–" if value is None else f"{value:.{decimals}f}".replace("-", "−")
