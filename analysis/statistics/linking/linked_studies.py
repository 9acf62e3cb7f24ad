"""Means of systems over several studies that share clips: which may be compared, and how surely.

The mean of system c in study s, over one set of clips, is modelled as

    m = study s + system c (these clips) + deviation of system c in study s + error,

studies and systems fixed, deviations with SD tau, errors clustered by raters and items. Clips that
several studies rated are one set of clips and link these; studies without a chain of such links
stand apart. Weighted least squares gives the estimates, a sandwich their variances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from analysis.arrays import Codes, Floats
from analysis.ratings.breakdowns import coded_column
from analysis.statistics.clustered_variance import both_codes
from analysis.statistics.intervals import clustered
from analysis.statistics.linking.heterogeneity import (
    Heterogeneity,
    LinkedContrast,
    Residual,
    heterogeneity,
)
from analysis.statistics.version_effect import clip_weights

Node = TypeVar("Node", bound=Hashable)
Place = tuple[str, str]  # (study, condition), or (study, item)


class Clip(NamedTuple):
    """A rated clip of a study; ``audio`` is a hash of its content."""

    study: str
    condition: str
    label: str
    item: str
    text: str
    audio: str


@dataclass(frozen=True)
class Same:
    """One name for what is the same: of conditions by (study, condition), of items likewise.

    ``notes`` say what was taken for one, or kept apart, where names say otherwise.
    """

    systems: Mapping[Place, str]
    items: Mapping[Place, str]
    notes: tuple[str, ...]


def same_systems(clips: Iterable[Clip]) -> Same:
    """Conditions that share a clip with one of another study are one system; texts are items.

    Where one condition shares clips with several of another study, those of the same name are
    taken for the same, the others are kept apart.
    """
    every = list(clips)
    by_audio: dict[str, dict[Place, None]] = {}
    for clip in every:
        by_audio.setdefault(clip.audio, {})[clip.study, clip.condition] = None
    links = {
        (one, other)
        for places in map(list, by_audio.values())
        for n, one in enumerate(places)
        for other in places[:n]
        if one[0] != other[0]
    }
    labels = {(clip.study, clip.condition): clip.label for clip in every}
    links, notes = _without_doubt(list(labels), links)
    systems, naming_notes = _name_systems(groups_of(list(labels), links), labels)
    return Same(systems, _items(every), (*notes, *naming_notes))


def groups_of(nodes: Sequence[Node], links: Iterable[tuple[Node, Node]]) -> list[list[Node]]:
    """The nodes that a chain of links joins, each group and all of them in the nodes' order."""
    place = {node: number for number, node in enumerate(nodes)}
    ends = np.array([(place[a], place[b]) for a, b in links], dtype=np.int64).reshape(-1, 2)
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(nodes),) * 2)
    groups: dict[int, list[Node]] = {}
    for node, label in zip(nodes, connected_components(graph, directed=False)[1], strict=True):
        groups.setdefault(int(label), []).append(node)
    return list(groups.values())


def _without_doubt(
    places: list[Place], links: set[tuple[Place, Place]]
) -> tuple[set[tuple[Place, Place]], list[str]]:
    """Without links in groups that would make one system of two conditions of a study."""
    notes = []
    for group in groups_of(places, links):
        if max(Counter(study for study, _ in group).values()) < 2:
            continue
        members = set(group)
        cut = {(a, b) for a, b in links if a in members and a[1] != b[1]}
        links = links - cut
        names = ", ".join(sorted({f"“{name}”" for link in cut for _, name in link}))
        notes.append(
            f"The same audio stands in several conditions of one study ({names}): only conditions "
            "of the same name were taken for the same system."
        )
    return links, notes


