"""The main table and the table of differences of a paper, as LaTeX sets them and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.citations import cite
from analysis.formatting import (
    NOTHING,
    Ends,
    counted,
    enumerated,
    interval_text,
    legend_of_marks,
    listed,
    number,
    p_value,
)
from analysis.name_spans import family_span, resolve
from analysis.ratings.cells import csv_text
from analysis.ratings.estimands import estimand_of, family_title, name_of
from analysis.report.content import Figure, content_from, pick_cells
from analysis.report.figures.all_figures import ANSWER, estimate_plots
from analysis.report.interim_answer import (
    LOOKING,
    MADE_BY,
    SIGNIFICANT,
    finished_raters,
    interim_report,
    interim_words,
    is_interim,
)
from analysis.report.pivot import Line, lines_of
from analysis.report.report_schema import Report
from analysis.report.writers.captions import Families, sentence
from analysis.report.writers.latex import Grid

OVERALL = "condition:"
_NAIVE = frozenset({"naive_low", "naive_high"})
PERCENT = 1  # decimals of a share in per cent


@dataclass(frozen=True)
class Entry:
    """A row: the question it answers, a mean or difference (None: none), bounds, and counts."""

    question: str
    estimand: str  # its name
    name: str
    value: float | None
    low: float | None
    high: float | None
    decimals: int
    ends: Ends = None
    mark: str = ""
    n_ratings: int | None = None
    n_raters: int | None = None
    n_items: int | None = None
    p: float | None = None
    signed: bool = False
    percent: bool = False
    family: str = ""  # of a difference: with what it is adjusted together

    @property
    def sides(self) -> list[str]:
        """Of a difference, the two conditions."""
        return self.name.split(" − ")

    def turned(self) -> Entry:
        """The same difference, the other way round."""
        ends = [None if end is None else 0.0 - end for end in (self.high, self.low)]
        name = " − ".join(reversed(self.sides))
        value = None if self.value is None else 0.0 - self.value
        return replace(self, name=name, value=value, low=ends[0], high=ends[1])

    @property
    def heading(self) -> str:
        """What its heading says."""
        return f"{self.question}, {self.family}" if self.family else self.question


def figures(report: Report) -> list[Figure]:
    """The figures of the answer as a paper prints them: a panel for each task and criterion.

    Names are labels, titles words; naive intervals are left to the report.
    """
    families, parts = Families(report), interim_report(report)["parts"]
    answer = next((p for p in parts if p["key"] == ANSWER and not p["problem"]), None)
    drawn = list(content_from(answer).figures) if answer else []
    drawn = drawn or [
        replace(plot.figure, title=family_span(plot.about[0])) for plot in estimate_plots(report)
    ]
    return [_panel(families, figure) for figure in drawn]


def _panel(families: Families, figure: Figure) -> Figure:
    rows = [
        {k: v for k, v in {**row, "name": families.name(row["name"])}.items() if k not in _NAIVE}
        for row in figure.rows
    ]
    return replace(
        figure,
        rows=rows,
        title=resolve(figure.title, families.in_words),
        note=resolve(figure.note, families.in_words),
    )


def results(report: Report) -> list[Entry]:
    """The rows of the main table: those of the figures, with how much each rests on."""
    families = Families(report)
    return [entry for figure in figures(report) for entry in _of_figure(families, figure)]


def interval_kinds(panels: Sequence[Figure]) -> list[str]:
    """How the intervals of each figure were made, a phrase each; once where all are alike."""
    kind_of = {panel.title: panel.made_by for panel in panels if panel.made_by}
    if len(set(kind_of.values())) <= 1:
        return list(dict.fromkeys(kind_of.values()))
    by_kind: dict[str, list[str]] = {}
    for title, kind in kind_of.items():
        by_kind.setdefault(kind, []).append(title)
    return [f"{kind} ({enumerated(titles)})" for kind, titles in by_kind.items()]


def _of_figure(families: Families, figure: Figure) -> Iterator[Entry]:
    row_of = families.known.get(figure.about, {})
    key = str(row_of.get("estimand", ""))
    shares = figure.drawing == "shares"
    unit = 100 if shares else 1
    for row in figure.rows:
        value, low, high = (
            None if row.get(key) is None else unit * row[key] for key in ("value", "low", "high")
        )
        yield Entry(
            question=figure.title,
            estimand="Share" if shares else name_of(key),
            name=f"{row['name']}: {row['label']}" if shares else row["name"],
            value=value,
            low=low,
            high=high,
            decimals=PERCENT if shares or figure.decimals is None else figure.decimals,
            ends=(0.0, 100.0) if shares else figure.ends,
            mark=row.get("mark", ""),
            n_ratings=row.get("n"),
            n_raters=row.get("n_raters"),
            n_items=row.get("n_items"),
            percent=shares,
        )


def differences(report: Report) -> list[Entry]:
    """Every difference that the study decides, the reference first; of pairs a mean is one already.

    Those are the differences of the declared families (`declared_families`): what meets an anchor
    is in none. Of an open study they are those that sequential intervals bound.
    """
    from analysis.statistics.comparisons.pairwise_contrasts import REFERENCE

    if is_interim(report):
        return _differences_so_far(report)
    families = Families(report)
    rows = [row for row in report["contrasts"] if row["breakdown"] == OVERALL]
    entries = []
    for line in lines_of(rows):
        estimand = estimand_of(line.row["estimand"])
        declared = bool(line.main and line.main.get("family"))
        if line.weighting == "ratings" and not estimand.in_pairs and declared:
            entries.append(_difference(families, line, estimand.decimals))
    order = list(dict.fromkeys(entry.question for entry in entries))

    def place(each: Entry) -> tuple[int, bool, float]:
        value = -(each.value or 0.0)
        return order.index(each.question), each.family != REFERENCE, value

    return sorted(_turn_entries(entries), key=place)


def _differences_so_far(report: Report) -> list[Entry]:
    """The differences of an open study, with whether each is significant in place of p."""
    from analysis.statistics.comparisons.pairwise_contrasts import REFERENCE, SYSTEMS

    families, entries = Families(report), []
    for row in report["interim"]:
        if row["kind"] != "systems":
            continue
        place = families.known.get(row["title"], row)
        for pair in row["pairs"]:
            sides = (families.name(pair[side]) for side in ("condition", "versus"))
            against = row["reference"] and row["reference"] in (pair["condition"], pair["versus"])
            entries.append(
                Entry(
                    question=families.words(place),
                    family=REFERENCE if against else SYSTEMS,
                    estimand=name_of(row["estimand"]),
                    name=" − ".join(sides),
                    **pick_cells(pair, "value", "low", "high"),
                    decimals=estimand_of(row["estimand"]).decimals,
                    mark="yes" if pair["claimed"] else "no",
                    n_ratings=pair.get("ratings"),
                    n_raters=pair["raters"],
                    n_items=pair.get("items"),
                    signed=True,
                )
            )
    return entries


def _turn_entries(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Each minus the reference, where the family has one; else the higher minus the lower."""
    for heading in dict.fromkeys(entry.heading for entry in entries):
        mine = [entry for entry in entries if entry.heading == heading]
        common = set.intersection(*(set(entry.sides) for entry in mine))
        for entry in mine:
            low = (entry.value or 0.0) < 0
            if common and len(mine) > 1:
                low = entry.sides[0] in common
            yield entry.turned() if low else entry


