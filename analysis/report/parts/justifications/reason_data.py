"""The reasons of one family as plain columns, and how many of them there are per condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.arrays import Codes
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import Family
from analysis.report.content import Column, Content, Table, column, table_row

if TYPE_CHECKING:
    import pandas as pd

TRIAL = ["session", "rater", "block", "position"]
SHARED = 0.05  # of the ratings; more, and a trial's reason is about several clips
NO_CODES = (
    "No codes of reasons are in the ratings (column codes). A review of codes (the study's page "
    "Reviews) gives them; or add them to the CSV as a|b, one cell per rating."
)


@table_row
class WrittenRow:
    """A condition with how many of its ratings have a reason, and codes."""

    condition: str = column("Condition")
    n_ratings: int = column("Ratings", "count")
    n_with_reason: int
    share: float = column("With a reason", "percent")
    n_raters: int = column("Raters", "count")
    characters: float | None = column("Characters (median)", "count")
    n_coded: int = column("With codes", "count")


@dataclass(frozen=True)
class Reasons:
    """n ratings with what was written: ``several`` where one reason is about several clips.

    ``condition`` (n,) are names, a pair's joined; ``rater`` and ``item`` (n,) codes.
    """

    family: Family
    table: pd.DataFrame
    condition: np.ndarray
    rater: Codes
    item: Codes
    several: bool

    @property
    def title(self) -> str:
        """What the family is about, for headings."""
        return self.family.title

    @property
    def lengths(self) -> Codes:
        """The characters of each reason (n,), 0 where there is none."""
        texts = self.table["justification"].tolist()
        return np.array([len(text.strip()) for text in texts], dtype=np.int64)


def reasons_of(family: Family) -> Reasons:
    """The family's ratings with their reasons; a trial counts once where it has one reason."""
    table = family.table
    placed = (table["position"].notna() & table.duplicated(TRIAL)).to_numpy(dtype=bool)
    several = bool(placed.mean() > SHARED)
    keep = ~placed if not several else np.ones(len(table), dtype=bool)
    condition = table["condition"].to_numpy(dtype=object)
    versus = table["versus_condition"].to_numpy(dtype=object)
    if family.in_pairs:
        condition = condition + np.where(versus != "", " – ", "") + versus
    return Reasons(
        family=family,
        table=table[keep],
        condition=condition[keep],
        rater=family.rater[keep],
        item=family.item[keep],
        several=several,
    )


def written(reasons: Reasons) -> Content:
    """How many ratings have a reason, per condition; and what experts said of them."""
    title, length = reasons.title, reasons.lengths
    has = length > 0
    coded = (reasons.table["codes"] != "").to_numpy(dtype=bool)
    rows = []
    for name in sorted(set(reasons.condition.tolist())):
        mine = reasons.condition == name
        rows.append(
            WrittenRow(
                condition=name,
                n_ratings=int(mine.sum()),
                n_with_reason=int((mine & has).sum()),
                share=float(has[mine].mean()),
                n_raters=len(np.unique(reasons.rater[mine & has])),
                characters=float(np.median(length[mine & has])) if (mine & has).any() else None,
                n_coded=int((mine & coded).sum()),
            )
        )
    sentences = []
    if has.any():
        sentences.append(
            f"{family_prefix(title)}{has.mean():.0%} of {len(has)} ratings have a reason, of "
            f"{np.median(length[has]):.0f} characters in the median."
        )
    if not coded.any():
        sentences.append(NO_CODES)
    warnings = []
    if reasons.several:
        warnings.append(
            f"{family_prefix(title)}one reason stands for several clips of a trial, so it "
            "cannot be counted per "
            "condition or label."
        )
    table = Table.of(WrittenRow, "reasons", "Reasons", rows, about=title, folded=True)
    return Content(sentences, tables=[table, *_verdicts(reasons)], warnings=warnings)


def _verdicts(reasons: Reasons) -> Sequence[Table]:
    """The verdicts of the column review, counted per condition."""
    review = reasons.table["review"].to_numpy(dtype=object)
    verdicts = sorted(set(review.tolist()) - {""})
    if not verdicts or reasons.several:
        return []
    columns = [Column("condition", "Condition"), Column("n_reviewed", "Reviewed", "count")]
    columns += [Column(f"share_{verdict}", verdict, "percent") for verdict in verdicts]
    rows = []
    for name in sorted(set(reasons.condition.tolist())):
        mine = review[(reasons.condition == name) & (review != "")]
        row: dict[str, Any] = {"condition": name, "n_reviewed": len(mine)}
        for verdict in verdicts:
            row[f"share_{verdict}"] = float((mine == verdict).mean()) if len(mine) else None
        rows.append(row)
    note = "Shares of the reviewed reasons that are still in the estimates."
    return [Table("verdicts", "Verdicts on reasons", columns, rows, note, about=reasons.title)]