def _name_systems(
    groups: list[list[Place]], labels: Mapping[Place, str]
) -> tuple[dict[Place, str], list[str]]:
    systems: dict[Place, str] = {}
    notes: list[str] = []
    owners: dict[str, list[list[Place]]] = {}
    for group in sorted(groups):
        name = Counter(labels[place] for place in group).most_common(1)[0][0]
        owners.setdefault(name, []).append(group)
        names = sorted({labels[place] for place in group})
        if len(names) > 1:
            listing = ", ".join(f"“{labels[place]}” in {place[0]}" for place in group)
            notes.append(f"Taken for one system, as their clips are the same audio: {listing}.")
    for name, several in owners.items():
        for group in several:
            where = ", ".join(study for study, _ in group)
            called = name if len(several) == 1 else f"{name} ({where})"
            systems |= dict.fromkeys(group, called)
        if len(several) > 1:
            places = "; ".join(", ".join(study for study, _ in group) for group in several)
            notes.append(
                f"“{name}” is kept apart in {places}: no clip of it is the same audio in both, so "
                "nothing says that it is the same system."
            )
    return systems, notes


def _items(clips: list[Clip]) -> dict[Place, str]:
    """Items are the same where their text is, or where a clip of theirs is."""
    nodes: dict[tuple[str, ...], None] = {}
    links: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    for clip in clips:
        item: tuple[str, ...] = ("item", clip.study, clip.item)
        text = " ".join(clip.text.split())
        known = [("audio", clip.audio), *([("text", text)] if text else [])]
        nodes |= dict.fromkeys([item, *known])
        links += [(item, each) for each in known]
    return {
        (node[1], node[2]): f"i{number}"
        for number, group in enumerate(groups_of(list(nodes), links))
        for node in group
        if node[0] == "item"
    }


_LEAST_DF, _NONE = 0.5, 1e-15


@dataclass(frozen=True)
class Influence:
    """Ratings as contributions to means of cells (each (n,)), and the study (unit) of each cell.

    ``contribution`` is weight * (score - mean); ``weight`` sums to 1 within each cell. Sums over
    clusters of squares are forms of what each two cells share: a contrast costs cells squared,
    however many ratings there are.
    """

    contribution: Floats
    weight: Floats
    cell: Codes
    unit: Codes  # (C,)
    rater: Codes
    item: Codes

    def spread(self, row: Floats) -> tuple[float, float]:
        """Variance and degrees of freedom of a contrast (C,) of the cells' means.

        As `clustered_variance.spread_of`, with the factor G / (G - 1) and the degrees of freedom
        of each study by itself, put together after Satterthwaite: a study with few raters counts
        as much as it brings.
        """
        used = np.flatnonzero(row)
        own = row[used]
        at = np.ix_(used, used)
        by_rater, by_item, by_both = (float(own @ form[at] @ own) for form in self._moved)
        of_raters, dr = self._factor(own, used, 0)
        of_items, di = self._factor(own, used, 1)
        raters, items = by_rater * of_raters, by_item * of_items
        both = (by_rater + by_item - by_both) * of_raters * of_items
        variance = max(both, raters, items)
        if variance <= _NONE:
            return 0.0, min(dr, di)
        shares = (raters / variance) ** 2 / dr + (items / variance) ** 2 / di
        return variance, max(min(dr, di), 1.0 / shares)

    def covariance(self, rows: Floats) -> Floats:
        """The covariance (m, m) of contrasts (m, C), each variance as `spread` has it."""
        raters, items, both = self._moved
        raw = rows @ (raters + items - both) @ rows.T
        value, vector = np.linalg.eigh((raw + raw.T) / 2)
        positive = (vector * np.maximum(value, 0.0)) @ vector.T
        own = np.array([self.spread(row)[0] for row in rows])
        now = np.diag(positive)
        factor = np.sqrt(np.divide(own, now, out=np.ones_like(own), where=now > _NONE))
        scaled = positive * np.outer(factor, factor)
        np.fill_diagonal(scaled, own)
        return np.asarray(scaled, dtype=np.float64)

    @cached_property
    def _moved(self) -> tuple[Floats, Floats, Floats]:
        """The forms (C, C) of contributions summed by rater, by item and by both."""
        groups = (self.rater, self.item, both_codes(self.rater, self.item))
        first, second, third = (self._form(self.contribution, group) for group in groups)
        return first, second, third

    @cached_property
    def _held(self) -> tuple[Floats, Floats]:
        """The same of weights, by rater and by item."""
        return self._form(self.weight, self.rater), self._form(self.weight, self.item)

    def _form(self, values: Floats, group: Codes) -> Floats:
        """Of each two cells the sum over groups of the products of their sums."""
        shape = (len(self.unit), int(group.max(initial=-1)) + 1)
        sums = csr_array((values, (self.cell, group)), shape=shape)
        return np.asarray((sums @ sums.T).toarray(), dtype=np.float64)

    def _factor(self, own: Floats, used: Codes, way: int) -> tuple[float, float]:
        """G / (G - 1) and the degrees of freedom of raters (0) or items (1), over the studies."""
        parts, degrees = [], []
        unit = self.unit[used]
        for each in np.unique(unit):
            row, at = own[unit == each], used[unit == each]
            size, block = np.abs(row), np.ix_(at, at)
            effective = float(size.sum() ** 2 / (size @ self._held[way][block] @ size))
            degrees.append(max(effective - 1.0, _LEAST_DF))
            parts.append(max(float(row @ self._moved[way][block] @ row), 0.0))
        part, df = np.array(parts), np.array(degrees)
        whole = float(part.sum())
        if whole <= _NONE:
            return 1.0 + 1.0 / float(df.min()), float(df.min())
        return float(part @ (1 + 1 / df)) / whole, whole**2 / float(np.sum(part**2 / df))


