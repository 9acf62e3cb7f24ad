"""Tables of millions of ratings: columns of codes, digests of rows, and a sample of raters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.ratings.cells import COLUMNS, canonical_cell, dtype_of

LARGE = 2_000_000  # rows from which on a table is kept as codes
SAMPLED = 250_000  # ratings of a sample of raters, about
SHARED = (
    ("rater", "session"),
    ("condition", "versus_condition"),
    ("item", "stimulus", "versus_stimulus"),
)
_PRIME = np.uint64(0x9E3779B97F4A7C15)


def text_column(codes: NDArray[Any], texts: list[str]) -> pd.Series:
    """A column of texts (n,) as codes of its different texts, which are sorted."""
    names = sorted(set(texts))
    place = {name: code for code, name in enumerate(names)}
    new = np.array([place[text] for text in texts], dtype=np.int32)
    categories = pd.Index(names, dtype="str")
    return pd.Series(pd.Categorical.from_codes(new[codes], categories=categories))


def share_texts(columns: dict[str, pd.Series]) -> None:
    """Give columns whose texts are compared with one another the same categories, in place."""
    for names in SHARED:
        held = [columns[name].cat.categories for name in names]
        texts = pd.Index(sorted({text for each in held for text in each}), dtype="str")
        for name in names:
            columns[name] = columns[name].cat.set_categories(texts)


def empty_column(n: int, dtype: str) -> pd.Series:
    """A column (n,) of numbers that are all missing, in few bytes."""
    small = {"Int64": "Int8", "float64": "float32"}.get(dtype, dtype)
    return pd.Series(np.full(n, np.nan, np.float32), dtype=small)


def as_texts(table: pd.DataFrame) -> pd.DataFrame:
    """The table with columns of texts in place of codes, and of numbers as `dtype_of` says."""
    return table.astype({name: dtype_of(name) for name in COLUMNS if name in table})


def row_digests(columns: Iterable[tuple[NDArray[Any], list[Any]]]) -> NDArray[np.uint64]:
    """A digest of 64 bits of each row (n,), of columns as codes (n,) and plain values."""
    digests = np.zeros(1, dtype=np.uint64)
    same = np.zeros(1, dtype=np.uint64)  # of the columns that do not vary
    n = 0
    for place, (codes, values) in enumerate(columns):
        each = np.array(
            [_digest(f"{place} {canonical_cell(value)}") for value in values], dtype=np.uint64
        )
        n = len(codes)
        if len(values) == 1:
            same ^= each
            continue
        digests = (digests ^ (digests >> np.uint64(29))) * _PRIME + each[codes]
    return np.broadcast_to(digests, n) ^ same


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def raters_sampled(rater: pd.Series, seed: int) -> tuple[NDArray[np.bool_], int, int]:
    """Which ratings (n,) are of a random sample of raters, how many these are, and of how many.

    They have `SAMPLED` ratings, about, and are drawn without regard to what they answered.
    """
    codes, names = pd.factorize(rater, sort=True)
    count = max(2, round(len(names) * SAMPLED / len(rater)))
    chosen = np.zeros(len(names), dtype=bool)
    chosen[np.random.default_rng(seed).permutation(len(names))[:count]] = True
    return chosen[codes], count, len(names)
