"""Differences between conditions: all pairs, against the best, and against a reference."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.formatting import number
from analysis.name_spans import condition_span, family_prefix, family_span
from analysis.ratings.breakdowns import families
from analysis.ratings.cells import csv_cell
from analysis.ratings.reference import Reference
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import Part, PartInput
from analysis.report.parts.comparisons.comparison_rows import UNITS, Numbers
from analysis.report.ranking import key_of, may_be_compared, on_one_footing, rankings
from analysis.statistics.comparisons.pairwise_contrasts import REFERENCE as FAMILY_OF_REFERENCE
from analysis.statistics.comparisons.pairwise_contrasts import SYSTEMS
from analysis.statistics.comparisons.simultaneous import ABOVE, BELOW, EQUAL

MOST_CONDITIONS = 24
MOST_OPEN = 15
NOTHING = "no two conditions have two raters and two items each: nothing can be compared"
SIZES = (
    "d: Cohen's d, the difference over the SD of single ratings. Higher: of a rating of each, how "
    "often the first is the higher one, a tie counting half; (Cliff's delta + 1) / 2, called "
    "negligible, small, medium or large from |delta| 0, .147, .33 and .474 on. Their intervals let "
    "raters and items both vary."
)
PAIRED = (
    "The tests above pair what raters and items share by themselves. Here the pairing is done by "
    "hand: the mean difference inside each rater who rated both, and inside each item. Where it "
    "leaves the plain difference, who rated what is not the same for both conditions."
)
CHOSEN = (
    "These ratings chose the best condition themselves, so its lead is flattered. Intervals and p "
    "are adjusted over all pairs of systems, which allows for that choice."
)
REFERENCE = (
    "The comparisons with the reference are a family of their own, smaller than that of all pairs: "
    "name the reference beforehand."
)
METHOD = (
    "Differences between conditions were estimated with variances clustered by rater and by item "
    "(Cameron, Gelbach and Miller 2011; with G/(G-1) for each), at least those of variance "
    "components pooled over the conditions. Their intervals combine those of both means (Zou and "
    "Donner 2008; Korn and Graubard 1998) and keep to the scale. {families} adjusted in a single "
    "step by the joint distribution of its tests (Hothorn, Bretz and Westfall 2008), so that an "
    "interval leaves 0 out if and only if its adjusted p is below {alpha:.2g}. Effect sizes are "
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
        return any(may_be_compared(family) for family in families(inputs.kept))

    def make(self, inputs: PartInput) -> Content:
        compared = on_one_footing(rankings(inputs))
        if not compared:
            raise ValueError(NOTHING)
        pieces = []
        for place, s in enumerate(compared, start=1):
            inputs.progress((place - 1) / len(compared), s.title)
            reference = s.reference
            numbers = Numbers(s, inputs.options)
            pieces.append(_Piece(place, numbers, reference, several=len(compared) > 1).shown())
        return _together(pieces)


class _Piece:
    """What is shown of one family."""

    def __init__(self, place: int, numbers: Numbers, reference: Reference, several: bool) -> None:
        self.place, self.numbers, self.reference = place, numbers, reference
        self.s, self.several = numbers.standing, several
        self.many = len(self.s.tested) > MOST_CONDITIONS

    def shown(self) -> Content:
        rows = [self.numbers.row(pair) for pair in self.numbers.pairs]
        tables = [*self._against_best(), *self._against_reference()]
        files = {}
        if self.many:
            files[f"{self._key('all-pairs')}.csv"] = _csv(rows)
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
            yield (
                f"If differences up to {self._half()} do not matter{self._why()}, "
                f"{apart} are larger, {equal} smaller and {len(verdicts) - apart - equal} "
                f"undecided, by the same {self.s.level * 100:g} % intervals."
            )
        if self.reference:
            yield f"The reference is {condition_span(self.reference.name)}, {self.reference.why}."
        elif "could each" in self.reference.why or "asked for" in self.reference.why:
            yield f"No comparison with a reference: {self.reference.why}."
        if self.many:
            name = f"{self._key('all-pairs')}.csv"
            yield f"All {len(rows)} pairs of {len(self.s.tested)} conditions are in {name}."

    def _all_pairs(self, rows: Sequence[Mapping[str, Any]]) -> Table:
        note = self._explained()
        return self._table("all-pairs", "All pairs", [*self._columns(), *_details()], rows, note)

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
        yield self._table("reference", title, [*self._columns(), *_details()], rows, note)

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
        return Table(**{**vars(table), "folded": True})

    def _figure(self, rows: Sequence[Mapping[str, Any]]) -> Figure:
        cells = [
            {
                "row": row["condition"],
                "column": row["versus"],
                "value": row["difference"],
                "text": number(row["difference"], True, self.digits) + "*" * self._clear(row),
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
            *self._names(),
            *self._sizes(),
        ]

    def _names(self) -> list[Column]:
        return [
            Column("condition", "Condition"),
            Column("versus", "Versus"),
            Column("difference", "Difference", "number", self.digits, sign=True),
            Column("difference", f"{self.s.level * 100:g} %, adjusted", "interval", self.digits),
            Column("p_adjusted", "p, adjusted", "p"),
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

    def _clear(self, row: Mapping[str, Any]) -> bool:
        return bool(row["claimed"])

    def _explained(self) -> str:
        """What the columns mean, once on a page."""
        if self.place > 1:
            return ""
        if not self.numbers.rope:
            return SIZES
        note = f"Against ±{self._half()}: where the interval of the difference lies"
        return f"{note}; practically equal if all of it is inside. {SIZES}"

    def _sizes(self) -> list[Column]:
        sizes = [
            Column("d", "d", "number", 2, sign=True),
            Column("d", "d, interval", "interval", 2),
            Column("higher", "Higher", "percent", 2),
            Column("higher_pct", "Higher, interval, %", "interval", 0),
            Column("size", "Size"),
        ]
        return [*sizes, *[Column("rope", f"Against ±{self._half()}")] * bool(self.numbers.rope)]

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

    @property
    def digits(self) -> int:
        """How many decimals a difference has."""
        return self.s.decimals


def _by_family(
    rows: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The tested rows of each declared family."""
    for family in (FAMILY_OF_REFERENCE, SYSTEMS):
        mine = [row for row in rows if row["family"] == family and row["p_adjusted"] is not None]
        if mine:
            yield family, mine


def _details() -> list[Column]:
    """What holds for each difference alone, and what takes ratings as independent."""
    return [
        Column("family", "Family"),
        Column("alone", "This one alone", "interval", 3),
        Column("p", "p, this one alone", "p"),
        Column("naive", "Naive (Welch)", "interval", 3),
        Column("naive_p", "Naive p", "p"),
    ]


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows of the same keys as CSV text."""
    each = list(rows)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(each[0])
    writer.writerows([csv_cell(value) for value in row.values()] for row in each)
    return buffer.getvalue()


def _together(pieces: Sequence[Content]) -> Content:
    return Content(
        sentences=[text for piece in pieces for text in piece.sentences],
        figures=[figure for piece in pieces for figure in piece.figures],
        tables=[table for piece in pieces for table in piece.tables],
        warnings=[text for piece in pieces for text in piece.warnings],
        methods=list(dict.fromkeys(text for piece in pieces for text in piece.methods)),
        files={name: text for piece in pieces for name, text in piece.files.items()},
    )