PRIOR_SHARE = 0.05  # of the scale's range: the scale of the half-t prior of tau
_RANK = 1e-9


@dataclass(frozen=True)
class Cells:
    """The sets of clips of a component: of which study, of which system, and which set (each C)."""

    unit: Codes
    system: Codes
    node: Codes
    clips: Codes  # how many clips


@dataclass(frozen=True)
class Component:
    """Studies that a chain of shared clips (or systems in pairs) links, with their model.

    ``units`` and ``systems`` are names; ``n_ratings`` and ``n_raters`` (each (S,)) count those of
    each system. Scores are on the scale of the first unit; where they are ``centred``, as
    strengths are, relative to the mean of all systems.
    """

    units: list[str]
    systems: list[str]
    cells: Cells
    mean: Floats
    influence: Influence
    scale: float
    n_ratings: Codes
    n_raters: Codes
    centred: bool = False

    # --- The model -------------------------------------------------------------------------------

    @cached_property
    def design(self) -> Floats:
        """A row for each cell: studies but the first, then sets of clips."""
        studies, nodes = len(self.units), int(self.cells.node.max()) + 1
        rows = np.zeros((len(self.mean), studies - 1 + nodes))
        place = np.arange(len(self.mean))
        later = self.cells.unit > 0
        rows[place[later], self.cells.unit[later] - 1] = 1.0
        rows[place, studies - 1 + self.cells.node] = 1.0
        return rows

    @cached_property
    def weight(self) -> Floats:
        """1 / (variance + prior variance) of each cell: fixed before tau is estimated."""
        one = np.eye(len(self.mean))
        variance = np.array([self.influence.spread(row)[0] for row in one])
        return np.asarray(1.0 / (variance + self.scale**2), dtype=np.float64)

    @cached_property
    def solution(self) -> Floats:
        """What makes estimates of the cells' means."""
        weighted = self.design * np.sqrt(self.weight)[:, None]
        return np.asarray(np.linalg.pinv(weighted) * np.sqrt(self.weight), dtype=np.float64)

    @cached_property
    def rows(self) -> Floats:
        """Systems as contrasts of cells: each clip of a system weighs the same."""
        first = len(self.units) - 1
        shares = np.zeros((len(self.systems), self.design.shape[1]))
        nodes, at = np.unique(self.cells.node, return_index=True)
        for node, cell in zip(nodes, at, strict=True):
            shares[self.cells.system[cell], first + node] = self.cells.clips[cell]
        shares /= shares.sum(axis=1, keepdims=True)
        if self.centred:
            shares -= shares.mean(axis=0)
        return np.asarray(shares @ self.solution, dtype=np.float64)

    @cached_property
    def between(self) -> Floats:
        """Cells by (study, system): what a deviation of a system in a study moves together."""
        joint = self.cells.unit * len(self.systems) + self.cells.system
        return np.asarray(joint[:, None] == np.unique(joint)[None, :], dtype=np.float64)

    @cached_property
    def residual(self) -> Residual:
        """What would be 0 if the shared systems stood alike in all studies."""
        hat = self.design @ self.solution
        form = (np.eye(len(self.mean)) - hat).T * self.weight @ (np.eye(len(self.mean)) - hat)
        value, vector = np.linalg.eigh((form + form.T) / 2)
        positive = value > _RANK * max(float(value.max(initial=0.0)), 1.0)
        rows = np.asarray((vector[:, positive] * np.sqrt(value[positive])).T, dtype=np.float64)
        if not len(rows):
            return Residual(0.0, np.zeros((0, 0)), np.zeros((0, 0)), 1.0)
        spreads = np.array([self.influence.spread(row) for row in rows])
        whole = float(spreads[:, 0].sum())
        df = whole / float(np.sum(spreads[:, 0] / spreads[:, 1])) if whole > 0 else 1.0
        moved = rows @ self.between
        q = float(np.sum((rows @ self.mean) ** 2))
        return Residual(q, self.influence.covariance(rows), moved @ moved.T, df)

    @cached_property
    def heterogeneity(self) -> Heterogeneity | None:
        """The differences between studies; None of a study alone."""
        return heterogeneity(self.residual, self.scale) if len(self.units) > 1 else None

    # --- What is asked of it ---------------------------------------------------------------------

    def contrast(self, row: Floats) -> LinkedContrast:
        """A contrast of cells; tau enters where it spans more than one study."""
        row = np.where(np.abs(row) > _RANK, row, 0.0)
        variance, df = self.influence.spread(row)
        spans = len(np.unique(self.cells.unit[row != 0])) > 1
        of_tau = float(np.sum((row @ self.between) ** 2)) if spans else 0.0
        return LinkedContrast(float(row @ self.mean), variance, df, of_tau)

    def score(self, system: int) -> LinkedContrast:
        """The mean of a system on the scale of the first study."""
        return self.contrast(self.rows[system])

    def difference(self, a: int, b: int) -> LinkedContrast:
        """System a minus system b."""
        return self.contrast(self.rows[a] - self.rows[b])

    def units_of(self, system: int) -> list[int]:
        """The studies in which a system was rated."""
        return sorted({int(u) for u in self.cells.unit[self.cells.system == system]})

    def shared(self, a: int, b: int) -> list[int]:
        """The systems of which two studies rated clips in common."""
        nodes = [set(self.cells.node[self.cells.unit == unit]) for unit in (a, b)]
        common = np.isin(self.cells.node, list(nodes[0] & nodes[1]))
        return sorted({int(each) for each in self.cells.system[common]})

    def shift_row(self, a: int, b: int, system: int) -> tuple[Floats, int]:
        """Study b minus study a for a system's shared clips, as a contrast of cells; their number.

        Each clip weighs the same.
        """
        row, clips = np.zeros(len(self.mean)), 0
        for node in np.unique(self.cells.node[self.cells.system == system]):
            here = self.cells.node == node
            one, other = (np.flatnonzero(here & (self.cells.unit == unit)) for unit in (a, b))
            if len(one) and len(other):
                number = int(self.cells.clips[one[0]])
                row[one[0]], row[other[0]] = -number, number
                clips += number
        return row / clips, clips


