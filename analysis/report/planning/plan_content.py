"""A plan as content: what it needs and costs, what it rests on, and how it was checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from analysis.formatting import whole_number
from analysis.report.content import Column, Content, Figure, Table, column, row_from, table_row
from analysis.report.planning.planning_narrative import (
    amount,
    answer,
    assumptions,
    gap,
    in_words,
    methods,
    minutes,
    number,
    warnings,
)
from analysis.statistics.planning.looks_cost import LooksCost, looks_cost
from analysis.statistics.planning.precision import (
    DIFFERENCE,
    MEAN,
    power_curve,
    saved_by_metric,
)
from analysis.statistics.planning.proposal import Proposal, half_width_of, nearby_designs
from analysis.statistics.planning.requirements import HALF_WIDTH, Requirements
from analysis.statistics.planning.simulated_check import SimulatedCheck

CURVE_POINTS = 24
CORRELATIONS = (0.5, 0.7, 0.9)  # of a metric with people, within a condition
OF_METRICS = (MEAN, DIFFERENCE)
SHARES = (0.5, 1.0, 1.5, 2.0)  # of the wanted size: the lines of the power curve
ITEMS = (
    Column("items", "Items", "count"),
    Column("ratings_per_stimulus", "Per stimulus", "count"),
    Column("raters", "Raters", "count"),
    Column("ratings", "Ratings", "count"),
    Column("total", "Cost", "number", 0),
)
ITEMS_NOTE = "Each reaches the goal. Numbers of items that cannot reach it are not listed."
_TERM_WORDS = {
    "rater": ("raters", "some are milder than others"),
    "rater_condition": ("raters × conditions", "their own likings"),
    "item": ("items", "some texts come out better in every condition"),
    "stimulus": ("clips", "some come out better in one condition"),
    "residual": ("the rest", "the same rater, the same clip, another day"),
}


@table_row
class Fact:
    """What a plan needs or costs, in words."""

    what: str = column("What")
    value: str = column("Value", "mark")


@table_row
class CheckRow:
    """A quantity by the formula and by simulation, in words."""

    what: str = column("What")
    formula: str = column("Formula", "mark")
    simulated: str = column("Simulated", "mark")
    sure: str = column("95 % sure", "mark")


@table_row
class MetricRow:
    """The share of the variance that a metric replaces."""

    correlation: float = column("Correlation of the metric", "number", 1)
    mean: float = column("Of a mean’s variance", "percent")
    difference: float = column("Of a difference’s variance", "percent")


@table_row
class ComponentRow:
    """A standard deviation that the plan rests on."""

    what: str = column("Scores differ between")
    sd: float = column("SD", "number")
    why: str = column("Because")
    key: str


@table_row
class StopRow:
    """The raters and money of a rule at one true difference."""

    rule: str = column("Stop rule")
    difference: str = column("True difference", "mark")
    largest_raters: int = column("Raters at most", "count")
    expected_raters: float = column("Raters on average", "number", 0)
    largest_total: float = column("Cost at most", "number", 0)
    expected_total: float = column("Cost on average", "number", 0)
    power: float = column("Significant", "percent", 1)


def content_of(proposal: Proposal, checked: SimulatedCheck | None = None) -> Content:
    """Sentences, curves and tables of a plan, with its check by simulation where there is one."""
    short = gap(proposal, checked) if checked else ""
    tables = [_plan_table(proposal), _money_table(proposal)]
    if checked:
        tables.append(check_table(proposal, checked))
    if proposal.requirements.goal != HALF_WIDTH and (stops := looks_cost(proposal)):
        tables.append(stop_table(proposal, stops))
    tables.append(_around_table(proposal))
    if proposal.items:
        rows = [asdict(row) for row in proposal.items]
        tables.append(Table("items", "Fewer and more items", ITEMS, rows, ITEMS_NOTE))
    tables += [components_table(proposal), metric_table(proposal)]
    return Content(
        sentences=answer(proposal),
        figures=[figure(proposal)],
        tables=tables,
        warnings=[*warnings(proposal), *filter(None, [short])],
        methods=methods(proposal, checked),
    )


def figure(proposal: Proposal) -> Figure:
    """Power by raters for several true differences, or the half width by raters."""
    need, plan = proposal.requirements, proposal.plan
    most = max(3 * plan.design.ratings_per_stimulus, 6)
    steps = sorted({max(1, round(most * k / CURVE_POINTS)) for k in range(1, CURVE_POINTS + 1)})
    designs = [design for per_clip in steps if (design := need.design(per_clip)).raters > 1]
    if need.goal == HALF_WIDTH:
        rows = [
            {"group": words, "x": design.raters_in_all, "y": half_width_of(need, design, of)}
            for of, words in _precisions(need)
            for design in designs
        ]
        return Figure(
            "precision",
            "Interval by number of raters",
            "lines",
            rows,
            x="Raters",
            y=f"Half width of the {need.level * 100:g} % interval",
            at=(need.size,),
            note="The hair line is the half width that was asked for.",
        )
    sizes = [need.size * share for share in SHARES]
    powers = power_curve(designs, need.components, sizes, of=need.of, level=need.strict_level)
    rows = [
        {
            "group": f"true difference {number(size)}",
            "x": design.raters_in_all,
            "y": float(powers[i, k]),
        }
        for k, size in enumerate(sizes)
        for i, design in enumerate(designs)
    ]
    return Figure(
        "power",
        "Power by number of raters",
        "lines",
        rows,
        x="Raters",
        y="Power",
        ends=(0.0, 1.0),
        at=(need.power,),
        note="The hair line is the power that was asked for.",
    )


def _precisions(need: Requirements) -> list[tuple[str, str]]:
    of_mean, of_difference = (MEAN, "one condition’s mean"), (DIFFERENCE, "difference of two")
    return [of_mean, of_difference] if need.conditions > 1 else [of_mean]


def _plan_table(proposal: Proposal) -> Table:
    need, plan = proposal.requirements, proposal.plan
    design = plan.design
    goal = "Half width reached" if need.goal == HALF_WIDTH else "Power reached"
    reached = number(plan.reached) if need.goal == HALF_WIDTH else f"{plan.reached * 100:.0f} %"
    facts = [
        Fact("Raters whose ratings count", whole_number(design.raters_in_all)),
        Fact("Ratings per stimulus", whole_number(design.ratings_per_stimulus)),
        Fact("Clips per rater", number(design.ratings_per_rater)),
        Fact("Ratings of each condition", whole_number(design.ratings_per_condition)),
        Fact("Ratings in all", whole_number(design.ratings)),
        Fact(goal, reached),
    ]
    return Table.from_rows(Fact, "plan", "The plan", facts, note=plan.note)


def _money_table(proposal: Proposal) -> Table:
    cost = proposal.cost
    facts = [
        Fact("Sessions to recruit", whole_number(cost.sessions)),
        Fact("One session", minutes(cost.session_minutes)),
        Fact("Pay of a session", amount(cost.pay / cost.sessions, cost.currency)),
        Fact("Hours paid", number(cost.hours)),
        Fact("Pay", amount(cost.pay, cost.currency)),
        Fact("Fees and tax", amount(cost.fees, cost.currency)),
        Fact("Total", amount(cost.total, cost.currency)),
        Fact("Per rating that counts", amount(cost.per_rating, cost.currency)),
    ]
    return Table.from_rows(Fact, "cost", "Time and money", facts)


def check_table(proposal: Proposal, checked: SimulatedCheck) -> Table:
    """The formula beside the simulation: power, half width, and how often the interval holds."""
    need = proposal.requirements
    power_words = "Power" if need.of == DIFFERENCE else "Power of one mean"
    rows = [
        CheckRow(
            what=f"{power_words}, true difference {number(need.size)}",
            formula=f"{need.power_with(proposal.plan.design) * 100:.1f}\u00a0%",
            simulated=f"{checked.power * 100:.1f}\u00a0%",
            sure=f"{checked.power_low * 100:.1f}–{checked.power_high * 100:.1f}\u00a0%",
        ),
        CheckRow(
            what="Half width of the interval",
            formula=number(proposal.half_width),
            simulated=number(checked.half_width),
            sure="",
        ),
        CheckRow(
            what="Interval holds the truth",
            formula=f"{need.strict_level * 100:g}\u00a0%",
            simulated=f"{checked.coverage * 100:.1f}\u00a0%",
            sure=f"{checked.coverage_low * 100:.1f}–{checked.coverage_high * 100:.1f}\u00a0%",
        ),
    ]
    note = f"{whole_number(checked.runs)} simulated studies of this plan, analysed like a real one."
    return Table.from_rows(CheckRow, "check", "The formula, checked by simulation", rows, note=note)


def _around_table(proposal: Proposal) -> Table:
    need = proposal.requirements
    columns = [
        Column("per_clip", "Per stimulus", "mark"),
        Column("raters", "Raters", "count"),
        Column("ratings", "Ratings", "count"),
        Column("half_width", "Half width", "number"),
        Column("found", "Found", "number"),
    ]
    if need.goal != HALF_WIDTH:
        columns.append(Column("reached", "Power", "percent", 2))
    columns.append(Column("total", "Cost", "number", 0))
    note = (
        "◀ is the plan. Per stimulus: ratings of each clip or pair. Half width: of the interval "
        "that is planned for. Found: the smallest true difference that is found four times in five."
    )
    rows = nearby_designs(need, proposal.plan)
    return Table("around", "Fewer and more ratings", columns, rows, note)


def stop_table(proposal: Proposal, rows: Sequence[LooksCost]) -> Table:
    """The plan without a stop rule, and with planned looks."""
    size = proposal.requirements.size
    words = {"none": "none", "planned_looks": "planned looks"}
    shown = [
        row_from(StopRow, row, rule=words[row.rule], difference=number(row.effect * size))
        for row in rows
    ]
    note = (
        "Of one comparison, by numerical integration: five looks with O'Brien-Fleming type error "
        "spending and futility. With several comparisons a study stops when all are decided, later."
    )
    return Table.from_rows(StopRow, "stop", "With and without a stop rule", shown, note=note)


def components_table(proposal: Proposal) -> Table:
    """The standard deviations that the plan rests on, in words."""
    known = proposal.requirements.components
    rows = [
        ComponentRow(what, getattr(known, name), why, name)
        for name, (what, why) in _TERM_WORDS.items()
    ]
    note = f"Source: {known.source}." + (f" Note: {in_words(known.note)}." if known.note else "")
    return Table.from_rows(ComponentRow, "components", "What the plan rests on", rows, note=note)


def metric_table(proposal: Proposal) -> Table:
    """What metrics of several correlations with people would save, with many clips unrated."""
    need, design = proposal.requirements, proposal.plan.design
    rows = [
        MetricRow(r, *(saved_by_metric(design, need.components, r, of=of) for of in OF_METRICS))
        for r in CORRELATIONS
    ]
    note = (
        "The most that a metric saves if it scores many further clips that nobody rates. The "
        "correlation is that within a condition, with the clips’ true quality. Rating more clips, "
        "with fewer ratings each, saves the same without a metric."
    )
    title = "What the help of a metric would save"
    return Table.from_rows(MetricRow, "metric", title, rows, note=note, folded=True)


def plain(proposal: Proposal, checked: SimulatedCheck | None = None) -> dict[str, Any]:
    """Everything about a plan as plain values for JSON."""
    return {
        "plan": proposal.row(),
        "check": checked.row() if checked else None,
        "around": nearby_designs(proposal.requirements, proposal.plan),
        "assumptions": assumptions(proposal),
        "shown": asdict(content_of(proposal, checked)),
    }
