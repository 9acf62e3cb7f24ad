"""Simulations of how often intervals hold: small in every run, in full by `make soak`."""

from typing import Any

import pytest

NOMINAL = 0.95


def sizes(few: int, many: int) -> Any:
    """Gives a test its `runs`: ``few`` in every run, ``many`` in `make soak`."""
    return pytest.mark.parametrize("runs", [few, pytest.param(many, marks=pytest.mark.soak)])


def bounds(low: float, high: float, *, of: int, runs: int) -> tuple[float, float]:
    """Bounds of a share of ``of`` runs at 95 %, as much wider as ``runs`` leave more to chance."""
    wider = (of / runs) ** 0.5
    return NOMINAL - (NOMINAL - low) * wider, NOMINAL + (high - NOMINAL) * wider
