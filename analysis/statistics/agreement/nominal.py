"""Agreement about categories without an order: Krippendorff's alpha, Fleiss' and Cohen's kappa.

Counts in, one resampling of items for all of them; NumPy alone, so that a page can ask.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from analysis.arrays import Floats
from analysis.formatting import counted

REPLICATES = 2000
LEVEL = 0.95
BOOTSTRAP = "bootstrap over items, percentile"
_LEAST_FILLED = 0.9
Verdicts = Mapping[int, Mapping[int, str]]  # item -> reviewer -> category


@dataclass(frozen=True)
class Measure:
    """One measure with its interval; without a value the note says why."""

    value: float | None
    low: float | None
    high: float | None
    items: int
    note: str = ""


def first_verdicts(rows: Iterable[Mapping[str, Any]]) -> dict[int, dict[int, str]]:
    """Item -> reviewer -> what was said first: without what was shown to somebody again.

    ``rows`` have ``item``, ``reviewer``, ``category`` and ``again``.
    """
    found: dict[int, dict[int, str]] = defaultdict(dict)
    for row in rows:
        if not row["again"]:
            found[row["item"]][row["reviewer"]] = row["category"]
    return found


def measures(verdicts: Verdicts, who: str) -> Iterator[tuple[str, Measure]]:
    """Every measure under its name, pairs of ``who`` (reviewers, validators) last."""
    categories = sorted({each for said in verdicts.values() for each in said.values()})
    yield "Krippendorff’s alpha, nominal", alpha(verdicts, categories)
    yield "Fleiss’ kappa", fleiss_kappa(verdicts, categories)
    for (a, b), measure in cohen_kappas(verdicts, categories).items():
        if measure.items:
            yield f"Cohen’s kappa, {who} {a} and {b}", measure


def alpha(verdicts: Verdicts, categories: Sequence[str], seed: int = 0) -> Measure:
    """Krippendorff's nominal alpha; items with fewer than two verdicts do not count.

    Krippendorff (2019), Content Analysis, 4th ed., ch. 12.
    """
    counts = _counts(verdicts, categories)
    return _measured(counts[counts.sum(axis=1) > 1], _alphas, seed)


def fleiss_kappa(verdicts: Verdicts, categories: Sequence[str], seed: int = 0) -> Measure:
    """Fleiss (1971): items with as many verdicts as most have; the others do not count."""
    counts = _counts(verdicts, categories)
    sizes = counts.sum(axis=1).astype(np.int64)
    if not (sizes > 1).any():
        return Measure(None, None, None, 0, "no item has two verdicts")
    common = int(np.bincount(sizes[sizes > 1]).argmax())
    return _measured(counts[sizes == common], _fleiss, seed)


def cohen_kappas(
    verdicts: Verdicts, categories: Sequence[str], seed: int = 0
) -> dict[tuple[int, int], Measure]:
    """Cohen's (1960) kappa of each two reviewers, over the items that both judged."""
    reviewers = sorted({each for said in verdicts.values() for each in said})
    place = {category: n for n, category in enumerate(categories)}
    size, found = len(categories), {}
    for pair in combinations(reviewers, 2):
        both = [said for said in verdicts.values() if pair[0] in said and pair[1] in said]
        cells = np.zeros((len(both), size * size))
        for row, said in enumerate(both):
            cells[row, place[said[pair[0]]] * size + place[said[pair[1]]]] = 1
        found[pair] = _measured(cells, _cohen, seed)
    return found


def same(verdicts: Verdicts) -> tuple[int, int]:
    """How many items have verdicts that are all the same, of those with two or more."""
    several = [said for said in verdicts.values() if len(said) > 1]
    return sum(len(set(said.values())) == 1 for said in several), len(several)


def _counts(verdicts: Verdicts, categories: Sequence[str]) -> Floats:
    place = {category: n for n, category in enumerate(categories)}
    counts = np.zeros((len(verdicts), len(categories)))
    for row, said in enumerate(verdicts.values()):
        for category in said.values():
            counts[row, place[category]] += 1
    return counts


