"""Tables as LaTeX for papers: booktabs, every character of names escaped."""

from __future__ import annotations

import unicodedata

from analysis.formatting import PAST_HIGH, PAST_LOW
from analysis.report.content import Table
from analysis.report.writers.paper_tables import Named, cells_of, is_number

MOST_ON_A_PAGE = 45
MOST_IN_A_COLUMN = (
    7  # columns; a table with more goes over both columns of the page, in small print
)
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "Δ": r"$\Delta$",
    "√": r"$\surd$",
    "²": "$^2$",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "·": r"\textperiodcentered{}",
    "…": r"\ldots{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "→": r"$\rightarrow$",
    "\u202f": r"\,",
    "\u00a0": "~",
    PAST_LOW: r"$\triangleleft$",
    PAST_HIGH: r"$\triangleright$",
}
_GREEK = {
    letter: rf"$\{name}$"
    for letter, name in zip(
        "αβγδκλμπρστφχ",
        (
            "alpha",
            "beta",
            "gamma",
            "delta",
            "kappa",
            "lambda",
            "mu",
            "pi",
            "rho",
            "sigma",
            "tau",
            "phi",
            "chi",
        ),
        strict=True,
    )
}
_ESCAPES = {**_SPECIAL, **_GREEK}


def latex_table(named: Named) -> str:
    """One table with its caption, label (``tab:`` and the table's key) and note.

    Needs the package booktabs; a table longer than a page also longtable; names in Chinese a
    class or package for them, such as ctex.
    """
    table = named.table
    if len(table.rows) > MOST_ON_A_PAGE:
        return _long(named)
    note = f"\\\\[2pt]\n  \\footnotesize {escaped(table.note)}" if table.note else ""
    wide = len(table.columns) > MOST_IN_A_COLUMN
    kind, size = ("table*", "\\scriptsize") if wide else ("table", "\\small")
    return (
        f"\\begin{{{kind}}}[t]\n  \\centering\n"
        f"  \\caption{{{_caption(table)}}}\n  \\label{{tab:{named.key}}}\n"
        f"  {size}\n  \\begin{{tabular}}{{@{{}}{_shape(table)}@{{}}}}\n"
        f"    \\toprule\n    {_heads(table)} \\\\\n    \\midrule\n"
        f"{_body(table)}    \\bottomrule\n  \\end{{tabular}}{note}\n\\end{{{kind}}}\n"
    )


def escaped(text: str) -> str:
    """Text in which every character that LaTeX takes for a command stands for itself."""
    plain = "".join(c if c in _ESCAPES or unicodedata.category(c)[0] != "C" else " " for c in text)
    return "".join(_ESCAPES.get(letter, letter) for letter in plain)


def _long(named: Named) -> str:
    table = named.table
    note = f"\n{{\\footnotesize {escaped(table.note)}}}\n" if table.note else ""
    heads = f"\\toprule\n{_heads(table)} \\\\\n\\midrule\n"
    return (
        f"{{\\small\n\\begin{{longtable}}{{@{{}}{_shape(table)}@{{}}}}\n"
        f"\\caption{{{_caption(table)}}}\\label{{tab:{named.key}}}\\\\\n{heads}\\endfirsthead\n"
        f"{heads}\\endhead\n\\bottomrule\n\\endfoot\n{_body(table)}\\end{{longtable}}{note}}}\n"
    )


def _caption(table: Table) -> str:
    about = f" ({table.about})" if table.about and table.about not in table.title else ""
    return escaped(f"{table.title}{about}.")


def _shape(table: Table) -> str:
    return "".join("r" if is_number(column) else "l" for column in table.columns)


def _heads(table: Table) -> str:
    return " & ".join(escaped(column.heading) for column in table.columns)


def _body(table: Table) -> str:
    lines = (" & ".join(_cell(text) for text in cells) for cells in cells_of(table))
    return "".join(f"    {line} \\\\\n" for line in lines)


def _cell(text: str) -> str:
    """A cell; one that begins with a bracket is held apart from the row's end before it."""
    return f"{{}}{escaped(text)}" if text.startswith("[") else escaped(text)
