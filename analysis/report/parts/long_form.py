"""Long-form speech after Clark et al. (2019): settings, context effects, paragraphs, sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.citations import citation, cite, cite_author
from analysis.formatting import beware, interval_text, number
from analysis.name_spans import condition_span
from analysis.ratings.estimands import estimand_of, name_of
from analysis.ratings.study_scores import WORDS
from analysis.report.content import (
    INTERVAL_CELLS,
    Column,
    Content,
    Figure,
    Table,
    add_family_words,
    bounds_cells,
    column,
    columns_of,
    pick_cells,
    pick_fields,
    row_from,
    table_row,
    together,
    warned_once,
)
from analysis.report.part import Part, PartInput
from analysis.statistics.clustered_variance import two_way_intervals
from analysis.statistics.comparisons.simultaneous import Decision, decide_pairs
from analysis.statistics.comparisons.two_sample_tests import student_t
from analysis.statistics.intervals import Clustered, clustered, naive_interval
from analysis.statistics.longform import (
    CONTEXT,
    CORRELATES,
    FEWEST,
    ISOLATION,
    PARAGRAPH,
    SETTINGS,
    ContextEffect,
    Correlate,
    Form,
    Material,
    ParagraphScores,
    Regression,
    by_position,
    context_effects,
    in_words,
    is_long_form,
    materials,
    paragraph_scores,
    pooled_correlates,
    within_correlates,
)
from analysis.statistics.options import Options
from analysis.statistics.paragraph_prediction import (
    PLAIN,
    Prediction,
    predict_paragraphs,
)

WITHIN, CENTRED, POOLED = "one speaker", "all, own means taken away", "all pooled (the trap)"
MOST_OPEN = 3  # speakers
MOST_TRIED = 20
PARAGRAPH_METHOD = (
    "Paragraph MOS against sentence MOS within each speaker over paragraphs: Pearson's r with "
    f"Fisher's z interval ({citation('clark2019')}, table 1), and least squares on sentence MOS by "
    "position for paragraphs of 2, 3 and 4 sentences (table 2), classical standard errors."
)
TRAP = (
    "Beware of pooling: over all speakers r of mean sentence {mean} is {pooled:.2f}, because "
    "better systems have better sentences and better paragraphs. Within speakers it is "
    "{within:.2f}. Only the second says whether sentences predict their paragraph."
)
TRIED = "Eight correlates are tried for each speaker; p is not corrected for that, as in the paper."
CEILING = (
    "Paragraph and sentence {mean} of {name} have few ratings each. Their noise alone limits r of "
    "mean sentence {mean} to about {ceiling:.2f}, even if sentences decided everything."
)


@dataclass(frozen=True)
class MaterialInput:
    """Material with the words of its stimuli, and what keys of its tables and figures end in."""

    material: Material
    options: Options
    words: Mapping[str, float]
    suffix: str

    @property
    def level(self) -> float:
        return self.options.level

    @property
    def mean(self) -> str:
        return self.material.mean

    def table(self, row: type, key: str, title: str, rows: Sequence[Any], **more: Any) -> Table:
        """A table of rows, about nothing: it spans the tasks of a study.

        ``more`` see `Table.from_rows`.
        """
        more = {"level": self.level, **more}
        return Table.from_rows(row, f"{key}{self.suffix}", title, rows, **more)


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


def paragraphs(each: MaterialInput) -> Content:
    """Correlations and regressions of paragraphs that were rated whole and line by line."""
    material, reference = each.material, each.options.reference
    if not (material.rows_of(PARAGRAPH).any() and material.rows_of(ISOLATION).any()):
        return Content()
    scores = paragraph_scores(material, each.words)
    every = [one for one in scores if one.left_out or len(one.whole)]
    usable = [one for one in every if len(one.whole) >= FEWEST]
    usable.sort(key=lambda one: material.real(one.speaker, reference))  # as the paper: T first
    warnings = _paragraph_warnings(material, every)
    if not usable:
        return Content(warnings=warnings)
    synthetic = [one for one in usable if not material.real(one.speaker, reference)]
    within = [
        WithinRow(
            **_cells(one.speaker, WITHIN, found, each.mean),
            ceiling=one.ceiling() if i == 0 else None,
        )
        for one in usable
        for i, found in enumerate(within_correlates(one, each.level))
    ]
    pooled, trap = _pool_speakers(synthetic, each)
    named = synthetic if len(synthetic) <= MOST_OPEN else []
    answers = [text for one in named for text in _paragraph_answer(within, one, each.mean)]
    predicted = predictions(usable, synthetic, each)
    return Content(
        sentences=[*answers, *trap, *predicted.sentences],
        figures=[_paragraph_figure(usable, each)],
        tables=[*_paragraph_tables([*within, *pooled], usable, each), *predicted.tables],
        warnings=warnings,
        methods=[PARAGRAPH_METHOD, *predicted.methods],
    )


PREDICTION_METHOD = (
    "Paragraph MOS predicted from sentence MOS for paragraphs of any number of sentences, which "
    f"{cite_author('clark2019')} leave to future work: least squares on the mean of all sentences, "
    "the first, the last and the lowest one, with an intercept for each speaker. Errors are "
    "cross-validated by leaving one paragraph out. Differences in absolute error are paired by "
    "paragraph, their intervals adjusted over the models; weights have jackknife intervals over "
    "paragraphs."
)
ALL_SYNTHETIC = "all synthetic"
PREDICTED_FROM = {
    PLAIN: "plain mean of its sentences (nothing fitted)",
    "fitted_mean": "mean",
    "place": "mean, first, last",
    "worst": "mean, lowest",
    "place_and_worst": "mean, first, last, lowest",
}
TERMS = {
    "mean": "mean of all sentences",
    "first": "first sentence, beyond its share of the mean",
    "last": "last sentence, beyond its share of the mean",
    "min": "lowest sentence, beyond its share of the mean",
}
PREDICTION_NOTE = (
    "Each paragraph is predicted by a model fitted without it. A negative difference means a "
    "smaller error than that of the plain mean. A fitted model also corrects a constant gap "
    "between paragraphs and sentences: look at the weights to see whether places matter. R² "
    "below 0: worse than the mean of the other paragraphs."
)
WEIGHTS_NOTE = (
    "Points of paragraph {mean} for one point of the sentence. A middle sentence has its share of "
    "the first weight. Sentence {mean} of a few ratings is noisy, which draws weights towards 0."
)


@table_row
class PredictionRow:
    """The error of a model on paragraphs that it was not fitted on."""

    speaker: str
    model: str
    name: str = column("Predicted from")
    mae: float = column("Mean absolute error", "number", 3)
    rmse: float = column("RMSE", "number", 3)
    r2: float = column("R², cross-validated", "number", 2)
    value: float | None = column("Error minus the plain mean's", "number", 3, sign=True)
    low: float | None = column("{level} interval, adjusted", "interval", key="interval")
    high: float | None
    n_paragraphs: int = column("Paragraphs", "count")


@table_row
class PlaceWeightRow:
    """The weight of a sentence's place in the prediction of its paragraph."""

    speaker: str
    term: str
    name: str = column("Sentence")
    value: float = column("Weight", "number", 2, sign=True)
    low: float = column("{level} interval", "interval", key="interval")
    high: float


