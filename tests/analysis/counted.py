"""Ratings made by hand, and every count and mean that a paper prints of them, by plain Python.

Nothing of the product's arithmetic is used here: what files and pages say is compared with this.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean, median
from typing import Any

from analysis.ratings.estimands import estimand_of_method
from listening.methods import Estimand, Method
from tests.analysis.reference import BLANK

Row = dict[str, Any]
SYSTEMS = ("sysA", "sysB", "human")
ROLES = {"human": "reference", "anchor": "anchor"}
LOST = ("withdrawn", "rejected")
LEVELS = {"human": 0.95, "sysA": 0.7, "sysB": 0.45, "anchor": 0.1}
WORDS = ("clean", "hiss", "buzz")
CASES = ("closed", "everything", "open")


def level_of(name: str) -> float:
    """How good a condition is, from 0 to 1; of one of a preset by its name."""
    return LEVELS.get(name, 0.3 + 0.05 * (sum(map(ord, name)) % 10))


def scale_of(method: type[Method]) -> tuple[float, float]:
    estimand = method.estimand
    if estimand.ends:
        return estimand.ends
    return (-3.0, 3.0) if estimand.signed else (1.0, 7.0)


def score_of(method: type[Method], level: float, rng: random.Random) -> float:
    """A score that the method can give, the higher the level (0 to 1) the better."""
    low, high = scale_of(method)
    noisy = min(max(level + rng.gauss(0, 0.15), 0.0), 1.0)
    value = low + noisy * (high - low)
    if method.estimand.scores:
        return min(method.estimand.scores, key=lambda each: abs(each - value))
    return float(round(value))


def ratings(method: type[Method], case: str, raters: int = 6, items: int = 4) -> list[Row]:
    """Ratings of a study with this method: ``everything`` has anchors, traps, lost sessions, and
    pairs in both directions; of ``open`` one rater is still rating."""
    rng = random.Random(f"{method.key} {case}")
    names = [*SYSTEMS, *["anchor"] * (case == "everything")]
    rows: list[Row] = []
    for r in range(raters):
        status = "finished"
        if case == "everything" and r == raters - 1:
            status = "rejected"
        if case == "open" and r == raters - 1:
            status = "started"
        about = {
            **{"rater": f"r{r}", "session": f"s{r}", "block": f"b{r}", "session_status": status},
            "rated_at": f"2026-11-01T{r:02}:00:00Z",
        }
        position = 0
        for i in range(items):
            for shown in _screens(method, case, names, i, rng):
                position += 1
                rows += [{**BLANK, **about, "position": position, **each} for each in shown]
        if case == "everything":
            rows += [trap_row(rows[-1], position + n, passed=bool(r or n)) for n in (1, 2)]
    return rows


def answers(
    method: type[Method], names: list[str], items: int, rng: random.Random
) -> Iterator[Row]:
    """What a rater answers of some items, rating by rating."""
    for item in range(items):
        for shown in _screens(method, "closed", names, item, rng):
            yield from shown


def _screens(
    method: type[Method], case: str, names: list[str], item: int, rng: random.Random
) -> Iterator[list[Row]]:
    """What one rater answers of one item, screen by screen."""
    key, estimand = method.key, method.estimand
    about = {"method": key, "estimand": estimand.key, "item": f"i{item}"}
    if estimand.in_pairs:
        for a, b in combinations(names, 2):
            turned = case == "everything" and rng.random() < 0.4
            one, other = (b, a) if turned else (a, b)
            level = 0.5 + (level_of(one) - level_of(other)) / 2
            level = 0.5 + abs(level - 0.5) if estimand.discriminates else level
            yield [
                {
                    **about,
                    **{"condition": one, "versus_condition": other},
                    **{"stimulus": f"{one}-{item}", "versus_stimulus": f"{other}-{item}"},
                    "presented_first": rng.choice(["rated", "versus"]),
                    "score": score_of(method, level, rng),
                }
            ]
        return
    together = [{**about, **_of_condition(name, item)} for name in names]
    if estimand.maybe_without_score:
        for row in together:
            row |= {"label": rng.choice(WORDS), "score": None}
    elif estimand.in_places:
        places = sorted(names, key=lambda name: -level_of(name) + rng.gauss(0, 0.3))
        for row in together:
            row["score"] = 1.0 + places.index(row["condition"])
    elif estimand.best_and_worst:
        heard = {
            row["condition"]: level_of(row["condition"]) + rng.gauss(0, 0.3) for row in together
        }
        for row in together:
            own = heard[row["condition"]]
            row["score"] = float((own == max(heard.values())) - (own == min(heard.values())))
    else:
        for row in together:
            row["score"] = score_of(method, level_of(row["condition"]), rng)
    several = key in ("best_worst", "mushra", "rank")
    yield from [together] if several else [[row] for row in together]


def _of_condition(name: str, item: int) -> Row:
    return {"condition": name, "role": ROLES.get(name, "test"), "stimulus": f"{name}-{item}"}


def trap_row(row: Row, position: int, passed: bool) -> Row:
    """The answer of the same rater to a trap."""
    trap = {"trap": "attention", "trap_passed": passed, "counts": False, "role": ""}
    return {**row, **trap, "position": position, "stimulus": f"trap-{position}"}


@dataclass(frozen=True)
class Group:
    """The ratings of one condition, or of one pair seen from the side that is named first."""

    scores: tuple[float, ...]
    raters: frozenset[str]
    items: frozenset[str]
    by_rater: tuple[float, ...] = field(default=())  # the mean of each rater, in any order

    @property
    def n(self) -> tuple[int, int, int]:
        return len(self.scores), len(self.raters), len(self.items)

    @property
    def mean(self) -> float:
        return fmean(self.scores)


class Count:
    """Everything that is counted of rows: all of them, or those of raters who have finished."""

    def __init__(self, rows: Iterable[Row], finished_only: bool = False) -> None:
        every = list(rows)
        self.traps = sum(row["trap"] != "" for row in every)
        rated = [row for row in every if row["trap"] == ""]
        self.given = len(rated)
        self.kept = [row for row in rated if row["session_status"] not in LOST]
        self.left_out = self.given - len(self.kept)
        self.estimand: Estimand = estimand_of_method(every[0]["method"])
        self.used = self.kept
        if finished_only:
            self.used = [row for row in self.kept if row["session_status"] == "finished"]
        self.finished = len(
            {row["rater"] for row in self.kept if row["session_status"] == "finished"}
        )
        self.raters = len({row["rater"] for row in self.kept})
        self.items = len({row["item"] for row in self.kept})
        self.conditions = len(self._both("condition"))
        self.clips = len(self._both("stimulus"))

    def _both(self, column: str) -> set[str]:
        sides = {row[column] for row in self.kept}
        if self.estimand.in_pairs:
            sides |= {row[f"versus_{column}"] for row in self.kept}
        return sides

    @property
    def ratings_per_rater(self) -> float:
        return median(self._sizes("rater"))

    @property
    def ratings_per_clip(self) -> float:
        if not self.estimand.in_pairs:
            return median(self._sizes("stimulus"))
        sizes: dict[frozenset[str], int] = defaultdict(int)
        for row in self.kept:
            sizes[frozenset((row["stimulus"], row["versus_stimulus"]))] += 1
        return median(sizes.values())

    def _sizes(self, column: str) -> list[int]:
        sizes: dict[str, int] = defaultdict(int)
        for row in self.kept:
            sizes[row[column]] += 1
        return list(sizes.values())

    def group(self, name: str, label: str = "") -> Group:
        """The ratings of a name such as "sysA", "sysA versus sysB" or, of labels, "sysA: hiss"."""
        one, _, other = name.partition(" versus ")
        found = []
        for row in self.used:
            if other:
                if {row["condition"], row["versus_condition"]} == {one, other}:
                    found.append((row, self._seen_from(one, row)))
            elif row["condition"] == one:
                found.append((row, float(row["label"] == label) if label else row["score"]))
        of: dict[str, list[float]] = defaultdict(list)
        for row, score in found:
            of[row["rater"]].append(score)
        return Group(
            tuple(score for _, score in found),
            frozenset(row["rater"] for row, _ in found),
            frozenset(row["item"] for row, _ in found),
            tuple(fmean(scores) for scores in of.values()),
        )

    def _seen_from(self, one: str, row: Row) -> float:
        score = float(row["score"])
        if row["condition"] == one or not self.estimand.prefers:
            return score
        return 2 * (self.estimand.neutral or 0.0) - score

    def difference(self, name: str) -> tuple[float, tuple[int, int, int]]:
        """One minus the other of "sysA − sysB", and the ratings, raters and items of both."""
        one, other = (self.group(side) for side in name.split(" − "))
        n = len(one.scores) + len(other.scores)
        return one.mean - other.mean, (
            n,
            len(one.raters | other.raters),
            len(one.items | other.items),
        )
