"""Clark et al.'s tables 1 and 2, laid out as the paper prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from analysis.report.content import Column, Table, column, columns_of, table_row
from analysis.statistics.longform import CORRELATES, ParagraphScores, Regression, by_position

PAPER = "Clark et al. (2019)"
NAMES = {
    "mean": "mean sentence {mean}",
    "first": "first sentence {mean}",
    "second": "second sentence {mean}",
    "last": "last sentence {mean}",
    "min": "minimum sentence {mean}",
    "max": "maximum sentence {mean}",
    "n_sentences": "number of sentences",
    "n_words": "number of words",
}
THRESHOLDS = (0.001, 0.01, 0.05)  # the paper's are the last two
LENGTHS = {2: "two", 3: "three", 4: "four"}
OVER = (
    "Over {paragraphs}. The intervals, exact p and what pooling over speakers would give are in "
    "the table of correlates below."
)
FITS = "R², F and p of each model are in its heading; s1 is the first sentence."


class Correlated(Protocol):
    """A correlation of one speaker's paragraphs."""

    @property
    def speaker(self) -> str: ...
    @property
    def correlate(self) -> str: ...
    @property
    def r(self) -> float | None: ...
    @property
    def p(self) -> float | None: ...


@table_row
class SlopeRow:
    """A coefficient of a regression of paragraph MOS on sentence MOS by position."""

    model: str
    speaker: str
    sentences: int
    n: int
    term: str = column("Term")
    coef: float = column("coef", "number", 2)
    se: float = column("std err", "number", 2)
    t: float = column("t", "number", 2)
    p: float = column("P>|t|", "p")


@table_row
class FitRow:
    """How well sentence positions explain paragraph MOS."""

    speaker: str = column("Rated speech")
    sentences: int = column("Sentences", "count")
    n: int = column("Paragraphs", "count")
    r2: float | None = column("R²", "number")
    adjusted_r2: float | None = column("Adjusted R²", "number")
    f: float | None = column("F", "number", 2)
    df1: int | None = column("df", "count")
    df2: int | None = column("df of the error", "count")
    p: float | None = column("p", "p")
    note: str = column("Note")


def p_in_words(p: float | None) -> str:
    """As the paper prints it: the strictest threshold that p is below, else ``> 0.05``."""
    if p is None:
        return ""
    below = [threshold for threshold in THRESHOLDS if p < threshold]
    return f"< {below[0]:g}" if below else f"> {THRESHOLDS[-1]:g}"


def table1(
    rows: Sequence[Correlated], usable: Sequence[ParagraphScores], suffix: str, mean: str
) -> Table:
    """Table 1: a correlate a column, r and p a row, each speaker under its own heading."""
    cells = []
    for one in usable:
        mine = {row.correlate: row for row in rows if row.speaker == one.speaker}
        r = {
            name: "" if row.r is None else f"{row.r:.3f}".replace("-", "\N{MINUS SIGN}")
            for name, row in mine.items()
        }
        p = {name: p_in_words(row.p) for name, row in mine.items()}
        cells += [{"speaker": one.speaker, "correlate": "r", **r}]
        cells += [{"speaker": one.speaker, "correlate": "p", **p}]
    columns = [Column("correlate", "Correlate")]
    columns += [Column(name, _heading(name, mean)) for name in CORRELATES]
    sizes = [f"{len(one.whole)} paragraphs of {one.speaker}" for one in usable]
    title = f"Table 1 of {PAPER}: correlations of sentence {mean} with paragraph {mean}"
    note = OVER.format(paragraphs=", ".join(sizes))
    return Table(f"table1{suffix}", title, columns, cells, note, group="speaker")


def _heading(correlate: str, mean: str) -> str:
    name = NAMES[correlate].format(mean=mean)
    return name[:1].upper() + name[1:]


def table2(usable: Sequence[ParagraphScores], suffix: str, mean: str) -> list[Table]:
    """Table 2, a model under its heading, as the paper; and how well each of them fits."""
    fits: list[FitRow] = []
    slopes: list[SlopeRow] = []
    for one in usable:
        for fit in (each for each in by_position([one]) if each.n):
            place = one.speaker, fit.sentences, fit.n
            r2 = fit.r2, fit.adjusted_r2
            fits.append(FitRow(*place, *r2, fit.f, fit.df1, fit.df2, fit.p, fit.note))
            model = _model(one.speaker, fit)
            slopes += [SlopeRow(model, *place, s.term, s.value, s.se, s.t, s.p) for s in fit.slopes]
    shown = [c for c in columns_of(FitRow) if c.key != "note" or any(fit.note for fit in fits)]
    title = f"Table 2 of {PAPER}: paragraph {mean} from sentence {mean} by position"
    key = f"positions{suffix}"
    tables = [Table.of(SlopeRow, key, title, slopes, note=FITS, group="model")]
    key, title = f"position_fits{suffix}", f"How well sentence positions explain paragraph {mean}"
    return [*tables, Table.of(FitRow, key, title, fits, columns=shown)]


def _model(speaker: str, fit: Regression) -> str:
    """The heading that the paper has over a model."""
    words = LENGTHS.get(fit.sentences, str(fit.sentences))
    about = f"{speaker}, paragraphs of {words} sentences: {fit.n} paragraphs"
    if fit.r2 is None or fit.f is None:
        return about
    return f"{about}, R² = {fit.r2:.2f} (F = {fit.f:.2f}, p {p_in_words(fit.p)})"
