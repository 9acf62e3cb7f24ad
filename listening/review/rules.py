"""Rules that turn several verdicts into one, by name and version: pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

UNDECIDED = ""


@dataclass(frozen=True)
class ItemVerdicts:
    """The categories of one item: of its reviewers, after a talk, and of an adjudicator."""

    first: Sequence[str]
    talk: Sequence[str] = ()
    third: Sequence[str] = ()
    wanted: int = 2


@dataclass(frozen=True)
class Rule:
    """What a job uses of its verdicts; a rule that is changed gets another version."""

    key: str
    version: str
    title: str
    words: str
    decide: Callable[[ItemVerdicts], str]
    majority_settles: bool = False  # whoever differs from it makes nothing to be resolved

    def differ(self, verdicts: ItemVerdicts) -> bool:
        """Whether reviewers differ in a way that this rule does not settle by itself.

        `listening.review.claiming.DISPUTED` says the same of all items of a job.
        """
        if len(verdicts.first) < verdicts.wanted or len(set(verdicts.first)) < 2:
            return False
        return not (self.majority_settles and majority(verdicts))


def all_agree(verdicts: ItemVerdicts) -> str:
    """What all said; undecided before all that are wanted have, and where one differs."""
    if len(verdicts.first) < verdicts.wanted or len(set(verdicts.first)) != 1:
        return UNDECIDED
    return verdicts.first[0]


def majority(verdicts: ItemVerdicts) -> str:
    """What more than half of the verdicts say."""
    if len(verdicts.first) < verdicts.wanted:
        return UNDECIDED
    most, count = Counter(verdicts.first).most_common(1)[0]
    return most if 2 * count > len(verdicts.first) else UNDECIDED


def adjudicated(verdicts: ItemVerdicts) -> str:
    """What all said; where they differ, what they say after a talk, or what a third one says."""
    if agreed := all_agree(verdicts):
        return agreed
    if len(verdicts.first) < verdicts.wanted:
        return UNDECIDED
    if len(verdicts.talk) >= 2 and len(set(verdicts.talk)) == 1:
        return verdicts.talk[0]
    return verdicts.third[-1] if verdicts.third else UNDECIDED


def majority_third(verdicts: ItemVerdicts) -> str:
    """What more than half of the verdicts say; where nothing is, what an adjudicator says."""
    if decided := majority(verdicts):
        return decided
    return (
        verdicts.third[-1]
        if len(verdicts.first) >= verdicts.wanted and verdicts.third
        else UNDECIDED
    )


RULES = {
    rule.key: rule
    for rule in (
        Rule("all_agree", "1", "Unanimous", "all reviewers gave the same verdict", all_agree),
        Rule(
            "majority",
            "1",
            "Majority",
            "more than half of the reviewers gave the same verdict",
            majority,
        ),
        Rule(
            "adjudicated",
            "1",
            "Adjudicated",
            "if reviewers differ, their discussion or an adjudicator decides",
            adjudicated,
        ),
        Rule(
            "majority_third",
            "1",
            "Majority, then adjudicator",
            "more than half of the reviewers decide; without a majority, an adjudicator does",
            majority_third,
            majority_settles=True,
        ),
    )
}


def decide_codes(rule: Rule, verdicts: ItemVerdicts) -> str:
    """Codes "a|b", each of which holds by the rule: it was given, or it was not."""
    codes = sorted(
        {code for each in (*verdicts.first, *verdicts.third) for code in each.split("|")}
    )
    held = [code for code in codes if rule.decide(_verdicts_on_code(verdicts, code)) == "given"]
    return "|".join(held)


def _verdicts_on_code(verdicts: ItemVerdicts, code: str) -> ItemVerdicts:
    first, talk, third = (
        ["given" if code in each.split("|") else "not" for each in some]
        for some in (verdicts.first, verdicts.talk, verdicts.third)
    )
    return ItemVerdicts(first, talk, third, verdicts.wanted)
