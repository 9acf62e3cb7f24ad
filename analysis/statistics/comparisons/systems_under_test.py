"""Which conditions are systems under test: references and anchors are shown, and never ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.formatting import listed
from analysis.name_spans import condition_span
from analysis.ratings.reference import ANCHOR, ROLE, reference_of, roles_of
from listening.common.condition_names import is_anchor_name

if TYPE_CHECKING:
    import pandas as pd

TEST, REFERENCE = "test", ROLE
_BY_COLUMN, _BY_NAME, _BY_CLIPS = (
    "by the column role",
    "by its name",
    "its clips are the references",
)
_ASKED = "asked for"


@dataclass(frozen=True)
class Candidates:
    """The conditions with their roles, and how it was known of each that it is no candidate."""

    names: tuple[str, ...]
    roles: tuple[str, ...]
    why: tuple[str, ...]

    @property
    def ranked(self) -> list[bool]:
        """Whether each condition is a candidate."""
        return [role == TEST for role in self.roles]

    @property
    def exclusions_text(self) -> str:
        """Who is no candidate, in words; empty if all are."""
        unranked = [
            f"{condition_span(name)} ({role}, {why})"
            for name, role, why in zip(self.names, self.roles, self.why, strict=True)
            if role != TEST
        ]
        return listed(unranked)


def candidates(table: pd.DataFrame, names: Sequence[str], reference: str = "") -> Candidates:
    """The roles of the conditions ``names`` of a table of ratings of one task.

    By the column ``role`` (test, reference, anchor) where it is filled. Else the reference is what
    is called so, in MUSHRA also what is its own open reference, or is the ``reference`` asked for;
    anchors are known by their names (anchor35, mid_anchor; in MUSHRA also lowpass35).
    """
    role_of = roles_of(table) if "role" in table else {}
    if role_of:
        roles = tuple(role_of.get(name, TEST) for name in names)
        return Candidates(tuple(names), roles, (_BY_COLUMN,) * len(names))
    mushra = bool(len(table)) and bool((table["estimand"] == "mushra").all())
    itself = (table["stimulus"] == table["versus_stimulus"]) & (table["stimulus"] != "")
    hidden = set(table.loc[itself, "condition"]) if mushra else set()
    judged = []
    for name in names:
        if name in hidden:
            judged.append((REFERENCE, _BY_CLIPS))
        elif mushra and name == reference:
            judged.append((REFERENCE, _ASKED))
        elif reference_of([name]):  # one by one: several may be called so, none of them is ranked
            judged.append((REFERENCE, _BY_NAME))
        elif is_anchor_name(name, low_pass=mushra):
            judged.append((ANCHOR, _BY_NAME))
        else:
            judged.append((TEST, ""))
    roles, why = zip(*judged, strict=True) if judged else ((), ())
    return Candidates(tuple(names), tuple(roles), tuple(why))
