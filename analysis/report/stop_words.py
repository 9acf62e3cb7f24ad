"""A study's stop rule in sentences: for its results, the methods paragraph and preregistrations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analysis.citations import cite
from analysis.formatting import counted, enumerated, percent

if TYPE_CHECKING:
    from listening.selectors import LookFacts, StopFacts

PLANNED_LOOKS, HALF_WIDTH, BUDGET = "planned_looks", "half_width", "budget"
OVERRUN = (
    "Raters in session at that moment finish and are paid, and count in the final estimates; the "
    "look itself stays as it was made."
)


def rule_sentences(stop: StopFacts, level: float = 0.95) -> list[str]:
    """What the rule is, as it is said before any data: when it looks, and what ends the study."""
    if stop["rule"] == BUDGET:
        sentences = [
            "Recruiting stops when another session would exceed the budget of "
            f"{stop['amount']:,.2f} {stop['currency']}; the results have no part in it."
        ]
    elif stop["rule"] == HALF_WIDTH:
        sentences = [
            f"Recruiting stops when the {percent(level)} interval of every mean is at most "
            f"± {stop['target']:g}, checked {_when(stop)}; it does not depend on differences."
        ]
    else:
        sentences = [*_planned(stop, level)]
    act = "The study closes by itself." if stop["act"] == "close" else "A person decides to stop."
    only = [f"Only {enumerated(stop['criteria'])} decides."] if stop["criteria"] else []
    return [*sentences, *only, act, OVERRUN]


def _planned(stop: StopFacts, level: float) -> list[str]:
    sentences = [
        f"The comparisons were planned to be tested {_when(stop)}, with O'Brien-Fleming type error "
        f"spending {cite('lan1983')}.",
        f"The comparisons of a task and criterion share an error of {percent(1 - level)} by Holm's "
        f"procedure at each look {cite('maurer2013')}.",
        "Complete sessions that no exclusion rule leaves out are counted.",
    ]
    if stop["futility"]:
        of = (
            f"a difference of {stop['difference']:g}"
            if stop["difference"] is not None
            else "the difference that all raters find with a power of 80 %"
        )
        sentences.append(
            f"A comparison is futile when {of} would hardly be found any more, by non-binding "
            f"bounds of beta spending {cite('hwang1990')}."
        )
    futile = " or futile" if stop["futility"] else ""
    if stop["stops_systems"]:
        sentences.append(
            f"A system receives no more raters when its comparisons are significant{futile}, where "
            f"the design allows it{'' if stop['act'] == 'close' else ' and a person agrees'}."
        )
    return [*sentences, f"Recruiting stops when every comparison is significant{futile}."]


def _when(stop: StopFacts) -> str:
    shares = enumerated([percent(share) for share in stop["looks"]])
    if not stop["sizes"]:
        return f"at {counted(len(stop['looks']), 'look')}, with {shares} of the sessions"
    sizes = enumerated([f"{size:,}" for size in stop["sizes"]])
    return f"at {counted(len(stop['looks']), 'look')}, with {sizes} complete sessions"


def paper_sentences(stop: StopFacts, level: float) -> list[str]:
    """The rule, the looks that were made and how the study ended, for a methods paragraph."""
    if stop["rule"] == PLANNED_LOOKS:
        futile = f" and non-binding futility bounds {cite('hwang1990')}" if stop["futility"] else ""
        rule = (
            f"Testing was planned {_when(stop)}, by O'Brien-Fleming type error spending "
            f"{cite('lan1983')} and Holm's procedure at each look {cite('maurer2013')}{futile}."
        )
    else:
        rule = rule_sentences(stop, level)[0]
    return [rule, *([_course(stop)] if stop["made"] else []), *stopped_sentences(stop["made"])]


def words_of_stopped(look: LookFacts) -> list[str]:
    """The systems, or pairs, that receive no more raters from this look on."""
    return [
        f"{one['condition']} versus {one['versus']}" if one["versus"] else one["condition"]
        for one in look["stopped"]
    ]


def stopped_sentences(made: Sequence[LookFacts]) -> list[str]:
    """Which systems received no more raters, and from when on."""
    return [
        f"{enumerated(words_of_stopped(look))} received no more raters after look {look['number']} "
        f"({counted(look['sessions'], 'session')}); sessions that began later were shorter."
        for look in made
        if look["stopped"]
    ]


def _course(stop: StopFacts) -> str:
    made = stop["made"]
    last = made[-1]
    sessions = f"{last['sessions']:,} of {last['planned']:,} planned sessions"
    if stop["rule"] == BUDGET:
        return f"The budget was reached after {counted(last['sessions'], 'session')}."
    looks = f"{counted(len(made), 'look')} {'was' if len(made) == 1 else 'were'} made"
    ending = {
        "stop": "at which the rule applied",
        "end": "the last of the plan",
        "go_on": "after which recruiting continued",
    }[last["decision"]]
    return f"{looks}, the latest with {sessions}, {ending}."
