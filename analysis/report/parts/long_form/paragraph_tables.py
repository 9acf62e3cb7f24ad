"""Clark et al.'s tables 1 and 2: paragraph MOS against sentence MOS, and by sentence position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.formatting import interval_text
from analysis.report.content import Column, Content, Figure, Table
from analysis.statistics.longform import (
    Correlate,
    Material,
    ParagraphScores,
    Regression,
    by_position,
    paragraph_scores,
    pooled_correlates,
    within_correlates,
)
from analysis.statistics.longform.condition_names import ISOLATION, PARAGRAPH, in_words
from analysis.statistics.longform.paragraph_correlations import FEWEST

NAMES = {
    "mean": "mean sentence MOS",
    "first": "first sentence MOS",
    "second": "second sentence MOS",
    "last": "last sentence MOS",
    "min": "minimum sentence MOS",
    "max": "maximum sentence MOS",
    "n_sentences": "number of sentences",
    "n_words": "number of words",
}
WITHIN, CENTRED, POOLED = "one speaker", "all, own means taken away", "all pooled (the trap)"
MOST_OPEN = 3  # speakers
MOST_TRIED = 20
METHOD = (
    "Paragraph MOS against sentence MOS within each speaker over paragraphs: Pearson's r with "
    "Fisher's z interval (Clark et al. 2019, table 1), and least squares on sentence MOS by "
    "position for paragraphs of 2, 3 and 4 sentences (table 2), classical standard errors."
)
TRAP = (
    "Beware of pooling: over all speakers together r of mean sentence MOS is {pooled:.2f}, because "
    "better systems have better sentences and better paragraphs; with each speaker's means taken "
    "away it is {within:.2f}. Only the second says whether sentences foretell their paragraph."
)
TRIED = "Eight correlates are tried for each speaker; p is not corrected for that, as in the paper."
CEILING = (
    "Paragraph and sentence MOS of {name} rest on few ratings each: their noise alone lets r of "
    "mean sentence MOS reach about {ceiling:.2f} at most, even if sentences decided everything."
)


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
    found = [one for one in paragraph_scores(material, words) if one.left_out or len(one.whole)]
    usable = [one for one in found if len(one.whole) >= FEWEST]
    usable.sort(key=lambda one: material.real(one.speaker, reference))  # as the paper: T first
    warned = _warnings(material, found)
    if not usable:
        return Content(warnings=warned)
    synthetic = [one for one in usable if not material.real(one.speaker, reference)]
    rows, sentences = _correlates(usable, synthetic, level)
    fits, slopes = _regressions(usable)
    return Content(
        sentences=[text for one in usable for text in _answer(rows, one, synthetic)] + sentences,
        figures=[_figure(usable, suffix)],
        tables=_tables(rows, fits, slopes, suffix, len(usable) > MOST_OPEN, level),
        warnings=warned,
        methods=[METHOD],
    )


def _correlates(
    usable: Sequence[ParagraphScores], synthetic: Sequence[ParagraphScores], level: float
) -> tuple[list[dict[str, Any]], list[str]]:
    rows = [
        _row(one.speaker, WITHIN, each) | {"ceiling": one.ceiling() if i == 0 else None}
        for one in usable
        for i, each in enumerate(within_correlates(one, level))
    ]
    if len(synthetic) < 2:
        return rows, []
    centred = pooled_correlates(synthetic, level, centred=True)
    pooled = pooled_correlates(synthetic, level)
    rows += [_row("all synthetic", CENTRED, each) for each in centred]
    rows += [_row("all synthetic", POOLED, each) for each in pooled]
    apart, together = centred[0].r, pooled[0].r
    if apart is None or together is None:
        return rows, []
    return rows, [TRAP.format(pooled=together, within=apart)]


def _row(speaker: str, kind: str, each: Correlate) -> dict[str, Any]:
    return {
        "speaker": speaker,
        "kind": kind,
        "correlate": each.correlate,
        "name": NAMES[each.correlate],
        "r": each.r,
        "low": each.low,
        "high": each.high,
        "p": each.p,
        "n": each.n,
        "note": each.note,
    }


def _regressions(
    usable: Sequence[ParagraphScores],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    fits, slopes = [], []
    for one in usable:
        for found in (each for each in by_position([one]) if each.n):
            fits.append(_fit_row(one.speaker, found))
            slopes += [
                {
                    "speaker": one.speaker,
                    "sentences": found.sentences,
                    "n": found.n,
                    "term": slope.term,
                    "coef": slope.value,
                    "se": slope.se,
                    "t": slope.t,
                    "p": slope.p,
                }
                for slope in found.slopes
            ]
    return fits, slopes


def _fit_row(speaker: str, found: Regression) -> dict[str, Any]:
    return {
        "speaker": speaker,
        "sentences": found.sentences,
        "n": found.n,
        "r2": found.r2,
        "adjusted_r2": found.adjusted_r2,
        "f": found.f,
        "df1": found.df1,
        "df2": found.df2,
        "p": found.p,
        "note": found.note,
    }


def _figure(usable: Sequence[ParagraphScores], suffix: str) -> Figure:
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
        x="mean sentence MOS",
        y="paragraph MOS",
    )


def _tables(
    rows: Sequence[dict[str, Any]],
    fits: Sequence[dict[str, Any]],
    slopes: Sequence[dict[str, Any]],
    suffix: str,
    folded: bool,
    level: float,
) -> list[Table]:
    of_r = [
        Column("speaker", "Rated speech"),
        Column("kind", "Over"),
        Column("name", "Correlate"),
        Column("r", "r", "number", sign=True),
        Column("interval", f"{level * 100:g} % interval", "interval"),
        Column("p", "p", "p"),
        Column("n", "Paragraphs", "count"),
        Column("ceiling", "r possible with this noise", "number", 2),
    ]
    of_slopes = [
        Column("speaker", "Rated speech"),
        Column("sentences", "Sentences", "count"),
        Column("n", "Paragraphs", "count"),
        Column("term", "Term"),
        Column("coef", "Coefficient", "number"),
        Column("se", "Standard error", "number"),
        Column("t", "t", "number", 2),
        Column("p", "p", "p"),
    ]
    of_fits = [
        Column("speaker", "Rated speech"),
        Column("sentences", "Sentences", "count"),
        Column("n", "Paragraphs", "count"),
        Column("r2", "R²", "number"),
        Column("adjusted_r2", "Adjusted R²", "number"),
        Column("f", "F", "number", 2),
        Column("df1", "df", "count"),
        Column("df2", "df of the error", "count"),
        Column("p", "p", "p"),
        Column("note", "Note"),
    ]
    noted = "; ".join(dict.fromkeys(row["note"] for row in rows if row["note"]))
    shown = [column for column in of_fits if column.key != "note" or any(f["note"] for f in fits)]
    named = (
        (
            "correlates",
            "Paragraph MOS with what its sentences are (Clark et al., table 1)",
            of_r,
            rows,
        ),
        (
            "positions",
            "Paragraph MOS on sentence MOS by position (Clark et al., table 2)",
            of_slopes,
            slopes,
        ),
        ("position_fits", "How well sentence positions explain paragraph MOS", shown, fits),
    )
    notes = {"correlates": TRIED + (f" {noted[:1].upper()}{noted[1:]}." if noted else "")}
    return [
        Table(f"{key}{suffix}", title, columns, found, notes.get(key, ""), folded=folded)
        for key, title, columns, found in named
        if found
    ]


def _answer(
    rows: Sequence[dict[str, Any]], one: ParagraphScores, synthetic: Sequence[ParagraphScores]
) -> list[str]:
    """One speaker's correlation in words: of synthetic speech, unless there are many."""
    if one not in synthetic or len(synthetic) > MOST_OPEN:
        return []
    mine = [row for row in rows if row["speaker"] == one.speaker and row["kind"] == WITHIN]
    known = {row["correlate"]: row for row in mine if row["r"] is not None}
    if "mean" not in known or known["mean"]["low"] is None:
        return []
    mean = known["mean"]
    ends = interval_text(mean["low"], mean["high"], None, 2)
    told = [
        f"Of {in_words(one.speaker)}, paragraph MOS goes with mean sentence MOS by r = "
        f"{mean['r']:.2f} {ends} over {mean['n']} paragraphs ({mean['r'] ** 2 * 100:.0f} % of the "
        "variance)."
    ]
    ceiling = mean.get("ceiling")
    if ceiling is not None and ceiling < 1:
        told.append(CEILING.format(name=in_words(one.speaker), ceiling=ceiling))
    return told


