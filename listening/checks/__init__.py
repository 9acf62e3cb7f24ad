"""Tests before the trials: importing this package registers every file in it."""

from importlib import import_module
from pkgutil import iter_modules

from listening.checks.base import Check, check_named

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["Check", "check_named"]
