"""A table taken apart: families of ratings that belong together, and the cells of a breakdown."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from analysis.arrays import Bools, Codes, Floats
from analysis.ratings.estimands import estimand_of, family_title, keys_where
from analysis.ratings.grouping import UNASKED, Breakdown
from analysis.ratings.reference import anchors_of, reference_of, roles_of
from analysis.ratings.table import rated


@dataclass(frozen=True)
class Family:
    """The ratings of one task, criterion and estimand, with raters and items as codes (n,)."""

    table: pd.DataFrame
    group: dict[str, str]
    estimand: str
    rater: Codes
    item: Codes
    n_raters: int
    n_items: int

    @property
    def title(self) -> str:
        """What it is about, for headings: estimand, study, task and criterion."""
        return family_title({"estimand": self.estimand, **self.group})

    @cached_property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the scale that its scores are on; None where none are known."""
        y = self.table["score"].to_numpy(dtype=np.float64)
        if not len(y) or np.isnan(y).any():
            return None
        return estimand_of(self.estimand).scale_for(float(y.min()), float(y.max()))

    @property
    def in_pairs(self) -> bool:
        """Whether its scores are about two clips and say which."""
        named = (self.table["versus_condition"] != "").any()
        return estimand_of(self.estimand).in_pairs and bool(named)

    def seed(self, seed: int) -> list[int]:
        """The seed of this family's random numbers: the same whatever else the table holds."""
        name = "\x1f".join([*self.group.values(), self.estimand])
        return [seed, zlib.crc32(name.encode())]


@dataclass(frozen=True)
class Cell:
    """The ratings whose conditions are compared with one another: scores and codes (n,)."""

    group: dict[str, str]
    names: list[str]
    y: Floats
    labels: list[str]
    scoreless: bool  # labels only: y holds no number
    condition: Codes
    rater: Codes
    item: Codes
    roles: Mapping[str, str] = field(default_factory=dict)  # of conditions, where the table tells
    ends: tuple[float, float] | None = None  # of the scale of y

    def roles_of(self, named_reference: str = "") -> tuple[str, frozenset[str]]:
        """The reference among the names (empty: none; the one named, if any), and the anchors."""
        reference = reference_of(self.names, named_reference, self.roles).name
        return reference, anchors_of(self.names, self.roles) - {reference}


def default_breakdowns(table: pd.DataFrame) -> list[Breakdown]:
    """Overall, by each column that varies within conditions, and by system where that pools."""
    use = rated(table)
    breakdowns = [Breakdown()]
    vary = [name for name in UNASKED if use[name].nunique() > 1]
    breakdowns += [Breakdown(by=(name,)) for name in vary if _has_several(use, "condition", name)]
    if _has_several(use, "system", "condition"):
        breakdowns.append(Breakdown("system"))
        breakdowns += [Breakdown("system", (name,)) for name in vary]
    return breakdowns


def _has_several(table: pd.DataFrame, column: str, name: str) -> bool:
    """Whether a value of a column goes with several texts of another; empty ones do not count."""
    named = table.loc[(table[column] != "") & (table[name] != ""), [column, name]]
    return bool(named.groupby(column)[name].nunique().gt(1).any())


def families(table: pd.DataFrame) -> Iterator[Family]:
    """The table's tasks, criteria and estimands, kept apart; traps and empty scores left out."""
    return _families(rated(table))


def labelled_families(table: pd.DataFrame) -> Iterator[Family]:
    """As `families`, but of answers that have a label and no score."""
    bare = table["score"].isna() & (table["label"] != "") & (table["trap"] == "")
    if not bare.any():
        return iter(())
    return _families(table[bare & table["estimand"].isin(keys_where("maybe_without_score"))])


def _families(use: pd.DataFrame) -> Iterator[Family]:
    for key, rows in _groups(use, ["study", "task", "method", "criterion", "estimand"]):
        study, task, _, criterion, estimand = key
        group = {"study": study} if use["study"].nunique() > 1 else {}
        rater, raters = coded_column(rows["rater"])
        item, items = coded_column(items_of(rows))
        yield Family(
            table=rows,
            group={**group, "task": task, "criterion": criterion},
            estimand=estimand,
            rater=rater,
            item=item,
            n_raters=len(raters),
            n_items=len(items),
        )


def _groups(table: pd.DataFrame, names: list[str]) -> Iterator[tuple[list[str], pd.DataFrame]]:
    """The rows by their texts in these columns; all at once where they do not differ."""
    values = [table[name].unique().tolist() for name in names]
    if all(len(each) == 1 for each in values):  # a hundred times as often as not, and much quicker
        yield [str(value) for (value,) in values], table
        return
    for key, rows in table.groupby(names, sort=True):
        yield [str(value) for value in key], rows