def predictions(
    usable: Sequence[ParagraphScores], synthetic: Sequence[ParagraphScores], each: MaterialInput
) -> Content:
    """How well sentences predict their paragraph, and what sentences weigh by their place."""
    groups: dict[str, Sequence[ParagraphScores]] = {one.speaker: [one] for one in usable}
    if len(synthetic) > 1:
        groups[ALL_SYNTHETIC] = synthetic
    sentences: list[str] = []
    errors: list[PredictionRow] = []
    weights: list[PlaceWeightRow] = []
    for speaker, group in groups.items():
        made = predict_paragraphs(group, each.level)
        if not made:
            continue
        errors += [_prediction_row(speaker, one) for one in made]
        weights += [
            PlaceWeightRow(speaker, w.term, TERMS[w.term], w.value, w.low, w.high)
            for w in made[-1].weights
        ]
        if list(group) == list(synthetic):
            sentences.append(_prediction_answer(made, each.mean, group))
    if not errors:
        return Content()
    title = f"Paragraph {each.mean} predicted from sentence {each.mean}"
    shown = {"note": PREDICTION_NOTE, "group": "speaker"}
    table = each.table(PredictionRow, "prediction", title, errors, **shown)
    title = f"Weights of sentences by place, for paragraph {each.mean}"
    shown["note"] = WEIGHTS_NOTE.format(mean=each.mean)
    places = each.table(PlaceWeightRow, "prediction_weights", title, weights, **shown)
    return Content(sentences, tables=[table, places], methods=[PREDICTION_METHOD])


