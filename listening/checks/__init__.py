"""Tests before the trials, one file each; `Check.registry` finds them."""

from listening.checks.check import Check, CheckOption, CheckTrial, Outcome, check_named
from listening.checks.check_settings import CheckSettings, Unfit

__all__ = [
    "Check",
    "CheckOption",
    "CheckSettings",
    "CheckTrial",
    "Outcome",
    "Unfit",
    "check_named",
]
