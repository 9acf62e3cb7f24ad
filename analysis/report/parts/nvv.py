"""The tables of NVV-SuperBench: MOS by system, language and criterion, heat maps, and CMOS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.ratings.breakdowns import Family, families
from analysis.ratings.grouping import Breakdown
from analysis.report.content import Column, Content, Figure, Table, column, columns_of, table_row
from analysis.report.part import Part, PartInput
from analysis.report.parts.att import compared, means
from analysis.statistics.estimators.mean_score import MeanScore

if TYPE_CHECKING:
    from analysis.statistics.estimator import Estimate

BEST, SECOND = "best", "second"
_NOTE = (
    "Mean and, after ±, half of the naive interval, as the paper prints it: it takes every rating "
    "as independent and is usually too narrow. The interval in brackets lets raters and items "
    "vary. ** best and * second best of the column, by the mean alone."
)
_CMOS_NOTE = "Above 0: the condition is better than what it is compared with (two-way clustered)."


@table_row
class CmosRow:
    """The comparative mean score of a condition against another one, in one language."""

    condition: str = column("Condition")
    versus: str = column("Against")
    language: str = column("Language")
    criterion: str = column("Criterion")
    cmos: float = column("CMOS", "number", 2, sign=True)
    low: float | None = column("{percent}", "interval", 2, key="interval")
    high: float | None
    ratings: int = column("Ratings", "count")
    raters: int = column("Raters", "count")


class Nvv(Part):
    """Tables 4 and 6 of NVV-SuperBench and its heat maps of systems by kind of vocalisation."""

    key = "nvv"
    version = "1"
    title = "NVV-SuperBench: the paper's tables"
    order = 46
    always = False
    presets = frozenset({"nvv"})

    def make(self, inputs: PartInput) -> Content:
        """One table of means per task and language, a heat map per criterion, CMOS of pairs."""
        tables: list[Table] = []
        figures: list[Figure] = []
        pairs: list[CmosRow] = []
        scored: dict[str, list[Family]] = {}
        for family in families(inputs.kept):
            if family.in_pairs:
                pairs += _against(family, inputs)
            else:
                scored.setdefault(family.group["task"], []).append(family)
        for task, criteria in scored.items():
            inputs.progress(0.5, task)
            for language in _languages(criteria):
                tables.append(_means(task, language, criteria, inputs))
                figures += _heatmaps(task, language, criteria)
        if pairs:
            columns = columns_of(CmosRow, percent=f"{inputs.options.level:.0%}")
            title = "CMOS with against without"
            tables.append(
                Table.of(CmosRow, "table6", title, pairs, columns=columns, note=_CMOS_NOTE)
            )
        if not tables:
            raise ValueError("no ratings with scores: collect some, or name the column of scores")
        return Content(figures=figures, tables=tables)


def _languages(criteria: Sequence[Family]) -> list[str]:
    known = sorted({str(name) for family in criteria for name in family.table["language"].unique()})
    return known or [""]


def _means(task: str, language: str, criteria: Sequence[Family], inputs: PartInput) -> Table:
    """Table 4 of one task and language: systems down, criteria across."""
    rows: dict[str, dict[str, Any]] = {}
    columns = [Column("system", "System")]
    for family in criteria:
        table = family.table[family.table["language"] == language]
        if not len(table):
            continue
        criterion = family.group["criterion"] or family.estimand
        estimator = MeanScore(Breakdown(compared(table)), ("two_way",), ("ratings",))
        estimates = estimator.fit(table, level=inputs.options.level, seed=inputs.options.seed)
        naive = {row.condition: row for row in estimates if row.interval.startswith("naive")}
        clustered = [row for row in estimates if not row.interval.startswith("naive")]
        marks = marked({row.condition: row.value for row in clustered})
        for row in clustered:
            mark, half = marks.get(row.condition, ""), _half(naive[row.condition])
            rows.setdefault(row.condition, {"system": row.condition}).update(
                {
                    criterion: row.value,
                    f"{criterion}_mark": mark,
                    f"{criterion}_half": half,
                    f"{criterion}_low": row.low,
                    f"{criterion}_high": row.high,
                    f"{criterion}_n": row.n_ratings,
                    f"{criterion}_text": _text(row.value, half, mark),
                }
            )
        columns.append(Column(f"{criterion}_text", criterion))
        columns.append(Column(criterion, f"{inputs.options.level:.0%}", "interval", 2))
    place = f" · {language}" if language else ""
    key = "-".join(part for part in ("table4", task, language) if part)
    return Table(key, f"MOS · {task}{place}", columns, list(rows.values()), _NOTE)


def marked(values: dict[str, float]) -> dict[str, str]:
    """The best and the second best of values, the highest first; ties share a place."""
    distinct = sorted(set(values.values()), reverse=True)[:2]
    names = dict(zip(distinct, (BEST, SECOND), strict=False))
    return {name: names[value] for name, value in values.items() if value in names}


def _text(value: float, half: float | None, mark: str) -> str:
    stars = {BEST: " **", SECOND: " *"}.get(mark, "")
    text = f"{value:.2f}" + (f" ± {half:.2f}" if half is not None else "") + stars
    return text.replace(" ", "\u00a0")  # one line


def _half(row: Estimate) -> float | None:
    return None if row.low is None or row.high is None else (row.high - row.low) / 2


def _heatmaps(task: str, language: str, criteria: Sequence[Family]) -> list[Figure]:
    """Means of systems by dimension (kind of vocalisation); blank: none rated.

    Of the criteria about vocalisations (``nvv`` in their names), of all where there are none.
    """
    figures = []
    about = [family for family in criteria if "nvv" in family.group["criterion"].lower()]
    for family in about or criteria:
        table = family.table[family.table["language"] == language]
        table = table[table["dimension"] != ""]
        if table["dimension"].nunique() < 2:
            continue
        criterion = family.group["criterion"] or family.estimand
        grid = table.groupby([compared(table), "dimension"])["score"].mean().unstack("dimension")
        rows = [
            {"row": str(system), "column": str(kind), "value": _number(grid.loc[system, kind])}
            for system in grid.index
            for kind in grid.columns
        ]
        place = f" · {language}" if language else ""
        key = "-".join(part for part in ("heatmap", task, criterion, language) if part)
        figures.append(
            Figure(
                key,
                f"Mean {criterion} by kind · {task}{place}",
                "heatmap",
                rows,
                "Kind",
                "System",
                note="Blank: no rating of this system and kind.",
            )
        )
    return figures


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def _against(family: Family, inputs: PartInput) -> list[CmosRow]:
    """CMOS of a condition against another, by language."""
    rows = []
    for language in _languages([family]):
        table = family.table[family.table["language"] == language]
        for row in means(table, Breakdown(), inputs):
            rows.append(
                CmosRow(
                    condition=row.condition,
                    versus=row.group.get("versus_condition", ""),
                    language=language,
                    criterion=row.group["criterion"] or row.estimand,
                    cmos=row.value,
                    low=row.low,
                    high=row.high,
                    ratings=row.n_ratings,
                    raters=row.n_raters,
                )
            )
    return rows
