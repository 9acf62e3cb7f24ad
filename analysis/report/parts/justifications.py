"""Justifications: how many there are, their codes per system, and words and codes by label."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Codes
from analysis.citations import citation
from analysis.name_spans import condition_span, family_prefix
from analysis.ratings.breakdowns import Family, families, labelled_families
from analysis.report.content import (
    Column,
    Content,
    Figure,
    Table,
    add_family_titles,
    bounds_cells,
    column,
    columns_of,
    table_row,
    together,
)
from analysis.report.part import FamilyInput, FamilyPart, Part, PartInput
from analysis.statistics.clustered_variance import two_way_intervals
from analysis.statistics.intervals import TWO_WAY, clustered
from analysis.statistics.justifications import (
    FEWEST_RATERS,
    FEWEST_REASONS,
    MOST_TERMS,
    PRIOR,
    Groups,
    TermLogOdds,
    TermTable,
    code_table,
    label_groups,
    term_log_odds,
    term_table,
)
from analysis.statistics.options import Options

if TYPE_CHECKING:
    import pandas as pd


class Justifications(Part):
    """Reasons of raters: codes per system, and the words and codes that go with each label."""

    key = "justifications"
    version = "3"
    title = "Justifications"
    order = 80
    sampled = True

    def applies(self, inputs: PartInput) -> bool:
        ratings = inputs.ratings
        return bool((ratings["justification"] != "").any() or (ratings["codes"] != "").any())

    def make(self, inputs: PartInput) -> Content:
        every = list(_with_reasons(inputs))
        contents: list[Content] = []
        for place, (family, first) in enumerate(every):
            inputs.progress(place / len(every), family.title)
            contents += _contents(reasons_of(family), inputs, first)
        content = together(contents)
        return add_family_titles(content) if len(every) > 1 else content


def _contents(reasons: Reasons, inputs: PartInput, first: bool) -> Iterator[Content]:
    """What depends on conditions alone once per task; what depends on labels for each criterion."""
    options = inputs.options
    if first:
        yield reasons_content(reasons)
        yield codes_by_system(reasons, inputs)
        yield codes_by_dimension(reasons, inputs)
        yield codes_together(reasons)
    yield codes_by_label(reasons, options.level)
    yield words_by_label(reasons, options)


def _with_reasons(inputs: PartInput) -> Iterator[tuple[Family, bool]]:
    """The families that have reasons, and whether it is the first of its task."""
    seen: set[tuple[str, str]] = set()
    for family in (*families(inputs.ratings), *labelled_families(inputs.ratings)):
        table = family.table
        if (table["justification"] != "").any() or (table["codes"] != "").any():
            task = (family.group.get("study", ""), family.group["task"])
            yield family, task not in seen
            seen.add(task)


TRIAL = ["session", "rater", "block", "position"]
SHARED = 0.05  # of the ratings; more, and a trial's reason is about several clips
NO_CODES = (
    "No codes of reasons are in the ratings (column codes). A review of codes (the study's page "
    "Reviews) gives them; or add them to the CSV as a|b, one cell per rating."
)


@table_row
class WrittenRow:
    """A condition with how many of its ratings have a reason, and codes."""

    condition: str = column("Condition")
    n_ratings: int = column("Ratings", "count")
    n_with_reason: int
    share: float = column("With a reason", "percent")
    n_raters: int = column("Raters", "count")
    characters: float | None = column("Characters (median)", "count")
    n_coded: int = column("With codes", "count")


@dataclass(frozen=True)
class Reasons:
    """n ratings with what was written: ``several`` where one reason is about several clips.

    ``condition`` (n,) are names, a pair's joined; ``rater`` and ``item`` (n,) codes.
    """

    family: Family
    table: pd.DataFrame
    condition: np.ndarray
    rater: Codes
    item: Codes
    several: bool

    @property
    def title(self) -> str:
        return self.family.title

    @property
    def coded(self) -> NDArray[np.bool_]:
        """Which of them have codes (n,)."""
        return (self.table["codes"] != "").to_numpy(dtype=bool)

    @property
    def lengths(self) -> Codes:
        """The characters of each reason (n,), 0 where there is none."""
        texts = self.table["justification"].tolist()
        return np.array([len(text.strip()) for text in texts], dtype=np.int64)


def reasons_of(family: Family) -> Reasons:
    """The family's ratings with their reasons; a trial counts once where it has one reason."""
    table = family.table
    placed = (table["position"].notna() & table.duplicated(TRIAL)).to_numpy(dtype=bool)
    several = bool(placed.mean() > SHARED)
    keep = ~placed if not several else np.ones(len(table), dtype=bool)
    condition = table["condition"].to_numpy(dtype=object)
    versus = table["versus_condition"].to_numpy(dtype=object)
    if family.in_pairs:
        condition = condition + np.where(versus != "", " – ", "") + versus
    return Reasons(
        family=family,
        table=table[keep],
        condition=condition[keep],
        rater=family.rater[keep],
        item=family.item[keep],
        several=several,
    )


