"""The labels that reasons are told apart by: as given, or scores put together into few groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.ratings.estimands import estimand_of
from analysis.statistics.pairs.pair_ratings import HEARD_SECOND

if TYPE_CHECKING:
    import pandas as pd

MOST_LABELS = 5
LONGEST = 40  # characters of a label; longer ones are answers in words
FIRST_OR_SECOND = ("the second is better", "no difference", "the first is better")


@dataclass(frozen=True)
class Groups:
    """For each of D ratings its group (D,), a code of ``names``; or why there are none."""

    names: tuple[str, ...]
    code: Codes
    why_not: str = ""


def label_groups(table: pd.DataFrame, estimand: str) -> Groups:
    """The groups of a family's ratings (rows of the table).

    Up to five labels as they are, from the highest score down; more are put into three groups of
    scores about as large; comparisons by which clip was heard as better, the first or the second.
    ``why_not`` is said where that cannot be: one label only, an unknown order of the clips.
    """
    score = table["score"].to_numpy(dtype=np.float64)
    label = table["label"].to_numpy(dtype=object)
    known = estimand_of(estimand)
    if known.prefers and (table["versus_condition"] != "").any():
        return _by_side(table, known.centred(score))
    if known.discriminates:
        words = [known.answers.get(each, f"{each:g}") for each in score.tolist()]
        return _chosen(np.asarray(words, dtype=object), score)
    distinct = set(label.tolist())
    named = "" not in distinct and max(map(len, distinct), default=0) <= LONGEST
    if named and len(distinct) <= MOST_LABELS:
        return _chosen(label, score)
    if known.maybe_without_score or np.isnan(score).any():
        return Groups((), np.empty(0, dtype=np.int64), "there are too many different answers")
    return _by_score(score)


def _chosen(label: np.ndarray, score: Floats) -> Groups:
    mean = {}
    for name in sorted(set(label.tolist())):
        known = score[label == name]
        known = known[~np.isnan(known)]
        mean[name] = float(known.mean()) if len(known) else 0.0
    names = sorted(mean, key=lambda name: (-mean[name], name))
    place = {name: number for number, name in enumerate(names)}
    return _groups(names, np.array([place[each] for each in label.tolist()], dtype=np.int64))


def _by_score(score: Floats) -> Groups:
    """Three groups about as large, from the highest scores down; two where scores are few."""
    edges = np.unique(np.quantile(score, [1 / 3, 2 / 3], method="higher"))
    edges = edges[edges < score.max()]
    group = np.searchsorted(edges, score, side="left")
    names = []
    for code in range(len(edges), -1, -1):
        held = score[group == code]
        low, high = float(held.min()), float(held.max())
        names.append(f"{low:g}" if low == high else f"{low:g} to {high:g}")
    return _groups(names, (len(edges) - group).astype(np.int64))


def _by_side(table: pd.DataFrame, y: Floats) -> Groups:
    order = table["presented_first"].map(HEARD_SECOND)
    if order.isna().any():
        why = "which clip was heard first is not known, and reasons say first and second"
        return Groups((), np.empty(0, dtype=np.int64), why)
    better = np.sign(y) * order.to_numpy(dtype=np.float64)  # 1: the second is better
    return _groups(list(FIRST_OR_SECOND), (1 - better).astype(np.int64))


def _groups(names: list[str], code: Codes) -> Groups:
    held = np.unique(code)
    if len(held) < 2:
        return Groups((), code, "all answers are alike")
    place = np.zeros(len(names), dtype=np.int64)
    place[held] = np.arange(len(held))
    return Groups(tuple(names[number] for number in held), place[code])
