"""Which condition is the reference: the one named, else that with the role, else one called so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.formatting import listed
from analysis.name_spans import condition_span
from listening.common.condition_names import is_anchor_name, is_reference_name

if TYPE_CHECKING:
    import pandas as pd

ROLE, ANCHOR = "reference", "anchor"  # as the column role calls them

NONE_NAMED = "no reference was named and no condition is called reference, human or natural"
NO_ROLE = "no reference was named and no condition has its role"


@dataclass(frozen=True)
class Reference:
    """The reference's name, empty if there is none; ``why`` says how it was found, or why not."""

    name: str
    why: str

    def __bool__(self) -> bool:
        return bool(self.name)


def reference_of(
    names: Sequence[str], named: str = "", roles: Mapping[str, str] | None = None
) -> Reference:
    """The reference among condition names: the one asked for, else by role, else by its name.

    ``roles`` (`roles_of`) has the role of each condition; where none has one, the only condition
    that is called so is the reference. Names count without case, and with _ - . as spaces:
    Ground_Truth is recognised, and NaturalSpeech is not.
    """
    if named:
        if named in names:
            return Reference(named, "the chosen reference")
        return Reference(
            "", f"{condition_span(named)}, asked for as the reference, is not among the conditions"
        )
    if roles:
        candidates = [name for name in names if roles.get(name) == ROLE]
        why = "the reference by its role"
    else:
        candidates = [name for name in names if is_reference_name(name)]
        why = "taken as the reference by its name"
    if len(candidates) == 1:
        return Reference(candidates[0], why)
    if candidates:
        several = f"{listed(list(map(condition_span, candidates)))} could each be the reference"
        return Reference("", f"{several}; name one with the option reference")
    return Reference("", NO_ROLE if roles else NONE_NAMED)


def anchors_of(names: Sequence[str], roles: Mapping[str, str] | None = None) -> frozenset[str]:
    """The conditions that were made worse on purpose: by role, else those called anchors."""
    if roles:
        return frozenset(name for name in names if roles.get(name) == ANCHOR)
    return frozenset(filter(is_anchor_name, names))


def roles_of(table: pd.DataFrame) -> dict[str, str]:
    """The role of each condition of a ratings table that has one: test, reference or anchor."""
    if table["role"].unique().tolist() == [""]:
        return {}
    rows = table.loc[(table["role"] != "") & (table["trap"] == ""), ["condition", "role"]]
    return {str(name): str(role) for name, role in rows.drop_duplicates().itertuples(index=False)}
