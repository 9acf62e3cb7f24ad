"""Differences between conditions: all pairs, against the best, and against a reference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from analysis.arrays import Codes, Floats
from analysis.citations import citation, cite
from analysis.formatting import number
from analysis.name_spans import condition_span, family_prefix, family_span
from analysis.ratings.breakdowns import Cell, families
from analysis.ratings.cells import csv_text
from analysis.ratings.large_tables import LARGE, raters_sampled
from analysis.report.content import Column, Content, Figure, Table, pick_cells, together
from analysis.report.part import Part, PartInput
from analysis.report.ranking import (
    Difference,
    Ranking,
    key_of,
    may_be_compared,
    on_one_footing,
    rankings,
)
from analysis.statistics.comparisons.effect_sizes import (
    AllEffects,
    all_effects,
    clustered_d,
    clustered_delta,
    delta_size,
)
from analysis.statistics.comparisons.pairwise_contrasts import REFERENCE as FAMILY_OF_REFERENCE
from analysis.statistics.comparisons.pairwise_contrasts import SYSTEMS
from analysis.statistics.comparisons.simultaneous import ABOVE, BELOW, EQUAL, rope_decision
from analysis.statistics.comparisons.tests_by_name import means_table
from analysis.statistics.intervals import t_interval
from analysis.statistics.options import Options

MOST_CONDITIONS = 24
MOST_OPEN = 15
NOTHING = "no two conditions have two raters and two items each: nothing can be compared"
SIZES = (
    "d: Cohen's d, the difference over the SD of single ratings. Higher: of a rating of each, how "
    "often the first is the higher one, a tie counting half; (Cliff's delta + 1) / 2, called "
    "negligible, small, medium or large from |delta| 0, .147, .33 and .474 on. Their intervals let "
    "raters and items both vary, and hold for each pair alone: they are not adjusted."
)
PAIRED = (
    "The tests above pair what raters and items share by themselves. This table pairs them "
    "explicitly: the mean difference within each rater who rated both, and within each item. Where "
    "it deviates from the plain difference, raters or items were not the same for both conditions."
)
CHOSEN = (
    "The best condition was chosen by these same ratings, so its lead is overestimated. "
    "Intervals and p are adjusted over all pairs of systems, which allows for that choice."
)
REFERENCE = (
    "The comparisons with the reference are a family of their own, smaller than that of all pairs: "
    "name the reference beforehand."
)
METHOD = (
    "Differences between conditions were estimated with variances clustered by rater and by item "
    f"({citation('cameron2011')}; with G/(G-1) for each), at least those of variance "
    "components pooled over the conditions. Their intervals combine those of both means "
    f"{cite('zou2008', 'korn1998')} and keep to the scale. "
    "{families} adjusted in a single step by the joint distribution of its tests "
    f"{cite('hothorn2008')}, so that an "
    "interval excludes 0 if and only if its adjusted p is below {alpha:.2g}. Effect sizes are "
    "Cohen's d and Cliff's delta of single ratings, with intervals from variances clustered in the "
    "same way."
)


class Comparisons(Part):
    """Which conditions differ, by how much, and whether it matters; a reference in particular."""

    key = "comparisons"
    version = "2"
    title = "Differences between conditions"
    order = 20

    def applies(self, inputs: PartInput) -> bool:
        return any(may_be_compared(family) for family in families(inputs.ratings))

    def make(self, inputs: PartInput) -> Content:
        compared = on_one_footing(rankings(inputs))
        if not compared:
            raise ValueError(NOTHING)
        pieces = []
        for place, s in enumerate(compared, start=1):
            inputs.progress((place - 1) / len(compared), s.title)
            numbers = Numbers(s, inputs.options)
            pieces.append(_Piece(place, numbers, several=len(compared) > 1).shown())
        return together(pieces)


class _Piece:
    """What is shown of one family."""

    def __init__(self, place: int, numbers: Numbers, several: bool) -> None:
        self.place, self.numbers, self.several = place, numbers, several
        self.s, self.reference = numbers.standing, numbers.standing.reference
        self.digits = self.s.decimals  # of a difference
        self.many = len(self.s.tested) > MOST_CONDITIONS

    def shown(self) -> Content:
        rows = [self.numbers.row(pair) for pair in self.numbers.pairs]
        tables = [*self._against_best(), *self._against_reference()]
        files = {}
        if self.many:
            files[f"{self._key('all-pairs')}.csv"] = csv_text(
                [rows[0], *(r.values() for r in rows)]
            )
        else:
            tables = [self._all_pairs(rows), *tables]
        tables.append(self._within())
        words = " ".join(self._sentences(rows))
        return Content(
            sentences=[f"{family_prefix(self.s.title)}{words}" if self.several else words],
            figures=[] if self.many or len(self.s.tested) < 3 else [self._figure(rows)],
            tables=tables,
            warnings=list(self._warnings(rows)),
            methods=[METHOD.format(families=self._families(rows), alpha=self.s.alpha)],
            files=files,
        )

    def _sentences(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        if all(row["p"] is None for row in rows):
            yield "No pair can be tested."
            return
        for family, mine in _by_family(rows):
            clear = sum(row["claimed"] for row in mine)
            pairs = f"{len(mine)} pairs" if len(mine) > 1 else "1 pair"
            sentence = f"{family.capitalize()}: {clear} of {pairs} differ{'s' * (len(mine) == 1)}"
            yield f"{sentence} (adjusted p < {self.s.alpha:.2g})."
        if self.numbers.rope:
            verdicts = [row["rope"] for row in rows if row["rope"] is not None]
            apart = sum(verdict in (ABOVE, BELOW) for verdict in verdicts)
            equal = verdicts.count(EQUAL)
            are = "is" if apart == 1 else "are"
            yield (
                f"If differences up to {self._half()} do not matter{self._why()}, "
                f"{apart} {are} larger, {equal} smaller and {len(verdicts) - apart - equal} "
                f"undecided, by the same {self.s.level * 100:g} % intervals."
            )
        if self.reference:
            yield f"The reference is {condition_span(self.reference.name)}, {self.reference.why}."
        elif "could each" in self.reference.why or (
            "asked for" in self.reference.why and self.s.wanted_reference != self.s.versus
        ):
            yield f"No comparison with a reference: {self.reference.why}."
        if self.many:
            name = f"{self._key('all-pairs')}.csv"
            yield f"All {len(rows)} pairs of {len(self.s.tested)} conditions are in {name}."

    def _all_pairs(self, rows: Sequence[Mapping[str, Any]]) -> Table:
        note = self._explained()
        return self._table(
            "all-pairs", "All pairs", [*self._columns(), *_details(self.digits)], rows, note
        )

    def _against_best(self) -> Iterator[Table]:
        best, *others = self.s.systems or self.s.tested
        if len(others) < 2:
            return  # the table of all pairs says it
        rows = [self.numbers.row((other, best)) for other in others]
        note = CHOSEN if self.place == 1 else ""
        note += f" {self._explained()}" if self.many else ""
        title = f"Against the best, {condition_span(best)}"
        if self.reference:
            title += f" ({condition_span(self.reference.name)} aside)"
        yield self._table("best", title, self._columns(), rows, note)

    def _against_reference(self) -> Iterator[Table]:
        if not self.reference:
            return
        rows = self.numbers.against(self.reference.name)
        note = REFERENCE if self.place == 1 else ""
        title = f"Against the reference, {condition_span(self.reference.name)}"
        yield self._table(
            "reference", title, [*self._columns(), *_details(self.digits)], rows, note
        )

    def _within(self) -> Table:
        best, *others = self.s.tested
        pairs = [(best, other) for other in others] if self.many else self.numbers.pairs
        rows = [self.numbers.within(pair) for pair in pairs]
        note = PAIRED if self.place == 1 else ""
        columns = [
            Column("condition", "Condition"),
            Column("versus", "Versus"),
            Column("difference", "Difference", "number", self.digits, sign=True),
        ]
        for unit in UNITS:
            columns += [
                Column(unit, f"Within {unit}", "number", self.digits, sign=True),
                Column(unit, f"{self.s.level * 100:g} % interval", "interval", self.digits),
                Column(f"n_{unit}", unit.capitalize(), "count"),
            ]
        table = self._table("within", "Within raters and within items", columns, rows, note)
        return replace(table, folded=True)

    def _figure(self, rows: Sequence[Mapping[str, Any]]) -> Figure:
        cells = [
            {
                "row": row["condition"],
                "column": row["versus"],
                "value": row["difference"],
                "text": number(row["difference"], True, self.digits) + "*" * bool(row["claimed"]),
            }
            for row in rows
        ]
        return Figure(
            key=self._key("differences"),
            title=self._title("Differences"),
            drawing="heatmap",
            rows=cells,
            x="subtracted",
            at=(0.0,),
            note=f"Row minus column. * differs: adjusted p < {self.s.alpha:.2g}.",
            about=self.s.title,
        )

    def _families(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """The declared families in words, for the methods."""
        families = [f"the comparisons {family}" for family, _ in _by_family(rows)] or ["the pairs"]
        each = "Each of two families" if len(families) > 1 else "The family"
        return f"{each} ({' and '.join(families)}) was"

    def _warnings(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        untested = [row for row in rows if row["p"] is None]
        if untested:
            notes = "; ".join(dict.fromkeys(row["note"] for row in untested if row["note"]))
            pairs = "pair has" if len(untested) == 1 else "pairs have"
            yield f"{family_prefix(self.s.title)}{len(untested)} {pairs} no test: {notes}."

    def _columns(self) -> list[Column]:
        return [
            Column("condition", "Condition"),
            Column("versus", "Versus"),
            Column("difference", "Difference", "number", self.digits, sign=True),
            Column("difference", f"{self.s.level * 100:g} %, adjusted", "interval", self.digits),
            Column("p_adjusted", "p, adjusted", "p"),
            Column("d", "d", "number", 2, sign=True),
            Column("d", "d, interval", "interval", 2),
            Column("higher", "Higher", "percent", 2),
            Column("higher_pct", "Higher, interval, %", "interval", 0),
            Column("size", "Size"),
            *[Column("rope", f"Against ±{self._half()}")] * bool(self.numbers.rope),
        ]

    def _table(
        self,
        key: str,
        title: str,
        columns: Sequence[Column],
        rows: Sequence[Mapping[str, Any]],
        note: str,
    ) -> Table:
        return Table(
            self._key(key),
            self._title(title),
            columns,
            rows,
            note.strip(),
            self.s.title,
            folded=len(rows) > MOST_OPEN,
        )

    def _explained(self) -> str:
        """What the columns mean, once on a page."""
        if self.place > 1:
            return self.numbers.note_of_sizes
        if not self.numbers.rope:
            return SIZES + self.numbers.note_of_sizes
        note = f"Against ±{self._half()}: where the interval of the difference lies"
        return f"{note}; practically equal if all of it is inside. {SIZES}" + (
            self.numbers.note_of_sizes
        )

    def _why(self) -> str:
        """Who says that, once on a page."""
        return f" ({self.numbers.rope.why})" if self.numbers.rope and self.place == 1 else ""

    def _half(self) -> str:
        return f"{self.numbers.rope.half:g}" if self.numbers.rope else ""

    def _key(self, what: str) -> str:
        suffix = key_of("", self.place, self.s.title).strip("-") if self.several else ""
        return "-".join(filter(None, ["comparisons", what, suffix]))

    def _title(self, title: str) -> str:
        return f"{title}{family_span(self.s.title, ' · {}')}" if self.several else title


def _by_family(
    rows: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The tested rows of each declared family."""
    for family in (FAMILY_OF_REFERENCE, SYSTEMS):
        mine = [row for row in rows if row["family"] == family and row["p_adjusted"] is not None]
        if mine:
            yield family, mine


