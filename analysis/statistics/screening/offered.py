"""The rules that a form offers beside those of the study, by what the study's ratings can hold."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.statistics.screening.bs1116_rules import Expertise
from analysis.statistics.screening.mushra_rules import HiddenReference, MidAnchor
from analysis.statistics.screening.rater_rules import (
    Correlation,
    Disagreement,
    InconsistentRepeats,
    Variance,
)
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import rule_text
from analysis.statistics.screening.session_rules import (
    AttentionTraps,
    FewRatings,
    GoldTraps,
    Headphones,
)
from analysis.statistics.screening.single_ratings import (
    AnswerTime,
    HeardFraction,
    NoJustification,
    Review,
)

OPTIONAL: tuple[type[Rule], ...] = (
    Headphones,
    AttentionTraps,
    GoldTraps,
    AnswerTime,
    HeardFraction,
    NoJustification,
    Review,
    HiddenReference,
    MidAnchor,
    Expertise,
    InconsistentRepeats,
    FewRatings,
    Variance,
    Correlation,
    Disagreement,
)
_ONLY_OF: dict[type[Rule], str] = {  # rules for the ratings of one method
    HiddenReference: "mushra",
    MidAnchor: "mushra",
    Expertise: "bs1116",
}


def optional_rules(
    methods: Iterable[str] | None = None, kinds: Iterable[str] | None = None
) -> list[Rule]:
    """Each optional rule with its default parameters, in the order of a form.

    ``methods`` are those of the study's tasks and ``kinds`` those of its traps: a rule that needs
    others is left out. None: not known, so nothing is left out.
    """

    def fits(rule: Rule) -> bool:
        method = _ONLY_OF.get(type(rule))
        if method and methods is not None and method not in methods:
            return False
        wanted = getattr(rule, "kinds", None)
        return not wanted or kinds is None or any(kind.startswith(wanted) for kind in kinds)

    return [rule for kind in OPTIONAL if fits(rule := kind())]


def offered_rules(
    methods: Iterable[str] | None = None, kinds: Iterable[str] | None = None
) -> list[tuple[str, str]]:
    """(text for `rule_from`, words for people) of each optional rule; see `optional_rules`."""
    methods = None if methods is None else list(methods)
    kinds = None if kinds is None else list(kinds)
    return [
        (rule_text(rule), f"{rule.title}: {rule.describe()}")
        for rule in optional_rules(methods, kinds)
    ]
