"""Exclusion rules: each a named, versioned object that gives a mask and a reason for every row."""

from analysis.screening.rule import Rule, rules
from analysis.screening.screened import DEFAULT, STRUCTURAL, Screened, screen, study_rules
from analysis.screening.single import (
    AnswerTime,
    Duplicate,
    HeardFraction,
    HiddenReference,
    MissingScore,
    NotCounted,
    Repeat,
    SessionStatus,
)
from analysis.screening.text import rule_from, rule_text
from analysis.screening.traps import AttTraps, TaskTraps

__all__ = [
    "DEFAULT",
    "STRUCTURAL",
    "AnswerTime",
    "AttTraps",
    "Duplicate",
    "HeardFraction",
    "HiddenReference",
    "MissingScore",
    "NotCounted",
    "Repeat",
    "Rule",
    "Screened",
    "SessionStatus",
    "TaskTraps",
    "rule_from",
    "rule_text",
    "rules",
    "screen",
    "study_rules",
]
