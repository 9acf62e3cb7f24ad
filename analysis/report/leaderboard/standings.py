"""The systems of one question in order, with their distances, as rows of plain values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any

from analysis.arrays import Floats
from analysis.formatting import enumerated, listed
from analysis.statistics.comparisons.tiers import tiers_of
from analysis.statistics.intervals import holm, t_interval
from analysis.statistics.linking.heterogeneity import LinkedContrast, bounds, p_of
from analysis.statistics.linking.linked_studies import Component

LEVEL, INTERVAL = 0.95, "95 %"  # of all intervals, and as headings say it
MOST_COMPARED = 40  # systems: 780 pairs
SAME, THROUGH = "same study", "through "
Row = dict[str, Any]


@dataclass(frozen=True)
class Standing:
    """One component of a question, its systems in order (places in ``component.systems``).

    Systems that share one of their ``letters`` do not differ significantly; empty where there are
    too many systems to compare all pairs.
    """

    component: Component
    order: Sequence[int]
    reference: int | None
    letters: Mapping[str, str] = field(default_factory=dict)

    @property
    def scale(self) -> str:
        """The study on whose scale the scores are."""
        return self.component.units[0]

    def heading(self, several: bool) -> str:
        """What stands above its rows, where there are several components."""
        units = self.component.units
        if len(units) > 1 and self.component.centred:
            return f"Linked: {enumerated(units)}"
        if len(units) > 1:
            return f"Linked: {enumerated(units)}; on the scale of {self.scale}"
        return f"{self.scale} alone" if several else ""


def standing_of(component: Component, reference: str) -> Standing:
    """The component's systems, the best first."""
    values = [component.score(place).value for place in range(len(component.systems))]
    order = sorted(range(len(values)), key=lambda place: (-values[place], component.systems[place]))
    known = component.systems.index(reference) if reference in component.systems else None
    standing = Standing(component, order, known)
    if len(order) > MOST_COMPARED:
        return standing
    pairs = list(combinations(order, 2))
    p = holm([_p(standing, component.difference(a, b)) for a, b in pairs])
    names = component.systems
    tested = {(names[a], names[b]): each for (a, b), each in zip(pairs, p, strict=True)}
    tiers = tiers_of(dict(zip(names, values, strict=True)), tested, 1 - LEVEL)
    return replace(standing, letters=tiers.letters)


def score_rows(standing: Standing) -> Iterator[Row]:
    """A row for each system: its score on the first study's scale, and what it is made of."""
    component = standing.component
    for rank, place in enumerate(standing.order, start=1):
        score = component.score(place)
        low, high = _bounds(standing, score)
        yield {
            "rank": rank,
            "system": component.systems[place],
            "score": score.value,
            "score_low": low,
            "score_high": high,
            "letters": standing.letters.get(component.systems[place], ""),
            "studies": listed([component.units[unit] for unit in component.units_of(place)], 3),
            "ratings": int(component.n_ratings[place]),
            "raters": int(component.n_raters[place]),
            "clips": _clips(component, place),
        }


def difference_rows(standing: Standing) -> list[Row]:
    """Each system minus the next one, and minus the reference; p adjusted within both."""
    order, reference = list(standing.order), standing.reference
    nexts = list(pairwise(order))
    against = [(place, reference) for place in order if place != reference]
    return [
        *_adjusted_rows(standing, nexts, "Each and the next one"),
        *(
            _adjusted_rows(
                standing, [(a, b) for a, b in against if b is not None], "Each and the reference"
            )
            if reference is not None
            else []
        ),
    ]


def _adjusted_rows(standing: Standing, pairs: Sequence[tuple[int, int]], group: str) -> list[Row]:
    component, rows, ps = standing.component, [], []
    for a, b in pairs:
        linked = component.difference(a, b)
        low, high = _bounds(standing, linked)
        ps.append(_p(standing, linked))
        rows.append(
            {
                "family": group,
                "system": component.systems[a],
                "versus": component.systems[b],
                "difference": linked.value,
                "difference_low": low,
                "difference_high": high,
                "p": ps[-1],
                "how": how(component, a, b),
            }
        )
    return [row | {"p_adjusted": p} for row, p in zip(rows, holm(ps), strict=True)]


def how(component: Component, a: int, b: int) -> str:
    """By what two systems are compared: a study that rated both, or a chain of shared systems."""
    units = set(component.units_of(a)) & set(component.units_of(b))
    if units:
        return f"{SAME}: {listed([component.units[unit] for unit in sorted(units)], 3)}"
    path = _path(component, component.units_of(a), set(component.units_of(b)))
    steps = [
        listed([component.systems[s] for s in component.shared(one, other)], 3)
        for one, other in pairwise(path)
    ]
    return f"{THROUGH}{', then '.join(steps)}"


def _path(component: Component, starts: Sequence[int], ends: set[int]) -> list[int]:
    """The fewest studies from one to another, each sharing systems with the next."""
    seen: dict[int, list[int]] = {unit: [unit] for unit in starts}
    line = list(starts)
    for unit in line:
        if unit in ends:
            return seen[unit]
        for other in range(len(component.units)):
            if other not in seen and component.shared(unit, other):
                seen[other] = [*seen[unit], other]
                line.append(other)
    return []


def _clips(component: Component, place: int) -> int:
    """The clips of a system; a set of clips that several studies have counts once."""
    cells = component.cells
    mine = cells.system == place
    sizes = dict(zip(cells.node[mine].tolist(), cells.clips[mine].tolist(), strict=True))
    return sum(sizes.values())


def _p(standing: Standing, linked: LinkedContrast) -> float | None:
    """The p of a contrast; none where there is no spread to tell it from."""
    return p_of(linked, standing.component.heterogeneity) if linked.variance > 0 else None


def _bounds(standing: Standing, linked: LinkedContrast) -> tuple[float | None, float | None]:
    """The interval; none where there is no spread to tell it from."""
    if not linked.variance > 0:
        return None, None
    return bounds(linked, standing.component.heterogeneity, LEVEL)


def contrast_cells(key: str, component: Component, contrast: Floats | None) -> Row:
    """The cells KEY, KEY_low and KEY_high of a contrast of cells' means, by sampling alone."""
    value = low = high = None
    if contrast is not None:
        value = float(contrast @ component.mean)
        variance, df = component.influence.spread(contrast)
        if variance > 0:
            low, high = t_interval(value, variance**0.5, df, LEVEL)
    return {key: value, f"{key}_low": low, f"{key}_high": high}
