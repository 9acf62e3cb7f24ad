"""Who met whom, who beat whom: groups without a common scale, unbeaten and winless conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


class Separated(Undefined):
    """Some conditions always won against the rest: their distance from them is infinite."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        super().__init__(
            f"{connection.words}: the distance is not estimable (infinite); fit each group "
            "alone, or give a prior (prior_sd), which then decides how far apart they are"
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


def parts(ratings: PairRatings, ties: str = "half") -> list[PairRatings]:
    """What can be fitted alone where the whole cannot: components, else groups, best first.

    Parts of a single condition are left out; one part is the whole.
    """
    graph = connection(ratings, ties)
    groups = graph.components if len(graph.components) > 1 else graph.groups
    place = {name: i for i, name in enumerate(ratings.names)}
    return [ratings.among([place[name] for name in group]) for group in groups if len(group) > 1]


def _groups(names: tuple[str, ...], labels: Codes, rank: Codes) -> Groups:
    """Names by label, the group with the highest rank first."""
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    groups.sort(key=lambda members: (-int(rank[members].max()), int(members[0])))
    return tuple(tuple(names[i] for i in members) for members in groups)
