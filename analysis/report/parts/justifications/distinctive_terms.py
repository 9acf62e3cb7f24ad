"""Words and codes that go with a label: the most telling ones of each, and all that were tried."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Codes
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import PartInput
from analysis.report.parts.justifications.reason_data import Reasons
from analysis.statistics.justifications import (
    TermLogOdds,
    TermTable,
    code_table,
    label_groups,
    term_log_odds,
    term_table,
)
from analysis.statistics.justifications.log_odds import PRIOR
from analysis.statistics.justifications.terms import FEWEST_RATERS, FEWEST_REASONS, MOST_TERMS

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


def words_by_label(found: Reasons, title: str, inputs: PartInput) -> Content:
    """The words of reasons against the labels of one family."""
    text = found.table["justification"].to_numpy(dtype=object)
    has = np.array([bool(each.strip()) for each in text.tolist()], dtype=bool)
    if found.several or not has.any():
        return Content()
    if has.sum() < FEWEST:
        return Content(
            [f"{title}: {has.sum()} reasons are too few to compare the words of labels."]
        )
    cut = ""
    if has.sum() > MOST_REASONS:
        cut = f" These are the words of {MOST_REASONS} of {has.sum()} reasons, drawn by chance."
        has = drawn_rows(has, inputs.options.seed)
    groups = label_groups(found.table[has], found.family.estimand)
    if groups.why_not:
        return Content([f"{title}: words cannot be tied to labels: {groups.why_not}."])
    table = term_table(text[has].tolist(), found.rater[has])
    if not table.terms:
        return Content([f"{title}: no word is used by {FEWEST_RATERS} raters or more."])
    rows = _told(table, groups.code, groups.names, found, has, inputs)
    sure = list(most_telling(rows, table))
    return Content(
        sentences=[_sentence(title, groups.names, sure, len(table.terms)) + cut],
        figures=_figures("words", "Most telling words of each label", sure, title),
        tables=[
            Table(
                "words",
                "Most telling words of each label",
                COLUMNS,
                [row.row() for row in sure],
                f"{NOTE} {SHORTENED}",
                about=title,
            ),
            Table(
                "all-words",
                "All words by label",
                COLUMNS,
                [row.row() for row in rows],
                NOTE,
                about=title,
                folded=True,
            ),
        ],
        methods=[METHODS],
    )


def drawn_rows(has: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    """As many of the reasons as can be read in seconds, drawn without replacement."""
    drawn = np.random.default_rng(seed).choice(np.flatnonzero(has), MOST_REASONS, replace=False)
    rows = np.zeros(len(has), dtype=bool)
    rows[drawn] = True
    return rows


def codes_by_label(found: Reasons, title: str, inputs: PartInput) -> Content:
    """The codes of reasons against the labels of one family."""
    has = (found.table["codes"] != "").to_numpy(dtype=bool)
    if found.several or has.sum() < FEWEST:
        return Content()
    groups = label_groups(found.table[has], found.family.estimand)
    if groups.why_not:
        return Content([f"{title}: codes cannot be tied to labels: {groups.why_not}."])
    table = code_table(found.table["codes"][has].tolist(), found.rater[has])
    rows = _told(table, groups.code, groups.names, found, has, inputs)
    columns = [Column("term", "Code") if c.key == "term" else c for c in COLUMNS]
    heading = "Codes by label"
    return Content(
        figures=_figures("codes-by-label", heading, rows, title),
        tables=[
            Table(
                "codes-by-label",
                heading,
                columns,
                [row.row() for row in rows],
                NOTE.replace("word", "code").replace("Words", "Codes"),
                about=title,
                folded=True,
            )
        ],
        methods=[METHODS],
    )


def _told(
    table: TermTable,
    code: Codes,
    names: Sequence[str],
    found: Reasons,
    has: np.ndarray,
    inputs: PartInput,
) -> list[TermLogOdds]:
    return term_log_odds(
        table, code, names, found.rater[has], found.item[has], level=inputs.options.level
    )


def most_telling(rows: Sequence[TermLogOdds], table: TermTable) -> Iterator[TermLogOdds]:
    """Of each label the first that are sure and matter, but for those that mostly repeat another.

    It matters from odds of 1.5 to 1; it repeats where four of five of its reasons hold a word that
    came before.
    """
    columns, place = table.has.tocsc(), {term: number for number, term in enumerate(table.terms)}
    told: dict[str, list[np.ndarray]] = {}
    for row in rows:
        before = told.setdefault(row.label, [])
        if row.log_odds < TELLING_FROM or row.p_bh >= FALSE_SHARE or len(before) >= SHOWN:
            continue
        number = place[row.term]
        held = columns.indices[columns.indptr[number] : columns.indptr[number + 1]]
        if not any(np.isin(held, other).mean() > REPEATED for other in before):
            before.append(held)
            yield row


def _sentence(title: str, names: Sequence[str], sure: Sequence[TermLogOdds], tried: int) -> str:
    told = []
    for name in names:
        mine = [row.term for row in sure if row.label == name][:NAMED]
        told.append(f"{name}: {', '.join(mine) if mine else 'none'}")
    return f"{title}: the most telling of {tried} words, by label: {'; '.join(told)}."


def _figures(key: str, heading: str, rows: Sequence[TermLogOdds], title: str) -> list[Figure]:
    drawn: list[dict[str, Any]] = []
    for label in dict.fromkeys(row.label for row in rows):
        mine = [row for row in rows if row.label == label and row.log_odds > 0][:DRAWN]
        drawn += [
            {
                "name": row.term,
                "value": row.log_odds,
                "low": row.low,
                "high": row.high,
                "group": label,
            }
            for row in mine
        ]
    if not drawn:
        return []
    return [
        Figure(
            key,
            heading,
            "intervals",
            drawn,
            x="Log-odds: more often with this label",
            at=(0.0,),
            about=title,
        )
    ]
