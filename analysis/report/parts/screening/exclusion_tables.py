"""Tables of what each rule leaves out, and of every rater and session with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.report.content import Column, Table, column, table_row
from analysis.report.part import PartInput
from analysis.statistics.screening import versioned_text

MOST_REASONS = 5_000
COUNTED = (
    Column("what", "Rule"),
    Column("ratings", "Ratings", "count"),
    Column("share", "Share", "percent"),
    Column("ratings_told", "Not by a rule above", "count"),
    Column("ratings_only_here", "By this rule alone", "count"),
    Column("raters", "Raters", "count"),
    Column("blocks", "Blocks", "count"),
    Column("text", "As text, with its version"),
)
_BY = ["rater", "session", "reason"]


@table_row
class ExcludedRow:
    """What a rule leaves out of a session, and why."""

    rule: str = column("Rule")
    rater: str = column("Rater")
    session: str = column("Session")
    reason: str = column("Reason")
    ratings: int = column("Ratings", "count")


def rules_table(inputs: PartInput, counts: Sequence[Mapping[str, Any]]) -> Table:
    """One row per rule: what it leaves out, how much, and how much it alone."""
    ratings = inputs.report["data"]["ratings"]
    rows = []
    for row, rule in zip(counts, inputs.screened.reasons, strict=True):
        share = row["ratings"] / ratings if ratings else None
        rows.append({**row, "share": share, "text": versioned_text(rule)})
    traps = inputs.report["data"]["trap_ratings"]
    note = f"Rules are judged one by one. The {traps} answers to traps are never in."
    return Table("screening_rules", "What each rule leaves out", COUNTED, rows, note)


def excluded_table(inputs: PartInput) -> Iterator[Table]:
    """Every rater and session that something of is left out, with the rule and the reason."""
    rows = list(_reasons(inputs))
    if not rows:
        return
    cut = len(rows) - MOST_REASONS
    note = "A rating may be left out for several reasons, and then stands in several rows."
    if cut > 0:
        note += f" {cut} more rows are not kept; the rules make them again from the ratings."
    kept, title = rows[:MOST_REASONS], "Every exclusion with its reason"
    yield Table.of(ExcludedRow, "screening_excluded", title, kept, note=note, folded=True)


def _reasons(inputs: PartInput) -> Iterator[ExcludedRow]:
    table = inputs.table
    rated = (table["trap"] == "").to_numpy(dtype=bool)
    for rule, reasons in inputs.screened.reasons.items():
        hit = rated & (reasons != "")
        if not hit.any():
            continue
        excluded = table.loc[hit, ["rater", "session"]].assign(reason=reasons[hit])
        for (rater, session, reason), count in excluded.groupby(_BY, sort=True).size().items():
            own = "" if session == rater else str(session)
            yield ExcludedRow(rule.name, str(rater), own, str(reason), int(count))
