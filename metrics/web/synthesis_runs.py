"""A condition's mean over runs of its synthesis, and how much runs differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, stdev

FIRST = "1"  # the run of a clip that names none


@dataclass(frozen=True)
class OverRuns:
    """Mean and standard deviation (n - 1) of the runs' means; each run counts once."""

    runs: int
    mean: float
    sd: float

    @property
    def words(self) -> str:
        """Such as "2 runs: 3.412 ± 0.021"."""
        return f"{self.runs} runs: {self.mean:.4g} ± {self.sd:.2g}"


def over_runs(means: Iterable[tuple[str, float]]) -> dict[str, OverRuns]:
    """By condition, from (condition, one run's mean); conditions with one run are left out."""
    known: dict[str, list[float]] = {}
    for condition, mean in means:
        known.setdefault(condition, []).append(mean)
    return {
        condition: OverRuns(len(values), fmean(values), stdev(values))
        for condition, values in known.items()
        if len(values) > 1
    }


def run_of(value: object) -> str:
    """A run as it is told: 1 where nothing is said."""
    return str(value or "").strip() or FIRST