def reasons_content(reasons: Reasons) -> Content:
    """How many ratings have a reason, per condition; and what experts said of them."""
    title, length = reasons.title, reasons.lengths
    has = length > 0
    coded = reasons.coded
    rows = []
    for name in sorted(set(reasons.condition.tolist())):
        mine = reasons.condition == name
        rows.append(
            WrittenRow(
                condition=name,
                n_ratings=int(mine.sum()),
                n_with_reason=int((mine & has).sum()),
                share=float(has[mine].mean()),
                n_raters=len(np.unique(reasons.rater[mine & has])),
                characters=float(np.median(length[mine & has])) if (mine & has).any() else None,
                n_coded=int((mine & coded).sum()),
            )
        )
    sentences = []
    if has.any():
        sentences.append(
            f"{family_prefix(title)}{has.mean():.0%} of {len(has)} ratings have a reason, of "
            f"{np.median(length[has]):.0f} characters in the median."
        )
    if not coded.any():
        sentences.append(NO_CODES)
    warnings = []
    if reasons.several:
        warnings.append(
            f"{family_prefix(title)}one reason stands for several clips of a trial, so it cannot "
            "be counted per condition or label."
        )
    table = Table.from_rows(WrittenRow, "reasons", "Reasons", rows, about=title, folded=True)
    return Content(sentences, tables=[table, *_verdicts(reasons)], warnings=warnings)


def _verdicts(reasons: Reasons) -> Sequence[Table]:
    """The verdicts of the column review, counted per condition."""
    review = reasons.table["review"].to_numpy(dtype=object)
    verdicts = sorted(set(review.tolist()) - {""})
    if not verdicts or reasons.several:
        return []
    columns = [Column("condition", "Condition"), Column("n_reviewed", "Reviewed", "count")]
    columns += [Column(f"share_{verdict}", verdict, "percent") for verdict in verdicts]
    rows = []
    for name in sorted(set(reasons.condition.tolist())):
        mine = review[(reasons.condition == name) & (review != "")]
        row: dict[str, Any] = {"condition": name, "n_reviewed": len(mine)}
        for verdict in verdicts:
            row[f"share_{verdict}"] = float((mine == verdict).mean()) if len(mine) else None
        rows.append(row)
    note = "Shares of the reviewed reasons that are still in the estimates."
    return [Table("verdicts", "Verdicts on reasons", columns, rows, note, about=reasons.title)]


MOST_ACROSS = 8  # columns of a table of codes by system

SHARES_METHODS = (
    "Codes of justifications are shown as the share of a {what}'s coded reasons that hold the "
    "code, with two-way clustered intervals over raters and items."
)


SHARES_NOTE = (
    "Share of the coded reasons of a {what}; a reason may hold several codes. Whose codes they "
    "are, and how well coders agree, is not in the ratings."
)


@table_row
class CodeRow:
    """A code in one system or condition: its share of the coded reasons."""

    code: str = column("Code")
    condition: str = column("{What}")
    share: float = column("Share", "percent")
    share_low: float | None
    share_high: float | None
    share_percent_low: float | None = column("Interval, %", "interval", 1, key="share_percent")
    share_percent_high: float | None
    level: float
    made_by: str
    n_with_code: int = column("With it", "count")
    n_reasons: int = column("Coded reasons", "count")
    n_raters_using: int = column("Raters using it", "count")
    note: str = column("Note")


