"""Part, one analysis of a report; what it is given; and the registry of parts."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from analysis.report.content import Content

if TYPE_CHECKING:
    import pandas as pd

    from analysis.statistics.options import Options
    from analysis.statistics.screening import Screened

_registry: dict[str, type[Part]] = {}


def _silent(share: float, words: str) -> None:
    """Tells nobody."""


@dataclass(frozen=True)
class PartInput:
    """What a part is given: ratings after screening, all ratings, options, and metric scores.

    ``kept`` holds the rows for estimates (no trap, left out by no rule), ``screened`` the whole
    table with the reasons of each rule. ``report`` is what is there already: estimates, contrasts
    and shares as rows, and the parts made before this one under ``report["parts"]``. ``progress``
    is told the share of the part that is done (0 to 1) and what; it raises `Cancelled`
    when the run was cancelled, so a part calls it between its steps. ``shared`` is for what several
    parts of one report need, so that it is computed once; a key tells whose it is.
    """

    kept: pd.DataFrame
    screened: Screened
    options: Options
    scores: pd.DataFrame | None = None
    report: Mapping[str, Any] = field(default_factory=dict)
    progress: Callable[[float, str], None] = _silent
    shared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def table(self) -> pd.DataFrame:
        """All ratings, traps and what the rules leave out included."""
        return self.screened.table


class Cancelled(Exception):
    """The run was cancelled while a part was being made."""


class Part:
    """One analysis of a report; a subclass with a ``key`` registers itself.

    ``order`` is its place on the page. ``always`` parts are made in every report where they apply;
    the others when a preset or the options name them.
    """

    key: ClassVar[str]  # stored with every report: never renamed
    version: ClassVar[str]  # bumped when the numbers change
    title: ClassVar[str]
    order: ClassVar[int] = 50
    always: ClassVar[bool] = True
    presets: ClassVar[frozenset[str]] = frozenset()  # reports that have it, beside `always`
    cost: ClassVar[str] = ""  # in words, of parts that take long: what a form says beside them

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "key" not in cls.__dict__:
            return
        if cls.key in _registry:
            raise ValueError(f"two parts have the key {cls.key}; rename one")
        _registry[cls.key] = cls

    @classmethod
    def asked_by(cls, options: Options) -> bool:
        """Whether a report with these options has it, where it applies."""
        return cls.always or options.preset in cls.presets or cls.key in options.parts

    def applies(self, inputs: PartInput) -> bool:
        """Whether there is anything for it in these ratings; quick to answer."""
        return True

    def make(self, inputs: PartInput) -> Content:
        """The analysis; raises ValueError, with a remedy, where it cannot be made."""
        raise NotImplementedError


def parts() -> dict[str, type[Part]]:
    """Every part by its key, in the order of the page; importing the package's files fills this."""
    package = importlib.import_module("analysis.report.parts")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"analysis.report.parts.{module.name}")
    return dict(sorted(_registry.items(), key=lambda pair: (pair[1].order, pair[0])))
