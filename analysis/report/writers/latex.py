"""Tables as LaTeX for two-column papers: booktabs, with what is too wide made smaller to fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from textwrap import wrap

from analysis.report.emphasis import BEST, SECOND, Emphasised
from analysis.report.writers.latex_text import breakable, escape_latex, letters_not_set, pieces
from analysis.report.writers.paper_tables import NamedTable, cells_of, is_number

PACKAGES = ("booktabs", "array", "graphicx")
EMPHASIS = {BEST: "\\textbf", SECOND: "\\underline"}
# Widths are counted in characters of half an em. A wider table is made smaller by \resizebox, down
# to about two thirds; what is wider still stands in several tables.
ONE_COLUMN, ONE_COLUMN_SMALLER = 52, 62
BOTH_COLUMNS_SMALLER = 140
WRAPPED = 26  # characters of a line of text in a table
NARROWEST = 10
MOST_LINES = 44  # of a table, its caption and its note, on a page
MOST_WAITING = 8  # tables that LaTeX is given before it must print them; it holds 18 in old ones

_FLOAT = r"""\begin{%(kind)s}[tbp]
  \centering\sloppy
%(again)s  \caption{%(caption)s}%(label)s
  \small\setlength{\tabcolsep}{4pt}\setlength{\abovetopsep}{4pt}
  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%%
  \begin{tabular}{@{}%(columns)s@{}}
    \toprule
    %(heads)s \\
    \midrule
%(body)s    \bottomrule
  \end{tabular}}%(note)s
\end{%(kind)s}
"""


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
        return (row[place] for row in self.rows if not isinstance(row, str))

    def texts(self) -> Iterator[str]:
        """Every text that is printed."""
        yield from (self.caption, self.note, *self.heads)
        for row in self.rows:
            yield from [row] if isinstance(row, str) else row


@dataclass(frozen=True)
class Sheet:
    """One table of a grid: whether it takes both columns of the page, its columns and its rows.

    ``widths`` are in characters; texts that are longer are wrapped.
    """

    wide: bool
    columns: Sequence[int]
    widths: Sequence[int]
    rows: Sequence[Sequence[str] | str]


def latex_table(named: NamedTable) -> str:
    """A table of the report as LaTeX; see `latex_grid`. Its key, after ``tab:``, is its label."""
    return latex_grid(grid_of(named))


def grid_of(named: NamedTable) -> Grid:
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
    """The table in as many floats as it needs, with caption, label and note.

    Needs the `PACKAGES`. Names in letters that pdfLaTeX does not know need XeLaTeX or LuaLaTeX
    with a font that has them; then the first line says so.
    """
    grid_sheets = sheets(grid)
    floats = [_float(grid, sheet, n, len(grid_sheets)) for n, sheet in enumerate(grid_sheets)]
    for n in range(MOST_WAITING, len(floats), MOST_WAITING):
        floats[n] = f"\\clearpage\n{floats[n]}"
    return "".join([*other_engine(letters_not_set(grid.texts())), *floats])


def other_engine(letters: str) -> Iterator[str]:
    """A comment for a file with letters that pdfLaTeX does not know."""
    if letters:
        some = letters[:12] + "…" * (len(letters) > 12)
        yield f"% XeLaTeX or LuaLaTeX, and a font that has these letters (as ctex sets): {some}\n"


def sheets(grid: Grid) -> list[Sheet]:
    """The tables that the grid is set in: mostly one."""
    widths = _widths(grid)
    wide = not grid.narrow and _total(widths) > ONE_COLUMN_SMALLER
    return [
        Sheet(wide, columns, [widths[c] for c in columns], rows)
        for columns in _side_by_side(grid, widths)
        for rows in _over_pages(grid, wide, columns, widths)
    ]


def _widths(grid: Grid) -> list[int]:
    """What the columns take: with headings of numbers in one line where there is room for it."""
    places = range(len(grid.heads))
    whole = [_width(grid, place, [grid.heads[place]]) for place in places]
    if _total(whole) <= ONE_COLUMN:
        return whole
    stacked = [_width(grid, place, grid.heads[place].split(" ")) for place in places]
    return _narrow_widths(grid, stacked) if grid.narrow else stacked


def _width(grid: Grid, place: int, head_lines: Sequence[str]) -> int:
    """What a column takes: numbers as they are, text at most `WRAPPED` or its longest piece."""
    cells, head = [*grid.cells(place)], grid.heads[place]
    longest = max(map(len, cells), default=0)
    if grid.numeric[place]:
        return max(longest, *map(len, head_lines))
    return max(1, _longest_word(grid, place), min(max(longest, len(head)), WRAPPED))


def _longest_word(grid: Grid, place: int) -> int:
    """The longest piece of a column's texts that LaTeX cannot break."""
    words = (word for text in (*grid.cells(place), grid.heads[place]) for word in text.split(" "))
    return max((len(piece) for word in words for piece in pieces(word)), default=0)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _narrow_widths(grid: Grid, widths: Sequence[int]) -> list[int]:
    """The widths with texts wrapped earlier, so that the table fits one column as it is."""
    texts = [n for n, numeric in enumerate(grid.numeric) if not numeric]
    narrowed = list(widths)
    for place in sorted(texts, key=lambda n: -widths[n]):
        spare = _total(narrowed) - ONE_COLUMN
        narrowed[place] = max(min(narrowed[place] - max(spare, 0), narrowed[place]), NARROWEST)
        narrowed[place] = min(max(narrowed[place], _longest_word(grid, place)), widths[place])
    return narrowed


