"""Long-form speech after Clark et al. (2019): settings, context effects, paragraphs, sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from analysis.citations import cite_author
from analysis.formatting import beware, interval_text, number
from analysis.ratings.estimands import name_of
from analysis.ratings.study_scores import WORDS
from analysis.report.content import (
    Content,
    Figure,
    Table,
    column,
    picked,
    table_row,
    together,
    warned_once,
    worded,
)
from analysis.report.part import Part, PartInput
from analysis.report.parts.long_form.condition_means import condition_tests, conditions
from analysis.report.parts.long_form.paragraph_tables import paragraphs
from analysis.statistics.longform import (
    ISOLATION,
    ContextEffect,
    Material,
    context_effects,
    in_words,
    is_long_form,
    materials,
)
from analysis.statistics.options import Options

NOTHING = (
    "no rating has a paragraph, or a condition named like Ri, Tp or R1T1: fill the column "
    "paragraph, and call tasks isolation, paragraph and context where conditions have other names"
)


class LongForm(Part):
    """Sentences alone, whole paragraphs, and sentences after their context, side by side."""

    key = "long_form"
    version = "2"
    title = "Long-form: settings, contexts, paragraphs"
    order = 40
    always = False
    presets = frozenset({"long_form"})

    def applies(self, inputs: PartInput) -> bool:
        return is_long_form(inputs.kept)

    def make(self, inputs: PartInput) -> Content:
        every = list(materials(inputs.kept))
        if not every:
            raise ValueError(NOTHING)
        words = words_of(inputs)
        contents = []
        for place, material in enumerate(every):
            inputs.progress(place / len(every), about_of(material))
            suffix = f"_{place + 1}" if len(every) > 1 else ""
            contents.append(_of_material(material, inputs.options, words, suffix))
        if len(every) > 1:
            counts = Counter(text for content in contents for text in content.warnings)
            common = {text for text, count in counts.items() if count > 1}
            contents = [
                worded(content, about_of(material), common)
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


def _of_material(
    material: Material, options: Options, words: dict[str, float], suffix: str
) -> Content:
    """``about`` of its figures and tables stays empty: they span the tasks of a study."""
    contents = [
        conditions(material, suffix, options.level),
        condition_tests(material, suffix, options.level),
        contexts(material, suffix, options.level),
        paragraphs(material, suffix, options.level, words, options.reference),
    ]
    return warned_once(together(contents))


MOST_DRAWN = 30
MOST_NAMED = 3
METHOD = (
    "Context effects: over the lines rated in both conditions, each weighing the same, the mean "
    "difference of a line's means, two-way clustered over raters and paragraphs, all at once by "
    f"{cite_author('sidak1967')}; beside it the paired t test over lines."
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


def contexts(material: Material, suffix: str, level: float) -> Content:
    """Every two contexts of the same lines; nothing where no line was rated in two."""
    effects = [effect for effect in context_effects(material, level) if effect.n_lines]
    if not effects:
        return Content()
    rows = [_row(effect) for effect in effects]
    drawn = picked(rows, ("name", "value", "low", "high"))
    if len({row.speaker for row in rows}) > 1:
        drawn = [{**cells, "group": row.speaker} for cells, row in zip(drawn, rows, strict=True)]
    key, title = f"context_effects{suffix}", "The same lines after different contexts"
    x = "points gained by the first over the second"
    figure = Figure(key, title, "intervals", drawn, x=x, at=(0.0,))
    note = f"{NOTE} {beware(row.note for row in rows)}".strip()
    title = "Context effects: the same lines after different contexts"
    return Content(
        sentences=[_answer(effects, level)],
        figures=[figure] if len(rows) <= MOST_DRAWN else [],
        tables=[Table.of(ContextRow, key, title, rows, level=level, note=note)],
        methods=[METHOD],
    )


def _row(effect: ContextEffect) -> ContextRow:
    return ContextRow(
        name=f"{effect.form.name} − {effect.versus.name}",
        condition=effect.form.name,
        versus=effect.versus.name,
        speaker=effect.form.speaker,
        contexts=f"{effect.form.before} − {effect.versus.before}",
        value=effect.value,
        low=effect.low_all,
        high=effect.high_all,
        p=effect.p_adjusted,
        alone_low=effect.low,
        alone_high=effect.high,
        p_alone=effect.p,
        paired_t=effect.paired_t,
        paired_df=effect.paired_df,
        paired_p=effect.paired_p,
        n_lines=effect.n_lines,
        n_ratings=effect.n_ratings,
        n_raters=effect.n_raters,
        n_paragraphs=effect.n_paragraphs,
        same_question=ISOLATION not in (effect.form.setting, effect.versus.setting),
        note=effect.note,
    )


def _answer(effects: Sequence[ContextEffect], level: float) -> str:
    """The effect of real against synthetic context in words; else the largest clear ones."""
    alpha = 1 - level
    clear = [one for one in effects if one.p_adjusted is not None and one.p_adjusted < alpha]
    if not clear:
        return f"No context effect is clear (adjusted p < {alpha:.2g}, {len(effects)} compared)."
    known = [one for one in clear if {one.form.context, one.versus.context} == {"R", "T"}]
    chosen = known or sorted(clear, key=lambda one: -abs(one.value or 0.0))
    return " ".join(_sentence(one) for one in chosen[:MOST_NAMED])


def _sentence(one: ContextEffect) -> str:
    value = one.value or 0.0
    more = "more" if value > 0 else "less"
    low, high = sorted((abs(one.low_all or 0.0), abs(one.high_all or 0.0)))
    size = f"{number(abs(value), False, 2)} points {more} {interval_text(low, high, None, 2)}"
    return (
        f"The same {one.n_lines} lines of {in_words(one.form.speaker)} score {size} after "
        f"{one.form.before} than after {one.versus.before} ({one.form.name}, {one.versus.name})."
    ).replace("after no context", "with no context")
