"""Agreement about categories without an order: Krippendorff's alpha, Fleiss' and Cohen's kappa."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from analysis.arrays import Floats
from analysis.formatting import counted
from analysis.statistics.agreement.agreement_result import Bounds
from analysis.statistics.agreement.kappa import bootstrap_bounds, kappas
from analysis.statistics.agreement.krippendorff import REPLICATES, nominal_alpha
from analysis.statistics.intervals import percentile_interval

LEVEL = 0.95
SEED = 0  # of the bootstraps
Verdicts = Mapping[int, Mapping[int, str]]  # item -> reviewer -> category


@dataclass(frozen=True)
class Measure:
    """One measure with its interval; without a value the note says why."""

    value: float | None
    low: float | None
    high: float | None
    items: int
    note: str = ""


NOTHING = Measure(None, None, None, 0, "no item has two verdicts")


def first_verdicts(rows: Iterable[Mapping[str, Any]]) -> dict[int, dict[int, str]]:
    """Item -> reviewer -> what was said first: without what was shown to somebody again.

    ``rows`` have ``item``, ``reviewer``, ``category`` and ``again``.
    """
    verdicts: dict[int, dict[int, str]] = defaultdict(dict)
    for row in rows:
        if not row["again"]:
            verdicts[row["item"]][row["reviewer"]] = row["category"]
    return verdicts


def measures(verdicts: Verdicts, who: str) -> Iterator[tuple[str, Measure]]:
    """Every measure under its name, pairs of ``who`` (reviewers, validators) last."""
    categories = sorted(
        {each for by_reviewer in verdicts.values() for each in by_reviewer.values()}
    )
    yield "Krippendorff’s alpha, nominal", alpha(verdicts, categories)
    yield "Fleiss’ kappa", fleiss_kappa(verdicts, categories)
    for (a, b), measure in cohen_kappas(verdicts, categories).items():
        if measure.items:
            yield f"Cohen’s kappa, {who} {a} and {b}", measure


def alpha(verdicts: Verdicts, categories: Sequence[str]) -> Measure:
    """Krippendorff's nominal alpha; items with fewer than two verdicts do not count.

    Krippendorff (2019), Content Analysis, 4th ed., ch. 12.
    """
    counts = _counts(verdicts, categories)
    several = counts[counts.sum(axis=1) > 1]
    if not len(several):
        return NOTHING
    return _measure(*nominal_alpha(several, level=LEVEL), len(several))


def fleiss_kappa(verdicts: Verdicts, categories: Sequence[str]) -> Measure:
    """Fleiss (1971): items with as many verdicts as most have; the others do not count."""
    counts = _counts(verdicts, categories)
    sizes = counts.sum(axis=1).astype(np.int64)
    if not (sizes > 1).any():
        return NOTHING
    common = int(np.bincount(sizes[sizes > 1]).argmax())
    kinds, number = np.unique(counts[sizes == common], axis=0, return_counts=True)
    value = float(_fleiss(kinds, number[None].astype(np.float64))[0])
    rng, items = np.random.default_rng(SEED), int(number.sum())
    drawn = rng.multinomial(items, number / items, size=REPLICATES).astype(np.float64)
    bounds = percentile_interval(_fleiss(kinds, drawn), LEVEL) if items > 1 else None
    return _measure(None if np.isnan(value) else value, bounds, items)


def cohen_kappas(verdicts: Verdicts, categories: Sequence[str]) -> dict[tuple[int, int], Measure]:
    """Cohen's (1960) kappa of each two reviewers, over the items that both judged."""
    reviewers = sorted({each for by_reviewer in verdicts.values() for each in by_reviewer})
    place = {category: n for n, category in enumerate(categories)}
    by_pair = {}
    for a, b in combinations(reviewers, 2):
        table = np.zeros((len(categories), len(categories)))
        for by_reviewer in verdicts.values():
            if a in by_reviewer and b in by_reviewer:
                table[place[by_reviewer[a]], place[by_reviewer[b]]] += 1
        by_pair[a, b] = _cohen_kappa(table)
    return by_pair


def _cohen_kappa(table: Floats) -> Measure:
    items = int(table.sum())
    if not items:
        return NOTHING
    value = float(kappas(table[None], "none")[0])
    if np.isnan(value):
        return _measure(None, None, items)
    return _measure(value, bootstrap_bounds(table, "none", LEVEL, REPLICATES, SEED), items)


def same(verdicts: Verdicts) -> tuple[int, int]:
    """How many items have verdicts that are all the same, of those with two or more."""
    several = [by_reviewer for by_reviewer in verdicts.values() if len(by_reviewer) > 1]
    return sum(len(set(by_reviewer.values())) == 1 for by_reviewer in several), len(several)


def _counts(verdicts: Verdicts, categories: Sequence[str]) -> Floats:
    place = {category: n for n, category in enumerate(categories)}
    counts = np.zeros((len(verdicts), len(categories)))
    for row, by_reviewer in enumerate(verdicts.values()):
        for category in by_reviewer.values():
            counts[row, place[category]] += 1
    return counts


def _measure(value: float | None, bounds: Bounds, items: int) -> Measure:
    if value is None:
        note = "all verdicts are the same: without variation agreement is undefined"
        return Measure(None, None, None, items, note)
    if bounds is None:
        return Measure(value, None, None, items, "too few items that differ: no interval")
    return Measure(value, *bounds, items)


def _fleiss(kinds: Floats, weights: Floats) -> Floats:
    m = float(kinds[0].sum())
    agreed = ((kinds**2).sum(axis=1) - m) / (m * (m - 1))
    items = weights.sum(axis=1)
    share = weights @ kinds / (items * m)[:, None]
    by_chance = (share**2).sum(axis=1)
    expected = 1 - by_chance
    nan = np.full(len(expected), np.nan)
    apart = np.divide(1 - weights @ agreed / items, expected, out=nan, where=expected > 1e-12)
    return np.asarray(1 - apart, dtype=np.float64)


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


def by_aspect(verdicts: Mapping[str, Aspect]) -> Iterator[AspectAgreement]:
    """In the order given."""
    for aspect, every in verdicts.items():
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
