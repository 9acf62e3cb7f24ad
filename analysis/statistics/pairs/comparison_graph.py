"""Who met whom and who beat whom: groups without a common scale, and circular triads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from analysis.arrays import Codes, Floats
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.pair_ratings import PairRatings

Groups = tuple[tuple[str, ...], ...]


class Disconnected(Undefined):
    """Groups of conditions that were never compared with one another have no common scale."""

    def __init__(self, components: Groups) -> None:
        self.components = components
        groups = " | ".join(", ".join(group) for group in components)
        super().__init__(
            f"{len(components)} groups were never compared with one another ({groups}): "
            "they have no common scale and no common ranking; fit each group alone"
        )


class Infinite(Undefined):
    """The likelihood has no maximum at finite strengths; a bias-reduced fit has one."""


class Separated(Infinite):
    """Some conditions always won against the rest: their distance from them is infinite."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        super().__init__(
            f"{connection.words}: the distance is not estimable (infinite); fit each group "
            "alone, or reduce the bias (bias_reduced)"
        )


@dataclass(frozen=True)
class Connection:
    """How comparisons tie conditions together.

    ``components`` were compared, directly or over others; ``groups`` beat one another in circles
    (ties count both ways), best first where that is defined; ``wins`` (k, k) counts row beats
    column, ties as halves.
    """

    names: tuple[str, ...]
    components: Groups
    groups: Groups
    unbeaten: tuple[str, ...]
    winless: tuple[str, ...]
    wins: Floats

    @property
    def estimable(self) -> bool:
        """Whether Bradley-Terry abilities are finite (Ford 1957): one group beats in circles."""
        return len(self.groups) == 1

    @property
    def words(self) -> str:
        """What is wrong, in words; empty where nothing is."""
        return self.describe()

    def describe(self, write_name: Callable[[str], str] = str) -> str:
        """What is wrong, in words, with the names of conditions as ``write_name`` gives them."""
        if len(self.components) > 1:
            return str(Disconnected(self.components))
        phrases = [f"{write_name(name)} was never beaten" for name in self.unbeaten]
        phrases += [f"{write_name(name)} never won" for name in self.winless]
        if not self.estimable and not phrases:
            order = "; then ".join(", ".join(map(write_name, group)) for group in self.groups)
            phrases = [f"every comparison between these groups went one way, best first: {order}"]
        return "; ".join(phrases)


def wins_of(ratings: PairRatings, ties: str = "half") -> Floats:
    """Wins of row over column (k, k); ties as halves ("half") or left out ("drop")."""
    if ties not in ("half", "drop"):
        raise Undefined(f"ties are counted as half or dropped (drop), not {ties!r}")
    k = len(ratings.names)
    wins = np.zeros((k, k))
    up, down, tied = ratings.y > 0, ratings.y < 0, ratings.y == 0
    np.add.at(wins, (ratings.a[up], ratings.b[up]), 1.0)
    np.add.at(wins, (ratings.b[down], ratings.a[down]), 1.0)
    if ties == "half":
        np.add.at(wins, (ratings.a[tied], ratings.b[tied]), 0.5)
        np.add.at(wins, (ratings.b[tied], ratings.a[tied]), 0.5)
    return wins


def connection(ratings: PairRatings, ties: str = "half") -> Connection:
    """The graph of comparisons; with ties dropped, pairs that only tied count as not compared."""
    names, wins = ratings.names, wins_of(ratings, ties)
    matrix = sparse.csr_array(wins)
    together = csgraph.connected_components(matrix, directed=False)[1].astype(np.int64)
    _, strong = csgraph.connected_components(matrix, directed=True, connection="strong")
    circles = strong.astype(np.int64)
    reach = np.isfinite(csgraph.shortest_path(matrix, unweighted=True)).sum(axis=1)
    won, lost = wins.sum(axis=1) > 0, wins.sum(axis=0) > 0
    return Connection(
        names=names,
        components=_groups(names, together, -np.arange(len(names))),
        groups=_groups(names, circles, reach),
        unbeaten=tuple(name for name, w, x in zip(names, won, lost, strict=True) if w and not x),
        winless=tuple(name for name, w, x in zip(names, won, lost, strict=True) if x and not w),
        wins=wins,
    )


def require_common_scale(ratings: PairRatings, ties: str = "half") -> Connection:
    """The connection; raises Disconnected where groups never met."""
    graph = connection(ratings, ties)
    if len(graph.components) > 1:
        raise Disconnected(graph.components)
    return graph


def parts(ratings: PairRatings) -> list[PairRatings]:
    """The ratings of each component, whose conditions comparisons tie together."""
    place = {name: i for i, name in enumerate(ratings.names)}
    components = connection(ratings).components
    return [ratings.among([place[name] for name in group]) for group in components]


