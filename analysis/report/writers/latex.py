"""Tables as LaTeX for two-column papers: booktabs and array, nothing wider than its place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from analysis.report.emphasis import BEST, SECOND, Emphasised
from analysis.report.writers.latex_text import (
    breakable,
    escaped,
    least_width_pt,
    letters_not_set,
    pieces,
    width_pt,
)
from analysis.report.writers.paper_tables import Named, cells_of, is_number

COLUMN_PT, PAGE_PT = 219.0, 450.0  # of an article on A4, the narrower one of the usual papers
HEIGHT_PT = 525.0
GAP_PT = 8.0  # between columns: twice \tabcolsep
MOST_LINES = 3  # of a name in one column
SHORT_PT = 50.0  # a text so short stays on one line
MOST_WRAPPED_PT = 90.0  # that a text over both columns takes at least, where it is long
BOLD = 1.16  # how much wider bold letters are
MOST_KEYS = 2  # columns that are said again in each table of several


@dataclass(frozen=True)
class Size:
    """Of letters: LaTeX's name, how wide against ten points, and the height of a line in pt."""

    name: str
    scale: float
    line_pt: float


SMALL = Size("small", 0.926, 11.0)
SIZES = (SMALL, Size("footnotesize", 0.851, 9.5), Size("scriptsize", 0.82, 8.0))


@dataclass(frozen=True)
class Grid:
    """A table as texts: a row is its cells, or a single text that heads the rows below it."""

    key: str
    caption: str
    heads: Sequence[str]
    numeric: Sequence[bool]  # set to the right, never broken
    rows: Sequence[Sequence[str] | str]
    note: str = ""
    narrow: bool = False  # in one column at any rate, on however many lines

    def cells(self, place: int) -> Iterator[str]:
        """The cells of a column."""
        return (row[place] for row in self.rows if not isinstance(row, str))

    def texts(self) -> Iterator[str]:
        """Every text that is printed."""
        yield from (self.caption, self.note, *self.heads)
        for row in self.rows:
            yield from [row] if isinstance(row, str) else row


@dataclass(frozen=True)
class Sheet:
    """One table of a grid: its columns with their widths (None: as wide as they are), its rows."""

    wide: bool  # over both columns of the page
    size: Size
    columns: Sequence[int]
    widths: Sequence[float | None]
    heads: Sequence[Sequence[str]]  # in lines
    rows: Sequence[Sequence[str] | str]


@dataclass(frozen=True)
class _Need:
    """What a column takes, pt: as it is, and at least."""

    natural: float
    least: float
    numeric: bool


def sheets(grid: Grid) -> list[Sheet]:
    """The tables that the grid is set in: mostly one."""
    every = range(len(grid.heads))
    for wide, size in _places():
        needs = [_need(grid, place, size, wide) for place in every]
        if _sum(need.least for need in needs) <= _room(wide):
            return list(_over_pages(grid, wide, size, every, needs))
    wide, size = True, SIZES[-1]
    needs = [_need(grid, place, size, wide) for place in every]
    return [
        sheet
        for columns in _beside(grid, needs, _room(wide))
        for sheet in _over_pages(grid, wide, size, columns, [needs[c] for c in columns])
    ]


def _places() -> Iterator[tuple[bool, Size]]:
    yield from ((False, size) for size in SIZES[:2])
    yield from ((True, size) for size in SIZES)


def _room(wide: bool) -> float:
    return PAGE_PT if wide else COLUMN_PT


def _need(grid: Grid, place: int, size: Size, wide: bool) -> _Need:
    cells, head = list(grid.cells(place)), grid.heads[place]
    natural = max(map(_set_pt, cells), default=0.0)
    of_head = max((width_pt(word) for word in head.split(" ")), default=0.0)
    numeric = grid.numeric[place]
    if numeric:
        least = max(natural, of_head)
    else:
        pieces = max((least_width_pt(text) for text in (*cells, head)), default=0.0)
        third = natural if natural <= SHORT_PT else natural / MOST_LINES
        wrapped = min(third, MOST_WRAPPED_PT) if wide else third
        least = pieces if grid.narrow else max(pieces, wrapped)
    natural = max(natural, width_pt(head))
    # half a point for what LaTeX rounds
    return _Need(natural * size.scale + 0.5, least * size.scale + 0.5, numeric)


def _set_pt(cell: str) -> float:
    """The width of a cell at ten points; bold letters are wider."""
    bold = isinstance(cell, Emphasised) and cell.mark == BEST
    return width_pt(cell) * (BOLD if bold else 1.0)


