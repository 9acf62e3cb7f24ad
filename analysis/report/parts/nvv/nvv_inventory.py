"""Table 2: which types of vocalisation each system supports, as the study says; and coverage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.report.content import Content, Table, column, table_row
from analysis.report.part import PartInput

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
        from metrics.selectors import type_name

        return type_name(kind) in self.canonical


@table_row
class InventoryRow:
    """The inventory of one system."""

    system: str = column("System")
    types: str = column("Supported types")
    count: int = column("Count", "count")
    coverage: float = column("Coverage", "number", 2)


def inventories(inputs: PartInput) -> dict[str, Inventory]:
    """The inventory of each system and condition that has one, by both of its names."""
    from metrics.selectors import coverage_of, type_name

    told: dict[str, list[str]] = {}
    for each in inputs.facts["conditions"] if inputs.facts else ():
        types = [name.strip() for name in each["attributes"].get(ATTRIBUTE, "").split(";")]
        for name in {each["condition"], each["system"]} - {""} if any(types) else ():
            told.setdefault(name, []).extend(filter(None, types))
    return {
        name: Inventory(
            tuple(dict.fromkeys(types)), frozenset(map(type_name, types)), coverage_of(types)
        )
        for name, types in told.items()
    }


def inventory_table(known: Mapping[str, Inventory]) -> Content:
    """The systems with their types, in the study's order; nothing where no study says any."""
    seen: set[tuple[str, ...]] = set()
    rows = []
    for name, each in known.items():
        if (name, *each.written) not in seen:
            rows.append(
                InventoryRow(name, "; ".join(each.written), len(each.canonical), each.coverage)
            )
        seen.add((name, *each.written))
    if not rows:
        return Content()
    title = "Types of vocalisation that systems support"
    return Content(tables=[Table.of(InventoryRow, "table2", title, rows, note=_NOTE)])