def _prediction_row(speaker: str, made: Prediction) -> PredictionRow:
    return row_from(
        PredictionRow,
        made,
        speaker=speaker,
        name=PREDICTED_FROM[made.model],
        **pick_cells(made.versus_plain, "value", "low", "high"),
    )


def _prediction_answer(
    made: Sequence[Prediction], mean: str, group: Sequence[ParagraphScores]
) -> str:
    """The plain mean beside the largest model, which was named before anybody looked."""
    plain, largest = made[0], made[-1]
    noise = float(np.sqrt(np.mean(np.concatenate([one.whole_noise for one in group]))))
    floor = f" The noise of few ratings alone leaves an RMSE of {noise:.2f}." if noise > 0 else ""
    gap = largest.versus_plain
    if gap is None:
        return ""
    return (
        f"The plain mean of its sentences misses paragraph {mean} of synthetic speech by "
        f"{plain.mae:.2f} points on average (RMSE {plain.rmse:.2f}). Predicted from "
        f"{PREDICTED_FROM[largest.model]}, it is missed by {largest.mae:.2f} (difference "
        f"{number(gap.value, True, 2)} {interval_text(gap.low, gap.high, None, 2)}).{floor}"
    )


def _pool_speakers(
    synthetic: Sequence[ParagraphScores], each: MaterialInput
) -> tuple[list[CorrelateRow], list[str]]:
    """Correlations over all synthetic speakers, and the warning about the trap that they are."""
    if len(synthetic) < 2:
        return [], []
    centred = pooled_correlates(synthetic, each.level, centred=True)
    pooled = pooled_correlates(synthetic, each.level)
    rows = [
        CorrelateRow(**_cells(ALL_SYNTHETIC, kind, found, each.mean))
        for kind, correlates in ((CENTRED, centred), (POOLED, pooled))
        for found in correlates
    ]
    within, between = centred[0].r, pooled[0].r
    if within is None or between is None:
        return rows, []
    return rows, [TRAP.format(mean=each.mean, pooled=between, within=within)]


def _cells(speaker: str, kind: str, each: Correlate, mean: str) -> dict[str, Any]:
    name = NAMES[each.correlate].format(mean=mean)
    return {"speaker": speaker, "kind": kind, "name": name, **vars(each)}


def _paragraph_figure(usable: Sequence[ParagraphScores], each: MaterialInput) -> Figure:
    rows = [
        {"name": paragraph, "x": x, "y": y, "group": one.speaker}
        for one in usable
        for paragraph, x, y in zip(
            one.paragraphs, one.values("mean").tolist(), one.whole.tolist(), strict=True
        )
    ]
    return Figure(
        f"paragraphs{each.suffix}",
        "Whole paragraphs against the mean of their sentences",
        "scatter",
        rows,
        x=f"mean sentence {each.mean}",
        y=f"paragraph {each.mean}",
    )


def _paragraph_tables(
    rows: Sequence[CorrelateRow], usable: Sequence[ParagraphScores], each: MaterialInput
) -> list[Table]:
    notes = "; ".join(dict.fromkeys(row.note for row in rows if row.note))
    note = TRIED + (f" {notes[:1].upper()}{notes[1:]}." if notes else "")
    folded = len(usable) > MOST_OPEN
    tables = [table1(rows, usable, each), *table2(usable, each)]
    tables = [replace(table, folded=folded) for table in tables if table.rows]
    title = f"Paragraph {each.mean} with what its sentences are: intervals"
    return [*tables, each.table(WithinRow, "correlates", title, rows, note=note, folded=True)]


def _paragraph_answer(rows: Sequence[WithinRow], one: ParagraphScores, called: str) -> list[str]:
    """One speaker's correlation in words."""
    mean = next((x for x in rows if (x.speaker, x.correlate) == (one.speaker, "mean")), None)
    if mean is None or mean.r is None or mean.low is None or mean.high is None:
        return []
    ends = interval_text(mean.low, mean.high, None, 2)
    sentences = [
        f"Of {in_words(one.speaker)}, paragraph {called} goes with mean sentence {called} by r = "
        f"{mean.r:.2f} {ends} over {mean.n} paragraphs ({mean.r**2 * 100:.0f} % of the variance)."
    ]
    if mean.ceiling is not None and mean.ceiling < 1:
        sentences.append(
            CEILING.format(mean=called, name=in_words(one.speaker), ceiling=mean.ceiling)
        )
    return sentences


