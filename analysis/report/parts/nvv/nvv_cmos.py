"""Table 6: comparative scores of clips with against without, languages and systems by criteria."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.ratings.breakdowns import Family
from analysis.ratings.grouping import Breakdown
from analysis.report.content import Column, Content, Table, column, columns_of, table_row
from analysis.report.part import PartInput
from analysis.report.parts.att import means
from analysis.report.parts.nvv.nvv_means import PAPER, heading_of, languages_of, name_of

_NOTE = "Above 0: the system is better than what it is compared with, here its clips without NVV."
_BEHIND = "Two-way clustered intervals."


@table_row
class CmosRow:
    """The comparative mean score of a condition against another one, in one language."""

    language: str = column("Language")
    condition: str = column("System")
    versus: str = column("Against")
    criterion: str = column("Criterion")
    cmos: float = column("CMOS", "number", 2, sign=True)
    low: float | None = column("{percent}", "interval", 2, key="interval")
    high: float | None
    ratings: int = column("Ratings", "count")
    raters: int = column("Raters", "count")


def cmos(pairs: Sequence[Family], inputs: PartInput) -> Content:
    """The paper's table, and its numbers with intervals behind it."""
    if not pairs:
        return Content()
    rows = [
        row
        for language in languages_of(pairs, inputs)
        for family in pairs
        for row in _against(family, language, inputs)
    ]
    criteria = list(dict.fromkeys(row.criterion for row in rows))
    several = len({(r.language, r.condition, r.versus) for r in rows}) > len(
        {(r.language, r.condition) for r in rows}
    )
    columns = [Column("language", "Language"), Column("condition", "System")]
    columns += [Column("versus", "Against")] if several else []
    columns += [Column(name, heading_of(name), "number", 2, sign=True) for name in criteria]
    level = f"{inputs.options.level:.0%}"
    title = f"Table 6 of {PAPER}: CMOS with against without"
    return Content(
        tables=[
            Table("table6", title, columns, _wide(rows, inputs), _NOTE),
            Table.of(
                *(CmosRow, "cmos", f"{title}, with intervals", rows),
                columns=columns_of(CmosRow, percent=level),
                note=_BEHIND,
                folded=True,
            ),
        ]
    )


def _wide(rows: Sequence[CmosRow], inputs: PartInput) -> list[dict[str, Any]]:
    """A row per language and system, a column per criterion."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row.language, row.condition, row.versus)
        wide = found.setdefault(
            key, dict(zip(("language", "condition", "versus"), key, strict=True))
        )
        wide[row.criterion] = row.cmos
        wide[f"{row.criterion}_low"], wide[f"{row.criterion}_high"] = row.low, row.high
    languages = list(dict.fromkeys(language for language, _, _ in found))
    order = inputs.ordered("condition", {condition for _, condition, _ in found})
    keys = sorted(found, key=lambda key: (languages.index(key[0]), order.index(key[1]), key[2]))
    return [found[key] for key in keys]


def _against(family: Family, language: str, inputs: PartInput) -> list[CmosRow]:
    """CMOS of each condition against another one, in one language."""
    table = family.table[family.table["language"] == language]
    return [
        CmosRow(
            language=language,
            condition=row.condition,
            versus=row.group.get("versus_condition", ""),
            criterion=name_of(family),
            cmos=row.value,
            low=row.low,
            high=row.high,
            ratings=row.n_ratings,
            raters=row.n_raters,
        )
        for row in (means(table, Breakdown(), inputs) if len(table) else ())
    ]
