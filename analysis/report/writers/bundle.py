"""A report as one bundle of files that comes out the same, byte for byte, when made again."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.ratings.covariate_columns import Covariates
from analysis.report.condition_labels import label_report
from analysis.report.exclusions import judged_csv
from analysis.report.figures.all_figures import Plot, plots
from analysis.report.figures.drawing import drawing
from analysis.report.html.first_screen import METHODS, PAPER
from analysis.report.html.page import page_html
from analysis.report.html.part_html import CLIP
from analysis.report.interim_answer import interim_report
from analysis.report.report_schema import ROWS, Report
from analysis.report.writers.clip_files import KEY as CLIPS
from analysis.report.writers.clip_files import clip_files, mark_textgrids, part_files
from analysis.report.writers.exports import (
    ESTIMATES,
    estimates_json,
    figure_csv,
    part_table_csv,
    report_json,
    scores_csv,
    table_csv,
)
from analysis.report.writers.latex import PACKAGES, latex_table
from analysis.report.writers.markdown import FIGURES, report_markdown, table_markdown
from analysis.report.writers.methods_text import methods_tex, methods_text
from analysis.report.writers.paper_bundle import README, boxes, file_list, paper_bundle
from analysis.report.writers.paper_tables import paper_tables, part_tables
from analysis.report.writers.report_card import CARD, card_files
from listening.common.whole_files import write_whole

if TYPE_CHECKING:
    import pandas as pd

SHOWN, EXTRA = "tables", "more"
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip file can hold

_MORE = {
    "scores.csv": "metric scores",
    "ratings.json": "the ratings as JSON",
    "sessions.csv": "sessions with checks, answers to questions and comments",
    "questionnaires.csv": "the same answers, a row for each, with task and block",
}
_README = """Everything about {studies}
{line}

Everything here comes from one report. Made again by the same code and options (“Again” below, with
--everything --out FOLDER) from the same file of ratings, every file has the same bytes; from
ratings.csv of this folder, the numbers are the same. Times are those of the newest rating
({until}).

{paper}report.html        the whole report; opens in a browser, without a network
report.md          the same as Markdown, its pictures in figures/
methods.tex        the methods paragraph for LaTeX: it cites references.bib by \\cite
report-card.md     how the study was run, for readers and reviewers: raters, instructions, scales,
                   checks, exclusions, pay, plan; the same as .tex and .json
report.json        every number, with its provenance
estimates.json     the same without metrics
estimates.csv      every estimate with every interval; likewise contrasts.csv, exclusions.csv,
                   screening.csv and, where answers are choices, shares.csv
tables/            every table: .md (Markdown), .tex (LaTeX, \\usepackage{{{packages}}}, for a
                   two-column article); .csv of those that the parts of the report add
figures/           every figure as .pdf and .svg (vector), .png (300 dpi), and .csv (its numbers),
                   unless none were asked for
