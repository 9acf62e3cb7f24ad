"""The main table and the table of differences of a paper, as LaTeX sets them and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence

from analysis.formatting import (
    NOTHING,
    counted,
    interval_text,
    legend_of_marks,
    listed,
    number,
    p_value,
)
from analysis.ratings.cells import csv_cell
from analysis.ratings.estimands import estimand_of, family_title
from analysis.report.content import Figure
from analysis.report.interim_answer import (
    LOOKING,
    MADE_BY,
    SIGNIFICANT,
    finished_raters,
    interim_words,
    is_interim,
)
from analysis.report.report_schema import Report
from analysis.report.writers.captions import sentence
from analysis.report.writers.latex import Grid
from analysis.report.writers.paper_entries import (
    OVERALL,
    Entry,
    differences,
    figures,
    interval_kinds,
    results,
)

MOST_PAIRS = 30  # differences of a family that a paper prints; the CSV has all
MOST_QUESTIONS = 3  # that a caption names


def results_grid(report: Report) -> Grid:
    """The main table: a row per condition, under a heading for each of several questions."""
    entries, panels = results(report), figures(report)
    level = _level(report)
    marked = any(entry.mark for entry in entries)
    heads = ["Condition", _estimand(entries), level, *[_marks(entries)] * marked, "Ratings"]
    numeric = [False, True, True, *[False] * marked, True]

    def cells(entry: Entry) -> list[str]:
        count = NOTHING if entry.n_ratings is None else f"{entry.n_ratings:,}"
        return [entry.name, _value(entry), _bounds(entry), *[entry.mark] * marked, count]

    caption = f"{_interim(report)}{_subject(entries, 'Means')} {_basis(report)}"
    rows = list(_grouped(entries, cells))
    note = " ".join(_notes(report, rows, panels))
    return Grid("results", sentence(caption), heads, numeric, rows, note, narrow=True)


def differences_grid(report: Report) -> Grid:
    """The table of differences; of many, those with the reference and with the highest mean."""
    every = differences(report)
    entries = _printed(every, results(report))
    heads = ["Difference", f"Δ {_estimand(entries)}" if entries else "Δ", _level(report)]
    heads += [_tested(report)]

    def cells(entry: Entry) -> list[str]:
        return [entry.name, _value(entry), _bounds(entry), entry.mark or p_value(entry.p)]

    caption = f"{_interim(report)}Differences of {_subject(entries, 'means')} between conditions"
    if _several_at_once(every):
        caption += ", with simultaneous intervals"
        caption += " and adjusted p values" * (not is_interim(report))
    rows = list(_grouped(entries, cells))
    notes = list(_of_differences(report, every))
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


def _of_differences(report: Report, entries: Sequence[Entry]) -> Iterator[str]:
    """How the intervals of differences were made, for which they hold, and what is left out."""
    families = {entry.about for entry in entries}
    each = "the family" if len(families) == 1 else "each family"
    at_once = f", simultaneous for {each}" if _several_at_once(entries) else ""
    if is_interim(report):
        yield sentence(f"Intervals: {MADE_BY}{at_once}")
        return
    kinds = (row["interval"] for row in report["contrasts"] if row.get("family"))
    at_once += " (Hothorn, Bretz and Westfall 2008)" if at_once else ""
    yield from (sentence(f"Intervals: {kind}{at_once}") for kind in list(dict.fromkeys(kinds))[:1])
    alone = undeclared_pairs(report)
    if alone:
        enters = "enters" if alone == 1 else "enter"
        yield f"{counted(alone, 'difference')} with an anchor {enters} no comparison."


def _several_at_once(entries: Sequence[Entry]) -> bool:
    """Whether a family has several differences, so that they are adjusted."""
    return len(entries) > len({entry.about for entry in entries})


def undeclared_pairs(report: Report) -> int:
    """How many overall differences are in no declared family, as they meet an anchor."""
    pairs: dict[tuple[str, ...], bool] = {}
    for row in report["contrasts"]:
        if row.get("breakdown") == OVERALL and not estimand_of(row["estimand"]).in_pairs:
            place = (family_title(row), row["condition"], row.get("versus", ""))
            pairs[place] = pairs.get(place, False) or bool(row.get("family"))
    return sum(not declared for declared in pairs.values())


def _level(report: Report) -> str:
    """What the column of intervals is called."""
    bounded = is_interim(report) and all(row["kind"] != "none" for row in report["interim"])
    kind = LOOKING if bounded else "interval"
    return f"{report['provenance']['level'] * 100:g} % {kind}"


def _tested(report: Report) -> str:
    """What the column is called that says which differences are significant."""
    return SIGNIFICANT if is_interim(report) else "p, adjusted"


def _interim(report: Report) -> str:
    """What a caption begins with while recruiting is open."""
    words = interim_words(report)
    return f"{words} " if words else ""


def _printed(every: Sequence[Entry], means: Sequence[Entry]) -> list[Entry]:
    """All differences of a family; of many among systems those with the highest mean."""
    from analysis.statistics.comparisons.pairwise_contrasts import REFERENCE

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
    level, entries = _level(report), results(report)
    heads = ["Of what", "Condition", _estimand(entries), f"{level}, lower", f"{level}, upper"]
    heads += [_marks(entries), "Ratings", "Raters", "Items"]
    return _csv(
        heads,
        ([*_numbers(e), e.mark, e.n_ratings, e.n_raters, e.n_items] for e in entries),
    )


def differences_csv(report: Report) -> str:
    """Every difference as CSV, rounded as it is printed."""
    level = _level(report)
    heads = ["Of what", "Difference", "Value", f"{level}, lower", f"{level}, upper"]
    heads += [_tested(report), "Ratings", "Raters", "Items"]
    rows = (
        [*_numbers(e), e.mark or p_value(e.p), e.n_ratings, e.n_raters, e.n_items]
        for e in differences(report)
    )
    return _csv(heads, rows)


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
    finished = finished_raters(report)
    raters = counted(finished or data["raters_kept"], "rater")
    items = counted(data["items_kept"], "item")
    return f"of {conditions}, rated by {raters}{' who finished' * bool(finished)} on {items}"


def _notes(
    report: Report, rows: Sequence[Sequence[str] | str], panels: Sequence[Figure]
) -> Iterator[str]:
    kinds = interval_kinds(panels)
    if kinds:
        yield sentence(f"Intervals: {'; '.join(kinds)}")
    yield from legend_of_marks(" ".join(cell for row in rows for cell in row))
    yield from dict.fromkeys(panel.note for panel in panels if panel.note)
    data = report["data"]
    gone = data["ratings"] - data["ratings_kept"]
    if gone:
        yield f"{data['ratings_kept']:,} of {data['ratings']:,} ratings were kept."


def grids(report: Report) -> list[Grid]:
    """The tables that there is something for."""
    return [grid for grid in (results_grid(report), differences_grid(report)) if grid.rows]