def _paragraph_warnings(material: Material, every: Sequence[ParagraphScores]) -> list[str]:
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
            f"Under {MOST_TRIED} paragraphs of {', '.join(map(in_words, few))}: one or two of them "
            "may decide a correlation, and eight are tried."
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
    rows: Sequence[CorrelateRow], usable: Sequence[ParagraphScores], each: MaterialInput
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
    columns += [Column(name, _heading(name, each.mean)) for name in CORRELATES]
    sizes = [f"{len(one.whole)} paragraphs of {one.speaker}" for one in usable]
    title = f"Table 1 of {PAPER}: correlations of sentence {each.mean} with paragraph {each.mean}"
    note = OVER.format(paragraphs=", ".join(sizes))
    return Table(f"table1{each.suffix}", title, columns, cells, note, group="speaker")


def _heading(correlate: str, mean: str) -> str:
    name = NAMES[correlate].format(mean=mean)
    return name[:1].upper() + name[1:]


def table2(usable: Sequence[ParagraphScores], each: MaterialInput) -> list[Table]:
    """Table 2, a model under its heading, as the paper; and how well each of them fits."""
    fits: list[FitRow] = []
    slopes: list[SlopeRow] = []
    for one in usable:
        for fit in (found for found in by_position([one]) if found.n):
            place = one.speaker, fit.sentences, fit.n
            r2 = fit.r2, fit.adjusted_r2
            fits.append(FitRow(*place, *r2, fit.f, fit.df1, fit.df2, fit.p, fit.note))
            model = _model(one.speaker, fit)
            slopes += [SlopeRow(model, *place, s.term, s.value, s.se, s.t, s.p) for s in fit.slopes]
    shown = [c for c in columns_of(FitRow) if c.key != "note" or any(fit.note for fit in fits)]
    title = f"Table 2 of {PAPER}: paragraph {each.mean} from sentence {each.mean} by position"
    table = each.table(SlopeRow, "positions", title, slopes, note=FITS, group="model")
    title = f"How well sentence positions explain paragraph {each.mean}"
    return [table, each.table(FitRow, "position_fits", title, fits, columns=shown)]


def _model(speaker: str, fit: Regression) -> str:
    """The heading that the paper has over a model."""
    words = LENGTHS.get(fit.sentences, str(fit.sentences))
    heading = f"{speaker}, paragraphs of {words} sentences: {fit.n} paragraphs"
    if fit.r2 is None or fit.f is None:
        return heading
    return f"{heading}, R² = {fit.r2:.2f} (F = {fit.f:.2f}, p {p_in_words(fit.p)})"


MOST_NAMED = 12
TURNS = 2  # conversations cut to two turns: each turn is a speaker of its own
FEWEST_AT_PLACE = 5  # paragraphs
MOST_LINES = 8
IN_WORDS = {
    ISOLATION: "sentences alone",
    PARAGRAPH: "whole paragraphs",
    CONTEXT: "sentences after a context",
}
QUESTIONS = (
    f"These scores answer different questions ({{}}), as in {cite_author('clark2019')}, usually by "
    "different raters. A difference between settings therefore mixes setting, question and raters."
)
CONDITION_METHOD = (
    f"Conditions as in {cite_author('clark2019')}: mean opinion scores with two-way clustered "
    f"intervals over raters and paragraphs {cite('cameron2011')}; differences likewise, adjusted "
    f"over all pairs shown by their joint distribution {cite('hothorn2008')}. Also given: "
    "two-tailed independent t tests, of ratings and of stimulus means."
)


@dataclass(frozen=True)
class Cells:
    """Conditions of material, or their turns: names, forms, codes (n,), and what means rest on."""

    material: Material
    names: tuple[str, ...]
    forms: tuple[Form, ...]
    code: Codes
    sums: Clustered


@table_row
class ConditionRow:
    """The mean opinion score of a condition."""

    name: str = column("Condition")
    value: float = column("{mean}", "number")
    low: float | None = column("{level} interval", "interval", key="interval")
    high: float | None
    naive_low: float | None = column("Naive", "interval", key="naive")
    naive_high: float | None
    sd: float | None
    setting: str = column("Setting")
    speaker: str = column("Rated speech")
    before: str = column("Before it")
    n_ratings: int = column("Ratings", "count")
    n_raters: int = column("Raters", "count")
    n_stimuli: int = column("Stimuli", "count")
    n_paragraphs: int = column("Paragraphs", "count")
    note: str


