"""Answers of raters as covariates: scores by answer, and their slope on numbers such as age."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.citations import cite
from analysis.formatting import interval_text, number, p_phrase
from analysis.name_spans import family_prefix
from analysis.ratings.covariate_columns import is_of_raters
from analysis.report.content import Content, column, row_from, table_row
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.statistics.intervals import holm
from analysis.statistics.rater_answers import (
    LEAST,
    AnswerMean,
    Slope,
    answer_means,
    answer_slope,
)
from listening.common.covariate_levels import levels_of

METHOD = (
    "Scores were compared between answers of raters by contrasts of their means in each condition, "
    "with two-way clustered variances over raters and items; their slope on numbers by least "
    "squares with an intercept for each clip and the jackknife over raters "
    f"{cite('mackinnon2023')}. p values are adjusted over all answers after Holm "
    f"{cite('holm1979')}."
)
NOTE = (
    "The difference is from the most frequent answer. Each condition weighs the same. p of "
    "interaction tests whether the difference depends on the condition. Answers of fewer than "
    f"{LEAST} raters are left out. Raters were not assigned to answers, so these are associations."
)
SLOPE_NOTE = (
    "By how much the score changes per unit of the answer, within the same clips. Raters were not "
    "assigned to answers, so these are associations."
)
Known = Mapping[str, Mapping[str, str]]  # values by name and rater


@table_row
class AnswerRow:
    """One answer to one question."""

    question: str = column("Question")
    answer: str = column("Answer")
    raters: int = column("Raters", "count")
    value: float = column("Mean", "number")
    low: float | None = column("{level}", "interval", key="interval")
    high: float | None
    difference: float | None = column("Difference", "number", sign=True)
    difference_low: float | None = column("{level} of it", "interval", key="difference")
    difference_high: float | None
    p: float | None = column("Adjusted p", "p")
    p_interaction: float | None = column("p of interaction", "p")


@table_row
class SlopeRow:
    """One question that is answered with a number."""

    question: str = column("Question")
    raters: int = column("Raters", "count")
    sd: float = column("SD of answers", "number")
    value: float = column("Change per unit", "number", 3, sign=True)
    low: float = column("{level}", "interval", 3, key="interval")
    high: float
    p: float | None = column("Adjusted p", "p")


class RaterAnswers(FamilyPart):
    """Scores by the answers that a study declares as covariates of its raters."""

    key = "rater_answers"
    version = "1"
    title = "Scores by raters' answers"
    order = 25
    sampled = True

    def applies(self, inputs: PartInput) -> bool:
        return bool(_known(inputs))

    def of_family(self, each: FamilyInput) -> Content:
        names, seed = question_words(each.inputs), each.inputs.options.seed
        groups: list[tuple[str, AnswerMean]] = []
        slopes: list[tuple[str, Slope]] = []
        for name, answers in _known(each.inputs).items():
            if levels_of(answers.values()):
                means = answer_means(each.family, answers, level=each.level, seed=seed)
                groups += [(names[name], mean) for mean in means]
            elif slope := answer_slope(each.family, answers, level=each.level):
                slopes.append((names[name], slope))
        if not groups and not slopes:
            return Content()
        raw = [mean.effect.mean.p_alone if mean.effect else None for _, mean in groups]
        adjusted = iter(holm([*raw, *(slope.p for _, slope in slopes)]))
        rows = [_row(question, mean, next(adjusted)) for question, mean in groups]
        lines = [
            SlopeRow(question, s.raters, s.sd, s.value, s.low, s.high, next(adjusted))
            for question, s in slopes
        ]
        tables = [
            each.table(kind, key, title, entries, note=note)
            for kind, key, title, entries, note in (
                (AnswerRow, "rater_answers", "Scores by answer", rows, NOTE),
                (SlopeRow, "rater_numbers", "Slopes on answers", lines, SLOPE_NOTE),
            )
            if entries
        ]
        sentences = [f"{family_prefix(each.title)}{text}" for text in _sentences(rows, lines, each)]
        return Content(sentences=sentences, tables=tables, methods=[METHOD])


def _known(inputs: PartInput) -> Known:
    """The answers that are covariates, of raters in the table alone."""
    raters = set(map(str, inputs.ratings["rater"].unique()))
    own = {
        name: {rater: value for rater, value in values.items() if value and rater in raters}
        for name, values in inputs.covariates.items()
        if is_of_raters(name)
    }
    return {name: values for name, values in own.items() if values}


def question_words(inputs: PartInput) -> dict[str, str]:
    """Each covariate of raters as its question reads; its column where the study is not known."""
    forms: Any = inputs.facts["forms"] if inputs.facts else []
    questions = {q["key"]: q["question"] for form in forms for q in form["questions"]}
    words = {}
    for name in _known(inputs):
        keys = [key for key in questions if name.endswith(f"_{key}")]
        words[name] = questions[max(keys, key=len)] if keys else name
    return words


def _row(question: str, mean: AnswerMean, p: float | None) -> AnswerRow:
    effect = mean.effect
    return row_from(
        AnswerRow,
        mean,
        question=question,
        difference=effect.mean.value if effect else None,
        difference_low=effect.mean.low_alone if effect else None,
        difference_high=effect.mean.high_alone if effect else None,
        p=p,
        p_interaction=effect.p_interaction if effect else None,
    )


def _about(question: str) -> str:
    """A question before a sentence about its answers; the name of a column as it is."""
    return f"“{question}”:" if " " in question else f"{question}:"


def _sentences(rows: list[AnswerRow], lines: list[SlopeRow], each: FamilyInput) -> Iterator[str]:
    """What differs significantly, one sentence each; one sentence where nothing does."""
    level, alpha = f"{each.level * 100:g} % CI", 1 - each.level
    found = False
    for row in rows:
        low, high = row.difference_low, row.difference_high
        if row.p is None or row.p >= alpha or low is None or high is None:
            continue
        found = True
        yield (
            f"{_about(row.question)} raters who answered “{row.answer}” scored "
            f"{number(row.difference or 0.0, True)} relative to the most frequent answer "
            f"({level} {interval_text(low, high)}, adjusted {p_phrase(row.p)})."
        )
    for line in lines:
        if line.p is not None and line.p < alpha:
            found = True
            yield (
                f"{_about(line.question)} the score changes by {line.value:+.3f} per unit of the "
                f"answer ({level} {line.low:.3f} to {line.high:.3f}, adjusted {p_phrase(line.p)})."
            )
    if not found:
        yield "Scores do not differ significantly between the answers of raters."
