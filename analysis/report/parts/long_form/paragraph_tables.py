"""Paragraphs against their sentences: Clark et al.'s tables 1 and 2, intervals, and the trap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from analysis.citations import citation, cite_author
from analysis.formatting import interval_text
from analysis.report.content import Column, Content, Figure, Table, column, columns_of, table_row
from analysis.statistics.longform import (
    CORRELATES,
    FEWEST,
    ISOLATION,
    PARAGRAPH,
    Correlate,
    Material,
    ParagraphScores,
    Regression,
    by_position,
    in_words,
    paragraph_scores,
    pooled_correlates,
    within_correlates,
)

WITHIN, CENTRED, POOLED = "one speaker", "all, own means taken away", "all pooled (the trap)"
MOST_OPEN = 3  # speakers
MOST_TRIED = 20
METHOD = (
    "Paragraph MOS against sentence MOS within each speaker over paragraphs: Pearson's r with "
    f"Fisher's z interval ({citation('clark2019')}, table 1), and least squares on sentence MOS by "
    "position for paragraphs of 2, 3 and 4 sentences (table 2), classical standard errors."
)
TRAP = (
    "Beware of pooling: over all speakers together r of mean sentence {mean} is {pooled:.2f}, "
    "because better systems have better sentences and better paragraphs; with each speaker's "
    "means taken away it is {within:.2f}. Only the second says whether sentences foretell their "
    "paragraph."
)
TRIED = "Eight correlates are tried for each speaker; p is not corrected for that, as in the paper."
CEILING = (
    "Paragraph and sentence {mean} of {name} rest on few ratings each: their noise alone lets r of "
    "mean sentence {mean} reach about {ceiling:.2f} at most, even if sentences decided everything."
)


@table_row
class CorrelateRow:
    """Pearson's r of paragraph MOS with what its sentences are, over paragraphs."""

    speaker: str = column("Rated speech")
    kind: str = column("Over")
    correlate: str
    name: str = column("Correlate")
    r: float | None = column("r", "number", sign=True)
    low: float | None = column("{level} interval", "interval", key="interval")
    high: float | None
    p: float | None = column("p", "p")
    n: int = column("Paragraphs", "count")
    note: str


@table_row
class WithinRow(CorrelateRow):
    """Of one speaker: with the highest r that the noise of the means lets through."""

    ceiling: float | None = column("r possible with this noise", "number", 2)


def paragraphs(
    material: Material,
    suffix: str,
    level: float,
    words: Mapping[str, float],
    reference: str = "",
) -> Content:
    """Correlations and regressions of paragraphs that were rated whole and line by line."""
    if not (material.rows_of(PARAGRAPH).any() and material.rows_of(ISOLATION).any()):
        return Content()
    every = [one for one in paragraph_scores(material, words) if one.left_out or len(one.whole)]
    usable = [one for one in every if len(one.whole) >= FEWEST]
    usable.sort(key=lambda one: material.real(one.speaker, reference))  # as the paper: T first
    warnings = _warnings(material, every)
    if not usable:
        return Content(warnings=warnings)
    mean = material.mean
    synthetic = [one for one in usable if not material.real(one.speaker, reference)]
    within = [
        WithinRow(
            **_cells(one.speaker, WITHIN, each, mean),
            ceiling=one.ceiling() if i == 0 else None,
        )
        for one in usable
        for i, each in enumerate(within_correlates(one, level))
    ]
    pooled, trap = _pooled(synthetic, level, mean)
    named = [one.speaker for one in synthetic] if len(synthetic) <= MOST_OPEN else []
    return Content(
        sentences=[
            text for one in usable if one.speaker in named for text in _answer(within, one, mean)
        ]
        + trap,
        figures=[_figure(usable, suffix, mean)],
        tables=_tables([*within, *pooled], usable, suffix, level, mean),
        warnings=warnings,
        methods=[METHOD],
    )


def _pooled(
    synthetic: Sequence[ParagraphScores], level: float, mean: str
) -> tuple[list[CorrelateRow], list[str]]:
    """Correlations over all synthetic speakers, and the warning about the trap that they are."""
    if len(synthetic) < 2:
        return [], []
    centred = pooled_correlates(synthetic, level, centred=True)
    pooled = pooled_correlates(synthetic, level)
    rows = [
        CorrelateRow(**_cells("all synthetic", kind, each, mean))
        for kind, correlates in ((CENTRED, centred), (POOLED, pooled))
        for each in correlates
    ]
    within, between = centred[0].r, pooled[0].r
    if within is None or between is None:
        return rows, []
    return rows, [TRAP.format(mean=mean, pooled=between, within=within)]


