"""Letters for sets of conditions that do not differ, and tiers that keep such sets together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from analysis.statistics.comparisons.test_result import Undefined

Edges = Mapping[frozenset[str], bool]
RULE = (
    "letters: maximal sets without a pair that differs. tiers: conditions by falling value, cut "
    "where every condition above differs from every one below, so that no letter spans two tiers. "
    "leader_tiers: one joins the open tier if it does not differ from that tier's first member, "
    "else it opens the next"
)
UNTESTED = "without a test, taken as not different: "


@dataclass(frozen=True)
class Tiers:
    """Conditions in order (best first), their tiers, and their letters (shared: not different).

    Conditions of different ``tiers`` always differ; those of different ``leader_tiers`` may not.
    """

    order: tuple[str, ...]
    tiers: tuple[tuple[str, ...], ...]
    leader_tiers: tuple[tuple[str, ...], ...]
    letter_groups: tuple[tuple[str, ...], ...]
    letters: Mapping[str, str]
    alpha: float
    rule: str = RULE
    note: str = ""


def tiers_of(
    values: Mapping[str, float],
    p: Mapping[tuple[str, str], float | None],
    alpha: float = 0.05,
    low_is_best: bool = False,
) -> Tiers:
    """Tiers and letters from values by condition and (adjusted) p by pair, in either order.

    A pair with p < alpha differs. A pair whose p is None is taken as not different and told in
    ``note``; a pair that is missing raises Undefined. Letters are a compact letter display by
    maximal cliques (Piepho 2004; Bron and Kerbosch 1973): no difference is hidden, none made up.
    """
    order = tuple(sorted(values, key=lambda name: (values[name] * (-1) ** (not low_is_best), name)))
    tested = {frozenset(pair): value for pair, value in p.items()}
    wanted = [frozenset(pair) for pair in combinations(order, 2)]
    absent = [" and ".join(sorted(pair)) for pair in wanted if pair not in tested]
    if absent:
        raise Undefined(f"no comparison of {'; '.join(absent)}: tiers need every pair")
    different: dict[frozenset[str], bool] = {}
    for pair in wanted:
        value = tested[pair]
        different[pair] = value is not None and value < alpha
    untested = [" and ".join(sorted(pair)) for pair in wanted if tested[pair] is None]
    groups = letter_groups(order, different)
    return Tiers(
        order=order,
        tiers=separate_tiers(order, different),
        leader_tiers=leader_tiers(order, different),
        letter_groups=groups,
        letters=letters(order, groups),
        alpha=alpha,
        note=UNTESTED + "; ".join(untested) if untested else "",
    )


def separate_tiers(order: Sequence[str], different: Edges) -> tuple[tuple[str, ...], ...]:
    """Cut names in order wherever all above ``differ`` from all below; no cut splits a letter."""
    tiers: list[list[str]] = []
    for place, name in enumerate(order):
        above, below = order[:place], order[place:]
        if place and any(not different[frozenset((a, b))] for a in above for b in below):
            tiers[-1].append(name)
        else:
            tiers.append([name])
    return tuple(map(tuple, tiers))


def leader_tiers(order: Sequence[str], different: Edges) -> tuple[tuple[str, ...], ...]:
    """The leader rule over names in order; ``different`` says of each pair whether it differs."""
    tiers: list[list[str]] = []
    for name in order:
        if tiers and not different[frozenset((tiers[-1][0], name))]:
            tiers[-1].append(name)
        else:
            tiers.append([name])
    return tuple(tuple(tier) for tier in tiers)


def letter_groups(order: Sequence[str], different: Edges) -> tuple[tuple[str, ...], ...]:
    """All maximal sets of names without a pair that differs, each and all in the given order."""
    place = {name: i for i, name in enumerate(order)}
    near = {
        name: {
            other for other in order if other != name and not different[frozenset((name, other))]
        }
        for name in order
    }
    cliques = _cliques(set(), set(order), set(), near)
    ordered = [tuple(sorted(clique, key=place.__getitem__)) for clique in cliques]
    return tuple(sorted(ordered, key=lambda group: [place[name] for name in group]))


def letters(order: Sequence[str], groups: Sequence[Sequence[str]]) -> dict[str, str]:
    """The letters of each name: one per group that holds it; a to z, A to Z, then (53), (54)."""
    return {
        name: "".join(_letter(i) for i, group in enumerate(groups) if name in group)
        for name in order
    }


def _letter(i: int) -> str:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    alphabet += alphabet.upper()
    return alphabet[i] if i < len(alphabet) else f"({i + 1})"


def _cliques(
    chosen: set[str], open_: set[str], done: set[str], near: Mapping[str, set[str]]
) -> Iterable[set[str]]:
    """Bron and Kerbosch (1973) with a pivot."""
    if not open_ and not done:
        if chosen:
            yield chosen
        return
    pivot = max(sorted(open_ | done), key=lambda name: len(near[name] & open_))
    for name in sorted(open_ - near[pivot]):
        yield from _cliques(chosen | {name}, open_ & near[name], done & near[name], near)
        open_ = open_ - {name}
        done = done | {name}