@table_row
class PlaceRow:
    """The mean opinion score of single lines at one place of their paragraphs."""

    group: str = column("Condition")
    x: int = column("Place", "count")
    y: float = column("{mean}", "number")
    low: float | None = column("{level} interval", "interval", key="interval")
    high: float | None
    n_ratings: int = column("Ratings", "count")
    note: str


CONDITIONS_SHOWN = (
    *("name", "setting", "speaker", "before", "value", "low", "naive_low"),
    *("n_ratings", "n_raters", "n_stimuli", "n_paragraphs"),
)


def conditions(each: MaterialInput) -> Content:
    """The plot of all conditions, and their table."""
    material = each.material
    rows = _rows(cells_of(material), each.level)
    figures = [_condition_figure(rows, each)]
    places = _by_place(material, each.level)
    turns = set(material.length.values()) == {TURNS}  # then they are conditions already
    if not turns and 1 <= len({row.group for row in places}) <= MOST_LINES:
        figures.append(_place_figure(places, each.suffix))
    return Content(
        sentences=[_condition_answer(rows)],
        figures=figures,
        tables=_condition_tables(rows, places, each),
        warnings=_condition_warnings(material, rows),
        methods=[CONDITION_METHOD],
    )


def cells_of(material: Material) -> Cells:
    """One cell per condition; where every paragraph has two turns, one per turn heard alone."""
    in_turns = set(material.length.values()) == {TURNS}
    cells: list[tuple[str, Form]] = []
    code = np.zeros(len(material.form), dtype=np.int64)
    for i, form in enumerate(material.forms):
        rows = material.form == i
        turns = np.unique(material.place[rows])
        if form.setting == ISOLATION and in_turns and len(turns) > 1:
            for turn in turns.tolist():
                code[rows & (material.place == turn)] = len(cells)
                cells.append((f"{form.name} line {turn}", form))
        else:
            code[rows] = len(cells)
            cells.append((form.name, form))
    names, forms = zip(*cells, strict=True)
    groups = material.rater, material.cluster
    sums = clustered(material.y, code, *groups, len(names), ends=material.ends)
    return Cells(material, names, forms, code, sums)


def _rows(cells: Cells, level: float) -> list[ConditionRow]:
    rows, bounds = [], _intervals(cells.sums, level)
    for code, (name, form) in enumerate(zip(cells.names, cells.forms, strict=True)):
        mine = cells.code == code
        y = cells.material.y[mine]
        (low, high), note = bounds[code]
        rows.append(
            row_from(
                ConditionRow,
                form,
                name=name,
                value=float(cells.sums.value[code]),
                low=low,
                high=high,
                **bounds_cells("naive", naive_interval(y, level)),
                sd=float(np.std(y, ddof=1)) if len(y) > 1 else None,
                n_ratings=len(y),
                n_raters=int(cells.sums.n_raters[code]),
                n_stimuli=len(np.unique(cells.material.item[mine])),
                n_paragraphs=int(cells.sums.n_items[code]),
                note=note,
            )
        )
    return sorted(rows, key=lambda row: (-row.value, row.name))


def _intervals(sums: Clustered, level: float) -> list[tuple[tuple[Any, Any], str]]:
    """Bounds of each mean, or (None, None), and a note; the groups are paragraphs, not items."""
    intervals = two_way_intervals(sums, level)
    return [
        (bounds or (None, None), note.replace("item", "paragraph")) for bounds, note in intervals
    ]


def _by_place(material: Material, level: float) -> list[PlaceRow]:
    """MOS of single lines by their place, where a condition has several places."""
    rows = []
    for code, form in enumerate(material.forms):
        mine = (material.form == code) & (material.place > 0)
        met = np.unique(np.column_stack([material.place[mine], material.cluster[mine]]), axis=0)
        places, counts = np.unique(met[:, 0], return_counts=True)
        rated_places = places[counts >= FEWEST_AT_PLACE]
        if len(rated_places) < 2:
            continue
        use = mine & np.isin(material.place, rated_places)
        at = np.searchsorted(rated_places, material.place[use])
        y = material.y[use]
        groups = material.rater[use], material.cluster[use]
        sums = clustered(y, at, *groups, len(rated_places), ends=material.ends)
        bounds = _intervals(sums, level)
        for i, place in enumerate(rated_places.tolist()):
            (low, high), note = bounds[i]
            value, n = float(sums.value[i]), int(sums.n_ratings[i])
            rows.append(PlaceRow(form.name, int(place), value, low, high, n, note))
    return rows


