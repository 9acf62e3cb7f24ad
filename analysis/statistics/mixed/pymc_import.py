"""PyMC, ArviZ and what they load: imported when asked for, without ArviZ's notice."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

_NEXT_EDITION = r"\s*ArviZ is undergoing a major refactor"


def load(name: str) -> Any:
    """The module ``name``, e.g. ``"arviz"`` or ``"pymc"``; ImportError where it is missing.

    ArviZ 0.23 warns of its next edition at its first import of a day; PyMC 5 needs this one.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_NEXT_EDITION, category=FutureWarning)
        return import_module(name)
