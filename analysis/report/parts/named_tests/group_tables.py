"""Tables of the tests of all conditions at once, and of the pairs after them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.report.content import Column, Table, column, table_row
from analysis.statistics.comparisons.test_result import RATINGS
from analysis.statistics.comparisons.tests_by_name import GroupTest

TAKES = {
    RATINGS: "ratings as independent: ignores raters and items",
    "raters": "these items; raters vary",
    "items": "these raters; items vary",
}
ALL_NOTE = (
    "Whether any conditions differ at all; which ones is in the table of pairs. Friedman and "
    "repeated measures use the means of raters, or of items, that have every condition."
)
POST_HOC_NOTE = "Dunn's tests follow Kruskal-Wallis; Nemenyi's and Conover's follow Friedman."
OF_GROUPS = (
    Column("test", "Test"),
    Column("unit", "Over"),
    Column("statistic_name", "Statistic"),
    Column("statistic", "Value", "number", 2),
    Column("degrees", "df"),
    Column("p", "p", "p"),
    Column("effect_name", "Effect size"),
    Column("effect", "Effect", "number", 3),
    Column("values", "n"),
    Column("note", "Note"),
)


@table_row
class PostHocRow:
    """A pair of conditions after a test of all of them."""

    test: str = column("Test")
    unit: str = column("Over")
    condition: str = column("Condition")
    versus: str = column("Versus")
    difference: float = column("Difference of mean ranks", "number", 2, sign=True)
    statistic: float = column("Statistic", "number", 2, sign=True)
    p: float = column("p", "p")
    p_adjusted: float = column("p adjusted", "p")
    adjustment: str = column("By")


def groups_table(groups: Sequence[GroupTest]) -> Table:
    """One row per test of all conditions."""
    rows = []
    for group in groups:
        row, n = group.result.row(), group.result.n
        df = [f"{end:.5g}" for end in (row["df"], row["df2"]) if end is not None]
        row |= {"degrees": ", ".join(df) or None, "takes": TAKES[row["unit"]]}
        row["values"] = f"{sum(n)} in {len(n)} groups" if len(n) > 1 else row["n"]
        rows.append(row)
    return Table("all-at-once", "All conditions at once", OF_GROUPS, rows, ALL_NOTE)


def post_hoc_tables(groups: Sequence[GroupTest]) -> Iterator[Table]:
    """The pairs after those tests that have any."""
    rows = [
        PostHocRow(
            test=after.test,
            unit=group.result.unit,
            condition=group.names[after.first],
            versus=group.names[after.second],
            difference=after.estimate,
            statistic=after.statistic,
            p=after.p,
            p_adjusted=after.p_adjusted,
            adjustment=after.adjustment,
        )
        for group in groups
        for after in group.post_hoc
    ]
    title = "Which differ, after the tests of all"
    if rows:
        yield Table.of(PostHocRow, "post-hoc", title, rows, note=POST_HOC_NOTE, folded=True)