def _details(digits: int) -> list[Column]:
    """What holds for each difference alone, and what takes ratings as independent."""
    return [
        Column("family", "Family"),
        Column("alone", "This one alone", "interval", digits),
        Column("p", "p, this one alone", "p"),
        Column("naive", "Naive (Welch)", "interval", digits),
        Column("naive_p", "Naive p", "p"),
    ]


SCALED = 0.025  # of the range of scores, as .1 is of a scale from 1 to 5
UNITS = ("raters", "items")
Pair = tuple[str, str]


@dataclass(frozen=True)
class Rope:
    """Differences up to ``half`` do not matter; ``why`` says who says so."""

    half: float
    why: str


@dataclass(frozen=True)
class Numbers:
    """All about the pairs of one standing; ``pairs`` are (better, worse) by their means."""

    standing: Ranking
    options: Options

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every pair of tested conditions, the higher mean first (of ranks, the lower)."""
        names = self.standing.tested
        return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]

    @cached_property
    def effects(self) -> AllEffects:
        """Effect sizes of all pairs, in the order of the cell's names."""
        cell, _ = self._sized
        return all_effects(cell.y, cell.condition, len(cell.names))

    @cached_property
    def _sized(self) -> tuple[Cell, str]:
        """The ratings that effect sizes are of, and a note where they are of a sample of raters."""
        cell = self.standing.cell
        if len(cell.y) <= LARGE:
            return cell, ""
        rows, count, raters = raters_sampled(pd.Series(cell.rater), self.options.seed)
        arrays = {n: getattr(cell, n)[rows] for n in ("y", "condition", "rater", "item")}
        return replace(cell, labels=[], **arrays), (
            f" d and Higher are of the ratings of {count:,} of {raters:,} raters, drawn at random "
            f"(seed {self.options.seed})."
        )

    @property
    def note_of_sizes(self) -> str:
        """What to say of the ratings that effect sizes are of; empty where they are of all."""
        return self._sized[1]

    @cached_property
    def _ratings(self) -> list[Codes]:
        """The places of each condition's ratings."""
        cell, _ = self._sized
        return [np.flatnonzero(cell.condition == code) for code in range(len(cell.names))]

    def _sizes(self, a: int, b: int) -> dict[str, float | None]:
        """The clustered bounds of both effect sizes; of the delta also as percent higher."""
        (cell, _), level = self._sized, self.standing.level
        rows = np.concatenate([self._ratings[a], self._ratings[b]])
        first = np.arange(len(rows)) < len(self._ratings[a])
        four = (cell.y[rows], first, cell.rater[rows], cell.item[rows])
        d, delta = clustered_d(*four, level), clustered_delta(*four, level)
        low, high = (None if end is None else 50 * (end + 1) for end in (delta.low, delta.high))
        sizes = {"d_low": d.low, "d_high": d.high}
        sizes |= {"delta_low": delta.low, "delta_high": delta.high}
        return sizes | {"higher_pct_low": low, "higher_pct_high": high}

    @cached_property
    def place(self) -> dict[str, int]:
        return {name: code for code, name in enumerate(self.standing.cell.names)}

    @cached_property
    def rope(self) -> Rope | None:
        """The region of practical equivalence: as asked, usual for the estimand, or scaled."""
        s = self.standing
        if self.options.rope is not None:
            return Rope(self.options.rope, "as asked for")
        half = s.what.equivalence
        if half is not None and (s.ends or s.what.ends is None):
            return Rope(half, f"the default for {s.name}; the option rope sets another")
        spread = float(np.ptp(s.cell.y)) if len(s.cell.y) else 0.0
        if not spread:
            return None
        return Rope(
            float(f"{SCALED * spread:.2g}"),
            f"{SCALED * 100:g} % of the range of the scores; the option rope sets another",
        )

    def row(self, pair: Pair) -> dict[str, Any]:
        """The first minus the second, in every number there is."""
        a, b = (self.place[name] for name in pair)
        s, difference = self.standing, self.standing.between(*pair)
        delta = _known(self.effects.delta[a, b])
        return {
            **pick_cells(difference, "condition", "versus"),
            "difference": difference.value,
            "difference_low": difference.low_all,
            "difference_high": difference.high_all,
            "p_adjusted": difference.p_adjusted,
            "family": difference.family or None,
            "claimed": difference.claimed,
            "alone_low": difference.low,
            "alone_high": difference.high,
            **pick_cells(difference, "p", "naive_low", "naive_high", "naive_p", "note"),
            "d": _known(self.effects.d[a, b]),
            "delta": delta,
            "higher": None if delta is None else (delta + 1) / 2,
            "size": None if delta is None else delta_size(delta),
            **self._sizes(a, b),
            "rope": self._verdict(difference),
            "shared_raters": int(s.clustered.shared_raters[a, b]),
            "shared_items": int(s.clustered.shared_items[a, b]),
        }

    def within(self, pair: Pair) -> dict[str, Any]:
        """The mean difference inside raters, and inside items, who have both conditions."""
        difference = self.standing.between(*pair)
        row: dict[str, Any] = {
            "condition": pair[0],
            "versus": pair[1],
            "difference": difference.value,
        }
        for unit in UNITS:
            columns = [self._tables[unit][:, self.place[name]] for name in pair]
            d = columns[0] - columns[1]
            row |= _paired_summary(d[np.isfinite(d)], unit, self.standing.level)
        return row

    def against(self, reference: str) -> list[dict[str, Any]]:
        """Every other condition minus the reference."""
        names = [name for name in self.standing.tested if name != reference]
        return [self.row((name, reference)) for name in names]

    @cached_property
    def _tables(self) -> Mapping[str, Floats]:
        return {unit: means_table(self.standing.cell, unit) for unit in UNITS}

    def _verdict(self, difference: Difference) -> str | None:
        if self.rope is None or difference.low_all is None or difference.high_all is None:
            return None
        return rope_decision(difference.low_all, difference.high_all, self.rope.half)


def _paired_summary(d: Floats, unit: str, level: float) -> dict[str, Any]:
    """Mean of the differences (n,) of n units with its t interval (as `matched.paired_t`)."""
    n = len(d)
    row: dict[str, Any] = {f"n_{unit}": n, unit: float(d.mean()) if n else None}
    low = high = None
    if n > 1:
        se = float(np.std(d, ddof=1)) / n**0.5
        low, high = t_interval(float(d.mean()), se, n - 1, level)
    return row | {f"{unit}_low": low, f"{unit}_high": high}


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