def items_of(rows: pd.DataFrame) -> pd.Series:
    """Return what each rating (n,) is about: the clip where no text is named."""
    items = rows["item"]
    return items.where(items != "", rows["stimulus"]) if "" in items.unique() else items


def names_rated(rows: pd.DataFrame, column: str) -> set[str]:
    """Return the conditions (or stimuli) that ratings are about; of comparisons both sides."""
    both = rows["estimand"].isin(keys_where("in_pairs"))
    return {*rows[column].unique(), *rows.loc[both, f"versus_{column}"].unique()} - {""}


def cells(family: Family, breakdown: Breakdown) -> Iterator[Cell]:
    """The family's ratings by the breakdown's crossing, each with its conditions as codes."""
    table = family.table.reset_index(drop=True)
    by = [*(["versus_condition"] if family.in_pairs else []), *breakdown.by]
    named = (table[breakdown.compare] != "").to_numpy(dtype=bool)
    places: list[tuple[tuple[str, ...], Codes]] = [((), np.flatnonzero(named))]
    if by:
        grouped = table.loc[named, by].groupby(by, sort=True)
        places = [(tuple(map(str, key)), rows.index.to_numpy()) for key, rows in grouped]
    roles = roles_of(family.table) if breakdown.compare == "condition" else {}
    for key, rows in places:
        if len(rows):
            group = dict(zip(by, key, strict=True))
            yield _cell(family, table, breakdown.compare, group, rows, roles)


def _cell(
    family: Family,
    table: pd.DataFrame,
    compare: str,
    group: dict[str, str],
    rows: Codes,
    roles: Mapping[str, str],
) -> Cell:
    condition, names = coded_column(table[compare].take(rows))
    rater, item = family.rater, family.item
    if len(rows) < len(table):
        rater, item = rater[rows], item[rows]
    return Cell(
        group={**family.group, **group},
        names=names,
        y=table["score"].to_numpy(dtype=np.float64)[rows],
        scoreless=bool(table["score"].isna().to_numpy()[rows].all()),
        labels=table["label"].take(rows).tolist(),
        condition=condition,
        rater=rater,
        item=item,
        roles=roles,
        ends=family.ends,
    )


def coded_column(column: pd.Series) -> tuple[Codes, list[str]]:
    """Codes (n,) from 0 of a column's values in sorted order, and these values."""
    codes, names = pd.factorize(column, sort=True)
    return codes.astype(np.int64), [str(name) for name in names]


MOST_LABELS = 11
LONGEST_LABEL = 80  # longer answers are text
JOINT = "|"  # between the labels of an answer that holds several


def countable(answers: Iterable[str]) -> bool:
    """Whether there are few and short enough different choices to count their shares."""
    labels = {label for answer in set(answers) for label in answer.split(JOINT)}
    return len(labels) <= MOST_LABELS and all(len(label) <= LONGEST_LABEL for label in labels)


def labels_in_order(cell: Cell, estimand: str) -> list[tuple[str, Bools]]:
    """(label, whether each answer of the cell holds it), the highest score or most chosen first.

    For comparisons the labels are the scores: raters label the second clip against the first, and
    which condition came second differs from trial to trial. None where there are too many.
    """
    if cell.scoreless:
        return _chosen(cell.labels)
    answers = cell.labels
    if not any(answers) and "versus_condition" not in cell.group:
        return []  # scores alone were kept, as of sliders
    if "versus_condition" in cell.group:
        words = estimand_of(estimand).answers
        answers = [words.get(y, f"{y + 0.0:g}") for y in cell.y.tolist()]  # no label says -0
    code, names = pd.factorize(np.asarray(answers, dtype=object), use_na_sentinel=False)
    highest = np.full(len(names), -np.inf)
    np.maximum.at(highest, code, cell.y)
    labels = np.argsort(-highest, kind="stable").tolist()
    if len(labels) > MOST_LABELS:
        return []
    return [(str(names[label]), code == label) for label in labels]


def _chosen(answers: list[str]) -> list[tuple[str, Bools]]:
    if not countable(answers):
        return []
    sets = [frozenset(answer.split(JOINT)) for answer in answers]
    counts = Counter(label for chosen in sets for label in chosen)
    labels = sorted(counts, key=lambda label: (-counts[label], label))
    return [(label, np.array([label in chosen for chosen in sets])) for label in labels]
