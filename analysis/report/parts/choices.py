"""Answers that are choices: shares; of clips with a right answer also confusions and accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.citations import cite
from analysis.formatting import ci_words, percent
from analysis.name_spans import condition_span, family_prefix
from analysis.ratings.breakdowns import (
    JOINT,
    Family,
    coded_column,
    countable,
    families,
    labelled_families,
)
from analysis.ratings.estimands import keys_where
from analysis.report.content import (
    Column,
    Content,
    Figure,
    Table,
    bounds_cells,
    column,
    row_from,
    table_row,
)
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.statistics.choices import (
    Accuracy,
    ShareOfChoice,
    accuracies,
    confusion_counts,
    shares_of_choices,
)
from listening.methods.method import methods_with_choices
from listening.methods.word_lists import ABSENT, PRESENT, state_of_feature

ALL = "All conditions"
MOST_NAMED, MOST_CONFUSIONS = 6, 20
SHARES_NOTE = (
    "Intervals hold for all choices of a condition at once (Bonferroni); raters and items are "
    "clustered. Where several may be chosen, shares add up to more than 100 %."
)
CONFUSION_NOTE = "Rows: the right answer. Cells: answers, and their share of the row."
ACCURACY_NOTE = (
    "Chance: 1 / number of alternatives. Corrected: (right - 1/k) / (1 - 1/k), so 0 is guessing "
    "and 1 is all right. Above chance: the interval leaves chance out, for all rows at once."
)
STATE_METHODS = (
    "The score of a feature of the Diagnostic Rhyme Test is 100 (right - wrong) / answers "
    f"{cite('voiers1977')}."
)
STATE_NOTE = (
    "Score: 100 (right - wrong) / answers: 0 is guessing and 100 all right. "
    "Present: words with the feature, such as veal; absent: words without it, such as feel. Bias: "
    "score of present - score of absent; above 0, listeners hear the feature where it is not."
)
METHODS = (
    "Shares of choices have simultaneous {level} intervals for the choices of a condition "
    f"(Bonferroni, {cite('goodman1965')}), with raters and items clustered."
)
ACCURACY_METHODS = (
    "Accuracy is the share of right answers, with a {level} interval that clusters raters and "
    "items. It is corrected for guessing by (p - 1/k) / (1 - 1/k) with k alternatives. Claims "
    "against chance hold for all conditions at once (Bonferroni)."
)


@table_row
class ShareRow:
    """How often one choice was made in one condition."""

    condition: str = column("Condition")
    choice: str = column("Choice")
    n: int = column("Chosen", "count")
    n_answers: int = column("Answers", "count")
    share: float = column("Share", "percent", 1)
    share_low: float | None = column("Share, {level}", "interval", key="share")
    share_high: float | None
    note: str = column("Note", default="")


@table_row
class AccuracyRow:
    """How often the answers of one condition are right."""

    condition: str = column("Condition")
    dimension: str = column("Dimension", default="")
    n: int = column("Answers", "count", default=0)
    n_raters: int = column("Raters", "count", default=0)
    n_items: int = column("Items", "count", default=0)
    chance: float = column("Chance", "number", default=0.0)
    accuracy: float = column("Accuracy", "number", default=0.0)
    accuracy_low: float | None = column("{level}", "interval", key="accuracy", default=None)
    accuracy_high: float | None = None
    corrected: float = column("Corrected", "number", default=0.0)
    corrected_low: float | None = column(
        "Corrected, {level}", "interval", key="corrected", default=None
    )
    corrected_high: float | None = None
    claim: str = column("Against chance", default="")
    note: str = column("Note", default="")


@table_row
class FeatureStateRow:
    """The scores of a feature of the Diagnostic Rhyme Test, by whether the spoken word has it.

    Scores are in [-100, 100].
    """

    condition: str = column("Condition")
    feature: str = column("Feature")
    present: float = column("Present", "number", 1)
    present_low: float | None = column("{level}", "interval", 1, key="present")
    present_high: float | None
    absent: float = column("Absent", "number", 1)
    absent_low: float | None = column("{level}", "interval", 1, key="absent")
    absent_high: float | None
    score: float = column("Score", "number", 1)
    bias: float = column("Bias", "number", 1, sign=True)
    n: int = column("Answers", "count")


@table_row
class ConfusionRow:
    """A wrong answer that was given often."""

    condition: str = column("Condition")
    truth: str = column("Right answer")
    answer: str = column("Answer")
    n: int = column("Answers", "count")
    share: float = column("Share of the right answer's", "percent", 1)


class Choices(FamilyPart):
    """The share of each choice; where clips have a right answer, confusion matrix and accuracy."""

    key = "choices"
    version = "1"
    title = "Choices"
    order = 24

    def applies(self, inputs: PartInput) -> bool:
        return any(True for _ in self.families(inputs))

    def families(self, inputs: PartInput) -> Iterator[Family]:
        methods = methods_with_choices()
        free = keys_where("maybe_without_score")
        for family in (*families(inputs.ratings), *labelled_families(inputs.ratings)):
            table = family.table
            if table["method"].iloc[0] not in methods or not (table["condition"] != "").all():
                continue
            offered = (table["alternatives"] != "").all()
            bare = family.estimand in free and table["score"].isna().all()
            if offered or (bare and countable(table["label"])):
                yield family

    def of_family(self, each: FamilyInput) -> Content:
        answers = _Answers(each)
        shares = answers.shares() if answers.common else Content()
        right = answers.against_truth()
        sentences = [f"{family_prefix(each.title)}{one}" for one in right.sentences]
        return Content(
            sentences=sentences,
            figures=[*shares.figures, *right.figures],
            tables=[*right.tables, *shares.tables],
            warnings=[f"{family_prefix(each.title)}{one}" for one in right.warnings],
            methods=[*shares.methods, *right.methods],
        )


class _Answers:
    """The answers of one family: what was chosen, and from what."""

    def __init__(self, each: FamilyInput) -> None:
        self.each, self.level = each, each.level
        table = self.table = each.family.table
        self.condition, names = coded_column(table["condition"])
        self.names = names
        self.order = [names.index(n) for n in each.inputs.ordered("condition", names)]
        self.rater, self.item = each.family.rater, each.family.item
        offered = table["alternatives"].unique().tolist()
        self.common = offered == [""] or len(offered) == 1  # else each clip brings its own
        self.choices = offered[0].split(JOINT) if self.common and offered[0] else _chosen(table)

    def shares(self) -> Content:
        """The share of each choice in each condition."""
        sets = [frozenset(label.split(JOINT)) for label in self.table["label"]]
        chosen = np.array([[c in one for c in self.choices] for one in sets], dtype=bool)
        found = shares_of_choices(chosen, self.condition, self.rater, self.item, self.level)
        found.sort(key=lambda one: (self.order.index(one.condition), one.choice))
        rows = [self._share_row(one) for one in found]
        about, suffix = self.each.title, self.each.suffix
        bars = [{"name": r.condition, "label": r.choice, "value": r.share} for r in rows]
        several = any(len(one) > 1 for one in sets)
        figure = Figure(f"choices{suffix}", "Choices", "shares", bars, about=about)
        table = self.each.table(ShareRow, "choices", "Share of each choice", rows, note=SHARES_NOTE)
        methods = [METHODS.format(level=f"{self.level * 100:g} %")]
        return Content(figures=[] if several else [figure], tables=[table], methods=methods)

    def _share_row(self, one: ShareOfChoice) -> ShareRow:
        condition, choice = self.names[one.condition], self.choices[one.choice]
        cells = bounds_cells("share", one.bounds)
        return row_from(ShareRow, one, condition=condition, choice=choice, **cells)

    def against_truth(self) -> Content:
        """Accuracy and confusions, of the answers about clips whose right answer is known."""
        known = (self.table["correct_answer"] != "").to_numpy()
        if not known.any():
            return Content()
        table = self.table[known]
        right = (table["label"] == table["correct_answer"]).to_numpy()
        offered = table["alternatives"].map(lambda text: len(text.split(JOINT))).to_numpy()
        coded = (self.condition[known], self.rater[known], self.item[known])
        codes, names = _dense(coded[0], self.names)
        found = accuracies(right, offered, codes, coded[1], coded[2], self.level)
        order = self.each.inputs.ordered("condition", names)
        found.sort(key=lambda one: order.index(names[one.condition]))
        tables = [
            self._table("accuracy", "Accuracy", [self._row(one, names) for one in found], drop=True)
        ]
        tables += self._by_dimension(table, right, offered, coded)
        tables += self._by_state(table, right, offered, coded)
        confusions, figures = self._confusions(table, order)
        warnings = []
        if not known.all():
            n = int((~known).sum())
            warnings.append(f"{n} answers are about clips without a right answer: left out here.")
        return Content(
            sentences=list(self._sentences(found, names)),
            figures=figures,
            tables=[*tables, *confusions],
            warnings=warnings,
            methods=[
                ACCURACY_METHODS.format(level=f"{self.level * 100:g} %"),
                *[STATE_METHODS for table in tables if table.key.startswith("features")],
            ],
        )

    def _sentences(self, found: Sequence[Accuracy], names: Sequence[str]) -> Iterator[str]:
        by_share = sorted(found, key=lambda one: -one.corrected)
        for one in by_share[:MOST_NAMED]:
            interval = ""
            if one.bounds is not None:
                interval = ci_words(100 * one.bounds[0], 100 * one.bounds[1], self.level, None, 0)
            share = f"of {condition_span(names[one.condition])}, {percent(one.share)} of answers"
            claim = _claim(one)
            against = f"; {claim} ({percent(one.chance)})" if claim else ""
            yield f"{share} are right{interval}{against}."

    def _row(self, one: Accuracy, names: Sequence[str], dimension: str = "") -> AccuracyRow:
        return row_from(
            AccuracyRow,
            one,
            condition=names[one.condition],
            dimension=dimension,
            accuracy=one.share,
            **bounds_cells("accuracy", one.bounds),
            **bounds_cells("corrected", one.corrected_bounds),
            claim=_claim(one),
        )

    def _table(
        self, key: str, title: str, rows: Iterable[AccuracyRow], *, drop: bool = False
    ) -> Table:
        whole = self.each.table(AccuracyRow, key, title, rows, note=ACCURACY_NOTE)
        shown = [each for each in whole.columns if not (drop and each.key == "dimension")]
        return replace(whole, columns=shown)

    def _by_dimension(
        self, table: pd.DataFrame, right: Any, offered: Any, coded: tuple[Any, Any, Any]
    ) -> list[Table]:
        """One row for each condition and dimension, such as the features of a rhyme test."""
        dimensions = table["dimension"]
        if dimensions.nunique() < 2:
            return []
        cells, keys = pd.factorize(dimensions + "\x1f" + table["condition"], sort=True)
        found = accuracies(right, offered, cells.astype(np.int64), *coded[1:], self.level)
        pairs = [str(key).split("\x1f") for key in keys]
        rows = [
            self._row(one, [condition for _, condition in pairs], pairs[one.condition][0])
            for one in found
        ]
        order = self.each.inputs.ordered("dimension", dimensions.unique())
        rows.sort(key=lambda row: order.index(row.dimension))
        return [self._table("accuracy_by_dimension", "Accuracy by dimension", rows)]

    def _by_state(
        self, table: pd.DataFrame, right: Any, offered: Any, coded: tuple[Any, Any, Any]
    ) -> list[Table]:
        """The features of the Diagnostic Rhyme Test, where words of its list were spoken."""
        state = np.array(
            [
                state_of_feature(tuple(offer.split(JOINT)), spoken)
                for offer, spoken in zip(
                    table["alternatives"], table["correct_answer"], strict=True
                )
            ]
        )
        listed = state != ""
        if not listed.any():
            return []
        rows = table[listed].assign(state=state[listed])
        keys = ["condition", "dimension", "state"]
        cells, names = pd.MultiIndex.from_frame(rows[keys]).factorize(sort=True)
        rater, item = coded[1][listed], coded[2][listed]
        found = accuracies(
            right[listed], offered[listed], cells.astype(np.int64), rater, item, self.level
        )
        cell = dict(zip(names, found, strict=True))
        shown = [
            _state_row(condition, feature, present, absent)
            for condition in self.each.inputs.ordered("condition", rows["condition"].unique())
            for feature in self.each.inputs.ordered("dimension", rows["dimension"].unique())
            if (present := cell.get((condition, feature, PRESENT)))
            and (absent := cell.get((condition, feature, ABSENT)))
        ]
        title = "Features of the Diagnostic Rhyme Test"
        made = self.each.table(FeatureStateRow, "features", title, shown, note=STATE_NOTE)
        return [made] if shown else []

    def _confusions(
        self, table: pd.DataFrame, order: Sequence[str]
    ) -> tuple[list[Table], list[Figure]]:
        if not self.common:
            return [self._frequent_confusions(table, order)], []
        places = {choice: place for place, choice in enumerate(self.choices)}
        groups = [(ALL, table)] if len(order) > 1 else []
        groups += [(name, table[table["condition"] == name]) for name in order]
        rows: list[dict[str, Any]] = []
        for name, own in groups:
            truth, answer = (own[c].map(places).to_numpy() for c in ("correct_answer", "label"))
            counts = confusion_counts(truth, answer, len(places))
            rows += [
                _confusion_row(name, choice, counts[place], self.choices)
                for choice, place in places.items()
                if counts[place].sum()
            ]
        columns = [
            Column("condition", "Condition"),
            Column("truth", "Right answer"),
            *(Column(f"cell_{n}", choice) for n, choice in enumerate(self.choices, start=1)),
            Column("n", "Answers", "count"),
        ]
        suffix, about = self.each.suffix, self.each.title
        made = Table(f"confusion{suffix}", "Confusion matrix", columns, rows, CONFUSION_NOTE, about)
        first = groups[0][0]
        heat = [
            {"row": row["truth"], "column": choice, "value": row[f"share_{n}"]}
            for row in rows
            if row["condition"] == first
            for n, choice in enumerate(self.choices, start=1)
        ]
        figure = Figure(
            f"confusion{suffix}",
            "Right answer (rows) by answer given (columns), shares of the row",
            "heatmap",
            heat,
            x="Answer given",
            y="Right answer",
            ends=(0.0, 1.0),
            about=about,
            decimals=2,
        )
        return [made], [figure]

    def _frequent_confusions(self, table: pd.DataFrame, order: Sequence[str]) -> Table:
        """Where each clip brings its own alternatives: the wrong answers that were given most."""
        asked = Counter(zip(table["condition"], table["correct_answer"], strict=True))
        wrong = table[table["label"] != table["correct_answer"]]
        given = Counter(
            zip(wrong["condition"], wrong["correct_answer"], wrong["label"], strict=True)
        )
        rows = [
            ConfusionRow(name, truth, label, n, n / asked[name, truth])
            for (name, truth, label), n in given.items()
        ]
        rows.sort(key=lambda row: (-row.n, order.index(row.condition), row.truth, row.answer))
        return self.each.table(
            ConfusionRow,
            "confusions",
            "Most frequent confusions",
            rows[:MOST_CONFUSIONS],
            note=f"The {MOST_CONFUSIONS} most frequent wrong answers." * (len(rows) > 20),
        )


def _chosen(table: pd.DataFrame) -> list[str]:
    """The choices that were made, the most frequent first, where a file does not say all."""
    counts = Counter(choice for label in table["label"] for choice in label.split(JOINT))
    return sorted(counts, key=lambda choice: (-counts[choice], choice))


def _dense(codes: Any, names: Sequence[str]) -> tuple[Any, list[str]]:
    """Codes from 0 without gaps, and the names that are left."""
    there, dense = np.unique(codes, return_inverse=True)
    return dense.astype(np.int64), [names[code] for code in there]


def _claim(one: Accuracy) -> str:
    if one.corrected_bounds is None:
        return ""
    if one.above:
        return "significantly above chance"
    return "significantly below chance" if one.below else "not significantly different from chance"


def _state_row(
    condition: str, feature: str, present: Accuracy, absent: Accuracy
) -> FeatureStateRow:
    """The scores of both states, and of all answers."""
    of_present, of_absent = 100 * present.corrected, 100 * absent.corrected
    n = present.n + absent.n
    bounds = [
        None if each is None else (100 * each[0], 100 * each[1])
        for each in (present.corrected_bounds, absent.corrected_bounds)
    ]
    return FeatureStateRow(
        condition=condition,
        feature=feature,
        present=of_present,
        **bounds_cells("present", bounds[0]),
        absent=of_absent,
        **bounds_cells("absent", bounds[1]),
        score=(of_present * present.n + of_absent * absent.n) / n,
        bias=of_present - of_absent,
        n=n,
    )


def _confusion_row(
    condition: str, truth: str, counts: Any, choices: Sequence[str]
) -> dict[str, Any]:
    total = int(counts.sum())
    row: dict[str, Any] = {"condition": condition, "truth": truth, "n": total}
    for n, (choice, count) in enumerate(zip(choices, counts.tolist(), strict=True), start=1):
        share = count / total
        row |= {f"cell_{n}": f"{count} ({percent(share)})", f"answer_{n}": choice}
        row |= {f"n_{n}": count, f"share_{n}": share}
    return row