more/              further files of single analyses, if any
clips.csv, .json   scores of single clips, and items.csv of texts, if they were asked for
{more}{notes}
Table of ratings, SHA-256 of its values in any order of rows: {table_hash}
Code: {code}
Again: {again}
"""


@dataclass(frozen=True)
class BundleChoice:
    """What a bundle is to hold: the paper files alone or everything, and beside them.

    ``extra`` are more files by their names; ``width_in`` see
    `analysis.report.figures.paper.paper_files`; without ``figures`` none is drawn for papers,
    which is quicker (the page has its own). ``covariates`` of clips go into ratings.csv.
    """

    everything: bool = True
    extra: Mapping[str, str] = field(default_factory=dict)
    width_in: float | None = None
    figures: bool = True
    covariates: Covariates = field(default_factory=dict)


def bundle(
    report: Report,
    table: pd.DataFrame | None,
    scores: Any,
    folder: Path,
    wanted: BundleChoice | None = None,
) -> list[Path]:
    """Write the bundle into the folder, which is made when absent; what was written.

    ``table`` holds the ratings (None leaves them out; so does a table with another hash than the
    report's), ``scores`` metric scores, as a table likewise or as rows (None: none).
    """
    written = []
    for name, content in bundle_files(report, table, scores, wanted):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
        written.append(path)
    return written


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write every file of a report into the folder, which is made when absent; what was written."""
    return bundle(report, None, None, folder)


def zip_files(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Files as a zip file: names in order, no dates, so the same bytes again."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in sorted(files):
            entry = zipfile.ZipInfo(name, _FIRST_DAY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, content, compresslevel=6)
    return buffer.getvalue()


def textgrids_zip(report: Report) -> bytes:
    """Return all TextGrids in one zip; empty where there are none."""
    files = {name: text.encode() for name, text in mark_textgrids(report).items()}
    return zip_files(files.items()) if files else b""


def bundle_files(
    report: Report,
    table: pd.DataFrame | None = None,
    scores: Any = None,
    wanted: BundleChoice | None = None,
) -> Iterator[tuple[str, bytes]]:
    """Each file's name, with its folder, and its content: of everything, the paper files too."""
    wanted, report = wanted or BundleChoice(), date_by_ratings(report)
    ratings = _ratings_csv(report, table, wanted.covariates)
    why = "they were not asked for" if table is None else "there are other ones by now"
    paper = paper_bundle(report, ratings, why, wanted.figures, dict(_clips(report)))
    if not wanted.everything:
        yield from paper.items()
        return
    del paper[README]
    yield from paper.items()
    rows = _score_rows(report, scores)
    shown = interim_report(report)
    drawn = plots(label_report(shown))
    link = _file_links(drawn, wanted.figures)
    to_draw = [plot.figure for plot in drawn if wanted.figures]
    with drawing(to_draw, wanted.width_in) as files_at:
        yield "report.html", page_html(report, link, methods_text(report)).encode()
        for name, text in _texts(report, wanted.figures):
            yield name, text.encode()
        if wanted.figures:
            for place, plot in enumerate(drawn):
                yield f"{FIGURES}/{plot.key}.csv", figure_csv(report, plot.figure).encode()
                for kind, content in files_at(place).items():
                    yield f"{FIGURES}/{plot.key}.{kind}", content
    notes = boxes(to_draw) if wanted.figures else ""
    if rows:
        yield "scores.csv", scores_csv(rows).encode()
    for name, text in {**card_files(report), **wanted.extra}.items():
        yield name, text.encode()
    more = [*["scores.csv"] * bool(rows), *(name for name in wanted.extra if name not in CARD)]
    files = file_list(paper, why, wanted.figures)
    yield README, _readme(report, files, more, notes).encode()


def date_by_ratings(report: Report) -> Report:
    """The report dated by its newest rating, not by the moment it was made."""
    return {**report, "made_at": report["provenance"].get("ratings_until", "")}


def _file_links(drawn: Iterable[Plot], figures: bool) -> Callable[[str], str]:
    """Where the page finds the files of its figures and tables."""
    names = frozenset(plot.key for plot in drawn)

    def link(name: str) -> str:
        if name in (METHODS, PAPER) or name.startswith(CLIP):
            return ""  # they lie beside the page already; clips do not
        if name.rpartition(".")[0] not in names:
            return f"{SHOWN}/{name}"
        return f"{FIGURES}/{name}" if figures else ""

    return link


def _texts(report: Report, figures: bool) -> Iterator[tuple[str, str]]:
    yield "report.md", report_markdown(report, figures)
    yield "report.json", report_json(report)
    yield "estimates.json", estimates_json(report)
    yield "methods.tex", methods_tex(report)
    for name in ROWS:
        if report[name] or name == ESTIMATES:
            yield f"{name}.csv", table_csv(report, name)
    shown = interim_report(report)
    for named in paper_tables(shown):
        yield f"{SHOWN}/{named.key}.md", table_markdown(named.table)
        yield f"{SHOWN}/{named.key}.tex", latex_table(named)
    for named in part_tables(label_report(shown, metrics=False)):  # data name metrics by their keys
        if named.part is not None:
            yield f"{SHOWN}/{named.key}.csv", part_table_csv(report, named.part, named.table)
    for file, content in part_files(shown).items():
        yield f"{EXTRA}/{file}", content
    for file, content in mark_textgrids(shown).items():
        yield f"{EXTRA}/textgrids/{file}", content


def _clips(report: Report) -> Iterator[tuple[str, str]]:
    """Scores of individual clips, where they were asked for."""
    for part in report.get("parts", ()):
        if part["key"] == CLIPS and not part["problem"]:
            yield from clip_files(report, part).items()


def _ratings_csv(report: Report, table: pd.DataFrame | None, covariates: Covariates) -> str | None:
    """The ratings as CSV, where they are those of the report."""
    from analysis.ratings.table import table_hash, to_rows

    if table is None or table_hash(table) != report["provenance"]["table_hash"]:
        return None
    return "".join(judged_csv(to_rows(table), report, covariates))


def _score_rows(report: Report, scores: Any) -> list[Mapping[str, Any]]:
    """Rows as given; those of a table where they are the report's."""
    if scores is None or not hasattr(scores, "to_dict"):
        return list(scores or ())
    from analysis.report.build import scores_hash

    same = scores_hash(scores) == report["provenance"]["scores_hash"]
    return list(scores.to_dict("records")) if same else []


def _readme(report: Report, paper: str, more: Iterable[str], notes: str) -> str:
    """What the paper files are, and what is beside them."""
    origin = report["provenance"]
    studies = ", ".join(origin["studies"]) or "ratings"
    return _README.format(
        studies=studies,
        line="=" * (len(studies) + 17),
        until=report["made_at"] or "none has a date",
        paper=paper,
        packages=",".join(PACKAGES),
        more="".join(f"{name:<18} {_MORE.get(name, 'a further file')}\n" for name in more),
        notes=f"\n{notes}" if notes else "",
        table_hash=origin["table_hash"],
        code=origin["code"],
        again=f"{origin['again']} --everything --out again",
    )