def _sum(widths: Iterable[float]) -> float:
    """The width of columns beside each other."""
    every = list(widths)
    return sum(every) + GAP_PT * (len(every) - 1)


def _beside(grid: Grid, needs: Sequence[_Need], room: float) -> Iterator[list[int]]:
    """Columns for several tables; each begins with those that say what a row is about."""
    first = [n for n, numeric in enumerate(grid.numeric[:MOST_KEYS]) if not numeric]
    keys = [n for n in first if n == first.index(n)] or [0]
    held = list(keys)
    for place in range(len(needs)):
        if place in keys:
            continue
        if len(held) > len(keys) and _sum(needs[n].least for n in (*held, place)) > room:
            yield held
            held = list(keys)
        held.append(place)
    yield held


def _widths(needs: Sequence[_Need], room: float) -> list[float | None]:
    """None where a column is as wide as it is; else what it gets of what is left."""
    if _sum(need.natural for need in needs) <= room:
        return [None] * len(needs)
    left = room - _sum(need.least for need in needs)
    asked = sum(need.natural - need.least for need in needs if not need.numeric)
    made: list[float | None] = []
    for need in needs:
        more = left * (need.natural - need.least) / asked if asked else 0.0
        given = min(need.least + more, need.natural)
        made.append(None if need.numeric or given >= need.natural else math.floor(given * 10) / 10)
    return made


def _over_pages(
    grid: Grid, wide: bool, size: Size, columns: Sequence[int], needs: Sequence[_Need]
) -> Iterator[Sheet]:
    room = _room(wide)
    widths = _widths(needs, room)
    whole = _sum(need.natural for need in needs) <= room
    heads = [
        [grid.heads[c]] if whole or not need.numeric else _stacked(grid.heads[c], need, size)
        for c, need in zip(columns, needs, strict=True)
    ]
    heights = [_height(grid, row, columns, widths, size) for row in grid.rows]
    lines = max(map(len, heads), default=1) + 2
    around = sum(_paragraph(text, room) for text in (grid.caption, grid.note))
    most = max(HEIGHT_PT - around - lines * size.line_pt, 20 * size.line_pt)
    for start, end in pairwise(_cuts(heights, most)):
        rows = [
            row if isinstance(row, str) else [row[c] for c in columns]
            for row in grid.rows[start:end]
        ]
        yield Sheet(wide, size, columns, widths, heads, rows)


def _cuts(heights: Sequence[float], most: float) -> list[int]:
    """Where the rows are cut, so that none of the tables is higher than that."""
    cuts, height = [0], 0.0
    for place, each in enumerate(heights):
        if height and height + each > most:
            cuts.append(place)
            height = 0.0
        height += each
    return [*cuts, len(heights)]


def _stacked(head: str, need: _Need, size: Size) -> list[str]:
    """The heading in as many lines as its column's least width asks for."""
    lines = [""]
    for word in head.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if not lines[-1] or width_pt(longer) * size.scale <= need.least:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _height(
    grid: Grid,
    row: Sequence[str] | str,
    columns: Sequence[int],
    widths: Sequence[float | None],
    size: Size,
) -> float:
    if isinstance(row, str):
        return 1.5 * size.line_pt
    lines = [
        _lines(row[c], width / size.scale)
        for c, width in zip(columns, widths, strict=True)
        if width is not None
    ]
    return max(lines, default=1) * size.line_pt


def _lines(text: str, width: float) -> int:
    """In how many lines a text is broken, at ten points."""
    count, used = 1, 0.0
    for word in text.split(" "):
        for place, piece in enumerate(pieces(word)):
            space = width_pt(" ") if used and not place else 0.0
            used += space + width_pt(piece)
            if used > width:
                count, used = count + 1, width_pt(piece)
    return count


def _paragraph(text: str, room: float) -> float:
    """The height of a text as wide as its table, pt."""
    return 12.0 * _lines(text, room) if text else 0.0


PACKAGES = ("booktabs", "array")
EMPHASIS = {BEST: "\\textbf", SECOND: "\\underline"}
MOST_WAITING = 8  # tables that LaTeX is given before it must print them; it holds 18 in old ones


def latex_table(named: Named) -> str:
    """A table of the report as LaTeX; see `latex_grid`. Its key, after ``tab:``, is its label."""
    return latex_grid(grid_of(named))


def grid_of(named: Named) -> Grid:
    """A table of the report as texts."""
    table = named.table
    numeric = [is_number(column) for column in table.columns]
    heads = [column.heading for column in table.columns]
    rows: list[list[str] | str] = []
    for heading, some in table.grouped():
        rows += [heading] * bool(heading)
        rows += cells_of(replace(table, rows=some))
    return Grid(named.key, sentence(table.title), heads, numeric, rows, table.note)


