"""Near duplicates among many texts, by MinHash and the Jaccard similarity of their letter n-grams.

Candidates come from banded MinHash signatures (Broder 1997; Leskovec, Rajaraman and Ullman, Mining
of Massive Datasets, chapter 3); each is then counted exactly.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from zlib import crc32

import numpy as np

NEAR = 0.8  # Jaccard similarity of the sets of three letters, from which two texts are near
SHINGLE = 3
HASHES, ROWS = 48, 4  # MinHash: 12 bands of 4; a pair at 0.8 is missed once in 600
PRIME = (1 << 31) - 1
MOST_PAIRS = 400  # of one band's bucket; more are the same few words over and over


def letters_of(text: str) -> str:
    """Return the letters and digits of a text alone, without case and width."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(c for c in folded if c.isalnum())


def near_texts(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return for each text the others that are near it. The texts must differ."""
    neighbours: dict[str, list[str]] = {text: [] for text in texts}
    for a, b, _ in near_pairs(texts):
        neighbours[texts[a]].append(texts[b])
        neighbours[texts[b]].append(texts[a])
    return neighbours


def near_pairs(
    texts: Sequence[str], near: float = NEAR, *, shingle: int = SHINGLE, rows: int = ROWS
) -> Iterator[tuple[int, int, float]]:
    """Yield the places of two texts that are near and their Jaccard similarity, each pair once.

    ``rows`` hashes make a band: fewer find pairs that are less alike, at more cost. A pair of
    similarity s is missed with probability (1 - s^rows)^(48 / rows).
    """
    shingles = [_shingles(text, shingle) for text in texts]
    seen: set[tuple[int, int]] = set()
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for n, signature in enumerate(_signatures(shingles)):
        for band in range(HASHES // rows if len(signature) else 0):
            piece = signature[band * rows : (band + 1) * rows]
            buckets[band, piece.tobytes()].append(n)
    for members in buckets.values():
        for pair in islice(combinations(members, 2), MOST_PAIRS):
            if pair in seen:
                continue
            seen.add(pair)
            a, b = (shingles[n] for n in pair)
            shared = len(a & b)
            similarity = shared / (len(a) + len(b) - shared)
            if similarity >= near:
                yield (*pair, similarity)


def _shingles(text: str, length: int) -> frozenset[int]:
    return frozenset(
        crc32(text[n : n + length].encode()) & PRIME for n in range(len(text) - length + 1)
    )


def _signatures(shingles: Sequence[frozenset[int]]) -> Iterable[np.ndarray]:
    """The signature of each set; empty for a text that is shorter than a shingle."""
    rng = np.random.default_rng(20_261_125)  # the same pairs for the same texts
    a, b = rng.integers(1, PRIME, (2, HASHES, 1), dtype=np.int64)
    for each in shingles:
        if not each:
            yield np.zeros(0, np.int64)
            continue
        hashes = np.fromiter(each, dtype=np.int64, count=len(each))
        yield ((a * (hashes % (1 << 31)) + b) % PRIME).min(axis=1)
