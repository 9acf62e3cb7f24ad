"""The files of a report that go into a paper as they are: at most ten, for every study."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from analysis.formatting import listed
from analysis.name_spans import resolve
from analysis.report.content import Figure
from analysis.report.exclusion_words import left_out_lines
from analysis.report.interim_answer import interim_report, interim_words
from analysis.report.report_schema import Report
from analysis.report.writers.captions import sentence
from analysis.report.writers.latex import PACKAGES, latex_grid
from analysis.report.writers.latex_text import letters_not_set
from analysis.report.writers.methods_text import methods_text, references_bib
from analysis.report.writers.paper_results import (
    differences_csv,
    differences_grid,
    figures,
    interval_kinds,
    results_csv,
    results_grid,
)

_QUOTED = ("hypotheses", "robustness")  # parts whose sentences the README has
NAMES = {  # in the order of the README
    "figure.pdf": "the plot of the answer, one column wide (vector, fonts embedded)",
    "figure.svg": "the same as SVG",
    "results.tex": "the main table: LaTeX, one column wide",
    "results.csv": "the same table as CSV",
    "differences.tex": "differences between conditions: LaTeX",
    "differences.csv": "all of them as CSV",
    "methods.txt": "the methods in words, to be edited",
    "references.bib": "what the methods cite, as BibTeX",
    "ratings.csv": "all ratings; left_out_by says why one is in no estimate; raters are codes",
    "README.txt": "this file",
}
FIGURES = ("figure.pdf", "figure.svg")
SCORES = "--scores scores.csv"
ELSEWHERE = '\n(scores.csv is in the bundle "Everything".)'
BIBLIOGRAPHY, RATINGS, README = "references.bib", "ratings.csv", "README.txt"
_README = """Paper files of {studies}
{line}

{files}
The tables need \\usepackage{{{packages}}} in a two-column article; write \\input{{results}}.
The plot, of one column: \\includegraphics[width=\\linewidth]{{figure}} (package graphicx).
{engine}Caption of the figure: {caption}

{basis}
Numbers are rounded as on the page. What is not here, such as every interval and single analyses,
is in the bundle "Everything" (made by --everything).
Table of ratings, SHA-256: {table_hash}
Code: {code}
Again: {again}
"""


def paper_texts(report: Report) -> dict[str, str]:
    """The tables and texts, by the names of their files; a table without rows is left out."""
    texts = {"methods.txt": methods_text(report), BIBLIOGRAPHY: references_bib(report)}
    for grid, text in (
        (results_grid(report), results_csv),
        (differences_grid(report), differences_csv),
    ):
        if grid.rows:
            texts[f"{grid.key}.tex"] = latex_grid(grid)
            texts[f"{grid.key}.csv"] = text(report)
    return texts


def paper_figures(report: Report) -> dict[str, bytes]:
    """The plot by the names of its files; none where nothing was rated."""
    from analysis.report.figures.paper import panel_files

    panels = figures(report)
    drawn = panel_files(panels) if panels else {}
    return {f"figure.{kind}": content for kind, content in drawn.items()}


def paper_bundle(
    report: Report,
    ratings: str | None = None,
    why: str = "",
    drawn: bool = True,
    requested: Mapping[str, str] | None = None,
) -> dict[str, bytes]:
    """The content of each file by its name, the README last, which names what is not there.

    ``ratings`` is the content of ratings.csv, or None: then ``why`` says why there is none. Without
    ``drawn`` the plot is left out. ``requested`` are texts by file name that somebody asked for in
    addition to the ten files, such as scores of single clips.
    """
    contents = {name: text.encode() for name, text in paper_texts(report).items()}
    contents |= paper_figures(report) if drawn else {}
    if ratings is not None:
        contents[RATINGS] = ratings.encode()
    files = file_list(contents, why, drawn)
    files += "".join(f"{name:<18} as was asked for\n" for name in requested or {})
    readme = {README: _readme(report, files, drawn).encode()}
    ten = {name: contents[name] for name in NAMES if name in contents}
    return ten | {name: text.encode() for name, text in (requested or {}).items()} | readme


def file_list(names_written: Collection[str], why: str, drawn: bool) -> str:
    """A line for each of the ten files: what it is, or why it is not there."""
    reasons = {RATINGS: why} | dict.fromkeys(FIGURES, "" if drawn else "it was not asked for")
    lines = []
    for name, description in NAMES.items():
        if name in names_written or name == README:
            lines.append(f"{name:<18} {description}\n")
        else:
            why_not = reasons.get(name) or "there is nothing to put into it"
            lines.append(f"(no {name}: {why_not})\n")
    return "".join(lines)


def _readme(report: Report, files: str, drawn: bool) -> str:
    origin = report["provenance"]
    studies = ", ".join(origin["studies"]) or "ratings"
    panels = figures(report)
    return _README.format(
        studies=studies,
        line="=" * (len(studies) + 15),
        files=files,
        packages=",".join(PACKAGES),
        engine=_engine(report) + (boxes(panels) if drawn else ""),
        caption=_caption(panels, origin["level"]),
        basis="\n".join(_basis(report)),
        table_hash=origin["table_hash"],
        code=origin["code"],
        again=f"{origin['again']} --out again" + ELSEWHERE * (SCORES in origin["again"]),
    )


def _engine(report: Report) -> str:
    """What the names need that pdfLaTeX cannot set."""
    grids = (results_grid(report), differences_grid(report))
    letters = letters_not_set(text for grid in grids for text in grid.texts())
    if not letters:
        return ""
    return f"Names have letters for XeLaTeX or LuaLaTeX with a font such as ctex sets: {letters}\n"


def boxes(drawn: Sequence[Figure]) -> str:
    """A line that says which letters the figures lack; empty where they have all."""
    from analysis.report.figures.paper import missing_letters

    letters = missing_letters(drawn)
    return f"Drawn as boxes in figures, as no font has them: {letters}\n" if letters else ""


def _caption(panels: Sequence[Figure], level: float) -> str:
    """The figure's caption: what each panel is, what the bars are, and what the marks mean."""
    if not panels:
        return "none, as nothing was rated."
    letters = len(panels) > 1
    names = [f"({chr(97 + n)}) " * (letters and n < 26) + p.title for n, p in enumerate(panels)]
    bars = f"Bars are {level * 100:g} % intervals"
    kinds = "; ".join(interval_kinds(panels))
    bars += f" ({kinds})" if kinds else ""
    notes = dict.fromkeys(panel.note for panel in panels if panel.note)
    return " ".join([sentence(listed(names, len(names))), sentence(bars), *map(sentence, notes)])


def _basis(report: Report) -> Iterator[str]:
    """What was used and what was not."""
    if interim := interim_words(report):
        yield interim
    data = report["data"]
    yield f"{data['ratings_kept']:,} of {data['ratings']:,} ratings are in the estimates."
    yield from (f"{text}." for text in left_out_lines(report))
    shown = interim_report(report)
    for part in shown["parts"]:
        if part["key"] in _QUOTED and not part["problem"]:
            yield from map(resolve, part["sentences"])
        if part["key"] == "answer":
            yield from map(resolve, part["warnings"])
    yield from map(resolve, shown["warnings"])