def _condition_figure(rows: Sequence[ConditionRow], each: MaterialInput) -> Figure:
    estimand = estimand_of(min(each.material.estimands, key=len))
    return Figure(
        f"long_form_conditions{each.suffix}",
        f"Figures 2 and 3 of {PAPER}: conditions, from high to low",
        "intervals",
        pick_fields(rows, ("name", *INTERVAL_CELLS)),
        x="mean score",
        ends=estimand.ends,
        at=() if estimand.neutral is None else (estimand.neutral,),
        note="R real, T synthetic, Text read; i one line alone, p the whole paragraph; R1T1: one "
        "real line, then one synthetic line that is rated.",
    )


def _place_figure(rows: Sequence[PlaceRow], suffix: str) -> Figure:
    return Figure(
        f"long_form_places{suffix}",
        "Single lines by their place in the paragraph",
        "lines",
        pick_fields(rows, ("group", "x", "y", "low", "high")),
        x="place in the paragraph",
        y="mean score",
    )


def _condition_tables(
    rows: Sequence[ConditionRow], places: Sequence[PlaceRow], each: MaterialInput
) -> list[Table]:
    key, title = "long_form_conditions", "Conditions, from high to low"
    columns = columns_of(ConditionRow, *CONDITIONS_SHOWN, level=each.level, mean=each.mean)
    note = beware(row.note for row in rows)
    tables = [each.table(ConditionRow, key, title, rows, columns=columns, note=note)]
    key, title = "long_form_places", "Single lines by their place"
    columns = columns_of(PlaceRow, level=each.level, mean=each.mean)
    tables.append(each.table(PlaceRow, key, title, places, columns=columns, folded=True))
    return [table for table in tables if table.rows]


def _condition_answer(rows: Sequence[ConditionRow]) -> str:
    means = [f"{condition_span(row.name)} ({row.value:.2f})" for row in rows]
    if len(means) > MOST_NAMED:
        return f"Highest: {', '.join(means[:3])}; lowest: {', '.join(means[-3:])}."
    return f"From high to low: {', '.join(means)}."


def _condition_warnings(material: Material, rows: Sequence[ConditionRow]) -> list[str]:
    warnings = []
    criteria = sorted(material.criteria)
    settings = {row.setting for row in rows}
    if len(settings) > 1 and len(criteria) > 1:
        warnings.append(QUESTIONS.format(" and ".join(criteria)))
    turns = set(material.length.values()) == {TURNS}
    expected = [setting for setting in SETTINGS if setting != PARAGRAPH or not turns]
    absent = [IN_WORDS[setting] for setting in expected if setting not in settings]
    if absent:
        missing = " and ".join(absent)
        warnings.append(f"No ratings of {missing}: what compares them is left out.")
    return warnings


MOST_ALL_PAIRS = 14  # conditions; of more, only settings of the same speaker are tested
STIMULI = "stimulus means"
NAIVE = (
    "The paper has two-tailed independent t tests, not corrected for many tests, and does not say "
    "what one value is: here once of ratings and once of the means of stimuli. Ratings of one "
    "rater or one stimulus go together, so p of ratings is too small; means of stimuli still "
    "share raters and paragraphs."
)


@table_row
class TestRow:
    """A difference of two conditions, adjusted over all pairs, alone, and by both t tests."""

    name: str = column("Difference")
    condition: str
    versus: str
    value: float = column("Points", "number", sign=True)
    low: float | None = column("{level} interval, adjusted", "interval", key="interval")
    high: float | None
    p: float | None = column("p, adjusted", "p")
    claimed: bool | None
    alone_low: float | None = column("This one alone", "interval", key="alone")
    alone_high: float | None
    p_alone: float | None
    same_setting: bool
    student_t: float | None = column("t test of ratings, t", "number", 2)
    student_df: float | None = column("df", "count")
    student_p: float | None = column("p", "p")
    stimuli_t: float | None = column("t test of stimulus means, t", "number", 2)
    stimuli_df: float | None = column("df", "count")
    stimuli_p: float | None = column("p", "p")
    note: str


def condition_tests(each: MaterialInput) -> Content:
    """The table of all pairs, and how many of them each kind of test calls different."""
    tests = _tests(cells_of(each.material), each.level)
    if not tests:
        return Content()
    key, title, many = "long_form_tests", "Tests between conditions", len(tests) > 15
    table = each.table(TestRow, key, title, tests, note=NAIVE, folded=many)
    return Content([_counts_of_clear(tests, each.level)], tables=[table])


