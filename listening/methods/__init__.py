"""The methods: importing this package registers every file in it."""

from importlib import import_module
from pkgutil import iter_modules

from listening.methods.estimand import Estimand
from listening.methods.method import (
    Method,
    Part,
    PlannedTrial,
    Scale,
    Step,
    StimulusRef,
    method_named,
)

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "Estimand",
    "Method",
    "Part",
    "PlannedTrial",
    "Scale",
    "Step",
    "StimulusRef",
    "method_named",
]
