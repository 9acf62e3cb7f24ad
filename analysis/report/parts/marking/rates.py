"""How many errors raters marked, on words or on the waveform: rates by system and kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from analysis.formatting import ci_words, percent
from analysis.name_spans import condition_span
from analysis.ratings.breakdowns import Family
from analysis.ratings.grouping import Breakdown
from analysis.report.content import (
    Content,
    Figure,
    Table,
    column,
    columns_of,
    interval_cells,
    table_row,
)
from analysis.report.part import FamilyInput, PartInput
from analysis.report.parts.att import means
from listening.methods.error_spans import ErrorSpan, read_spans
from listening.methods.marks import Mark, read_marks

if TYPE_CHECKING:
    import pandas as pd

    from analysis.statistics.estimator import Estimate
    from listening.selectors import MarkingFacts

ALL_KINDS = "All kinds"
ALL_SYSTEMS = "All systems"
PER_WORDS, PER_MINUTE = "100 words", "minute"
_NOTES = {
    PER_WORDS: (
        "Mean over answers of 100 × marks / words of the text, with an interval that lets raters "
        "and items vary. A mark over several words is one error. Marked clips: answers with at "
        "least one mark of the kind."
    ),
    PER_MINUTE: (
        "Mean over answers of 60 × marks / seconds that raters heard of the clip, with an interval "
        "that lets raters and items vary. Marked clips: answers with at least one mark of the kind."
    ),
}


@table_row
class RateRow:
    """Errors of one kind in one condition, per 100 words or per minute."""

    condition: str = column("System")
    kind: str = column("Kind")
    errors: float = column("Errors per {unit}", "number", 2)
    errors_low: float | None = column("{level} CI", "interval", 2, key="errors")
    errors_high: float | None = None
    marks: int = column("Marks", "count", default=0)
    clips: int = column("Marked clips", "count", default=0)
    answers: int = column("Answers", "count", default=0)


def rates_of_marks(
    each: FamilyInput, unit: str, method: str
) -> tuple[MarkingFacts | None, dict[str, str], Content]:
    """What was marked, the kinds of errors, and their rates: sentences, table and figure."""
    facts = facts_of(each.family, each.inputs)
    kinds = kinds_of(each.family, facts)
    rates = list(rate_rows(each.family.table, kinds, each.inputs))
    return (
        facts,
        kinds,
        Content(
            list(extremes(rates, unit, each.level)),
            [rate_figure(rates, unit, each)],
            [rate_table(rates, "errors", unit, each)],
            methods=[method],
        ),
    )


def facts_of(family: Family, inputs: PartInput) -> MarkingFacts | None:
    """What was marked in the family's task; None of a file of ratings."""
    tasks = inputs.facts.get("markings", ()) if inputs.facts else ()
    task = family.group.get("task", "")
    return next((each for each in tasks if each["task"] == task), None)


def kinds_of(family: Family, facts: MarkingFacts | None) -> dict[str, str]:
    """The kinds of errors and their words, in the order of the study; of a file, those marked."""
    own = facts["kinds"].get(family.group.get("criterion", ""), {}) if facts else {}
    results = {m.kind for label in family.table["label"] for m in marks_in(label)}
    return {**own, **{kind: kind for kind in sorted(results - own.keys())}}


@lru_cache(maxsize=65_536)
def marks_in(label: object) -> Sequence[Mark | ErrorSpan]:
    """The marks of an answer, on words or on the waveform; none of a file with scores only.

    Kept: each table and map of a report asks for the marks of the same answers.
    """
    for read in (read_marks, read_spans):
        try:
            return read(str(label))
        except ValueError:
            continue
    return ()


def rate_rows(
    table: pd.DataFrame, kinds: Mapping[str, str], inputs: PartInput
) -> Iterator[RateRow]:
    """All kinds together, then each kind, by condition in the order of the study."""
    marks = [marks_in(label) for label in table["label"]]
    score = table["score"].to_numpy(dtype=float)
    counts = {kind: np.array([sum(m.kind == kind for m in own) for own in marks]) for kind in kinds}
    total = np.array([len(own) for own in marks])
    counts = {ALL_KINDS: total, **counts}
    for kind, count in counts.items():
        share = count / np.maximum(total, 1)
        own = table.assign(score=score if kind == ALL_KINDS else score * share)
        estimates: dict[str, Estimate] = {
            row.condition: row for row in means(own, Breakdown("condition"), inputs)
        }
        for name in inputs.ordered("condition", estimates):
            here, row = (table["condition"] == name).to_numpy(), estimates[name]
            yield RateRow(
                condition=name,
                kind=kinds.get(kind, kind),
                **interval_cells("errors", row),
                marks=int(count[here].sum()),
                clips=int((count[here] > 0).sum()),
                answers=int(here.sum()),
            )


def rate_table(rates: Sequence[RateRow], key: str, unit: str, each: FamilyInput) -> Table:
    """The table of rates per 100 words or per minute."""
    title = f"Errors per {unit} by system and kind"
    columns = columns_of(RateRow, level=each.level, unit=unit)
    return each.table(RateRow, key, title, rates, columns=columns, note=_NOTES[unit])


def rate_figure(rates: Sequence[RateRow], unit: str, each: FamilyInput) -> Figure:
    """Errors of each system, for all kinds and for each kind that was marked."""
    used = {row.kind for row in rates if row.marks} | {ALL_KINDS}
    rows = [
        {
            "name": row.condition,
            "key": row.condition,
            "value": row.errors,
            "low": row.errors_low,
            "high": row.errors_high,
            "group": row.kind,
            "n": row.answers,
        }
        for row in rates
        if row.kind in used
    ]
    return Figure(
        key=f"errors{each.suffix}",
        title=f"Errors per {unit} by kind",
        drawing="intervals",
        rows=rows,
        x=f"Errors per {unit}",
        decimals=1,
        about=each.title,
        interval="raters and items crossed",
    )


def extremes(rates: Sequence[RateRow], unit: str, level: float) -> Iterator[str]:
    """The conditions with the fewest and the most errors, and the most frequent kind."""
    known = [row for row in rates if row.kind == ALL_KINDS]
    if len(known) > 1:
        few, many = min(known, key=lambda r: r.errors), max(known, key=lambda r: r.errors)
        yield (
            f"Raters marked {_rate(few, unit, level)} in {condition_span(few.condition)} and "
            f"{_rate(many, unit, level)} in {condition_span(many.condition)}."
        )
    total: Counter[str] = Counter()
    for row in rates:
        if row.kind != ALL_KINDS:
            total[row.kind] += row.marks
    if total.total():
        kind, count = total.most_common(1)[0]
        yield f"The most frequent kind is {kind}: {percent(count / total.total())} of the marks."


def _rate(row: RateRow, unit: str, level: float) -> str:
    interval = ci_words(row.errors_low, row.errors_high, level, None, 1)
    return f"{row.errors:.1f} errors per {unit}{interval}"