def _difference(families: Families, line: Line, decimals: int) -> Entry:
    main: Mapping[str, Any] = line.main or {}
    versus = line.row.get("versus") or ""
    return Entry(
        question=families.words(line.row),
        family=main["family"],
        estimand=name_of(line.row["estimand"]),
        name=f"{families.name(line.row['condition'])} − {families.name(versus)}",
        value=line.row["value"],
        low=main.get("low_all"),
        high=main.get("high_all"),
        decimals=decimals,
        **pick_cells(line.row, "n_ratings", "n_raters", "n_items"),
        p=main.get("p_adjusted"),
        signed=True,
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
    rows = list(_group_rows(entries, cells))
    note = " ".join(_notes(report, rows, panels))
    return Grid("results", sentence(caption), heads, numeric, rows, note, narrow=True)


def differences_grid(report: Report) -> Grid:
    """The table of differences; of many, those with the reference and with the highest mean."""
    every = differences(report)
    entries = _printed_entries(every, results(report))
    heads = ["Difference", f"Δ {_estimand(entries)}" if entries else "Δ", _level(report)]
    heads += [_significance_heading(report)]

    def cells(entry: Entry) -> list[str]:
        return [entry.name, _value(entry), _bounds(entry), entry.mark or p_value(entry.p)]

    caption = f"{_interim(report)}Differences of {_subject(entries, 'means')} between conditions"
    if _several_at_once(every):
        caption += ", with simultaneous intervals"
        caption += " and adjusted p values" * (not is_interim(report))
    rows = list(_group_rows(entries, cells))
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
    families = {entry.heading for entry in entries}
    each = "the family" if len(families) == 1 else "each family"
    at_once = f", simultaneous for {each}" if _several_at_once(entries) else ""
    if is_interim(report):
        yield sentence(f"Intervals: {MADE_BY}{at_once}")
        return
    kinds = (row["interval"] for row in report["contrasts"] if row.get("family"))
    at_once += f" {resolve(cite('hothorn2008'))}" if at_once else ""
    yield from (sentence(f"Intervals: {kind}{at_once}") for kind in list(dict.fromkeys(kinds))[:1])
    alone = undeclared_pairs(report)
    if alone:
        enters = "enters" if alone == 1 else "enter"
        yield f"{counted(alone, 'difference')} with an anchor {enters} no comparison."


def _several_at_once(entries: Sequence[Entry]) -> bool:
    """Whether a family has several differences, so that they are adjusted."""
    return len(entries) > len({entry.heading for entry in entries})


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


def _significance_heading(report: Report) -> str:
    """What the column is called that says which differences are significant."""
    return SIGNIFICANT if is_interim(report) else "p, adjusted"


def _interim(report: Report) -> str:
    """What a caption begins with while recruiting is open."""
    words = interim_words(report)
    return f"{words} " if words else ""


def _printed_entries(every: Sequence[Entry], means: Sequence[Entry]) -> list[Entry]:
    """All differences of a family; of many among systems those with the highest mean."""
    from analysis.statistics.comparisons.pairwise_contrasts import REFERENCE

    printed: list[Entry] = []
    for heading in dict.fromkeys(entry.heading for entry in every):
        mine = [entry for entry in every if entry.heading == heading]
        if len(mine) > MOST_PAIRS and mine[0].family != REFERENCE:
            sides = {side for entry in mine for side in entry.sides}
            order = [e.name for e in means if e.question == mine[0].question and e.name in sides]
            mine = [entry for entry in mine if set(order[:1]) & set(entry.sides)]
        printed += mine
    return printed


def results_csv(report: Report) -> str:
    """The main table as CSV, rounded as it is printed; a row says what it is about."""
    level, entries = _level(report), results(report)
    heads = ["Of what", "Condition", _estimand(entries), f"{level}, lower", f"{level}, upper"]
    heads += [_marks(entries), "Ratings", "Raters", "Items"]
    rows = ([*_numbers(e), e.mark, e.n_ratings, e.n_raters, e.n_items] for e in entries)
    return csv_text([heads, *rows])


def differences_csv(report: Report) -> str:
    """Every difference as CSV, rounded as it is printed."""
    level = _level(report)
    heads = ["Of what", "Difference", "Value", f"{level}, lower", f"{level}, upper"]
    heads += [_significance_heading(report), "Ratings", "Raters", "Items"]
    rows = (
        [*_numbers(e), e.mark or p_value(e.p), e.n_ratings, e.n_raters, e.n_items]
        for e in differences(report)
    )
    return csv_text([heads, *rows])


def _numbers(entry: Entry) -> list[object]:
    bounds = (entry.value, entry.low, entry.high)
    if entry.ends is not None and entry.low is not None and entry.high is not None:
        bounds = (entry.value, max(entry.low, entry.ends[0]), min(entry.high, entry.ends[1]))
    rounded = ("" if x is None else number(x, False, entry.decimals) for x in bounds)
    return [entry.heading, entry.name, *(text.replace("−", "-") for text in rounded)]


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


def _group_rows(
    entries: Sequence[Entry], cells: Callable[[Entry], Sequence[str]]
) -> Iterator[Sequence[str] | str]:
    """The rows, under a heading each time that another question or family begins."""
    several, before = len({entry.heading for entry in entries}) > 1, ""
    for entry in entries:
        if several and entry.heading != before:
            yield entry.heading
        before = entry.heading
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
    of_questions = {design["raters"] for design in report.get("design", ())}
    if len(of_questions) > 1 and not finished:
        raters = f"{min(of_questions):,} to {max(of_questions):,} raters per question"
    items = counted(data["items_kept"], "item")
    return f"({conditions}), rated by {raters}{' who finished' * bool(finished)} on {items}"


def _notes(
    report: Report, rows: Sequence[Sequence[str] | str], panels: Sequence[Figure]
) -> Iterator[str]:
    kinds = interval_kinds(panels)
    if kinds:
        yield sentence(f"Intervals: {'; '.join(kinds)}")
    yield from legend_of_marks(" ".join(cell for row in rows for cell in row))
    yield from dict.fromkeys(panel.note for panel in panels if panel.note)
    data = report["data"]
    excluded = data["ratings"] - data["ratings_kept"]
    if excluded:
        yield f"{data['ratings_kept']:,} of {data['ratings']:,} ratings were kept."


def grids(report: Report) -> list[Grid]:
    """The tables that there is something for."""
    return [grid for grid in (results_grid(report), differences_grid(report)) if grid.rows]
