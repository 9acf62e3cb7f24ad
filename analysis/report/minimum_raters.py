"""Tasks whose conditions were rated by fewer raters than their study asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from analysis.formatting import first_of
from analysis.name_spans import condition_span

if TYPE_CHECKING:
    from listening.selectors import StudyFacts


def short_of_raters(ratings: pd.DataFrame, facts: StudyFacts | None) -> Iterator[str]:
    """A sentence for each task with a condition below its ``min_raters``.

    ``ratings`` are those after screening; a rater counts for both conditions of a pair. A file of
    ratings has no ``facts`` and so no minimum. Clark et al. (2019, section 4.2) had 35 raters in
    the task with the fewest.
    """
    for task in facts["tasks"] if facts else ():
        least = task.get("min_raters")
        own = ratings[ratings["task"] == task["task"]]
        if not least or not len(own):
            continue
        counts = _raters_by_condition(own)
        short = [f"{condition_span(name)} ({n})" for name, n in counts.items() if n < least]
        if short:
            yield (
                f"Task {task['task']}: the study asks for at least {least:,} raters per condition. "
                f"{len(short)} of {len(counts)} conditions have fewer after exclusions: "
                f"{first_of(short)}."
            )


def _raters_by_condition(ratings: pd.DataFrame) -> dict[str, int]:
    sides = [
        ratings[["rater", name]].set_axis(["rater", "condition"], axis=1).astype(str)
        for name in ("condition", "versus_condition")
    ]
    both = pd.concat(sides)
    counts = both[both["condition"] != ""].groupby("condition")["rater"].nunique()
    return {str(name): int(n) for name, n in counts.sort_values(kind="stable").items()}
