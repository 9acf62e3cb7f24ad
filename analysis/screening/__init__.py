"""Exclusion rules: each a named, versioned object that gives a mask and a reason for every row."""

from analysis.screening.checks import AttentionTraps, FewRatings, GoldTraps, Headphones
from analysis.screening.mushra import HiddenReference, MidAnchor
from analysis.screening.offered import offered_rules, optional_rules
from analysis.screening.raters import Correlation, Disagreement, InconsistentRepeats, Variance
from analysis.screening.rule import Rule, rules
from analysis.screening.screened import (
    DEFAULT,
    STRUCTURAL,
    Screened,
    default_rules,
    screen,
    study_rules,
)
from analysis.screening.single import (
    AnswerTime,
    Duplicate,
    HeardFraction,
    MissingScore,
    NotCounted,
    Repeat,
    SessionStatus,
)
from analysis.screening.text import rule_from, rule_text, versioned_text
from analysis.screening.traps import AttTraps, TaskTraps
from analysis.screening.written import NoJustification, Review

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
    "rules",
    "screen",
    "study_rules",
    "versioned_text",
]
