"""Blocks planned ahead: Latin squares over items and columns, both orders balanced, seeded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import gcd
from random import Random
from typing import TypeVar

from listening.methods.method import PlannedTrial


@dataclass(frozen=True)
class PlannedSlot:
    """One presentation owed in one replicate."""

    trial: PlannedTrial
    versus_first: bool


@dataclass(frozen=True)
class PlannedBlock:
    """Slots that one rater takes together, in the order in which they are played."""

    replicate: int
    slots: tuple[PlannedSlot, ...]


T = TypeVar("T")
Cell = tuple[int, str]
Cells = Mapping[Cell, PlannedTrial]


def plan_blocks(
    trials: Sequence[PlannedTrial],
    *,
    block_size: int,
    replicates: int,
    seed: int,
    repeat_items: bool = False,
    steady_chunks: bool = False,
    scattered: bool = False,
) -> Iterator[PlannedBlock]:
    """Every trial exactly once per replicate, in blocks of at most `block_size`.

    Without `repeat_items` a block holds each item at most once and its columns within one of each
    other. With it, items and columns both cycle, so that a block holds each of them as evenly as
    their numbers allow and no trial twice. Cells that the material lacks leave shorter blocks;
    where most lack by design, `scattered` fills blocks with the cells that there are.
    Items are cut into chunks anew in each replicate; with `steady_chunks` they are cut once, so
    that a rater who takes several blocks always finds some that share nothing with them.
    """
    cells = {(t.item, t.column): t for t in trials}
    if len(cells) != len(trials):
        raise ValueError("two trials share an item and a column")
    if block_size < 1 or replicates < 1:
        raise ValueError("block_size and replicates must be at least 1")
    rng = Random(seed)
    first_order = _first_orders(sorted(cells), rng)
    plan = _cycling_chunks if repeat_items else _latin_chunks
    if scattered:
        plan = _dealt_chunks
    items, columns = _axes(cells, rng)
    for replicate in range(replicates):
        if not steady_chunks:
            rng.shuffle(items)
            rng.shuffle(columns)
        for chunk in plan(cells, items, columns, block_size, rng):
            present = [cell for cell in chunk if cell in cells]
            rng.shuffle(present)
            slots = tuple(_slot(cells[c], (first_order[c] + replicate) % 2 == 1) for c in present)
            if slots:
                yield PlannedBlock(replicate, slots)


def _slot(trial: PlannedTrial, swapped: bool) -> PlannedSlot:
    return PlannedSlot(trial, trial.versus is not None and swapped)


def _first_orders(cells: Sequence[Cell], rng: Random) -> dict[Cell, int]:
    """Which order a cell has in replicate 0: a random half of each column's cells, ±1."""
    orders: dict[Cell, int] = {}
    columns = sorted({column for _, column in cells})
    for column in columns:
        own = [cell for cell in cells if cell[1] == column]
        rng.shuffle(own)
        start = rng.randrange(2)
        orders.update({cell: (k + start) % 2 for k, cell in enumerate(own)})
    return orders


def _axes(cells: Cells, rng: Random) -> tuple[list[int], list[str]]:
    items = sorted({item for item, _ in cells})
    columns = sorted({column for _, column in cells})
    rng.shuffle(items)
    rng.shuffle(columns)
    return items, columns


def _latin_chunks(
    cells: Cells, items: list[int], columns: list[str], block_size: int, rng: Random
) -> Iterator[list[Cell]]:
    """Chunks of distinct items; one block per shift of a Latin square over the columns."""
    for chunk in even_chunks(items, block_size):
        order = rng.sample(columns, len(columns))
        for shift in range(len(order)):
            yield [(item, order[(i + shift) % len(order)]) for i, item in enumerate(chunk)]


def _cycling_chunks(
    cells: Cells, items: list[int], columns: list[str], block_size: int, rng: Random
) -> Iterator[list[Cell]]:
    """Chunks of a walk in which items and columns both cycle and every cell comes once."""
    n_items, n_columns = len(items), len(columns)
    lap = n_items * n_columns // gcd(n_items, n_columns)
    walk = [
        (items[(k + k // lap) % n_items], columns[k % n_columns])
        for k in range(n_items * n_columns)
    ]
    yield from even_chunks([cell for cell in walk if cell in cells], block_size)


def _dealt_chunks(
    cells: Cells, items: list[int], columns: list[str], block_size: int, rng: Random
) -> Iterator[list[Cell]]:
    """The cells that there are, dealt item by item to chunks in turn: sizes within one of each
    other, no item twice in a chunk; of an item's columns each chunk takes what it has least of."""
    own = {item: [c for c in columns if (item, c) in cells] for item in items}
    count = max(-(-len(cells) // block_size), *map(len, own.values()))
    chunks: list[list[Cell]] = [[] for _ in range(count)]
    held = [Counter[str]() for _ in range(count)]
    turn = cycle(range(count))
    for item, waiting in own.items():
        while waiting:
            place = next(turn)
            column = min(waiting, key=held[place].__getitem__)
            waiting.remove(column)
            held[place][column] += 1
            chunks[place].append((item, column))
    yield from chunks


def even_chunks(things: list[T], size: int) -> Iterator[list[T]]:
    """The list in as few chunks of at most `size` as it takes, lengths within one of each other."""
    count = -(-len(things) // size)
    start = 0
    for k in range(count):
        stop = start + len(things) // count + (k < len(things) % count)
        yield things[start:stop]
        start = stop
