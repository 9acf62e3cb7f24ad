"""Exclusion rules: each a named, versioned object that gives a mask and a reason for every row."""

from analysis.statistics.screening.justification_rules import NoJustification, Review
from analysis.statistics.screening.mushra_rules import HiddenReference, MidAnchor
from analysis.statistics.screening.offered import offered_rules, optional_rules
from analysis.statistics.screening.rater_rules import (
    Correlation,
    Disagreement,
    InconsistentRepeats,
    Variance,
)
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import rule_from, rule_text, versioned_text
from analysis.statistics.screening.screened import (
    DEFAULT,
    STRUCTURAL,
    Screened,
    default_rules,
    screen,
    study_rules,
)
from analysis.statistics.screening.session_rules import (
    AttentionTraps,
    FewRatings,
    GoldTraps,
    Headphones,
)
from analysis.statistics.screening.single_ratings import (
    AnswerTime,
    Duplicate,
    HeardFraction,
    MissingScore,
    NotCounted,
    Repeat,
    SessionStatus,
)
from analysis.statistics.screening.trap_rules import AttTraps, TaskTraps

__all__ = [
    "DEFAULT",
    "STRUCTURAL",
    "AnswerTime",
    "AttTraps",
    "AttentionTraps",
    "Correlation",
    "Disagreement",
    "Duplicate",
    "FewRatings",
    "GoldTraps",
    "Headphones",
    "HeardFraction",
    "HiddenReference",
    "InconsistentRepeats",
    "MidAnchor",
    "MissingScore",
    "NoJustification",
    "NotCounted",
    "Repeat",
    "Review",
    "Rule",
    "Screened",
    "SessionStatus",
    "TaskTraps",
    "Variance",
    "default_rules",
    "offered_rules",
    "optional_rules",
    "rule_from",
    "rule_text",
    "screen",
    "study_rules",
    "versioned_text",
]
