"""What context does: the same lines after real speech, synthetic speech, text, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.formatting import interval_text, number
from analysis.report.content import Column, Content, Figure, Table
from analysis.statistics.longform import ContextEffect, Material, context_effects
from analysis.statistics.longform.condition_names import ISOLATION, in_words

MOST_DRAWN = 30
MOST_TOLD = 3
METHOD = (
    "Context effects: over the lines rated in both conditions, each weighing the same, the mean "
    "difference of a line's means, two-way clustered over raters and paragraphs, all at once by "
    "Šidák (1967); beside it the paired t test over lines."
)
NOTE = (
    "Only lines rated in both conditions count, each against itself. The paired t test takes the "
    "raters as given. Against no context, the question differs as well as the context."
)


def contexts(material: Material, suffix: str, level: float) -> Content:
    """Every two contexts of the same lines; nothing where no line was rated in two."""
    found = [one for one in context_effects(material, level) if one.n_lines]
    if not found:
        return Content()
    rows = [_row(one) for one in found]
    several = len({row["speaker"] for row in rows}) > 1
    figure = Figure(
        f"context_effects{suffix}",
        "The same lines after different contexts",
        "intervals",
        [
            {key: row[key] for key in ("name", "value", "low", "high")}
            | ({"group": row["speaker"]} if several else {})
            for row in rows
        ],
        x="points gained by the first over the second",
        at=(0.0,),
    )
    return Content(
        sentences=_answers(found, level),
        figures=[figure] if len(rows) <= MOST_DRAWN else [],
        tables=[_table(rows, suffix, level)],
        methods=[METHOD],
    )


def _row(one: ContextEffect) -> dict[str, Any]:
    return {
        "name": f"{one.form.name} − {one.versus.name}",
        "condition": one.form.name,
        "versus": one.versus.name,
        "speaker": one.form.speaker,
        "contexts": f"{one.form.before} − {one.versus.before}",
        "value": one.value,
        "low": one.low_all,
        "high": one.high_all,
        "p": one.p_adjusted,
        "alone_low": one.low,
        "alone_high": one.high,
        "p_alone": one.p,
        "paired_t": one.paired_t,
        "paired_df": one.paired_df,
        "paired_p": one.paired_p,
        "n_lines": one.n_lines,
        "n_ratings": one.n_ratings,
        "n_raters": one.n_raters,
        "n_paragraphs": one.n_paragraphs,
        "same_question": ISOLATION not in (one.form.setting, one.versus.setting),
        "note": one.note,
    }


def _table(rows: Sequence[dict[str, Any]], suffix: str, level: float) -> Table:
    columns = [
        Column("name", "Difference"),
        Column("contexts", "What comes before"),
        Column("value", "Points", "number", sign=True),
        Column("interval", f"{level * 100:g} % interval, adjusted", "interval"),
        Column("p", "p, adjusted", "p"),
        Column("alone", "This one alone", "interval"),
        Column("paired_t", "Paired t over lines", "number", 2),
        Column("paired_p", "p", "p"),
        Column("n_lines", "Lines", "count"),
        Column("n_raters", "Raters", "count"),
    ]
    noted = "; ".join(dict.fromkeys(row["note"] for row in rows if row["note"]))
    note = f"{NOTE} Beware: {noted}." if noted else NOTE
    title = "Context effects: the same lines after different contexts"
    return Table(f"context_effects{suffix}", title, columns, rows, note)


def _answers(found: Sequence[ContextEffect], level: float) -> list[str]:
    """The effect of real against synthetic context in words; else the largest clear ones."""
    alpha = 1 - level
    clear = [one for one in found if one.p_adjusted is not None and one.p_adjusted < alpha]
    if not clear:
        return [f"No context effect is clear (adjusted p < {alpha:.2g}, {len(found)} compared)."]
    known = [one for one in clear if {one.form.context, one.versus.context} == {"R", "T"}]
    chosen = known or sorted(clear, key=lambda one: -abs(one.value or 0.0))
    told = [_sentence(one) for one in chosen[:MOST_TOLD]]
    return [" ".join(told)]


def _sentence(one: ContextEffect) -> str:
    value = one.value or 0.0
    more = "more" if value > 0 else "less"
    low, high = sorted((abs(one.low_all or 0.0), abs(one.high_all or 0.0)))
    size = f"{number(abs(value), False, 2)} points {more} {interval_text(low, high, None, 2)}"
    return (
        f"The same {one.n_lines} lines of {in_words(one.form.speaker)} score {size} after "
        f"{one.form.before} than after {one.versus.before} ({one.form.name}, {one.versus.name})."
    ).replace("after no context", "with no context")
