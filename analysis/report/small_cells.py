"""Counts of people with small cells hidden, so that no single person shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LEAST = 5
FEWEST_NUMBERS = 4 * LEAST  # answers, so that each quarter holds as many as a cell must


@dataclass(frozen=True)
class Cells:
    """The counts that may be shown, and how many people the hidden ones hold (0: none hidden).

    ``hidden`` is -1 where even their sum is too small to be told.
    """

    counts: dict[str, int]
    hidden: int

    @property
    def text(self) -> str:
        """In words."""
        words = [f"{name} {count:,}" for name, count in self.counts.items()]
        if self.hidden > 0:
            words.append(f"all other answers together {self.hidden:,}")
        if self.hidden < 0:
            words.append(f"not shown: fewer than {LEAST} raters")
        return "; ".join(words)


def cells_shown(counts: Mapping[str, int]) -> Cells:
    """Counts (0 up) without those below `LEAST`; cells of nobody are left out.

    What is hidden is at least two cells with at least `LEAST` people, or all of them: else the
    total of a question would give a small cell away by subtraction.
    """
    there = {name: count for name, count in counts.items() if count}
    hidden = {name for name, count in there.items() if count < LEAST}
    while hidden and len(hidden) < len(there):
        if len(hidden) > 1 and sum(there[name] for name in hidden) >= LEAST:
            break
        hidden.add(min(there.keys() - hidden, key=lambda name: (there[name], name)))
    together = sum(there[name] for name in hidden)
    shown = {name: count for name, count in there.items() if name not in hidden}
    return Cells(shown, -1 if 0 < together < LEAST else together)
