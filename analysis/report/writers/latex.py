"""Tables as LaTeX for two-column papers: booktabs and array, nothing wider than its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from analysis.report.emphasis import BEST, SECOND, Emphasised
from analysis.report.writers.latex_layout import COLUMN_PT, GAP_PT, Grid, Sheet, sheets
from analysis.report.writers.latex_text import breakable, escaped, letters_not_set, width_pt
from analysis.report.writers.paper_tables import Named, cells_of, is_number

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
    return "".join(f"    {line}\n" for line in _lines(sheet))


def _lines(sheet: Sheet) -> Iterator[str]:
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
