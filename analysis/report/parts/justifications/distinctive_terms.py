"""Words and codes that go with a label: the most telling ones of each, and all that were tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Codes
from analysis.name_spans import family_prefix
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.parts.justifications.reason_data import Reasons
from analysis.statistics.justifications import (
    TermLogOdds,
    TermTable,
    code_table,
    label_groups,
    term_log_odds,
    term_table,
)
from analysis.statistics.justifications.label_groups import Groups
from analysis.statistics.justifications.log_odds import PRIOR
from analysis.statistics.justifications.terms import FEWEST_RATERS, FEWEST_REASONS, MOST_TERMS
from analysis.statistics.options import Options

SHOWN = 12  # words per label in the short table
DRAWN = 8
NAMED = 5
FALSE_SHARE = 0.05  # of what is called telling, at most, in the long run
FEWEST = 20  # reasons
MOST_REASONS = 40_000
TELLING_FROM = math.log(1.5)
REPEATED = 0.8  # of a word's reasons; more that hold another word, and it tells nothing new
COLUMNS = (
    Column("label", "Label"),
    Column("term", "Word"),
    Column("share", "With this label", "percent"),
    Column("other_share", "With others", "percent"),
    Column("log_odds", "Log-odds", "number", 2, sign=True),
    Column("interval", "Interval", "interval", 2),
    Column("p_bh", "p (BH)", "p"),
    Column("n_reasons", "Reasons", "count"),
    Column("n_raters", "Raters", "count"),
)
NOTE = (
    "With this label, with others: share of the reasons that hold the word. Log-odds above 0: more "
    f"often with this label, shrunk by a prior of {PRIOR:g} reasons. p: over all words and labels "
    "(Benjamini-Hochberg). Words go with labels; that they made raters choose them is not shown."
)
SHORTENED = (
    f"Up to {SHOWN} of each label, with p below {FALSE_SHARE:g} and odds of 1.5 or more, without "
    "words that mostly stand together with one above; the table of all words has the rest."
)
METHODS = (
    "Words and codes of justifications are tied to labels by the log-odds ratio with an "
    "informative prior (after Monroe et al. 2008), counted per reason, with the larger of the "
    "model's variance and that clustered over raters and items, and Benjamini-Hochberg over all "
    f"words and labels. Words used by fewer than {FEWEST_RATERS} raters or in fewer than "
    f"{FEWEST_REASONS} reasons, and all but the {MOST_TERMS} of most raters, are left out; where "
    "words have no spaces between, runs of two and three characters stand for them."
)


def words_by_label(reasons: Reasons, options: Options) -> Content:
    """The words of reasons against the labels of one family."""
    title, has = reasons.title, reasons.lengths > 0
    if reasons.several or not has.any():
        return Content()
    if has.sum() < FEWEST:
        return Content(
            [
                f"{family_prefix(title)}{has.sum()} reasons are too few to compare the words of "
                "labels."
            ]
        )
    cut = ""
    if has.sum() > MOST_REASONS:
        cut = f" These are the words of {MOST_REASONS} of {has.sum()} reasons, drawn by chance."
        has = drawn_rows(has, options.seed)
    groups = label_groups(reasons.table[has], reasons.family.estimand)
    if groups.why_not:
        return Content([f"{family_prefix(title)}words cannot be tied to labels: {groups.why_not}."])
    table = term_table(reasons.table["justification"][has].tolist(), reasons.rater[has])
    if not table.terms:
        return Content(
            [f"{family_prefix(title)}no word is used by {FEWEST_RATERS} raters or more."]
        )
    rows = tied(reasons, has, table, groups, options.level)
    clear = list(most_telling(rows, table))
    heading = "Most telling words of each label"
    return Content(
        sentences=[_sentence(title, groups.names, clear, len(table.terms)) + cut],
        figures=_figures("words", heading, clear, title),
        tables=[
            _table("words", heading, clear, f"{NOTE} {SHORTENED}", title, folded=False),
            _table("all-words", "All words by label", rows, NOTE, title),
        ],
        methods=[METHODS],
    )


def drawn_rows(has: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    """As many of the reasons as can be read in seconds, drawn without replacement."""
    drawn = np.random.default_rng(seed).choice(np.flatnonzero(has), MOST_REASONS, replace=False)
    rows = np.zeros(len(has), dtype=bool)
    rows[drawn] = True
    return rows


def codes_by_label(reasons: Reasons, level: float) -> Content:
    """The codes of reasons against the labels of one family."""
    has = (reasons.table["codes"] != "").to_numpy(dtype=bool)
    if reasons.several or has.sum() < FEWEST:
        return Content()
    groups = label_groups(reasons.table[has], reasons.family.estimand)
    if groups.why_not:
        return Content(
            [f"{family_prefix(reasons.title)}codes cannot be tied to labels: {groups.why_not}."]
        )
    table = code_table(reasons.table["codes"][has].tolist(), reasons.rater[has])
    rows = tied(reasons, has, table, groups, level)
    key, heading = "codes-by-label", "Codes by label"
    note = NOTE.replace("word", "code").replace("Words", "Codes")
    return Content(
        figures=_figures(key, heading, rows, reasons.title),
        tables=[_table(key, heading, rows, note, reasons.title, term="Code")],
        methods=[METHODS],
    )


def tied(
    reasons: Reasons, has: NDArray[np.bool_], table: TermTable, groups: Groups, level: float
) -> list[TermLogOdds]:
    """Every term of those reasons against every label, the most telling of each first."""
    rater, item = reasons.rater[has], reasons.item[has]
    return term_log_odds(table, groups.code, groups.names, rater, item, level=level)


def most_telling(rows: Sequence[TermLogOdds], table: TermTable) -> Iterator[TermLogOdds]:
    """Of each label the first that are clear and matter, but for those that mostly repeat another.

    It matters from odds of 1.5 to 1; it repeats where four of five of its reasons hold a word that
    came before.
    """
    holding = reasons_holding(table)
    before: dict[str, list[Codes]] = {}
    for row in rows:
        others = before.setdefault(row.label, [])
        if row.log_odds < TELLING_FROM or row.p_bh >= FALSE_SHARE or len(others) >= SHOWN:
            continue
        mine = holding(row.term)
        if not any(np.isin(mine, other).mean() > REPEATED for other in others):
            others.append(mine)
            yield row


def reasons_holding(table: TermTable) -> Callable[[str], Codes]:
    """Gives the reasons that hold a term, as places in the table."""
    columns, place = table.has.tocsc(), {term: number for number, term in enumerate(table.terms)}

    def places(term: str) -> Codes:
        start, end = columns.indptr[place[term] : place[term] + 2]
        return np.asarray(columns.indices[start:end])

    return places


def _sentence(title: str, names: Sequence[str], clear: Sequence[TermLogOdds], tried: int) -> str:
    most = []
    for name in names:
        mine = [row.term for row in clear if row.label == name][:NAMED]
        most.append(f"{name}: {', '.join(mine) if mine else 'none'}")
    return f"{family_prefix(title)}the most telling of {tried} words, by label: {'; '.join(most)}."


def _table(
    key: str,
    title: str,
    rows: Sequence[TermLogOdds],
    note: str,
    about: str,
    term: str = "Word",
    folded: bool = True,
) -> Table:
    columns = [replace(c, heading=term) if c.key == "term" else c for c in COLUMNS]
    return Table(key, title, columns, [row.row() for row in rows], note, about, folded)


def _figures(key: str, title: str, rows: Sequence[TermLogOdds], about: str) -> list[Figure]:
    drawn: list[dict[str, Any]] = []
    for label in dict.fromkeys(row.label for row in rows):
        mine = [row for row in rows if row.label == label and row.log_odds > 0][:DRAWN]
        drawn += [
            {"name": row.term, "value": row.log_odds, "low": row.low, "high": row.high}
            | {"group": label}
            for row in mine
        ]
    x = "Log-odds: more often with this label"
    figure = Figure(key, title, "intervals", drawn, x=x, at=(0.0,), about=about)
    return [figure] if drawn else []
