"""The main table and the table of differences of a paper, as LaTeX sets them and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence

from analysis.formatting import (
    NOTHING,
    counted,
    enumerated,
    interval_text,
    legend_of_marks,
    listed,
    number,
    p_value,
)
from analysis.ratings.cells import csv_cell
from analysis.report.report_schema import EstimateRow, Report
from analysis.report.writers.captions import sentence
from analysis.report.writers.latex_layout import Grid
from analysis.report.writers.paper_entries import (
    Entry,
    differences,
    figures,
    results,
)

MOST_PAIRS = 30  # differences of a family that a paper prints; the CSV has all
MOST_QUESTIONS = 3  # that a caption names


def results_grid(report: Report) -> Grid:
    """The main table: a row per condition, under a heading for each of several questions."""
    entries = results(report)
    level = f"{report['provenance']['level'] * 100:g} % interval"
    marked = any(entry.mark for entry in entries)
    heads = ["Condition", _estimand(entries), level, *[_marks(entries)] * marked, "Ratings"]
    numeric = [False, True, True, *[False] * marked, True]

    def cells(entry: Entry) -> list[str]:
        count = NOTHING if entry.n_ratings is None else f"{entry.n_ratings:,}"
        return [entry.name, _value(entry), _bounds(entry), *[entry.mark] * marked, count]

    caption = f"{_subject(entries, 'Means')} {_basis(report)}"
    rows = list(_grouped(entries, cells))
    note = " ".join(_notes(report, rows, [figure.note for figure in figures(report)]))
    return Grid("results", sentence(caption), heads, numeric, rows, note, narrow=True)


def differences_grid(report: Report) -> Grid:
    """The table of differences; of many, those with the reference and with the highest mean."""
    every = differences(report)
    entries = _printed(every, results(report))
    level = f"{report['provenance']['level'] * 100:g} % interval"
    heads = ["Difference", f"Δ {_estimand(entries)}" if entries else "Δ", level, "p"]

    def cells(entry: Entry) -> list[str]:
        return [entry.name, _value(entry), _bounds(entry), p_value(entry.p)]

    caption = f"Differences of {_subject(entries, 'means')} between conditions"
    caption += ", with simultaneous intervals and adjusted p values"
    rows = list(_grouped(entries, cells))
    notes = list(_kinds(report["contrasts"]))
    notes += legend_of_marks(" ".join(cell for row in rows for cell in row))
    left = len(every) - len(entries)
    if left:
        notes.append(
            f"Printed are the differences with the reference and with the highest mean; "
            f"differences.csv has {counted(left, 'difference')} more."
        )
    numeric = [False, True, True, True]
    return Grid(
        "differences", sentence(caption), heads, numeric, rows, " ".join(notes), narrow=True
    )


def _printed(every: Sequence[Entry], means: Sequence[Entry]) -> list[Entry]:
    """All differences of a family; of many among systems those with the highest mean."""
    from analysis.statistics.comparisons.declared_families import REFERENCE

    kept: list[Entry] = []
    for about in dict.fromkeys(entry.about for entry in every):
        mine = [entry for entry in every if entry.about == about]
        if len(mine) > MOST_PAIRS and mine[0].family != REFERENCE:
            sides = {side for entry in mine for side in entry.sides}
            order = [e.name for e in means if e.question == mine[0].question and e.name in sides]
            mine = [entry for entry in mine if set(order[:1]) & set(entry.sides)]
        kept += mine
    return kept


def results_csv(report: Report) -> str:
    """The main table as CSV, rounded as it is printed; a row says what it is about."""
    level = f"{report['provenance']['level'] * 100:g} % interval"
    entries = results(report)
    heads = ["Of what", "Condition", _estimand(entries), f"{level}, lower", f"{level}, upper"]
    heads += [_marks(entries), "Ratings", "Raters", "Items"]
    return _csv(
        heads,
        ([*_numbers(e), e.mark, e.n_ratings, e.n_raters, e.n_items] for e in entries),
    )


def differences_csv(report: Report) -> str:
    """Every difference as CSV, rounded as it is printed."""
    level = f"{report['provenance']['level'] * 100:g} % interval"
    heads = ["Of what", "Difference", "Value", f"{level}, lower", f"{level}, upper", "p"]
    return _csv(heads, ([*_numbers(e), p_value(e.p)] for e in differences(report)))


def _csv(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([csv_cell("" if cell is None else cell) for cell in row] for row in rows)
    return buffer.getvalue()


def _numbers(entry: Entry) -> list[object]:
    bounds = (entry.value, entry.low, entry.high)
    if entry.ends is not None and entry.low is not None and entry.high is not None:
        bounds = (entry.value, max(entry.low, entry.ends[0]), min(entry.high, entry.ends[1]))
    rounded = ("" if x is None else number(x, False, entry.decimals) for x in bounds)
    return [entry.about, entry.name, *(text.replace("−", "-") for text in rounded)]


def _value(entry: Entry) -> str:
    return number(entry.value, entry.signed, entry.decimals) + " %" * entry.percent


def _bounds(entry: Entry) -> str:
    if entry.low is None or entry.high is None:
        return NOTHING
    return interval_text(entry.low, entry.high, entry.ends, entry.decimals)


def _estimand(entries: Sequence[Entry]) -> str:
    """The estimand's name as a heading, where all rows have the same."""
    names = {entry.estimand for entry in entries}
    return names.pop() if len(names) == 1 else "Mean"