def codes_by_system(reasons: Reasons, inputs: PartInput) -> Content:
    """Each code's share in each system (condition where not all have one); nothing without codes.

    Systems and conditions stand in the study's order.
    """
    coded = reasons.coded
    if not coded.any() or reasons.several:
        return Content()
    what, names_of_rows = "condition", reasons.condition
    systems = reasons.table["system"].to_numpy(dtype=object)
    if not reasons.family.in_pairs and bool((systems != "").all()):
        what, names_of_rows = "system", systems
    names = inputs.ordered(what, names_of_rows[coded].tolist())
    rows = code_rows(reasons, coded, names, names_of_rows, inputs.options.level)
    every = _table_of_codes("codes", what, rows, reasons.title)
    title = f"Codes of reasons per {what}"
    return Content(
        sentences=[_shares_sentence(reasons.title, rows, names, what)],
        figures=[_figure(title, rows, reasons.title, what)],
        tables=[*_across(rows, names, title, every.note, reasons.title), every],
        methods=[SHARES_METHODS.format(what=what)],
    )


def _table_of_codes(key: str, what: str, rows: Sequence[CodeRow], about: str) -> Table:
    title = f"Codes of reasons per {what}, with intervals"
    columns = columns_of(CodeRow, What=what.capitalize())
    note = SHARES_NOTE.format(what=what)
    return Table.from_rows(
        CodeRow, key, title, rows, columns=columns, note=note, about=about, folded=True
    )


def _across(
    rows: Sequence[CodeRow], names: Sequence[str], title: str, note: str, about: str
) -> list[Table]:
    """A code a row, a system a column: as a paper prints it; none where a page is too narrow."""
    if len(names) > MOST_ACROSS:
        return []
    row_of: dict[str, dict[str, Any]] = {}
    for row in rows:
        row_of.setdefault(row.code, {"code": row.code})[f"in {row.condition}"] = row.share
    reasons = {row.condition: row.n_reasons for row in rows}
    columns = [Column("code", "Code")]
    columns += [Column(f"in {name}", name, "percent") for name in names]
    counts = ", ".join(f"{condition_span(name)} {reasons[name]:,}" for name in names)
    note = f"{note} Coded reasons: {counts}."
    return [Table("codes-across", title, columns, list(row_of.values()), note, about)]


def code_rows(
    reasons: Reasons, coded: np.ndarray, names: Sequence[str], named: np.ndarray, level: float
) -> list[CodeRow]:
    """A row per code and system, the most frequent code first; ``named`` (n,) are the systems."""
    rater, item = reasons.rater[coded], reasons.item[coded]
    place_of = {name: place for place, name in enumerate(names)}
    condition = np.array([place_of[name] for name in named[coded].tolist()], dtype=np.int64)
    table = code_table(reasons.table["codes"][coded].tolist(), rater)
    has = table.has.toarray()
    rows: list[CodeRow] = []
    for number in np.argsort(-table.n_reasons, kind="stable").tolist():
        y = np.asarray(has[:, number], dtype=np.float64)
        means = clustered(y, condition, rater, item, len(names), ends=(0.0, 1.0))
        two_way = two_way_intervals(means, level)
        for place, name in enumerate(names):
            mine = condition == place
            bounds, note = two_way[place]
            in_percent = bounds and (bounds[0] * 100, bounds[1] * 100)
            rows.append(
                CodeRow(
                    code=table.terms[number],
                    condition=name,
                    share=float(means.value[place]),
                    **bounds_cells("share", bounds),
                    **bounds_cells("share_percent", in_percent),
                    level=level,
                    made_by=TWO_WAY,
                    n_with_code=int(y[mine].sum()),
                    n_reasons=int(mine.sum()),
                    n_raters_using=len(np.unique(rater[mine & (y > 0)])),
                    note=note,
                )
            )
    return rows


def _shares_sentence(
    title: str, rows: Sequence[CodeRow], conditions: Sequence[str], what: str
) -> str:
    most = []
    for name in conditions[:12]:
        mine = [row for row in rows if row.condition == name]
        top = max(mine, key=lambda row: (row.share, row.code))
        most.append(f"{condition_span(name)} {top.code} ({top.share:.0%})")
    return f"{family_prefix(title)}the most frequent code is, by {what}: {'; '.join(most)}."


def _figure(title: str, rows: Sequence[CodeRow], about: str, what: str) -> Figure:
    cells = [
        {
            "row": row.code,
            "column": row.condition,
            "value": row.share,
            "text": f"{row.share * 100:.0f}",
        }
        for row in rows
    ]
    return Figure(
        "codes",
        title,
        "heatmap",
        cells,
        x=what.capitalize(),
        y="Code",
        ends=(0.0, max(row.share for row in rows) or 1.0),
        note=f"Percent of the {what}'s coded reasons.",
        about=about,
    )


