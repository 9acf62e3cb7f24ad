"""The rules of analysis that a study came with, before it was opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import as_it_is_here
from analysis.statistics.screening.screened import study_rules

if TYPE_CHECKING:
    from listening.selectors import StudyFacts


def declared_rules(facts: StudyFacts) -> tuple[Rule, ...]:
    """Those of its trap plans, and those that it declared, ended since or not."""
    declared = [each for each in facts.get("rules", ()) if each["declared"]]
    own = (as_it_is_here(each["rule"]) for each in declared)
    return tuple(dict.fromkeys((*study_rules(facts["trap_plans"]), *own)))