def components_of(
    ratings: pd.DataFrame, units: Sequence[str], width: float | None = None
) -> list[Component]:
    """The studies that are linked with one another, as models; the first unit's come first.

    ``ratings`` have a row for each rating: its unit (a study, or a task of it), system, clip,
    item, rater and score, named alike across units where they are the same. ``width`` is the range
    of the scale, by default that of the scores.
    """
    width = width or float(ratings["score"].max() - ratings["score"].min()) or 1.0
    rated = set(ratings["unit"])
    ordered = [unit for unit in units if unit in rated]
    sets = _sets_of_clips(ratings, ordered)
    labels = _linked_units(sets, len(ordered))
    parts = list(dict.fromkeys(labels.tolist()))
    return [
        _component(
            ratings[ratings["unit"].isin(chosen)], chosen, sets[labels[sets["unit"]] == part], width
        )
        for part in parts
        for chosen in [[unit for unit, label in zip(ordered, labels, strict=True) if label == part]]
    ]


def _sets_of_clips(ratings: pd.DataFrame, units: list[str]) -> pd.DataFrame:
    """Each rated clip of each unit, with the set it is of: clips that the same units rated."""
    place = {unit: number for number, unit in enumerate(units)}
    clips = ratings[["unit", "system", "clip"]].drop_duplicates()
    clips = clips.assign(name=clips["unit"], unit=clips["unit"].map(place).astype(np.int64))
    clips = clips.sort_values(["system", "clip", "unit"], ignore_index=True)
    which = clips.groupby(["system", "clip"], sort=False).ngroup().to_numpy()
    rated_in: list[list[str]] = [[] for _ in range(which.max(initial=-1) + 1)]
    for group, unit in zip(which, clips["unit"], strict=True):
        rated_in[group].append(str(unit))
    return clips.assign(signature=[",".join(rated_in[group]) for group in which])


