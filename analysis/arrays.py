"""The types of arrays that statistics pass around: numbers, and codes of categories."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Bools = NDArray[np.bool_]


def distinct_codes(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """As `np.unique` with the inverse, of values (n,) from 0: counted where there may be few."""
    most = int(values.max(initial=-1)) + 1
    if most > len(values):
        distinct, codes = np.unique(values, return_inverse=True)
        return distinct, codes.astype(np.int64).reshape(-1)
    there = np.zeros(most, dtype=bool)
    there[values] = True
    places = np.cumsum(there, dtype=np.int64) - 1
    return np.flatnonzero(there), places[values]


def first_places(codes: NDArray[Any], n_codes: int) -> NDArray[np.int64]:
    """Where each code (n_codes,) stands first among codes (n,); n where it does not."""
    places = np.full(n_codes, len(codes), dtype=np.int64)
    places[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return places
