"""ABX: the share that is right against guessing, exact binomial and clustered over raters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from analysis.arrays import Codes, Floats
from analysis.formatting import interval_text
from analysis.report.content import Column, Content, Figure, Table
from analysis.statistics.pairs.pair_interval import AT_THE_EDGE, Measured, share_right, shares_right

if TYPE_CHECKING:
    import pandas as pd

CHANCE = 0.5
MOST_DRAWN = 30
METHOD = (
    "ABX: the share of right answers against 0.5 (guessing), with a two-way clustered interval "
    "(raters, items) and, as if ratings were independent, Clopper and Pearson's exact interval "
    "and the exact one-sided binomial test. The pairs are adjusted together (Šidák 1967)."
    + AT_THE_EDGE
)
NO_DIFFERENCE = "This does not show that there is no difference: see how far the interval reaches."


def right(use: pd.DataFrame, about: str, suffix: str, level: float) -> Content:
    """The pairs of an ABX test: how often X was told; scores are 1 (right) and 0."""
    both = zip(use["condition"], use["versus_condition"], strict=True)
    names = [" and ".join(sorted(pair)) for pair in both]
    pair = np.asarray(names, dtype=object)
    each, code = np.unique(pair, return_inverse=True)
    right, raters, items = _answers(use)
    made = shares_right(right, code, raters, items, level)
    found = [
        _row(str(name), use[pair == name], one, level) for name, one in zip(each, made, strict=True)
    ]
    rows = found
    if len(found) > 1:
        rows = [*found, _row("all pairs", use, share_right(right, raters, items, level), level)]
    keys = ("name", "value", "low", "high", "naive_low", "naive_high")
    figures = [
        Figure(
            f"abx{suffix}",
            "Right answers",
            "intervals",
            [{key: row[key] for key in keys} for row in rows],
            x="share right",
            ends=(0.0, 1.0),
            at=(CHANCE,),
            about=about,
        )
    ]
    return Content(
        sentences=[_sentence(rows[-1], level)],
        figures=figures if len(rows) <= MOST_DRAWN else [],
        tables=[_table(rows, about, suffix, level)],
        warnings=_warnings(found, level),
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


def _row(name: str, use: pd.DataFrame, found: Measured, level: float) -> dict[str, Any]:
    y, rater, items = _answers(use)
    exact = stats.binomtest(int(y.sum()), len(y), CHANCE, "greater")
    both = stats.binomtest(int(y.sum()), len(y), CHANCE)
    ends = both.proportion_ci(level, "exact")
    return {
        "name": name,
        "value": found.value,
        "low": found.low if found.low_all is None else found.low_all,
        "high": found.high if found.high_all is None else found.high_all,
        "p": found.p if found.p_adjusted is None else found.p_adjusted,
        "alone_low": found.low,
        "alone_high": found.high,
        "p_alone": found.p,
        "right": int(y.sum()),
        "n_ratings": len(y),
        "n_raters": len(np.unique(rater)),
        "n_items": len(np.unique(items)),
        "naive_low": float(ends.low),
        "naive_high": float(ends.high),
        "exact_p": float(exact.pvalue),
        "exact_p_two_sided": float(both.pvalue),
        "made_by": found.interval,
        "note": found.note,
    }


def _table(rows: list[dict[str, Any]], about: str, suffix: str, level: float) -> Table:
    columns = [
        Column("name", "Pair"),
        Column("value", "Right", "number"),
        Column("interval", f"{level * 100:g} % interval, all pairs at once", "interval"),
        Column("p", "p against 0.5, adjusted", "p"),
        Column("naive", "Exact interval", "interval"),
        Column("exact_p", "Exact p, more than guessed", "p"),
        Column("right", "Right answers", "count"),
        Column("n_ratings", "Ratings", "count"),
        Column("n_raters", "Raters", "count"),
        Column("n_items", "Items", "count"),
    ]
    noted = list(dict.fromkeys(row["note"] for row in rows if row["note"]))
    note = (
        "Exact: binomial, as if every answer were independent of the others; with several answers "
        "per rater the clustered interval is the one to quote."
    )
    note += f" Beware: {'; '.join(noted)}." if noted else ""
    return Table(f"abx{suffix}", "Right answers", columns, rows, note, about)


def _sentence(row: dict[str, Any], level: float) -> str:
    told = f"X was told in {row['value'] * 100:.1f} % of {row['n_ratings']} answers"
    if row["low"] is None:
        p = f"{row['exact_p']:.3f}" if row["exact_p"] >= 0.001 else "below 0.001"
        told += f" (guessing: 50 %). No test for other listeners and items: {row['note']}"
        return f"{told}; as if every answer were independent, exact p {p}."
    ends = interval_text(row["low"] * 100, row["high"] * 100, (0, 100), 1)
    if row["p"] is not None and row["p"] < 1 - level:
        which = "more" if row["value"] > CHANCE else "less"
        why = "" if which == "more" else " (are right and wrong mixed up?)"
        return f"{told} {ends}: {which} often than by guessing{why}."
    return f"{told} {ends}: not told apart from guessing. {NO_DIFFERENCE}"


def _warnings(rows: list[dict[str, Any]], level: float) -> list[str]:
    alpha = 1 - level
    weak = [
        row["name"]
        for row in rows
        if row["p"] is not None and row["exact_p_two_sided"] < alpha <= row["p"]
    ]
    told = "above guessing only if answers are taken as independent, which they are not"
    return [f"{', '.join(weak)}: {told}."] if weak else []
