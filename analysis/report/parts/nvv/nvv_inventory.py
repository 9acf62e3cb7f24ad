"""Table 2: which types of vocalisation each system supports, as the study says; and coverage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.report.content import Content, Table, column, table_row
from analysis.report.part import PartInput
from analysis.report.parts.nvv.nvv_means import PAPER

ATTRIBUTE = "nvv_types"  # of a condition: "laugh; sigh; cough"
_NOTE = (
    f"As the attribute {ATTRIBUTE} of each system's condition says. Coverage: share of the 45 "
    "types of the paper's taxonomy; types outside of it do not count."
)


@dataclass(frozen=True)
class Inventory:
    """The types that a system supports, as written and as the taxonomy spells them."""

    written: tuple[str, ...]
    canonical: frozenset[str]
    coverage: float

    def holds(self, kind: str) -> bool:
        """Whether a type, in any known spelling, is supported."""
        from metrics.scoring.selectors import type_name

        return type_name(kind) in self.canonical


@table_row
class InventoryRow:
    """The inventory of one system."""

    condition: str = column("System")
    types: str = column("Supported types")
    count: int = column("Count", "count")
    coverage: float = column("Coverage", "number", 2)


def inventories(inputs: PartInput) -> dict[str, Inventory]:
    """The inventory of each system and condition that has one, by both of its names."""
    from metrics.scoring.selectors import coverage_of, type_name

    told: dict[str, list[str]] = {}
    for each in inputs.facts["conditions"] if inputs.facts else ():
        types = [name.strip() for name in each["attributes"].get(ATTRIBUTE, "").split(";")]
        for name in dict.fromkeys((each["condition"], each["system"])) if any(types) else ():
            if name:
                told.setdefault(name, []).extend(filter(None, types))
    return {
        name: Inventory(
            tuple(dict.fromkeys(types)), frozenset(map(type_name, types)), coverage_of(types)
        )
        for name, types in told.items()
    }


def inventory_table(known: Mapping[str, Inventory], inputs: PartInput) -> Content:
    """The systems with their types, in the study's order; nothing where no study says any.

    A system of one condition stands under that condition, which may have a label.
    """
    if not known or not inputs.facts:
        return Content()
    of_system: dict[str, list[str]] = {}
    for each in inputs.facts["conditions"]:
        if each["condition"] in known:
            of_system.setdefault(each["system"] or each["condition"], []).append(each["condition"])
    rows = []
    for system, conditions in of_system.items():
        name = conditions[0] if len(conditions) == 1 else system
        own = known[name]
        rows.append(InventoryRow(name, "; ".join(own.written), len(own.canonical), own.coverage))
    title = f"Table 2 of {PAPER}: types of vocalisation that systems support"
    return Content(tables=[Table.of(InventoryRow, "table2", title, rows, note=_NOTE)])