MOST_PAIRS = 30
TOGETHER_FEWEST = 3  # reasons that hold both


@table_row
class PairRow:
    """Two codes that stand together: how often, and how often that would be by chance."""

    code: str = column("Code")
    other: str = column("And")
    n_both: int = column("Reasons with both", "count")
    n_by_chance: float = column("By chance", "number", 1)
    share_of_code: float = column("Of the first", "percent")
    share_of_other: float = column("Of the second", "percent")


def codes_by_dimension(reasons: Reasons, inputs: PartInput) -> Content:
    """Each code's share in each dimension; nothing where there are no two dimensions with codes."""
    dimension = reasons.table["dimension"].to_numpy(dtype=object)
    coded = reasons.coded & (dimension != "")
    names = inputs.ordered("dimension", dimension[coded].tolist())
    if len(names) < 2 or reasons.several:
        return Content()
    rows = code_rows(reasons, coded, names, dimension, inputs.options.level)
    return Content(tables=[_table_of_codes("codes-by-dimension", "dimension", rows, reasons.title)])


def codes_together(reasons: Reasons) -> Content:
    """Pairs of codes of one reason, those first that stand together most often."""
    coded = reasons.coded
    if not coded.any() or reasons.several:
        return Content()
    rows = _pairs(reasons.table["codes"][coded].tolist(), reasons.rater[coded])
    if not rows:
        return Content()
    note = (
        f"Pairs in {TOGETHER_FEWEST} reasons or more, at most {MOST_PAIRS}. By chance: the product "
        "of both shares, if codes had nothing to do with each other."
    )
    title = "Codes that stand together in a reason"
    table = Table.from_rows(
        PairRow, "codes-together", title, rows, note=note, about=reasons.title, folded=True
    )
    return Content(tables=[table])


def _pairs(codes: Sequence[str], rater: np.ndarray) -> list[PairRow]:
    table = code_table(codes, rater)
    both = np.asarray((table.has.T @ table.has).toarray(), dtype=np.int64)
    alone, n = np.diag(both), len(codes)
    counted_pairs = [
        (int(both[a, b]), a, b)
        for a in range(len(alone))
        for b in range(a + 1, len(alone))
        if both[a, b] >= TOGETHER_FEWEST
    ]
    counted_pairs.sort(key=lambda pair: (-pair[0], table.terms[pair[1]], table.terms[pair[2]]))
    return [
        PairRow(
            code=table.terms[a],
            other=table.terms[b],
            n_both=count,
            n_by_chance=float(alone[a] * alone[b] / n),
            share_of_code=float(count / alone[a]),
            share_of_other=float(count / alone[b]),
        )
        for count, a, b in counted_pairs[:MOST_PAIRS]
    ]


TERMS_SHOWN = 12  # words per label in the short table
DRAWN = 8
NAMED = 5
FALSE_SHARE = 0.05  # of what is called telling, at most, in the long run
FEWEST = 20  # reasons
MOST_REASONS = 40_000
TELLING_FROM = math.log(1.5)
REPEATED = 0.8  # of a word's reasons; more that hold another word, and it tells nothing new
COLUMNS = (
    Column("label", "Label"),
    Column("term", "Word"),
    Column("share", "With this label", "percent"),
    Column("other_share", "With others", "percent"),
    Column("log_odds", "Log-odds", "number", 2, sign=True),
    Column("interval", "Interval", "interval", 2),
    Column("p_bh", "p (BH)", "p"),
    Column("n_reasons", "Reasons", "count"),
    Column("n_raters", "Raters", "count"),
)
TERMS_NOTE = (
    "With this label, with others: share of the reasons that hold the word. Log-odds above 0: more "
    f"often with this label, shrunk by a prior of {PRIOR:g} reasons. p: over all words and labels "
    "(Benjamini-Hochberg). A word goes with a label; it need not be why raters chose it."
)
SHORTENED = (
    f"Up to {TERMS_SHOWN} of each label, with p below {FALSE_SHARE:g} and odds of 1.5 or more, "
    "without words that mostly occur with one above. The table of all words has the rest."
)
METHODS = (
    "Words and codes of justifications are tied to labels by the log-odds ratio with an "
    f"informative prior (after {citation('monroe2008')}), counted per reason, with the larger of "
    "the model's variance and that clustered over raters and items, and Benjamini-Hochberg over "
    f"all words and labels. Words used by fewer than {FEWEST_RATERS} raters or in fewer than "
    f"{FEWEST_REASONS} reasons, and all but the {MOST_TERMS} of most raters, are excluded. In "
    "languages without spaces, runs of two and three characters stand for words."
)