def _groups(names: tuple[str, ...], labels: Codes, rank: Codes) -> Groups:
    """Names by label, the group with the highest rank first."""
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    groups.sort(key=lambda members: (-int(rank[members].max()), int(members[0])))
    return tuple(tuple(names[i] for i in members) for members in groups)


BY_CHANCE = 0.25  # of three pairs decided by coin tosses


@dataclass(frozen=True)
class Triads:
    """The triads of one judge (a rater, a rater and item, or the majority of all).

    ``triads`` had all three pairs decided, ``circular`` of them go round. ``consistence`` is
    Kendall's zeta in [0, 1], for a judge who decided every pair; else it is None and ``note``
    says why. ``tied`` pairs were judged and left undecided.
    """

    judge: tuple[int, ...]
    conditions: int
    pairs: int
    tied: int
    triads: int
    circular: int
    consistence: float | None
    note: str = ""

    @property
    def share(self) -> float | None:
        """Circular among decided triads; 0.25 by chance. None where there is none."""
        return self.circular / self.triads if self.triads else None


class TriadsSummary(TypedDict):
    """All judges together, as a row of a table."""

    judges: int
    triads: int
    circular: int
    share: float | None
    share_by_chance: float
    mean_consistence: float | None
    judges_with_all_pairs: int
    note: str


def circular_triads(ratings: PairRatings, by: Sequence[str] = ("rater",)) -> list[Triads]:
    """The triads of each judge: by ("rater",), ("rater", "item"), ("item",), or () for all.

    A judge's several ratings of a pair are summed; the sign of the sum decides. Kendall and
    Babington Smith (1940): d circular triads of at most (k³ - k)/24 (k odd) or (k³ - 4k)/24
    (k even); zeta = 1 - d / most. ``judge`` holds the codes of rater or item, in the order of
    ``by``.
    """
    known = {"rater": ratings.rater, "item": ratings.item}
    if any(name not in known for name in by):
        raise Undefined(f"judges are by rater, by item or by both, not {tuple(by)!r}")
    columns = [known[name] for name in by] or [np.zeros(len(ratings.y), dtype=np.int64)]
    judges, judge = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    order = np.argsort(judge.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(judge.reshape(-1)))[:-1]
    return [
        _triads(tuple(int(part) for part in name) if by else (), ratings, rows)
        for rows, name in zip(np.split(order, ends), judges, strict=True)
    ]


def most_circular(conditions: int) -> int:
    """The most circular triads among k conditions, all pairs decided (Kendall, Babington Smith)."""
    k = conditions
    return (k**3 - k) // 24 if k % 2 else (k**3 - 4 * k) // 24


def _triads(judge: tuple[int, ...], ratings: PairRatings, rows: Codes) -> Triads:
    k = len(ratings.names)
    total, met = np.zeros((k, k)), np.zeros((k, k))
    a, b, y = ratings.a[rows], ratings.b[rows], ratings.y[rows]
    np.add.at(total, (a, b), y)
    np.add.at(total, (b, a), -y)
    np.add.at(met, (a, b), 1.0)
    np.add.at(met, (b, a), 1.0)
    beats = (total > 1e-9).astype(np.float64)
    decided = beats + beats.T
    pairs, n_decided = int(np.sum(met > 0)) // 2, int(decided.sum()) // 2
    circular, triads = round(_closed_walks(beats) / 3), round(_closed_walks(decided) / 6)
    consistence, note = None, ""
    if k < 3:
        note = "fewer than three conditions: no triads"
    elif n_decided == k * (k - 1) // 2:
        consistence = 1 - circular / most_circular(k)
    else:
        undecided = pairs - n_decided
        note = f"{n_decided} of {k * (k - 1) // 2} pairs decided ({undecided} tied): no coefficient"
    return Triads(judge, k, pairs, pairs - n_decided, triads, circular, consistence, note)


def _closed_walks(matrix: Floats) -> float:
    """Closed walks of three steps."""
    return float(np.trace(matrix @ matrix @ matrix))


def triads_summary(judges: Sequence[Triads]) -> TriadsSummary:
    """All judges together: triads, circular ones, their share, and the mean coefficient."""
    triads, circular = sum(one.triads for one in judges), sum(one.circular for one in judges)
    zetas = [one.consistence for one in judges if one.consistence is not None]
    return {
        "judges": len(judges),
        "triads": triads,
        "circular": circular,
        "share": circular / triads if triads else None,
        "share_by_chance": BY_CHANCE,
        "mean_consistence": float(np.mean(zetas)) if zetas else None,
        "judges_with_all_pairs": len(zetas),
        "note": "" if triads else "nobody decided all three pairs of any three conditions",
    }
