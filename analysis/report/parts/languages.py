"""Studies in several languages: how scores differ between languages, and for which systems."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.citations import cite
from analysis.formatting import counted, interval_text, listed, number, p_phrase
from analysis.name_spans import condition_span, family_prefix
from analysis.report.content import Content, column, interval_cells, row_from, table_row
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.statistics.group_effects import GroupEffect, group_effects, groups_in

METHOD = (
    "Means of each condition in each language were compared by contrasts with two-way clustered "
    "variances over raters and items; the interaction of language and condition is how far the "
    "difference of a condition is from the mean difference, with p and intervals for all "
    f"conditions at once {cite('hothorn2008')}."
)
NOTE = (
    "Later language minus the earlier one. Intervals and p hold for all conditions at once; the "
    "deviation is the interaction of language and condition."
)


@table_row
class LanguageRow:
    """One condition in two languages."""

    languages: str = column("Languages")
    condition: str = column("Condition")
    value: float = column("Later − earlier", "number", sign=True)
    low: float | None = column("{level}", "interval", key="interval")
    high: float | None
    p: float | None = column("p", "p")
    deviation: float | None = column("From the mean difference", "number", sign=True)
    deviation_low: float | None = column("{level} of it", "interval", key="deviation")
    deviation_high: float | None
    p_deviation: float | None = column("p of it", "p")
    note: str = column("Note")


class Languages(FamilyPart):
    """Differences between languages by condition, and their interaction."""

    key = "languages"
    version = "1"
    title = "Languages"
    order = 24

    def applies(self, inputs: PartInput) -> bool:
        return any(len(groups_in(each)) > 1 and not each.in_pairs for each in self.families(inputs))

    def of_family(self, each: FamilyInput) -> Content:
        effects = list(group_effects(each.family, level=each.level, seed=each.inputs.options.seed))
        if not effects:
            return Content()
        rows = [row for effect in effects for row in _rows(effect)]
        title = "Differences between languages"
        table = each.table(LanguageRow, "languages", title, rows, note=NOTE)
        sentences = [_sentence(effect, each.level) for effect in effects]
        return Content(
            sentences=[f"{family_prefix(each.title)}{text}" for text in sentences],
            tables=[table],
            methods=[METHOD],
        )


def _sentence(effect: GroupEffect, level: float) -> str:
    """The mean difference with its interval, then the interaction."""
    mean, many = effect.mean, len(effect.conditions)
    interval = ""
    if mean.low is not None and mean.high is not None:
        interval = f" ({level * 100:g} % interval {interval_text(mean.low, mean.high)})"
    of = f"the mean of {counted(many, 'condition')}" if many > 1 else "the condition rated in both"
    text = f"{effect.later} minus {effect.earlier}, {of}: {number(mean.value, True)}{interval}."
    p = effect.p_interaction
    if p is None:
        return text
    if p >= 1 - level:
        return (
            f"{text} The difference between languages does not depend significantly on the "
            f"condition (interaction: adjusted {p_phrase(p)})."
        )
    apart = [d.condition for d in effect.interactions if d.p is not None and d.p < 1 - level]
    names = apart if many > 2 else [d.condition for d in effect.conditions]
    return (
        f"{text} The difference between languages depends on the condition (interaction, adjusted "
        f"p < {1 - level:.2g}): it is not the mean difference for "
        f"{listed([condition_span(name) for name in names])}."
    )


def _rows(effect: GroupEffect) -> Iterator[LanguageRow]:
    apart = {each.condition: each for each in effect.interactions}
    for each in effect.conditions:
        own = apart.get(each.condition)
        yield row_from(
            LanguageRow,
            each,
            languages=f"{effect.later} − {effect.earlier}",
            **interval_cells("deviation", own),
            p_deviation=own.p if own else None,
        )