def _linked_units(sets: pd.DataFrame, units: int) -> Codes:
    """To which component each unit belongs."""
    clip, names = coded_column(sets["system"] + "\x1f" + sets["clip"])
    unit = sets["unit"].to_numpy()
    graph = coo_array((np.ones(len(sets)), (unit, units + clip)), shape=(units + len(names),) * 2)
    return np.asarray(connected_components(graph, directed=False)[1][:units], dtype=np.int64)


def _component(
    ratings: pd.DataFrame, units: list[str], sets: pd.DataFrame, width: float
) -> Component:
    own = {unit: number for number, unit in enumerate(units)}
    sets = sets.assign(unit=sets["name"].map(own).astype(np.int64))
    system, systems = coded_column(sets["system"])
    node, _ = coded_column(sets["system"] + "\x1f" + sets["signature"])
    joint, names = coded_column(pd.Series(node * len(units) + sets["unit"].to_numpy()))
    _, at = np.unique(joint, return_index=True)
    cells = Cells(
        unit=sets["unit"].to_numpy()[at],
        system=system[at],
        node=node[at],
        clips=np.bincount(joint).astype(np.int64),
    )
    index = pd.MultiIndex.from_frame(sets[["name", "system", "clip"]])
    cell = pd.Series(joint, index=index).loc[
        pd.MultiIndex.from_frame(ratings[["unit", "system", "clip"]])
    ]
    mean, influence = _means(ratings, cell.to_numpy(dtype=np.int64), cells, len(names))
    counts = counts_by_system(cells.system[influence.cell], influence.rater, len(systems))
    scale = PRIOR_SHARE * width
    return Component(units, systems, cells, mean, influence, scale, *counts)


def counts_by_system(system: Codes, rater: Codes, systems: int) -> tuple[Codes, Codes]:
    """How many ratings and how many raters (each (S,)) each system has, by codes (n,)."""
    raters = np.unique(np.column_stack([system, rater]), axis=0)[:, 0]
    ratings, different = (np.bincount(codes, minlength=systems) for codes in (system, raters))
    return ratings.astype(np.int64), different.astype(np.int64)


def _means(
    ratings: pd.DataFrame, cell: Codes, cells: Cells, count: int
) -> tuple[Floats, Influence]:
    rater, item, clip = (coded_column(ratings[name])[0] for name in ("rater", "item", "clip"))
    y = ratings["score"].to_numpy(dtype=np.float64)
    weight = clip_weights(cell, clip)
    mean = clustered(y, cell, rater, item, count, weight).value
    contribution = weight * (y - mean[cell])
    return mean, Influence(contribution, weight, cell, cells.unit, rater, item)