def sentence(text: str) -> str:
    """The text with a full stop, if it has none."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def latex_grid(grid: Grid) -> str:
    """The table in as many floats as it needs (`latex_layout`), with caption, label and note.

    Needs the `PACKAGES`. Names in letters that pdfLaTeX does not know need XeLaTeX or LuaLaTeX
    with a font that has them; then the first line says so.
    """
    made = sheets(grid)
    floats = [_float(grid, sheet, n, len(made)) for n, sheet in enumerate(made)]
    for n in range(MOST_WAITING, len(floats), MOST_WAITING):
        floats[n] = f"\\clearpage\n{floats[n]}"
    return "".join([*other_engine(letters_not_set(grid.texts())), *floats])


def other_engine(letters: str) -> Iterator[str]:
    """A comment for a file with letters that pdfLaTeX does not know."""
    if letters:
        some = letters[:12] + "…" * (len(letters) > 12)
        yield f"% XeLaTeX or LuaLaTeX, and a font that has these letters (as ctex sets): {some}\n"


def _float(grid: Grid, sheet: Sheet, number: int, of: int) -> str:
    kind = "table*" if sheet.wide else "table"
    more = "" if number == 0 else " (continued)"
    again = "  \\addtocounter{table}{-1}%\n" if number else ""
    label = "" if number else f"\n  \\label{{tab:{grid.key}}}"
    ends = number == of - 1 and grid.note
    words = f"\\raggedright\\footnotesize {breakable(grid.note)}"
    note = f"\n  \\par\\smallskip\\parbox{{\\linewidth}}{{{words}}}" if ends else ""
    return (
        f"\\begin{{{kind}}}[tbp]\n  \\centering\\sloppy\n{again}"
        f"  \\caption{{{breakable(grid.caption[:-1] + more + grid.caption[-1:])}}}{label}\n"
        f"  \\{sheet.size.name}\\setlength{{\\tabcolsep}}{{{GAP_PT / 2:g}pt}}\n"
        f"  \\begin{{tabular}}{{@{{}}{_shape(grid, sheet)}@{{}}}}\n"
        f"    \\toprule\n    {_heads(sheet)} \\\\\n    \\midrule\n"
        f"{_body(sheet)}    \\bottomrule\n  \\end{{tabular}}{note}\n\\end{{{kind}}}\n"
    )


def _shape(grid: Grid, sheet: Sheet) -> str:
    kinds = []
    for column, width in zip(sheet.columns, sheet.widths, strict=True):
        wrapped = f">{{\\raggedright\\arraybackslash}}p{{{width:g}pt}}" if width else "l"
        kinds.append("r" if grid.numeric[column] else wrapped)
    return "".join(kinds)


def _heads(sheet: Sheet) -> str:
    shown = zip(sheet.heads, sheet.widths, strict=True)
    return " & ".join(_head(lines, width) for lines, width in shown)


def _head(lines: Sequence[str], width: float | None) -> str:
    if len(lines) == 1:
        return breakable(lines[0]) if width else escaped(lines[0])
    stacked = "\\\\".join(map(escaped, lines))
    return f"\\begin{{tabular}}[b]{{@{{}}r@{{}}}}{stacked}\\end{{tabular}}"


def _body(sheet: Sheet) -> str:
    return "".join(f"    {line}\n" for line in _tex_lines(sheet))


def _tex_lines(sheet: Sheet) -> Iterator[str]:
    across = len(sheet.columns)
    for place, row in enumerate(sheet.rows):
        if isinstance(row, str):
            space = "\\addlinespace " * (place > 0)
            width = min(width_pt(row), COLUMN_PT)
            shape = f"@{{}}>{{\\raggedright}}p{{{width:.1f}pt}}@{{}}"
            yield f"{space}\\multicolumn{{{across}}}{{{shape}}}{{\\itshape {breakable(row)}}} \\\\"
        else:
            cells = zip(row, sheet.widths, strict=True)
            yield " & ".join(_cell(text, width) for text, width in cells) + " \\\\"


def _cell(text: str, width: float | None) -> str:
    """A cell; one that begins with a bracket is held apart from the row's end before it."""
    made = breakable(text) if width else escaped(text)
    if isinstance(text, Emphasised):
        return f"{EMPHASIS[text.mark]}{{{made}}}"
    return f"{{}}{made}" if text.startswith("[") else made
