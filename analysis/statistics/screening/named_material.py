"""A rule that leaves out systems or clips by name, as the researchers of a study decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.statistics.screening.rule import Reasons, Rule, no_reasons

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {
    "conditions": ("condition", "versus_condition"),
    "stimuli": ("stimulus", "versus_stimulus"),
}
CALLED = {"conditions": "system", "stimuli": "clip"}


@dataclass(frozen=True)
class LeftOut(Rule):
    """Ratings of these systems and clips are left out; of a comparison, with either in it."""

    key = "left_out"
    title = "Systems or clips left out by name"
    conditions: tuple[str, ...] = ()
    stimuli: tuple[str, ...] = ()

    def reasons(self, table: pd.DataFrame) -> Reasons:
        found = no_reasons(table)
        for what, columns in COLUMNS.items():
            names = getattr(self, what)
            for column in columns if names else ():
                value = table[column].fillna("").to_numpy(dtype=object)
                mine = np.isin(value.astype(str), names) & (found == "")
                found[mine] = f"the {CALLED[what]} was left out: " + value[mine]
        return found

    def describe(self) -> str:
        named = [
            f"the {CALLED[what]}{'s' if len(names) > 1 else ''} {', '.join(names)}"
            for what in COLUMNS
            if (names := getattr(self, what))
        ]
        return f"ratings of {' and of '.join(named) or 'nothing'}"