def words_by_label(reasons: Reasons, options: Options) -> Content:
    """The words of reasons against the labels of one family."""
    title, has = reasons.title, reasons.lengths > 0
    if reasons.several or not has.any():
        return Content()
    if has.sum() < FEWEST:
        return Content(
            [
                f"{family_prefix(title)}{has.sum()} reasons are too few to compare the words of "
                "labels."
            ]
        )
    cut = ""
    if has.sum() > MOST_REASONS:
        cut = f" These are the words of {MOST_REASONS} of {has.sum()} reasons, drawn by chance."
        has = drawn_rows(has, options.seed)
    groups = label_groups(reasons.table[has], reasons.family.estimand)
    if groups.why_not:
        return Content([f"{family_prefix(title)}words cannot be tied to labels: {groups.why_not}."])
    table = term_table(reasons.table["justification"][has].tolist(), reasons.rater[has])
    if not table.terms:
        return Content(
            [f"{family_prefix(title)}no word is used by {FEWEST_RATERS} raters or more."]
        )
    rows = term_associations(reasons, has, table, groups, options.level)
    clear = list(most_telling(rows, table))
    heading = "Most telling words of each label"
    return Content(
        sentences=[_sentence(title, groups.names, clear, len(table.terms)) + cut],
        figures=_figures("words", heading, clear, title),
        tables=[
            _table("words", heading, clear, f"{TERMS_NOTE} {SHORTENED}", title, folded=False),
            _table("all-words", "All words by label", rows, TERMS_NOTE, title),
        ],
        methods=[METHODS],
    )


