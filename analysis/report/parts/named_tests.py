"""Conventional significance tests, next to the one that lets raters and items both vary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from analysis.citations import cite_author
from analysis.formatting import counted
from analysis.name_spans import family_prefix, family_span
from analysis.ratings.breakdowns import Cell, families
from analysis.report.content import (
    Column,
    Content,
    Table,
    column,
    interval_cells,
    row_from,
    table_row,
    together,
    warned_once,
    with_titles,
)
from analysis.report.part import Part, PartInput
from analysis.report.ranking import Ranking, key_of, rankings
from analysis.statistics.comparisons import test_result
from analysis.statistics.comparisons.p_adjustment import benjamini_hochberg
from analysis.statistics.comparisons.test_result import RATINGS, Undefined
from analysis.statistics.comparisons.tests_by_name import (
    GroupTest,
    PairTest,
    group_test,
    pair_tests,
    within_raters,
)

MOST_PAIRS = 300
PAIR_TESTS = (  # test, unit, heading
    ("welch", RATINGS, "Welch t"),
    ("student", RATINGS, "Student t"),
    ("mann_whitney", RATINGS, "Mann-Whitney"),
    ("paired_t", "raters", "Paired t, raters"),
    ("paired_t", "items", "Paired t, items"),
    ("wilcoxon", "raters", "Wilcoxon, raters"),
    ("wilcoxon", "items", "Wilcoxon, items"),
)
OMNIBUS_TESTS = (
    ("anova", RATINGS),
    ("kruskal", RATINGS),
    ("friedman", "raters"),
    ("friedman", "items"),
    ("rm_anova", "raters"),
    ("rm_anova", "items"),
)
NOTHING_TO_TEST = "no task has two conditions that were rated one by one: there is nothing to test"
CLUSTERED = "clustered"
QUOTE = "The clustered test lets raters and items both vary and is the one to quote."
PAIRS_NOTE = (
    "Two-way clustered: p as adjusted in its declared family, with the reference or among the "
    "systems. The others: p by Holm over the pairs of this table, each test by itself."
)
STATISTICS_NOTE = (
    "The file has more: the estimate of each test, p with continuity correction, the exact p where "
    "there is one, and scipy's statistics."
)
METHOD = (
    "For comparison with other papers: Welch's and Student's t tests, Mann-Whitney, paired t and "
    "Wilcoxon's signed rank test over rater means and item means, one-way ANOVA, Kruskal-Wallis "
    "with Dunn's tests, Friedman with Nemenyi's and Conover's tests, and repeated-measures ANOVA; "
    f"their p adjusted by {cite_author('holm1979')}. Those over ratings take ratings as "
    "independent; those over rater means or item means take the items, or the raters, as given."
)
EFFECT_COLUMNS = (
    Column("effect", "Effect"),
    Column("f", "F", "number", 2),
    Column("df", "df", "number", 0),
    Column("df2", "df of error", "number", 0),
    Column("p", "p", "p"),
    Column("epsilon", "ε", "number", 3),
    Column("p_gg", "p (Greenhouse-Geisser)", "p"),
    Column("partial_eta2", "Partial η²", "number", 3),
    Column("generalised_eta2", "Generalised η²", "number", 3),
)


@table_row
class CountRow:
    """How many pairs differ by one test, and how many otherwise than by the clustered t."""

    test: str = column("Test")
    takes: str = column("Takes as given")
    pairs: int = column("Pairs", "count")
    tested: int = column("With a test", "count")
    differ: int = column("Differ", "count")
    more: int = column("Not by the clustered t", "count")
    fewer: int = column("Only by the clustered t", "count")


class NamedTests(Part):
    """Welch, Student, paired t, Wilcoxon, Mann-Whitney, Kruskal-Wallis, Friedman, RM-ANOVA."""

    key = "named_tests"
    version = "1"
    title = "Conventional significance tests"
    order = 60
    always = False

    def applies(self, inputs: PartInput) -> bool:
        rated = (family for family in families(inputs.ratings) if not family.in_pairs)
        return any(family.table["condition"].nunique() > 1 for family in rated)

    def make(self, inputs: PartInput) -> Content:
        tested = [each for each in rankings(inputs) if not each.versus and len(each.means) > 1]
        if not tested:
            raise ValueError(NOTHING_TO_TEST)
        contents = []
        for place, ranking in enumerate(tested):
            inputs.progress(place / len(tested), ranking.title)
            tests = _FamilyTests(ranking)
            suffix = key_of("", place + 1, ranking.title).strip("-")
            contents.append(tests.content() if len(tested) == 1 else tests.of_several(suffix))
        return warned_once(together(contents))


@dataclass(frozen=True)
class _NamedTest:
    """One test of one pair, with what it is called here."""

    key: str
    heading: str
    test: PairTest
    p_bh: float | None


class _FamilyTests:
    """The tests of one family."""

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking
        self.cell, self.level, self.alpha = ranking.cell, ranking.level, ranking.alpha

    def of_several(self, suffix: str) -> Content:
        """The content with the family in words, titles and keys."""
        title = self.ranking.title
        content = with_titles(
            self.content(), lambda each: f"{each.title}{family_span(title, ' · {}')}"
        )
        return replace(
            content,
            sentences=[f"{family_prefix(title)}{text}" for text in content.sentences],
            tables=[replace(each, key=f"{each.key}-{suffix}") for each in content.tables],
        )

    def content(self) -> Content:
        groups = [self._omnibus_test(test, unit) for test, unit in OMNIBUS_TESTS]
        tables = [groups_table(groups), *post_hoc_tables(groups), *self._within_table()]
        sentences = list(self._omnibus_sentence(groups))
        k = len(self.cell.names)
        if k * (k - 1) // 2 <= MOST_PAIRS:
            named = [each for test in PAIR_TESTS for each in self._tests_named(*test)]
            rows = self._pair_rows(named)
            counts = self._count_rows(rows)
            note = f"Differ: p < {self.alpha:.2g} adjusted over the pairs. {QUOTE}"
            title = "The tests side by side"
            side_by_side = Table.from_rows(CountRow, "side-by-side", title, counts, note=note)
            tables[:1] = [side_by_side, tables[0], self._pairs_table(rows), self._long_table(named)]
            sentences = [self._comparison_sentence(counts), *sentences]
        else:
            sentences.append(f"{k} conditions make too many pairs to test each by every test.")
        return Content(
            sentences=[" ".join(sentences)],
            tables=[
                replace(table, key=f"named_tests-{table.key}", about=self.ranking.title)
                for table in tables
            ],
            warnings=[f"A test over ratings {test_result.IGNORES_RATERS}."],
            methods=[METHOD],
        )

    def _tests_named(self, test: str, unit: str, heading: str) -> Iterator[_NamedTest]:
        tests = pair_tests(self.cell, test, unit, level=self.level)
        p_bh = benjamini_hochberg([each.result.p for each in tests])
        for each, p in zip(tests, p_bh, strict=True):
            yield _NamedTest(f"{test}_{unit}", heading, each, p)

    def _pair_rows(self, named: Sequence[_NamedTest]) -> list[dict[str, Any]]:
        """A row per pair: the clustered test, and Holm's p of every named one."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for each in named:
            pair = each.test.condition, each.test.versus
            row = rows.setdefault(pair, self._clustered_row(*pair))
            row[f"{each.key}_p"] = each.test.result.p
            row[f"{each.key}_p_holm"] = each.test.p_adjusted
        return list(rows.values())

    def _clustered_row(self, condition: str, versus: str) -> dict[str, Any]:
        difference = self.ranking.between(condition, versus)
        return {
            "condition": condition,
            "versus": versus,
            "family": difference.family,
            **interval_cells("difference", difference),
            f"{CLUSTERED}_p": difference.p,
            f"{CLUSTERED}_p_holm": difference.p_adjusted,
        }

    def _pairs_table(self, rows: Sequence[Mapping[str, Any]]) -> Table:
        decimals, interval = self.ranking.decimals, f"{self.level * 100:g} % interval"
        columns = [
            Column("condition", "Condition"),
            Column("versus", "Versus"),
            Column("difference", "Difference", "number", decimals, sign=True),
            Column("difference", interval, "interval", decimals),
            Column(f"{CLUSTERED}_p_holm", "Two-way clustered", "p"),
            *(Column(f"{test}_{unit}_p_holm", head, "p") for test, unit, head in PAIR_TESTS),
        ]
        title = "Pairs, adjusted p by each test"
        return Table("pairs", title, columns, rows, PAIRS_NOTE, folded=True)

    def _long_table(self, named: Sequence[_NamedTest]) -> Table:
        rows = []
        for each in named:
            row = each.test.row()
            takes = {"p_bh": each.p_bh, "takes": ASSUMPTIONS[row.pop("unit")]}
            del row["warning"]  # what it takes as given says the same
            rows.append({"name": each.heading, **row, **takes})
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
            Column("effect", f"{self.level * 100:g} % interval", "interval", 2),
            Column("takes", "Takes as given"),
            Column("note", "Note"),
        ]
        title = "All pairwise tests"
        return Table("statistics", title, columns, rows, STATISTICS_NOTE, folded=True)

    def _omnibus_test(self, test: str, unit: str) -> GroupTest:
        try:
            return group_test(self.cell, test, unit, level=self.level)
        except Undefined as why:
            empty = group_test(_empty_cell(self.cell), test, unit, level=self.level)
            return GroupTest(tuple(self.cell.names), replace(empty.result, note=str(why)))

    def _within_table(self) -> Iterator[Table]:
        """Condition x item within raters, where every rater heard every cell."""
        try:
            rows = [asdict(effect) for effect in within_raters(self.cell)]
        except Undefined:
            return
        warning = test_result.warning_of("raters")
        note = "Every rater heard every item of every condition. "
        note += f"{warning[:1].upper()}{warning[1:]}."
        title = "Repeated-measures ANOVA, condition and item"
        yield Table("repeated-measures", title, EFFECT_COLUMNS, rows, note)

    def _omnibus_sentence(self, groups: Sequence[GroupTest]) -> Iterator[str]:
        known = [group.result for group in groups if group.result.p is not None]
        clear = [result for result in known if (result.p or 0) < self.alpha]
        if known:
            yield (
                f"{len(clear)} of {len(known)} tests of all conditions at once have p < "
                f"{self.alpha:.2g}."
            )

    def _comparison_sentence(self, counts: Sequence[CountRow]) -> str:
        """How many pairs differ by the clustered test, and by Welch's only."""
        mine, welch = counts[0], counts[1]
        pairs = counted(mine.pairs, "pair")
        if not mine.tested:
            refused = "The clustered t test cannot be made; by Welch's t test"
            return f"{refused} {welch.differ} of {pairs} differ."
        text = f"By the clustered t test {mine.differ} of {pairs} differ"
        text += f" (adjusted p < {self.alpha:.2g}), by Welch's t test {welch.differ}"
        if not welch.more:
            return f"{text}."
        return f"{text}: {welch.more} of them only as it takes every rating as independent."

    def _count_rows(self, rows: Sequence[Mapping[str, Any]]) -> list[CountRow]:
        """For each test: how many pairs differ, and how many otherwise than by the clustered t."""

        def clear(key: str) -> set[int]:
            adjusted = ((i, row[f"{key}_p_holm"]) for i, row in enumerate(rows))
            return {i for i, p in adjusted if p is not None and p < self.alpha}

        rows = [row for row in rows if row["family"]] or rows  # anchors are compared in none
        mine = clear(CLUSTERED)
        every = [(CLUSTERED, "Two-way clustered", "nothing: raters and items both vary")]
        every += [(f"{test}_{unit}", head, ASSUMPTIONS[unit]) for test, unit, head in PAIR_TESTS]
        return [
            CountRow(
                test=heading,
                takes=takes,
                pairs=len(rows),
                tested=sum(row[f"{key}_p"] is not None for row in rows),
                differ=len(clear(key)),
                more=len(clear(key) - mine),
                fewer=len(mine - clear(key)),
            )
            for key, heading, takes in every
        ]


