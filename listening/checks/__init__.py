"""Tests before the trials, one file each; `Check.registry` finds them."""

from listening.checks.check import (
    Check,
    CheckOption,
    CheckSettings,
    CheckTrial,
    Outcome,
    Unfit,
    check_named,
)
