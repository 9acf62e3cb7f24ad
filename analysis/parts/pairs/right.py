"""ABX: the share that is right against guessing, exact binomial and clustered over raters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from analysis.comparisons.adjust import adjusted
from analysis.intervals import Floats, clustered, has_no_width, t_interval, t_test
from analysis.parts.shown import Column, Figure, Shown, Table
from analysis.scales import bounds_text

if TYPE_CHECKING:
    import pandas as pd

CHANCE = 0.5
MOST_DRAWN = 30
METHOD = (
    "ABX: the share of right answers against 0.5 (guessing), with a two-way clustered interval "
    "(raters, items) and, as if ratings were independent, Clopper and Pearson's exact interval "
    "and the exact one-sided binomial test."
)
NO_DIFFERENCE = "This does not show that there is no difference: see how far the interval reaches."


def right(use: pd.DataFrame, about: str, suffix: str, level: float) -> Shown:
    """The pairs of an ABX test: how often X was told; scores are 1 (right) and 0."""
    both = zip(use["condition"], use["versus_condition"], strict=True)
    names = [" and ".join(sorted(pair)) for pair in both]
    pair = np.asarray(names, dtype=object)
    found = [_row(name, use[pair == name], level) for name in sorted(set(names))]
    for row, p in zip(found, adjusted([row["p"] for row in found], "holm"), strict=True):
        row["p_holm"] = p
    rows = found if len(found) == 1 else [*found, _row("all pairs", use, level) | {"p_holm": None}]
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
    return Shown(
        sentences=[_sentence(rows[-1], level)],
        figures=figures if len(rows) <= MOST_DRAWN else [],
        tables=[_table(rows, about, suffix, level)],
        warnings=_warnings(found, level),
        methods=[METHOD],
    )


def _row(name: str, use: pd.DataFrame, level: float) -> dict[str, Any]:
    y: Floats = use["score"].to_numpy(dtype=np.float64)
    if not np.all((y == 0) | (y == 1)):
        raise ValueError("an ABX score is 1 (right) or 0; give the column score so")
    item = use["item"].where(use["item"] != "", use["stimulus"])
    rater, items = (
        np.unique(x.to_numpy(dtype=object), return_inverse=True)[1] for x in (use["rater"], item)
    )
    found = clustered(y, np.zeros(len(y), dtype=np.int64), rater, items, 1)
    exact = stats.binomtest(int(y.sum()), len(y), CHANCE, "greater")
    both = stats.binomtest(int(y.sum()), len(y), CHANCE)
    ends = both.proportion_ci(level, "exact")
    row: dict[str, Any] = {
        "name": name,
        "value": float(found.value[0]),
        "right": int(y.sum()),
        "n_ratings": len(y),
        "n_raters": int(found.n_raters[0]),
        "n_items": int(found.n_items[0]),
        "naive_low": float(ends.low),
        "naive_high": float(ends.high),
        "exact_p": float(exact.pvalue),
        "exact_p_two_sided": float(both.pvalue),
        "low": None,
        "high": None,
        "p": None,
        "note": "",
    }
    df, variance = found.degrees(0), found.variance(0)
    if df < 1:
        return row | {"note": "one rater or item only: how they differ cannot be estimated"}
    if has_no_width(variance, y):
        return row | {"note": "all answers are equal, or rater sums cancel: no clustered interval"}
    low, high = t_interval(row["value"], variance**0.5, df, level)
    p = t_test(row["value"] - CHANCE, variance**0.5, df)
    note = f"only {df + 1} raters or items: a rough interval" if df < 9 else ""
    return row | {"low": low, "high": high, "p": p, "note": note}


def _table(rows: list[dict[str, Any]], about: str, suffix: str, level: float) -> Table:
    columns = [
        Column("name", "Pair"),
        Column("value", "Right", "number"),
        Column("interval", f"{level * 100:g} % interval", "interval"),
        Column("p", "p against 0.5", "p"),
        Column("p_holm", "p (Holm)", "p"),
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
        return f"{told} (guessing: 50 %); no clustered interval, exact p {p}."
    ends = bounds_text(row["low"] * 100, row["high"] * 100, (0, 100), 1)
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
