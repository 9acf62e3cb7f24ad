"""The tests that papers use, by name, beside the one that lets raters and items both vary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.ratings.breakdowns import Cell, families
from analysis.report.content import Column, Content, Table
from analysis.report.part import Part, PartInput
from analysis.report.ranking import Ranking, key_of, rankings
from analysis.statistics.comparisons import test_result
from analysis.statistics.comparisons.p_adjustment import benjamini_hochberg
from analysis.statistics.comparisons.repeated_measures import WithinEffect
from analysis.statistics.comparisons.test_result import RATINGS, Undefined
from analysis.statistics.comparisons.tests_by_name import (
    GroupTest,
    PairTest,
    group_test,
    pair_tests,
    within_raters,
)

MOST_PAIRS = 300
PAIRED = (  # test, unit, heading
    ("welch", RATINGS, "Welch t"),
    ("student", RATINGS, "Student t"),
    ("mann_whitney", RATINGS, "Mann-Whitney"),
    ("paired_t", "raters", "Paired t, raters"),
    ("paired_t", "items", "Paired t, items"),
    ("wilcoxon", "raters", "Wilcoxon, raters"),
    ("wilcoxon", "items", "Wilcoxon, items"),
)
OF_ALL = (
    ("anova", RATINGS),
    ("kruskal", RATINGS),
    ("friedman", "raters"),
    ("friedman", "items"),
    ("rm_anova", "raters"),
    ("rm_anova", "items"),
)
GIVEN = {
    RATINGS: "ratings as independent: ignores raters and items",
    "raters": "these items; raters vary",
    "items": "these raters; items vary",
}
NOTHING = "no task has two conditions that were rated one by one: there is nothing to test"
CLUSTERED = "clustered"
QUOTE = "The clustered t lets raters and items both vary and is the one to quote."
PAIRS_NOTE = (
    "Clustered t: p as adjusted in its declared family, with the reference or among the systems. "
    "The others: p by Holm over the pairs of this table, each test by itself."
)
METHOD = (
    "For comparison with other papers: {tests}; their p adjusted by Holm (1979). Those over "
    "ratings take ratings as independent; those over rater means or item means take the items, or "
    "the raters, as given."
)


class NamedTests(Part):
    """Welch, Student, paired t, Wilcoxon, Mann-Whitney, Kruskal-Wallis, Friedman, RM-ANOVA."""

    key = "named_tests"
    version = "1"
    title = "Tests as papers use them"
    order = 60
    always = False

    def applies(self, inputs: PartInput) -> bool:
        rated = (family for family in families(inputs.kept) if not family.in_pairs)
        return any(family.table["condition"].nunique() > 1 for family in rated)

    def make(self, inputs: PartInput) -> Content:
        found = [s for s in rankings(inputs) if not s.versus and len(s.means) > 1]
        if not found:
            raise ValueError(NOTHING)
        shown = []
        for place, s in enumerate(found, start=1):
            inputs.progress((place - 1) / len(found), s.title)
            shown.append(_Piece(place, s, several=len(found) > 1).shown())
        return Content(
            sentences=[text for piece in shown for text in piece.sentences],
            tables=[table for piece in shown for table in piece.tables],
            warnings=list(dict.fromkeys(text for piece in shown for text in piece.warnings)),
            methods=list(dict.fromkeys(text for piece in shown for text in piece.methods)),
        )


@dataclass(frozen=True)
class _Named:
    """One test of one pair, with what it is called here."""

    key: str
    heading: str
    test: PairTest
    p_bh: float | None


class _Piece:
    """The tests of one family."""

    def __init__(self, place: int, s: Ranking, several: bool) -> None:
        self.place, self.s, self.several = place, s, several
        self.cell = s.cell
        self.names = s.cell.names
        self.few = len(self.names) * (len(self.names) - 1) // 2 <= MOST_PAIRS

    def shown(self) -> Content:
        groups = [self._group(test, unit) for test, unit in OF_ALL]
        tables = [self._groups_table(groups)]
        sentences = list(self._in_words(groups))
        if self.few:
            named = [each for test in PAIRED for each in self._named(*test)]
            rows = self._by_pair(named)
            counts = self._counts(rows)
            tables = [self._counts_table(counts), *tables, self._pairs_table(rows)]
            tables += [self._long_table(named), *self._post_hoc_tables(groups)]
            sentences = [self._compared(counts), *sentences]
        else:
            sentences.append(
                f"{len(self.names)} conditions make too many pairs to test each by every test."
            )
        words = " ".join(sentences)
        return Content(
            sentences=[f"{self.s.title}: {words}" if self.several else words],
            tables=[*tables, *self._within_table()],
            warnings=[f"A test over ratings {test_result.IGNORES_RATERS}."],
            methods=[METHOD.format(tests=_listing())],
        )

    def _named(self, test: str, unit: str, heading: str) -> Iterator[_Named]:
        found = pair_tests(self.cell, test, unit, level=self.s.level)
        p_bh = benjamini_hochberg([each.result.p for each in found])
        for each, p in zip(found, p_bh, strict=True):
            yield _Named(f"{test}_{unit}", heading, each, p)

    def _by_pair(self, named: Sequence[_Named]) -> list[dict[str, Any]]:
        """A row per pair: the clustered test, and Holm's p of every named one."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for each in named:
            pair = each.test.condition, each.test.versus
            row = rows.setdefault(pair, self._clustered(*pair))
            row[f"{each.key}_p"] = each.test.result.p
            row[f"{each.key}_p_holm"] = each.test.p_adjusted
        return list(rows.values())

    def _clustered(self, condition: str, versus: str) -> dict[str, Any]:
        found = self.s.between(condition, versus)
        return {
            "condition": condition,
            "versus": versus,
            "difference": found.value,
            "difference_low": found.low,
            "difference_high": found.high,
            f"{CLUSTERED}_p": found.p,
            f"{CLUSTERED}_p_holm": found.p_adjusted,
        }

    def _pairs_table(self, rows: Sequence[Mapping[str, Any]]) -> Table:
        decimals = self.s.decimals
        columns = [
            Column("condition", "Condition"),
            Column("versus", "Versus"),
            Column("difference", "Difference", "number", decimals, sign=True),
            Column("difference", f"{self.s.level * 100:g} % interval", "interval", decimals),
            Column(f"{CLUSTERED}_p_holm", "Clustered t", "p"),
            *(Column(f"{test}_{unit}_p_holm", head, "p") for test, unit, head in PAIRED),
        ]
        return self._table(
            "pairs", "Pairs, adjusted p by each test", columns, rows, PAIRS_NOTE, True
        )

    def _long_table(self, named: Sequence[_Named]) -> Table:
        rows = []
        for each in named:
            row = each.test.row()
            told = {"p_bh": each.p_bh, "takes": GIVEN[row.pop("unit")]}
            del row["warning"]  # what it takes as given says the same
            rows.append({"name": each.heading, **row, **told})
        columns = [
            Column("name", "Test"),
            Column("condition", "Condition"),
            Column("versus", "Versus"),
            Column("statistic_name", "Statistic"),
            Column("statistic", "Value", "number", 2),
            Column("df", "df", "number", 1),
            Column("n", "n"),
            Column("p", "p", "p"),
            Column("p_holm", "p (Holm)", "p"),
            Column("p_bh", "p (BH)", "p"),
            Column("effect_name", "Effect size"),
            Column("effect", "Effect", "number", 2, sign=True),
            Column("effect", f"{self.s.level * 100:g} % interval", "interval", 2),
            Column("takes", "Takes as given"),
            Column("note", "Note"),
        ]
        note = (
            "The file has more: the estimate of each test, p with continuity correction, the "
            "exact p where there is one, and scipy's statistics."
        )
        return self._table("statistics", "Pairs, every test in full", columns, rows, note, True)

    def _group(self, test: str, unit: str) -> GroupTest:
        try:
            return group_test(self.cell, test, unit, level=self.s.level)
        except Undefined as why:
            empty = group_test(_nothing(self.cell), test, unit, level=self.s.level)
            return GroupTest(tuple(self.names), replace(empty.result, note=str(why)))

    def _groups_table(self, groups: Sequence[GroupTest]) -> Table:
        rows = []
        for group in groups:
            row = group.result.row()
            df = [f"{end:.5g}" for end in (row["df"], row["df2"]) if end is not None]
            row |= {"degrees": ", ".join(df) or None, "takes": GIVEN[row["unit"]]}
            n = group.result.n
            rows.append(
                row | {"values": f"{sum(n)} in {len(n)} groups" if len(n) > 1 else row["n"]}
            )
        columns = [
            Column("test", "Test"),
            Column("unit", "Over"),
            Column("statistic_name", "Statistic"),
            Column("statistic", "Value", "number", 2),
            Column("degrees", "df"),
            Column("p", "p", "p"),
            Column("effect_name", "Effect size"),
            Column("effect", "Effect", "number", 3),
            Column("values", "n"),
            Column("note", "Note"),
        ]
        note = (
            "Whether any conditions differ at all; which ones is in the table of pairs. Friedman "
            "and repeated measures use the means of raters, or of items, that have every condition."
        )
        return self._table("all-at-once", "All conditions at once", columns, rows, note)

    def _post_hoc_tables(self, groups: Sequence[GroupTest]) -> Iterator[Table]:
        rows = [
            {
                "test": after.test,
                "unit": group.result.unit,
                "condition": group.names[after.first],
                "versus": group.names[after.second],
                "difference": after.estimate,
                "statistic": after.statistic,
                "p": after.p,
                "p_adjusted": after.p_adjusted,
                "adjustment": after.adjustment,
            }
            for group in groups
            for after in group.post_hoc
        ]
        if not rows:
            return
        columns = [
            Column("test", "Test"),
            Column("unit", "Over"),
            Column("condition", "Condition"),
            Column("versus", "Versus"),
            Column("difference", "Difference of mean ranks", "number", 2, sign=True),
            Column("statistic", "Statistic", "number", 2, sign=True),
            Column("p", "p", "p"),
            Column("p_adjusted", "p adjusted", "p"),
            Column("adjustment", "By"),
        ]
        note = "Dunn's tests follow Kruskal-Wallis; Nemenyi's and Conover's follow Friedman."
        yield self._table(
            "post-hoc", "Which differ, after the tests of all", columns, rows, note, True
        )

    def _within_table(self) -> Iterator[Table]:
        """Condition x item within raters, where every rater heard every cell."""
        try:
            effects: list[WithinEffect] = within_raters(self.cell)
        except Undefined:
            return
        columns = [
            Column("effect", "Effect"),
            Column("f", "F", "number", 2),
            Column("df", "df", "number", 0),
            Column("df2", "df of error", "number", 0),
            Column("p", "p", "p"),
            Column("epsilon", "ε", "number", 3),
            Column("p_gg", "p (Greenhouse-Geisser)", "p"),
            Column("partial_eta2", "Partial η²", "number", 3),
            Column("generalised_eta2", "Generalised η²", "number", 3),
        ]
        rows = [vars(effect) for effect in effects]
        note = "Every rater heard every item of every condition. "
        note += _sentence(test_result.warning_of("raters"))
        yield self._table(
            "repeated-measures", "Repeated-measures ANOVA, condition and item", columns, rows, note
        )

    def _in_words(self, groups: Sequence[GroupTest]) -> Iterator[str]:
        known = [group.result for group in groups if group.result.p is not None]
        clear = [result for result in known if (result.p or 0) < self.s.alpha]
        if known:
            yield (
                f"{len(clear)} of {len(known)} tests of all conditions at once have p < "
                f"{self.s.alpha:.2g}."
            )

    def _compared(self, counts: Sequence[Mapping[str, Any]]) -> str:
        """How many pairs differ by the clustered test, and by Welch's only."""
        mine, welch = counts[0], counts[1]
        of = f"{mine['pairs']} pairs" if mine["pairs"] > 1 else "1 pair"
        if not mine["tested"]:
            told = "The clustered t test cannot be made; by Welch's t test"
            return f"{told} {welch['differ']} of {of} differ."
        told = f"By the clustered t test {mine['differ']} of {of} differ"
        told += f" (adjusted p < {self.s.alpha:.2g}), by Welch's t test {welch['differ']}"
        if not welch["more"]:
            return f"{told}."
        return f"{told}: {welch['more']} of them only as it takes every rating as independent."

    def _counts(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """For each test: how many pairs differ, and how many otherwise than by the clustered t."""

        def clear(key: str) -> set[int]:
            found = ((i, row[f"{key}_p_holm"]) for i, row in enumerate(rows))
            return {i for i, p in found if p is not None and p < self.s.alpha}

        mine = clear(CLUSTERED)
        every = [(CLUSTERED, "Clustered t", "nothing: raters and items both vary")]
        every += [(f"{test}_{unit}", heading, GIVEN[unit]) for test, unit, heading in PAIRED]
        return [
            {
                "test": heading,
                "takes": takes,
                "pairs": len(rows),
                "tested": sum(row[f"{key}_p"] is not None for row in rows),
                "differ": len(clear(key)),
                "more": len(clear(key) - mine),
                "fewer": len(mine - clear(key)),
            }
            for key, heading, takes in every
        ]

    def _counts_table(self, counts: Sequence[Mapping[str, Any]]) -> Table:
        columns = [
            Column("test", "Test"),
            Column("takes", "Takes as given"),
            Column("pairs", "Pairs", "count"),
            Column("tested", "With a test", "count"),
            Column("differ", "Differ", "count"),
            Column("more", "Not by the clustered t", "count"),
            Column("fewer", "Only by the clustered t", "count"),
        ]
        note = f"Differ: p < {self.s.alpha:.2g} adjusted over the pairs. {QUOTE}"
        return self._table("side-by-side", "The tests side by side", columns, counts, note)

    def _table(
        self,
        key: str,
        title: str,
        columns: Sequence[Column],
        rows: Sequence[Mapping[str, Any]],
        note: str,
        folded: bool = False,
    ) -> Table:
        suffix = key_of("", self.place, self.s.title).strip("-") if self.several else ""
        return Table(
            "-".join(filter(None, ["named_tests", key, suffix])),
            f"{title} · {self.s.title}" if self.several else title,
            columns,
            rows,
            note,
            self.s.title,
            folded,
        )


def _nothing(cell: Cell) -> Cell:
    """The cell without its ratings, whose tests are refused in words."""
    none = slice(0, 0)
    return replace(
        cell,
        y=cell.y[none],
        condition=cell.condition[none],
        rater=cell.rater[none],
        item=cell.item[none],
    )


def _listing() -> str:
    return (
        "Welch's and Student's t tests, Mann-Whitney, paired t and Wilcoxon's signed rank test "
        "over rater means and item means, one-way ANOVA, Kruskal-Wallis with Dunn's tests, "
        "Friedman with Nemenyi's and Conover's tests, and repeated-measures ANOVA"
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
