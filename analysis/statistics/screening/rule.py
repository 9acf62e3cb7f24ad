"""What an exclusion rule is: a named, versioned object that gives a mask and a reason."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from listening.common.registry import Registered, Registry

if TYPE_CHECKING:
    import pandas as pd

Reasons = NDArray[np.object_]


@dataclass(frozen=True)
class Rule(Registered):
    """What leaves ratings out of an analysis; a subclass with a ``key`` registers itself.

    ``title`` names it in a form. A rule that ``compares_raters`` decides by how the answers of a
    rater fit those of others, so that agreement looks better after it than it is.
    """

    key: ClassVar[str] = ""  # stored with every report: never renamed
    version: ClassVar[str] = "1"  # bumped when the same parameters leave out other ratings
    title: ClassVar[str] = ""
    compares_raters: ClassVar[bool] = False
    registry: ClassVar[Registry[Rule]] = Registry("rule", "analysis.statistics.screening")

    @property
    def name(self) -> str:
        """What tables of a report call it."""
        return self.key

    def reasons(self, table: pd.DataFrame) -> Reasons:
        """Why each row of the table (n,) is left out; an empty text where it is kept."""
        raise NotImplementedError

    def describe(self) -> str:
        """The rule with its parameters, in one line of plain words."""
        raise NotImplementedError

    def lacking(self, table: pd.DataFrame) -> str:
        """What the rule needs and the table has not, in words with a remedy; empty: nothing."""
        return ""

    def parameters(self) -> dict[str, Any]:
        """The rule's parameters as plain values."""
        return asdict(self)


def no_reasons(table: pd.DataFrame) -> Reasons:
    """An empty text for every row (n,): all are kept."""
    return np.full(len(table), "", dtype=object)


def where(mask: pd.Series[bool], reason: str) -> Reasons:
    """The reason where the mask (n,) holds, else an empty text."""
    reasons = np.full(len(mask), "", dtype=object)
    reasons[mask.to_numpy(dtype=bool)] = reason
    return reasons


def need(right: bool, rule: Rule, remedy: str) -> None:
    """Raises ValueError with the remedy where a parameter of the rule makes no sense."""
    if not right:
        raise ValueError(f"rule {rule.key}: {remedy}")
