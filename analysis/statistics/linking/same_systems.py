"""Which systems and items of several studies are the same: those that share audio."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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
    systems, said = _named(groups_of(list(labels), links), labels)
    return Same(systems, _items(every), (*notes, *said))


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


def _named(
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
            told = ", ".join(f"“{labels[place]}” in {place[0]}" for place in group)
            notes.append(f"Taken for one system, as their clips are the same audio: {told}.")
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