def _measured(rows: Floats, measure: Callable[[Floats, Floats], Floats], seed: int) -> Measure:
    """A measure of weighted kinds of rows: equal items are kept once, with their number."""
    if not len(rows):
        return Measure(None, None, None, 0, "no item has two verdicts")
    kinds, number = np.unique(rows, axis=0, return_counts=True)
    value = float(measure(kinds, number[None].astype(np.float64))[0])
    if np.isnan(value):
        note = "all verdicts are the same: without variation agreement is undefined"
        return Measure(None, None, None, len(rows), note)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(rows), number / len(rows), size=REPLICATES).astype(np.float64)
    values = measure(kinds, drawn)
    known = values[np.isfinite(values)]
    if len(rows) < 2 or len(known) < _LEAST_FILLED * REPLICATES:
        return Measure(value, None, None, len(rows), "too few items that differ: no interval")
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Measure(value, float(low), float(high), len(rows))


def _alphas(kinds: Floats, weights: Floats) -> Floats:
    """1 - D_o / D_e for each row of weights (B, K) of kinds of items (K, V)."""
    size = kinds.sum(axis=1)
    apart = (size**2 - (kinds**2).sum(axis=1)) / (size - 1)
    n, marginal = weights @ size, weights @ kinds
    expected = n**2 - (marginal**2).sum(axis=1)
    return 1 - _over(weights @ apart * (n - 1), expected)


def _fleiss(kinds: Floats, weights: Floats) -> Floats:
    m = float(kinds[0].sum())
    agreed = ((kinds**2).sum(axis=1) - m) / (m * (m - 1))
    items = weights.sum(axis=1)
    share = weights @ kinds / (items * m)[:, None]
    by_chance = (share**2).sum(axis=1)
    return 1 - _over(1 - weights @ agreed / items, 1 - by_chance)


def _cohen(kinds: Floats, weights: Floats) -> Floats:
    size = int(np.sqrt(kinds.shape[1]))
    tables = (weights @ kinds).reshape(-1, size, size) / weights.sum(axis=1)[:, None, None]
    agreed = np.trace(tables, axis1=1, axis2=2)
    by_chance = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1)
    return 1 - _over(1 - agreed, 1 - by_chance)


def _over(above: Floats, below: Floats) -> Floats:
    nan = np.full(len(above), np.nan)
    return np.asarray(np.divide(above, below, out=nan, where=below > 1e-12))


FEW = 10  # items with the aspect, of which an interval tells little
SAID, NOT = "given", "not"
Aspect = Mapping[int, Mapping[int, bool]]  # item -> reviewer -> whether they said so


@dataclass(frozen=True)
class AspectAgreement:
    """Of items that two or more judged: how many said it, and alpha."""

    aspect: str
    by_any: int  # items of which somebody said it
    by_all: int  # of them, all who judged it
    alpha: Measure
    note: str  # why there is no value or no interval, or how little it tells


def by_aspect(said: Mapping[str, Aspect]) -> Iterator[AspectAgreement]:
    """In the order given."""
    for aspect, every in said.items():
        several = {item: each for item, each in every.items() if len(each) > 1}
        words = {
            item: {who: SAID if it else NOT for who, it in each.items()}
            for item, each in several.items()
        }
        by_any = sum(any(each.values()) for each in several.values())
        measure = alpha(words, (SAID, NOT))
        yield AspectAgreement(
            aspect=aspect,
            by_any=by_any,
            by_all=sum(all(each.values()) for each in several.values()),
            alpha=measure,
            note=_note(measure, by_any, len(several)),
        )


def _note(measure: Measure, by_any: int, items: int) -> str:
    if items and not by_any:
        return "nobody marked it: nothing tells how well they agree about it"
    if measure.value is not None and by_any < FEW:
        few = f"marked in {counted(by_any, 'item')} only: one verdict more may change much"
        return "; ".join(filter(None, (measure.note, few)))
    return measure.note
