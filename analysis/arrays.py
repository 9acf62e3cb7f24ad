"""The types of arrays that statistics pass around: numbers, and codes of categories."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Bools = NDArray[np.bool_]


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """As `np.unique`, of values (n,) from 0: counted where there may be few."""
    most = int(values.max(initial=-1)) + 1
    if most > len(values):
        return np.unique(values)
    there = np.zeros(most, dtype=bool)
    there[values] = True
    return np.flatnonzero(there)


def distinct_codes(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct values, and the place of each value (n,) among them."""
    most = int(values.max(initial=-1)) + 1
    if most > len(values):
        found, codes = np.unique(values, return_inverse=True)
        return found, codes.astype(np.int64).reshape(-1)
    found = distinct(values)
    places = np.zeros(most, dtype=np.int64)
    places[found] = np.arange(len(found))
    return found, places[values]


def first_places(codes: NDArray[Any], n_codes: int) -> NDArray[np.int64]:
    """Where each code (n_codes,) stands first among codes (n,); n where it does not."""
    places = np.full(n_codes, len(codes), dtype=np.int64)
    places[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return places