def _cells(speaker: str, kind: str, each: Correlate, mean: str) -> dict[str, Any]:
    name = NAMES[each.correlate].format(mean=mean)
    return {"speaker": speaker, "kind": kind, "name": name, **vars(each)}


def _figure(usable: Sequence[ParagraphScores], suffix: str, mean: str) -> Figure:
    rows = [
        {"name": paragraph, "x": x, "y": y, "group": one.speaker}
        for one in usable
        for paragraph, x, y in zip(
            one.paragraphs, one.values("mean").tolist(), one.whole.tolist(), strict=True
        )
    ]
    return Figure(
        f"paragraphs{suffix}",
        "Whole paragraphs against the mean of their sentences",
        "scatter",
        rows,
        x=f"mean sentence {mean}",
        y=f"paragraph {mean}",
    )


def _tables(
    rows: Sequence[CorrelateRow],
    usable: Sequence[ParagraphScores],
    suffix: str,
    level: float,
    mean: str,
) -> list[Table]:
    notes = "; ".join(dict.fromkeys(row.note for row in rows if row.note))
    note = TRIED + (f" {notes[:1].upper()}{notes[1:]}." if notes else "")
    folded = len(usable) > MOST_OPEN
    tables = [table1(rows, usable, suffix, mean), *table2(usable, suffix, mean)]
    tables = [replace(table, folded=folded) for table in tables if table.rows]
    key, title = f"correlates{suffix}", f"Paragraph {mean} with what its sentences are: intervals"
    columns = columns_of(WithinRow, level=level)
    tables.append(Table.of(WithinRow, key, title, rows, columns=columns, note=note, folded=True))
    return tables


def _answer(rows: Sequence[WithinRow], one: ParagraphScores, called: str) -> list[str]:
    """One speaker's correlation in words."""
    mean = next((x for x in rows if (x.speaker, x.correlate) == (one.speaker, "mean")), None)
    if mean is None or mean.r is None or mean.low is None or mean.high is None:
        return []
    ends = interval_text(mean.low, mean.high, None, 2)
    sentences = [
        f"Of {in_words(one.speaker)}, paragraph {called} goes with mean sentence {called} by "
        f"r = {mean.r:.2f} {ends} over {mean.n} paragraphs ({mean.r**2 * 100:.0f} % of the "
        "variance)."
    ]
    if mean.ceiling is not None and mean.ceiling < 1:
        sentences.append(
            CEILING.format(mean=called, name=in_words(one.speaker), ceiling=mean.ceiling)
        )
    return sentences


def _warnings(material: Material, every: Sequence[ParagraphScores]) -> list[str]:
    warnings = []
    left_out = sum(one.left_out for one in every)
    if left_out:
        warnings.append(
            f"{left_out} paragraphs (counted per speaker) lack ratings of a sentence alone, or "
            "have one sentence only, and are left out of the correlations."
        )
    if every and material.places_from != "names":
        warnings.append(
            "Places of sentences are taken from the order of their names: call items by paragraph "
            "and place, such as p1.2, if that order is wrong."
        )
    if not material.length and (material.paragraph == "").all():
        warnings.append(
            "The column paragraph is empty, so sentences cannot be found in their paragraphs: "
            "fill it for sentences and for whole paragraphs."
        )
    too_few = [
        f"{len(one.whole)} of {in_words(one.speaker)}" for one in every if len(one.whole) < FEWEST
    ]
    if too_few:
        warnings.append(
            f"Paragraphs rated whole and in every sentence: {', '.join(too_few)}. Correlations "
            f"need at least {FEWEST} of one speaker."
        )
    few = [one.speaker for one in every if FEWEST <= len(one.whole) < MOST_TRIED]
    if few:
        warnings.append(
            f"Under {MOST_TRIED} paragraphs of {', '.join(map(in_words, few))}: one or two of "
            "them may decide a "
            "correlation, and eight are tried."
        )
    return warnings


PAPER = cite_author("clark2019")
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