def _side_by_side(grid: Grid, widths: Sequence[int]) -> Iterator[list[int]]:
    """Columns of several tables; each begins with the one that says what a row is about."""
    key = next((n for n, numeric in enumerate(grid.numeric) if not numeric), 0)
    held = [key]
    for place in range(len(widths)):
        if place == key:
            continue
        if len(held) > 1 and _total([widths[n] for n in (*held, place)]) > BOTH_COLUMNS_SMALLER:
            yield held
            held = [key]
        held.append(place)
    yield held


def _over_pages(
    grid: Grid, wide: bool, columns: Sequence[int], widths: Sequence[int]
) -> Iterator[list[Sequence[str] | str]]:
    """The rows of each page, so that a table with its caption and note is not higher than one."""
    across = 2 * ONE_COLUMN if wide else ONE_COLUMN
    around = sum(_lines(text, across) for text in (grid.caption, grid.note))
    around += max(_lines(grid.heads[c], widths[c]) for c in columns)
    most = max(MOST_LINES - around, MOST_LINES // 3)
    texts = [c for c in columns if not grid.numeric[c]]
    whole = _total([widths[c] for c in columns])
    cuts, height = [0], 0
    for place, row in enumerate(grid.rows):
        if isinstance(row, str):
            lines = 1 + _lines(row, whole)
        else:
            lines = max([_lines(row[c], widths[c]) for c in texts], default=1)
        if height and height + lines > most:
            cuts.append(place)
            height = 0
        height += lines
    for start, end in pairwise([*cuts, len(grid.rows)]):
        yield [
            row if isinstance(row, str) else [row[c] for c in columns]
            for row in grid.rows[start:end]
        ]


def _lines(text: str, width: int) -> int:
    return len(wrap(text, width)) if text else 0


def _float(grid: Grid, sheet: Sheet, number: int, n_sheets: int) -> str:
    more = "" if number == 0 else " (continued)"
    words = f"\\raggedright\\footnotesize {breakable(grid.note)}"
    ends = number == n_sheets - 1 and grid.note
    return _FLOAT % {
        "kind": "table*" if sheet.wide else "table",
        "again": "  \\addtocounter{table}{-1}%\n" if number else "",
        "caption": breakable(grid.caption[:-1] + more + grid.caption[-1:]),
        "label": "" if number else f"\n  \\label{{tab:{grid.key}}}",
        "columns": "".join(_column(grid, sheet)),
        "heads": " & ".join(_heads(grid, sheet)),
        "body": "".join(f"    {line} \\\\\n" for line in _body(grid, sheet)),
        "note": f"\n  \\par\\smallskip\\parbox{{\\linewidth}}{{{words}}}" if ends else "",
    }


def _is_wrapped(grid: Grid, sheet: Sheet, place: int) -> bool:
    column = sheet.columns[place]
    texts = (grid.heads[column], *grid.cells(column))
    return not grid.numeric[column] and max(map(len, texts)) > sheet.widths[place]


def _column(grid: Grid, sheet: Sheet) -> Iterator[str]:
    for place, (column, width) in enumerate(zip(sheet.columns, sheet.widths, strict=True)):
        if _is_wrapped(grid, sheet, place):
            # the empty space lets TeX break the first word of a cell too
            yield f">{{\\raggedright\\arraybackslash\\hspace{{0pt}}}}p{{{width / 2:g}em}}"
        else:
            yield "r" if grid.numeric[column] else "l"


def _heads(grid: Grid, sheet: Sheet) -> Iterator[str]:
    for column, width in zip(sheet.columns, sheet.widths, strict=True):
        head = grid.heads[column]
        lines = wrap(head, width, break_long_words=False, break_on_hyphens=False)
        if not grid.numeric[column]:
            yield breakable(head)
        elif len(lines) > 1:
            stacked = "\\\\".join(map(escape_latex, lines))
            yield f"\\begin{{tabular}}[b]{{@{{}}r@{{}}}}{stacked}\\end{{tabular}}"
        else:
            yield escape_latex(head)


def _body(grid: Grid, sheet: Sheet) -> Iterator[str]:
    across = len(sheet.columns)
    wrapped = [_is_wrapped(grid, sheet, place) for place in range(across)]
    for place, row in enumerate(sheet.rows):
        if isinstance(row, str):
            space = "\\addlinespace " * (place > 0)
            width = min(len(row), _total(sheet.widths)) / 2
            shape = f"@{{}}>{{\\raggedright}}p{{{width:g}em}}@{{}}"
            yield f"{space}\\multicolumn{{{across}}}{{{shape}}}{{\\itshape {breakable(row)}}}"
        else:
            yield " & ".join(_cell(*each) for each in zip(row, wrapped, strict=True))


def _cell(text: str, wrapped: bool) -> str:
    """A cell; one that begins with a bracket is held apart from the row's end before it."""
    latex = breakable(text) if wrapped else escape_latex(text)
    if isinstance(text, Emphasised):
        return f"{EMPHASIS[text.mark]}{{{latex}}}"
    return f"{{}}{latex}" if text.startswith("[") else latex
