"""Tests before the trials: importing this package registers every file in it."""

from importlib import import_module
from pkgutil import iter_modules

from listening.checks.check import Check, CheckOption, CheckTrial, Outcome, check_named
from listening.checks.check_settings import CheckSettings, Unfit

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "Check",
    "CheckOption",
    "CheckSettings",
    "CheckTrial",
    "Outcome",
    "Unfit",
    "check_named",
]