def _tests(cells: Cells, level: float) -> list[TestRow]:
    order = np.lexsort((np.array(cells.names), -cells.sums.value)).tolist()
    pairs = [
        (a, b)
        for a, b in combinations(order, 2)
        if len(order) <= MOST_ALL_PAIRS or cells.forms[a].speaker == cells.forms[b].speaker
    ]
    decisions = decide_pairs(pairs, cells.names, cells.sums, level=level)
    return [
        _test(cells, a, b, decision, level)
        for (a, b), decision in zip(pairs, decisions, strict=True)
    ]


def _test(cells: Cells, a: int, b: int, decision: Decision, level: float) -> TestRow:
    ratings = student_t(_ratings(cells, a), _ratings(cells, b), level)
    stimuli = student_t(stimulus_means(cells, a), stimulus_means(cells, b), level, STIMULI)
    return row_from(
        TestRow,
        decision,
        name=f"{cells.names[a]} − {cells.names[b]}",
        condition=cells.names[a],
        versus=cells.names[b],
        alone_low=decision.low_alone,
        alone_high=decision.high_alone,
        same_setting=cells.forms[a].setting == cells.forms[b].setting,
        student_t=ratings.statistic,
        student_df=ratings.df,
        student_p=ratings.p,
        stimuli_t=stimuli.statistic,
        stimuli_df=stimuli.df,
        stimuli_p=stimuli.p,
    )


def _ratings(cells: Cells, code: int) -> Floats:
    return np.asarray(cells.material.y[cells.code == code])


def stimulus_means(cells: Cells, code: int) -> Floats:
    """The mean rating of each stimulus of a condition, in the order of their names."""
    mine = cells.code == code
    _, stimulus = np.unique(cells.material.stimulus[mine], return_inverse=True)
    sums = np.bincount(stimulus, weights=cells.material.y[mine])
    return np.asarray(sums / np.bincount(stimulus))


def _counts_of_clear(tests: Sequence[TestRow], level: float) -> str:
    alpha = 1 - level
    clear = sum(bool(row.claimed) for row in tests)
    ratings, stimuli = (
        sum(p is not None and p < alpha for p in values)
        for values in ([row.student_p for row in tests], [row.stimuli_p for row in tests])
    )
    return (
        f"{clear} of {len(tests)} pairs differ significantly (adjusted p < {alpha:.2g}, raters and "
        f"paragraphs taken into account). Independent t tests, which the paper has, would call "
        f"{ratings} so by ratings and {stimuli} by the means of stimuli."
    )


NOTHING = (
    "no rating has a paragraph, or a condition named like Ri, Tp or R1T1: fill the column "
    "paragraph, and call tasks isolation, paragraph and context where conditions have other names"
)


class LongForm(Part):
    """Sentences alone, whole paragraphs, and sentences after their context, side by side."""

    key = "long_form"
    version = "3"
    title = "Long-form: settings, contexts, paragraphs"
    order = 40
    always = False
    presets = frozenset({"long_form"})

    def applies(self, inputs: PartInput) -> bool:
        return is_long_form(inputs.ratings)

    def make(self, inputs: PartInput) -> Content:
        every = list(materials(inputs.ratings))
        if not every:
            raise ValueError(NOTHING)
        words = words_of(inputs)
        contents = []
        for place, material in enumerate(every):
            inputs.progress(place / len(every), about_of(material))
            suffix = f"_{place + 1}" if len(every) > 1 else ""
            each = MaterialInput(material, inputs.options, words, suffix)
            made = [conditions(each), condition_tests(each), contexts(each), paragraphs(each)]
            contents.append(warned_once(together(made)))
        if len(every) > 1:
            counts = Counter(text for content in contents for text in content.warnings)
            common = {text for text, count in counts.items() if count > 1}
            contents = [
                add_family_words(content, about_of(material), common)
                for material, content in zip(every, contents, strict=True)
            ]
        return warned_once(together(contents))


def words_of(inputs: PartInput) -> dict[str, float]:
    """The number of words by stimulus, from scores with the metric n_words."""
    if inputs.scores is None or not len(inputs.scores):
        return {}
    rows = inputs.scores[(inputs.scores["metric"] == WORDS) & inputs.scores["value"].notna()]
    return dict(zip(rows["stimulus"].astype(str), rows["value"].astype(float), strict=True))