def drawn_rows(has: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    """As many of the reasons as can be read in seconds, drawn without replacement."""
    drawn = np.random.default_rng(seed).choice(np.flatnonzero(has), MOST_REASONS, replace=False)
    rows = np.zeros(len(has), dtype=bool)
    rows[drawn] = True
    return rows


def codes_by_label(reasons: Reasons, level: float) -> Content:
    """The codes of reasons against the labels of one family."""
    has = reasons.coded
    if reasons.several or has.sum() < FEWEST:
        return Content()
    groups = label_groups(reasons.table[has], reasons.family.estimand)
    if groups.why_not:
        return Content(
            [f"{family_prefix(reasons.title)}codes cannot be tied to labels: {groups.why_not}."]
        )
    table = code_table(reasons.table["codes"][has].tolist(), reasons.rater[has])
    rows = term_associations(reasons, has, table, groups, level)
    key, heading = "codes-by-label", "Codes by label"
    note = TERMS_NOTE.replace("word", "code").replace("Words", "Codes")
    return Content(
        figures=_figures(key, heading, rows, reasons.title),
        tables=[_table(key, heading, rows, note, reasons.title, term="Code")],
        methods=[METHODS],
    )


def term_associations(
    reasons: Reasons, has: NDArray[np.bool_], table: TermTable, groups: Groups, level: float
) -> list[TermLogOdds]:
    """Every term of those reasons against every label, the most telling of each first."""
    rater, item = reasons.rater[has], reasons.item[has]
    return term_log_odds(table, groups.code, groups.names, rater, item, level=level)


def most_telling(rows: Sequence[TermLogOdds], table: TermTable) -> Iterator[TermLogOdds]:
    """Of each label the first that are clear and matter, but for those that mostly repeat another.

    It matters from odds of 1.5 to 1; it repeats where four of five of its reasons hold a word that
    came before.
    """
    holding = reasons_holding(table)
    before: dict[str, list[Codes]] = {}
    for row in rows:
        others = before.setdefault(row.label, [])
        if row.log_odds < TELLING_FROM or row.p_bh >= FALSE_SHARE or len(others) >= TERMS_SHOWN:
            continue
        mine = holding(row.term)
        if not any(np.isin(mine, other).mean() > REPEATED for other in others):
            others.append(mine)
            yield row


def reasons_holding(table: TermTable) -> Callable[[str], Codes]:
    """Gives the reasons that hold a term, as places in the table."""
    columns, place = table.has.tocsc(), {term: number for number, term in enumerate(table.terms)}

    def places(term: str) -> Codes:
        start, end = columns.indptr[place[term] : place[term] + 2]
        return np.asarray(columns.indices[start:end])

    return places


def _sentence(title: str, names: Sequence[str], clear: Sequence[TermLogOdds], tried: int) -> str:
    most = []
    for name in names:
        mine = [row.term for row in clear if row.label == name][:NAMED]
        most.append(f"{name}: {', '.join(mine) if mine else 'none'}")
    return f"{family_prefix(title)}the most telling of {tried} words, by label: {'; '.join(most)}."


def _table(
    key: str,
    title: str,
    rows: Sequence[TermLogOdds],
    note: str,
    about: str,
    term: str = "Word",
    folded: bool = True,
) -> Table:
    columns = [replace(c, heading=term) if c.key == "term" else c for c in COLUMNS]
    return Table(key, title, columns, [row.row() for row in rows], note, about, folded)


def _figures(key: str, title: str, rows: Sequence[TermLogOdds], about: str) -> list[Figure]:
    drawn: list[dict[str, Any]] = []
    for label in dict.fromkeys(row.label for row in rows):
        mine = [row for row in rows if row.label == label and row.log_odds > 0][:DRAWN]
        drawn += [
            {"name": row.term, "value": row.log_odds, "low": row.low, "high": row.high}
            | {"group": label}
            for row in mine
        ]
    x = "Log-odds: more often with this label"
    figure = Figure(key, title, "intervals", drawn, x=x, at=(0.0,), about=about)
    return [figure] if drawn else []


SHOWN = 5  # reasons per label
NOTE = (
    "The shortest reason with each of the label's most telling words, every one by another rater. "
    "Reasons are people's own words: read them before you pass them on."
)


@table_row
class Example:
    """A reason word for word, with the telling word that it holds."""

    label: str = column("Label")
    condition: str = column("System")
    reason: str = column("Reason")
    term: str = column("Telling word")


class ExampleReasons(FamilyPart):
    """Reasons word for word, a few of each label: what its most telling words stand in."""

    key = "example_reasons"
    version = "1"
    title = "Reasons in raters' own words"
    order = 79  # before the statistics of words
    sampled = True

    def applies(self, inputs: PartInput) -> bool:
        return bool((inputs.ratings["justification"] != "").any())

    def families(self, inputs: PartInput) -> Iterable[Family]:
        return (*families(inputs.ratings), *labelled_families(inputs.ratings))

    def of_family(self, each: FamilyInput) -> Content:
        reasons = reasons_of(each.family)
        has = reasons.lengths > 0
        if reasons.several or has.sum() < FEWEST:
            return Content()
        if has.sum() > MOST_REASONS:
            has = drawn_rows(has, each.inputs.options.seed)
        groups = label_groups(reasons.table[has], each.family.estimand)
        if groups.why_not:
            return Content()
        rows = list(_examples(reasons, has, groups, each.level))
        table = Table.from_rows(Example, "examples", self.title, rows, note=NOTE, about=each.title)
        return Content(tables=[table])


def _examples(
    reasons: Reasons, has: NDArray[np.bool_], groups: Groups, level: float
) -> Iterator[Example]:
    """Of each telling word the shortest reason, every one by another rater."""
    texts = reasons.table["justification"].to_numpy(dtype=object)
    table = term_table(texts[has].tolist(), reasons.rater[has])
    holding, places = reasons_holding(table), np.flatnonzero(has)
    raters: set[int] = set()
    count: Counter[str] = Counter()
    for row in most_telling(term_associations(reasons, has, table, groups, level), table):
        holds = holding(row.term)
        mine = places[holds[groups.code[holds] == groups.names.index(row.label)]]
        free = [int(at) for at in mine if int(reasons.rater[at]) not in raters]
        if count[row.label] < SHOWN and free:
            at = min(free, key=lambda at: (len(texts[at]), texts[at], at))
            raters.add(int(reasons.rater[at]))
            count[row.label] += 1
            yield Example(row.label, str(reasons.condition[at]), texts[at], row.term)