def _marks(entries: Sequence[Entry]) -> str:
    """What the column of marks is called, which a note explains."""
    marks = [entry.mark for entry in entries if entry.mark]
    if marks and all(mark.startswith("tier ") for mark in marks):
        return "Tier"
    return "Letters" if marks and all(mark.isalpha() for mark in marks) else "Mark"


def _grouped(
    entries: Sequence[Entry], cells: Callable[[Entry], Sequence[str]]
) -> Iterator[Sequence[str] | str]:
    """The rows, under a heading each time that another question or family begins."""
    several, before = len({entry.about for entry in entries}) > 1, ""
    for entry in entries:
        if several and entry.about != before:
            yield entry.about
        before = entry.about
        yield cells(entry)


def _subject(entries: Sequence[Entry], many: str) -> str:
    questions = list(dict.fromkeys(entry.question for entry in entries))
    if len(questions) > MOST_QUESTIONS:
        return f"{many} for {len(questions)} questions"
    return listed(questions) if questions else many


def _basis(report: Report) -> str:
    """Who rated what, as the end of a caption."""
    data = report["data"]
    conditions = counted(data["conditions_kept"], "condition")
    raters, items = counted(data["raters_kept"], "rater"), counted(data["items_kept"], "item")
    return f"of {conditions}, rated by {raters} on {items}"


def _notes(
    report: Report, rows: Sequence[Sequence[str] | str], said: Sequence[str]
) -> Iterator[str]:
    yield from _kinds(report["estimates"])
    yield from legend_of_marks(" ".join(cell for row in rows for cell in row))
    yield from dict.fromkeys(filter(None, said))
    data = report["data"]
    gone = data["ratings"] - data["ratings_kept"]
    if gone:
        yield f"{data['ratings_kept']:,} of {data['ratings']:,} ratings were kept."


def _kinds(rows: Iterable[EstimateRow]) -> Iterator[str]:
    """How the intervals were made."""
    names = dict.fromkeys(row["interval"] for row in rows)
    main = [name for name in names if not name.startswith("naive")][:1]
    if main:
        yield sentence(f"Intervals: {enumerated(main)}")


def grids(report: Report) -> list[Grid]:
    """The tables that there is something for."""
    return [grid for grid in (results_grid(report), differences_grid(report)) if grid.rows]