def _empty_cell(cell: Cell) -> Cell:
    """The cell without its ratings, whose tests are refused in words."""
    none = slice(0, 0)
    return replace(
        cell,
        y=cell.y[none],
        condition=cell.condition[none],
        rater=cell.rater[none],
        item=cell.item[none],
    )


ASSUMPTIONS = {
    RATINGS: "ratings as independent: ignores raters and items",
    "raters": "these items; raters vary",
    "items": "these raters; items vary",
}
OMNIBUS_NOTE = (
    "Whether any conditions differ at all; which ones is in the table of pairs. Friedman and "
    "repeated measures use the means of raters, or of items, that have every condition."
)
POST_HOC_NOTE = "Dunn's tests follow Kruskal-Wallis; Nemenyi's and Conover's follow Friedman."
OMNIBUS_COLUMNS = (
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
)


@table_row
class PostHocRow:
    """A pair of conditions after a test of all of them."""

    test: str = column("Test")
    unit: str = column("Over")
    condition: str = column("Condition")
    versus: str = column("Versus")
    difference: float = column("Difference of mean ranks", "number", 2, sign=True)
    statistic: float = column("Statistic", "number", 2, sign=True)
    p: float = column("p", "p")
    p_adjusted: float = column("p adjusted", "p")
    adjustment: str = column("By")


def groups_table(groups: Sequence[GroupTest]) -> Table:
    """One row per test of all conditions."""
    rows = []
    for group in groups:
        row, n = group.result.row(), group.result.n
        df = [f"{end:.5g}" for end in (row["df"], row["df2"]) if end is not None]
        row |= {"degrees": ", ".join(df) or None, "takes": ASSUMPTIONS[row["unit"]]}
        row["values"] = f"{sum(n)} in {len(n)} groups" if len(n) > 1 else row["n"]
        rows.append(row)
    return Table("all-at-once", "All conditions at once", OMNIBUS_COLUMNS, rows, OMNIBUS_NOTE)


def post_hoc_tables(groups: Sequence[GroupTest]) -> Iterator[Table]:
    """The pairs after those tests that have any."""
    rows = [
        row_from(
            PostHocRow,
            after,
            unit=group.result.unit,
            condition=group.names[after.first],
            versus=group.names[after.second],
            difference=after.estimate,
        )
        for group in groups
        for after in group.post_hoc
    ]
    title = "Post hoc pairwise tests"
    if rows:
        yield Table.from_rows(PostHocRow, "post-hoc", title, rows, note=POST_HOC_NOTE, folded=True)