def about_of(material: Material) -> str:
    """What material is about, for headings: estimand, study, criterion and key."""
    estimand = min(material.estimands, key=len)
    name = name_of(estimand)
    parts = [name, material.study, material.criterion, material.key]
    return " · ".join(part for part in parts if part)


MOST_DRAWN = 30
MOST_LINES_NAMED = 3
CONTEXT_METHOD = (
    "Context effects: over the lines rated in both conditions, each weighing the same, the mean "
    "difference of a line's means, two-way clustered over raters and paragraphs, all at once by "
    f"{cite_author('sidak1967')}. The paired t test over lines is given as well."
)
NOTE = (
    "Only lines rated in both conditions count, each against itself. The paired t test takes the "
    "raters as given. Against no context, the question differs as well as the context."
)


@table_row
class ContextRow:
    """The same lines after two contexts: what the first gains over the second."""

    name: str = column("Difference")
    condition: str
    versus: str
    speaker: str
    contexts: str = column("What comes before")
    value: float | None = column("Points", "number", sign=True)
    low: float | None = column("{level} interval, adjusted", "interval", key="interval")
    high: float | None
    p: float | None = column("p, adjusted", "p")
    alone_low: float | None = column("This one alone", "interval", key="alone")
    alone_high: float | None
    p_alone: float | None
    paired_t: float | None = column("Paired t over lines", "number", 2)
    paired_df: float | None
    paired_p: float | None = column("p", "p")
    n_lines: int = column("Lines", "count")
    n_ratings: int
    n_raters: int = column("Raters", "count")
    n_paragraphs: int
    same_question: bool
    note: str


def contexts(each: MaterialInput) -> Content:
    """Every two contexts of the same lines; nothing where no line was rated in two."""
    found = context_effects(each.material, each.level)
    effects = [effect for effect in found if effect.n_lines]
    if not effects:
        return Content()
    rows = [_row(effect) for effect in effects]
    drawn = pick_fields(rows, ("name", "value", "low", "high"))
    if len({row.speaker for row in rows}) > 1:
        drawn = [{**cells, "group": row.speaker} for cells, row in zip(drawn, rows, strict=True)]
    key, title = "context_effects", "The same lines after different contexts"
    x = "points gained by the first over the second"
    figure = Figure(f"{key}{each.suffix}", title, "intervals", drawn, x=x, at=(0.0,))
    note = f"{NOTE} {beware(row.note for row in rows)}".strip()
    title = "Context effects: the same lines after different contexts"
    return Content(
        sentences=[_context_answer(effects, each.level)],
        figures=[figure] if len(rows) <= MOST_DRAWN else [],
        tables=[each.table(ContextRow, key, title, rows, note=note)],
        methods=[CONTEXT_METHOD],
    )


def _row(effect: ContextEffect) -> ContextRow:
    return row_from(
        ContextRow,
        effect,
        name=f"{effect.form.name} − {effect.versus.name}",
        condition=effect.form.name,
        versus=effect.versus.name,
        speaker=effect.form.speaker,
        contexts=f"{effect.form.before} − {effect.versus.before}",
        low=effect.low_all,
        high=effect.high_all,
        p=effect.p_adjusted,
        alone_low=effect.low,
        alone_high=effect.high,
        p_alone=effect.p,
        same_question=ISOLATION not in (effect.form.setting, effect.versus.setting),
    )


def _context_answer(effects: Sequence[ContextEffect], level: float) -> str:
    """The effect of real against synthetic context in words; else the largest clear ones."""
    alpha = 1 - level
    clear = [one for one in effects if one.p_adjusted is not None and one.p_adjusted < alpha]
    if not clear:
        return f"No context effect is clear (adjusted p < {alpha:.2g}, {len(effects)} compared)."
    known = [one for one in clear if {one.form.context, one.versus.context} == {"R", "T"}]
    chosen = known or sorted(clear, key=lambda one: -abs(one.value or 0.0))
    return " ".join(_sentence(one) for one in chosen[:MOST_LINES_NAMED])


def _sentence(one: ContextEffect) -> str:
    value = one.value or 0.0
    more = "more" if value > 0 else "less"
    low, high = sorted((abs(one.low_all or 0.0), abs(one.high_all or 0.0)))
    size = f"{number(abs(value), False, 2)} points {more} {interval_text(low, high, None, 2)}"
    return (
        f"The same {one.n_lines} lines of {in_words(one.form.speaker)} score {size} after "
        f"{one.form.before} than after {one.versus.before} ({one.form.name}, {one.versus.name})."
    ).replace("after no context", "with no context")
