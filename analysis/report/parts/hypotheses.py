"""Declared hypotheses: better, non-inferior, equivalent, for new items and for these alone."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.citations import cite
from analysis.formatting import counted, number
from analysis.name_spans import condition_span, family_span
from analysis.report.content import Content, Table, column, columns_of, pick_cells, table_row
from analysis.report.part import Part, PartInput
from analysis.statistics.comparisons.declared_hypotheses import (
    HypothesisTest,
    decide_hypotheses,
    name_conditions,
)
from analysis.statistics.comparisons.hypothesis_sentences import hypothesis_from

SHOWN = {True: "shown", False: "not shown", None: "no test"}
NOTE = (
    "First minus second condition, in scores. Intervals and p hold for all hypotheses at once; the "
    "comparisons of all systems have an adjustment of their own. An interval of {two} decides "
    "“equivalent to”, one of {level} the others. “These items only” says nothing about other items."
)
METHODS = (
    "Declared hypotheses were tested against their margins: non-inferiority and superiority by the "
    "{level} interval (one-sided at {one}), equivalence by two one-sided tests at {each} "
    f"{cite('schuirmann1987')}, all at once {cite('sidak1967')}. Raters and items are samples; "
    "for “these items only” the variance is clustered by raters alone."
)


@table_row
class HypothesisRow:
    """A hypothesis in one task and criterion."""

    text: str = column("Hypothesis")
    about: str = column("Task and criterion")
    declared: str = column("Declared")
    value: float | None = column("Difference", "number", sign=True)
    low: float | None = column("Interval", "interval", key="interval")
    high: float | None
    p: float | None = column("p, one-sided", "p")
    verdict: str = column("Other items too")
    these_low: float | None = column("Interval, these items only", "interval", key="these")
    these_high: float | None
    these_p: float | None = column("p, one-sided", "p")
    these_verdict: str = column("These items only")
    note: str


class Hypotheses(Part):
    """What was expected of two conditions, and whether the ratings show it."""

    key = "hypotheses"
    version = "1"
    title = "Hypotheses"
    order = 8

    def applies(self, inputs: PartInput) -> bool:
        return bool(inputs.options.hypotheses)

    def make(self, inputs: PartInput) -> Content:
        facts = inputs.facts
        conditions = facts["conditions"] if facts else []
        labels = {each["condition"]: each["label"] for each in conditions if each["label"]}
        names = {*inputs.ratings["condition"], *inputs.ratings["versus_condition"]}
        hypotheses = [hypothesis_from(text) for text in inputs.options.hypotheses]
        wanted = [name_conditions(each, names, labels) for each in hypotheses if each is not None]
        level = inputs.options.level
        tests = decide_hypotheses(inputs.ratings, wanted, level)
        expected = facts.get("hypotheses", []) if facts else []
        declared = {each["text"]: each for each in expected}
        rows = [_row(test, _declared_when(declared.get(test.hypothesis.text))) for test in tests]
        note = NOTE.format(two=f"{200 * level - 100:g} %", level=f"{level * 100:g} %")
        decimals = max((test.decimals for test in tests), default=3)
        columns = columns_of(HypothesisRow, level=level, decimals=decimals)
        return Content(
            sentences=[said_of(test) for test in tests],
            tables=[
                Table.from_rows(
                    HypothesisRow, self.key, self.title, rows, columns=columns, note=note
                )
            ],
            warnings=list(_warnings(tests)),
            methods=[
                METHODS.format(
                    level=f"{level * 100:g} %",
                    one=f"{50 * (1 - level):g} %",
                    each=f"{100 * (1 - level):g} %",
                )
            ],
        )


def said_of(test: HypothesisTest) -> str:
    """Whether a hypothesis is shown, with the difference and its interval."""
    it, main = test.hypothesis, test.main
    where = family_span(test.title, " ({})") if test.title else ""
    if main.shown is None or test.value is None or main.low is None or main.high is None:
        return f"Not tested: {it.text}{where}: {test.note}."
    margin = f", margin {it.margin:g}" if it.margin else ""
    level = f"{test.level * 100:g} % interval"
    value, low, high = (
        number(each, True, test.decimals) for each in (test.value, main.low, main.high)
    )
    difference = f"{value}, {level} {low} to {high}{margin}"
    both = f"{condition_span(it.condition)} is {it.kind} {condition_span(it.versus)}"
    items = " for these items" if it.these_items else ""
    if main.shown:
        return f"Shown{items}: {both}{where}: {difference}."
    other = ""
    if test.these_items.shown and not it.these_items:
        other = " It is shown for these items only, which says nothing about others."
    return f"Not shown{items}: that {both}{where}: {difference}.{other}"


def _warnings(tests: list[HypothesisTest]) -> Iterator[str]:
    open_ = [test for test in tests if test.main.shown is False and test.hypothesis.margin]
    if open_:
        which = "One hypothesis is" if len(open_) == 1 else f"{len(open_)} hypotheses are"
        yield f"{which} not shown. That is no evidence of the opposite."


def _row(test: HypothesisTest, declared: str) -> HypothesisRow:
    new, these = test.new_items, test.these_items
    return HypothesisRow(
        text=test.hypothesis.text,
        about=test.title,
        declared=declared,
        **pick_cells(test, "value", "note"),
        **pick_cells(new, "low", "high", "p"),
        verdict=SHOWN[new.shown],
        these_low=these.low,
        these_high=these.high,
        these_p=these.p,
        these_verdict=SHOWN[these.shown],
    )


def _declared_when(facts: object) -> str:
    """When a study's hypothesis was written down; of a file nobody knows."""
    if not isinstance(facts, dict):
        return "with the analysis"
    if facts["declared"]:
        return "before the study opened"
    return f"after {counted(facts['ratings'], 'rating')}"
