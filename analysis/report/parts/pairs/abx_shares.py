"""ABX: the share that is right against guessing, exact binomial and clustered over raters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from analysis.arrays import Codes, Floats
from analysis.formatting import beware, interval_text
from analysis.report.content import Content, Figure, Table, column, columns_of, picked, table_row
from analysis.report.part import FamilyInput
from analysis.statistics.pairs.means_of_pairs import Measured, share_right, shares_right

if TYPE_CHECKING:
    import pandas as pd

CHANCE = 0.5
MOST_DRAWN = 30
METHOD = (
    "ABX: the share of right answers against 0.5 (guessing), with a two-way clustered interval "
    "(raters, items) and, as if ratings were independent, Clopper and Pearson's exact interval "
    "and the exact one-sided binomial test. The pairs are adjusted together (Šidák 1967)."
)
NOTE = (
    "Exact: binomial, as if every answer were independent of the others; with several answers per "
    "rater the clustered interval is the one to quote."
)
NO_DIFFERENCE = "This does not show that there is no difference: see how far the interval reaches."


@table_row
class RightRow:
    """How often X was told in the answers about a pair, or about all pairs."""

    name: str = column("Pair")
    value: float = column("Right", "number")
    low: float | None = column("{level} interval, all pairs at once", "interval", key="interval")
    high: float | None
    p: float | None = column("p against 0.5, adjusted", "p")
    alone_low: float | None
    alone_high: float | None
    p_alone: float | None
    right: int = column("Right answers", "count")
    n_ratings: int = column("Ratings", "count")
    n_raters: int = column("Raters", "count")
    n_items: int = column("Items", "count")
    naive_low: float = column("Exact interval", "interval", key="naive")
    naive_high: float
    exact_p: float = column("Exact p, more than guessed", "p")
    exact_p_two_sided: float
    made_by: str
    note: str


SHOWN = (
    *("name", "value", "low", "p", "naive_low", "exact_p"),
    *("right", "n_ratings", "n_raters", "n_items"),
)


def right(use: pd.DataFrame, each: FamilyInput) -> Content:
    """The pairs of an ABX test: how often X was told; scores are 1 (right) and 0."""
    both = zip(use["condition"], use["versus_condition"], strict=True)
    pair = np.asarray([" and ".join(sorted(names)) for names in both], dtype=object)
    pairs, code = np.unique(pair, return_inverse=True)
    y, raters, items = _answers(use)
    shares = shares_right(y, code, raters, items, each.level)
    by_pair = [
        _row(str(name), use[pair == name], share, each.level)
        for name, share in zip(pairs, shares, strict=True)
    ]
    rows = by_pair
    if len(by_pair) > 1:
        share = share_right(y, raters, items, each.level)
        rows = [*by_pair, _row("all pairs", use, share, each.level)]
    key, title = f"abx{each.suffix}", "Right answers"
    figure = Figure(
        key,
        title,
        "intervals",
        picked(rows, ("name", "value", "low", "high", "naive_low", "naive_high")),
        x="share right",
        ends=(0.0, 1.0),
        at=(CHANCE,),
        about=each.title,
    )
    note = f"{NOTE} {beware(row.note for row in rows)}".strip()
    columns = columns_of(RightRow, *SHOWN, level=each.level)
    return Content(
        sentences=[_sentence(rows[-1], each.level)],
        figures=[figure] if len(rows) <= MOST_DRAWN else [],
        tables=[Table.of(RightRow, key, title, rows, columns=columns, note=note, about=each.title)],
        warnings=_warnings(by_pair, each.level),
        methods=[METHOD],
    )


def _answers(use: pd.DataFrame) -> tuple[Floats, Codes, Codes]:
    """Whether each answer is right (n,), and the codes of its rater and item (n,)."""
    y: Floats = use["score"].to_numpy(dtype=np.float64)
    item = use["item"].where(use["item"] != "", use["stimulus"])
    rater, items = (
        np.unique(x.to_numpy(dtype=object), return_inverse=True)[1] for x in (use["rater"], item)
    )
    return y, rater, items


def _row(name: str, use: pd.DataFrame, share: Measured, level: float) -> RightRow:
    y, rater, items = _answers(use)
    one_sided = stats.binomtest(int(y.sum()), len(y), CHANCE, "greater")
    two_sided = stats.binomtest(int(y.sum()), len(y), CHANCE)
    exact = two_sided.proportion_ci(level, "exact")
    return RightRow(
        name=name,
        value=share.value,
        low=share.low if share.low_all is None else share.low_all,
        high=share.high if share.high_all is None else share.high_all,
        p=share.p if share.p_adjusted is None else share.p_adjusted,
        alone_low=share.low,
        alone_high=share.high,
        p_alone=share.p,
        right=int(y.sum()),
        n_ratings=len(y),
        n_raters=len(np.unique(rater)),
        n_items=len(np.unique(items)),
        naive_low=float(exact.low),
        naive_high=float(exact.high),
        exact_p=float(one_sided.pvalue),
        exact_p_two_sided=float(two_sided.pvalue),
        made_by=share.interval,
        note=share.note,
    )


def _sentence(row: RightRow, level: float) -> str:
    share = f"X was told in {row.value * 100:.1f} % of {row.n_ratings} answers"
    if row.low is None or row.high is None:
        p = f"{row.exact_p:.3f}" if row.exact_p >= 0.001 else "below 0.001"
        share += f" (guessing: 50 %). No test for other listeners and items: {row.note}"
        return f"{share}; as if every answer were independent, exact p {p}."
    ends = interval_text(row.low * 100, row.high * 100, (0, 100), 1)
    if row.p is not None and row.p < 1 - level:
        which = "more" if row.value > CHANCE else "less"
        why = "" if which == "more" else " (are right and wrong mixed up?)"
        return f"{share} {ends}: {which} often than by guessing{why}."
    return f"{share} {ends}: not told apart from guessing. {NO_DIFFERENCE}"


def _warnings(rows: list[RightRow], level: float) -> list[str]:
    alpha = 1 - level
    weak = [
        row.name for row in rows if row.p is not None and row.exact_p_two_sided < alpha <= row.p
    ]
    why = "above guessing only if answers are taken as independent, which they are not"
    return [f"{', '.join(weak)}: {why}."] if weak else []
