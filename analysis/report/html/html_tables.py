"""HTML tables of a report, and how its numbers are written for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup

from analysis.formatting import (
    NOTHING,
    Ends,
    interval_text,
    legend_of_marks,
    listed,
    p_value,
)
from analysis.report.emphasis import BEST, Emphasised
from analysis.report.figures.scene import isolate_direction
from analysis.report.html.environment import join, render
from analysis.report.report_schema import IntervalRow

if TYPE_CHECKING:
    from analysis.report.pivot import Line

MOST_OPEN = 60
UNBROKEN = 40
_BEST, _SECOND = Markup("<strong>{}</strong>"), Markup("<u>{}</u>")
_LINK = Markup('<a href="{}">{}</a>')


@dataclass(frozen=True)
class Column:
    """A column: its heading, the text of its cell for a row, whether that is a number; a link."""

    heading: str
    text: Callable[[Any], str]
    numeric: bool = False
    href: Callable[[Any], str] | None = None  # where its cell leads; empty: nowhere


def table(
    rows: Iterable[Any],
    columns: Sequence[Column],
    caption: str = "",
    scroll: bool = False,
    group: Callable[[Any], str] | None = None,
) -> Markup:
    """An HTML table whose first column heads its rows; all text is escaped here.

    ``group`` tells what heads a row and those after it that share it.
    """
    groups = [
        (heading, [[_cell(column, row) for column in columns] for row in some])
        for heading, some in groupby(rows, group or (lambda row: ""))
    ]
    return render("table", columns=columns, groups=groups, caption=caption, scroll=scroll)


def _cell(column: Column, row: Any) -> tuple[Column, str, bool]:
    """The column, the text with its mark and link, and whether it stays on one line."""
    text = column.text(row)
    html = isolate_direction(
        text
    )  # of names that are read from right to left, "A − B" keeps its order
    if isinstance(text, Emphasised):
        html = (_BEST if text.mark == BEST else _SECOND).format(html)
    if column.href and (target := column.href(row)):
        html = _LINK.format(target, html)
    return column, html, len(text) <= UNBROKEN


def bounds(interval: IntervalRow | None, ends: Ends = None, decimals: int = 3) -> str:
    """An interval in brackets, cut and marked at the scale's ends; words where there is none."""
    if interval is None:
        return NOTHING
    low, high = interval["low"], interval["high"]
    if low is None or high is None:
        return "no interval"
    return interval_text(low, high, ends, decimals)


def probability(interval: IntervalRow | None, name: Literal["p", "p_adjusted"]) -> str:
    """The p value of a row by its column; "undefined" where there is none."""
    return p_value(interval.get(name) if interval else None)


def percent(line: Line | None) -> str:
    """A share in percent with its interval."""
    if line is None:
        return NOTHING
    share = f"{line.row['value'] * 100:.1f} %"
    main = line.main
    if main is None or main["low"] is None or main["high"] is None:
        return share
    return f"{share} {interval_text(main['low'] * 100, main['high'] * 100, (0, 100), 1)}"


def table_with_notes(
    lines: Sequence[Line], columns: Sequence[Column], notes_shown: set[str], caption: str = ""
) -> Markup:
    """The table, and below it each note once; see `notes`."""
    naming = list(takewhile(lambda column: not column.numeric, columns))
    names = [tuple(column.text(line) for column in naming) for line in lines]
    html = table(lines, columns, caption, len(lines) > MOST_OPEN)
    return html + foot(html, notes(names, lines, notes_shown))


def notes(
    names: Sequence[tuple[str, ...]], lines: Sequence[Line], notes_shown: set[str]
) -> list[str]:
    """Each note of the lines once, with the names that it is about if not about all.

    What was said of all lines before (``notes_shown``) is not said again; new ones are added to it.
    """
    names_of: dict[str, list[tuple[str, ...]]] = {}
    for name, line in zip(names, lines, strict=True):
        for note in dict.fromkeys(v["note"] for v in line.intervals.values() if v["note"]):
            names_of.setdefault(note, []).append(name)
    texts = []
    for note, some in names_of.items():
        everywhere = len(some) == len(lines)
        if not (everywhere and note in notes_shown):
            texts.append(f"{'All' if everywhere else _names_in_words(some, names)}: {note}.")
        if everywhere:
            notes_shown.add(note)
    return texts


def foot(html: str, texts: Sequence[str] = ()) -> Markup:
    """Notes below a table: what its marks mean, and the texts (escaped here)."""
    line = Markup('<p class="muted small">{}</p>')
    return join(line.format(text) for text in (*legend_of_marks(html), *texts))


def fold(title: str, line: str, html: str) -> Markup:
    """A part that is closed at first: its title and a line that says what is in it."""
    return render("fold", title=title, line=line, html=html)


def _names_in_words(some: Sequence[tuple[str, ...]], every: Sequence[tuple[str, ...]]) -> str:
    """Names in words; by their first part alone where it stands for all that have it."""
    each: dict[str, None] = {}
    for name in some:
        alike = [other for other in every if other[0] == name[0]]
        whole = len(alike) > 1 and all(other in some for other in alike)
        each[name[0] if whole else " ".join(name)] = None
    return listed(list(each))
