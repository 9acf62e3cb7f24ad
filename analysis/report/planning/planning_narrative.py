"""A plan in plain words: the answer, what it assumes, where it is weak, and methods for a paper."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from analysis.formatting import whole_number
from analysis.statistics.planning.precision import DIFFERENCE
from analysis.statistics.planning.requirements import HALF_WIDTH
from analysis.statistics.planning.study_design import BETWEEN, RANDOM, PlanningError

if TYPE_CHECKING:
    from analysis.statistics.planning.proposal import ItemsRow, Proposal
    from analysis.statistics.planning.simulated_check import SimulatedCheck

FEW_RATERS, FEW_ITEMS = 20, 15
LONG_SESSION_MIN = 45.0


def number(value: float) -> str:
    """A number with three digits that say something."""
    return whole_number(value) if abs(value) >= 100 else f"{value:.3g}"


def amount(value: float, currency: str) -> str:
    """Money with its currency, pence for small sums."""
    written = whole_number(value) if value >= 100 or value == 0 else f"{value:.2f}"
    return f"{written if value == 0 or value >= 0.1 else f'{value:.3f}'} {currency}".strip()


def minutes(value: float) -> str:
    """Minutes as people say them."""
    rounded = round(value) if value >= 3 else round(value, 1)
    return f"{rounded:g} minute{'' if rounded == 1 else 's'}"


def answer(proposal: Proposal) -> list[str]:
    """The answer first, then money, then what was not certain."""
    need, plan, cost = proposal.requirements, proposal.plan, proposal.cost
    d = plan.design
    of = "the difference of two conditions" if need.of == DIFFERENCE else "a mean"
    level = f"{need.level * 100:g} %"
    raters, per_clip = whole_number(d.raters_in_all), whole_number(d.ratings_per_stimulus)
    head = f"{raters} raters, {per_clip} ratings of each clip"
    if need.goal == HALF_WIDTH:
        what = f"give {of} a {level} interval of ± {number(plan.reached)}"
        met = plan.reached <= need.size
        wanted = f"± {number(need.size)}"
    else:
        apart = "between two conditions" if need.of == DIFFERENCE else "from no preference"
        what = (
            f"find a true difference of {number(need.size)} {apart} "
            f"with a power of {plan.reached * 100:.0f} %"
        )
        met = plan.reached >= need.power
        wanted = f"{need.power * 100:g} %"
    verdict = "" if met else f" That is less than the {wanted} wanted."
    sentences = [f"{head} ({whole_number(d.ratings)} ratings in all) {what}.{verdict}"]
    sentences.append(
        f"A session lasts about {minutes(cost.session_minutes)}; "
        f"{whole_number(cost.sessions)} sessions cost {amount(cost.total, cost.currency)} in all, "
        f"{amount(cost.fees, cost.currency)} of it fees."
    )
    if proposal.better:
        sentences.append(_better(proposal, proposal.better))
    if proposal.assured:
        assured = proposal.assured
        sentences.append(
            f"The pilot knows its components only roughly: counting that in, the chance of success "
            f"is {assured.value * 100:.0f} % (in four cases of five between "
            f"{assured.low * 100:.0f} and {assured.high * 100:.0f} %)."
        )
    return sentences


def _better(proposal: Proposal, better: ItemsRow) -> str:
    """More items instead of more raters, where that saves a third of the money or more."""
    currency = proposal.cost.currency
    return (
        f"More items serve better than more raters here: with {better.items} instead of "
        f"{proposal.requirements.items} items, {whole_number(better.raters)} raters and "
        f"{whole_number(better.ratings_per_stimulus)} ratings of each clip are enough "
        f"({amount(better.total, currency)} in all)."
    )


def assumptions(proposal: Proposal) -> list[str]:
    """What must hold for the numbers to hold."""
    need = proposal.requirements
    who = {
        BETWEEN: "Every rater hears one condition only; raters per condition are alike in kind.",
        RANDOM: "A rater's clips are drawn at random from all conditions.",
    }.get(
        need.assignment,
        "Every rater hears about the same number of clips of every condition.",
    )
    return [
        f"Scores vary as in the source of the components ({need.components.source}): the same "
        "scale, the same kind of raters, clips and systems. Systems that are more alike, or texts "
        "that are more mixed, change that.",
        "The interval speaks about new raters and new items, so both are counted as a sample.",
        who,
        "Every rating counts: traps and screening do not thin out some conditions more than "
        "others. Sessions lost are only in the money.",
        "Effects of raters and items are about normal. Near the ends of a scale scores vary less, "
        "and the plan is on the safe side.",
        "Results are tested once, at the end of the study. To test earlier, declare a stop rule; "
        "the table says what it costs and saves.",
    ]


def warnings(proposal: Proposal) -> list[str]:
    """Where the plan is weak."""
    need, plan, cost = proposal.requirements, proposal.plan, proposal.cost
    design, weak = plan.design, []
    if design.raters < FEW_RATERS:
        weak.append(
            f"{design.raters} raters are few: the interval is rough then, and one odd rater moves "
            f"it. Take {FEW_RATERS} or more."
        )
    if design.items < FEW_ITEMS:
        weak.append(
            f"{design.items} items are few to speak about new texts with. More items with fewer "
            "ratings each give more for the same money."
        )
    if cost.session_minutes > LONG_SESSION_MIN:
        weak.append(
            f"A session of {cost.session_minutes:.0f} minutes tires raters; give each fewer clips."
        )
    if need.components.note:
        weak.append(f"Of how scores vary: {in_words(need.components.note)}.")
    return weak


def in_words(note: str) -> str:
    """A note on components with the names that people read."""
    names = {"rater_condition": "raters × conditions", "stimulus": "clips", "item": "items"}
    for name, words in {**names, "residual": "the rest"}.items():
        note = note.replace(name, words)
    return re.sub(r"\brater\b", "raters", note)


def gap(proposal: Proposal, checked: SimulatedCheck) -> str:
    """Where the simulation does not reach what the formula promised, and what would; else ``""``.

    Nothing while the plan is within the error of the simulation, or 3 per cent of the half width.
    """
    need = proposal.requirements
    factor = checked.half_width / max(proposal.half_width, 1e-12)
    if need.goal == HALF_WIDTH:
        short = need.ratings_per_stimulus is None and checked.half_width > 1.03 * need.size
        simulated = f"the half width is ± {number(checked.half_width)}"
    else:
        short = need.ratings_per_stimulus is None and checked.power_high < need.power
        simulated = f"the power is {checked.power * 100:.0f} %"
    if not short:
        return ""
    try:
        more = replace(need, components=need.components.scaled(factor)).plan().design
    except PlanningError:
        remedy = "More items are needed for it."
    else:
        remedy = (
            f"About {whole_number(more.raters_in_all)} raters, "
            f"{whole_number(more.ratings_per_stimulus)} ratings of each clip, should do."
        )
    than = "wider than wanted" if need.goal == HALF_WIDTH else "less than wanted"
    return (
        f"By simulation {simulated}, {than}: the interval of the analysis is careful in studies of "
        f"this size. {remedy}"
    )


def methods(proposal: Proposal, checked: SimulatedCheck | None) -> list[str]:
    """Sentences for the methods section of a paper."""
    need, d = proposal.requirements, proposal.plan.design
    known = need.components
    goal = f"a half width of {number(need.size)} at {need.level * 100:g} % confidence"
    if need.goal != HALF_WIDTH:
        goal = (
            f"a power of {need.power * 100:g} % for a true difference of {number(need.size)} "
            f"at a two-sided level of {1 - need.strict_level:.3g}"
        )
    sentences = [
        f"The sample size was planned for {goal} from variance components ({known.source}): rater "
        f"SD {number(known.rater)}, rater × condition {number(known.rater_condition)}, item "
        f"{number(known.item)}, stimulus {number(known.stimulus)}, residual "
        f"{number(known.residual)}. This gave {d.raters_in_all} raters and "
        f"{d.ratings_per_stimulus} ratings per stimulus for {d.conditions} conditions × "
        f"{d.items} items.",
    ]
    if checked:
        sentences.append(
            f"In {checked.runs} simulated studies of that plan the two-way clustered interval "
            f"held the truth in {checked.coverage * 100:.1f} % and the power was "
            f"{checked.power * 100:.1f} %."
        )
    return sentences