def _warnings(material: Material, found: Sequence[ParagraphScores]) -> list[str]:
    told = []
    left_out = sum(one.left_out for one in found)
    if left_out:
        told.append(
            f"{left_out} paragraphs (counted per speaker) lack ratings of a sentence alone, or "
            "have one sentence only, and are left out of the correlations."
        )
    if found and material.places_from != "names":
        told.append(
            "Places of sentences are taken from the order of their names: call items by paragraph "
            "and place, such as p1.2, if that order is wrong."
        )
    if not material.length and (material.paragraph == "").all():
        told.append(
            "The column paragraph is empty, so sentences cannot be found in their paragraphs: "
            "fill it for sentences and for whole paragraphs."
        )
    lost = [f"{len(one.whole)} of {in_words(one.speaker)}" for one in found]
    lost = [text for text, one in zip(lost, found, strict=True) if len(one.whole) < FEWEST]
    if lost:
        told.append(
            f"Paragraphs rated whole and in every sentence: {', '.join(lost)}. Correlations need "
            f"at least {FEWEST} of one speaker."
        )
    few = [one.speaker for one in found if FEWEST <= len(one.whole) < MOST_TRIED]
    if few:
        told.append(
            f"Under {MOST_TRIED} paragraphs of {', '.join(few)}: one or two of them may decide a "
            "correlation, and eight are tried."
        )
    return told
