"""Blocks planned ahead, and how many trials and sessions the tasks of a study amount to.

Blocks are Latin squares over items and columns; both orders of a pair are balanced; all is seeded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import ceil, gcd
from random import Random
from statistics import fmean
from typing import Any, Protocol, TypeVar

from listening.design.studyfile import StudyFile, TaskEntry
from listening.design.studyfile.drawing import is_scattered, only_drawn, takes_of
from listening.methods import StimulusRef, method_named
from listening.methods.method import PlannedTrial

T = TypeVar("T")
Cell = tuple[int, str]
Cells = Mapping[Cell, PlannedTrial]


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


def plan_blocks(
    trials: Sequence[PlannedTrial],
    *,
    block_size: int,
    ratings_per_stimulus: int,
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
    if block_size < 1 or ratings_per_stimulus < 1:
        raise ValueError("block_size and ratings_per_stimulus must be at least 1")
    rng = Random(seed)
    first_order = _first_orders(sorted(cells), rng)
    plan = _cycling_chunks if repeat_items else _latin_chunks
    if scattered:
        plan = _dealt_chunks
    items = sorted({item for item, _ in cells})
    columns = sorted({column for _, column in cells})
    rng.shuffle(items)
    rng.shuffle(columns)
    for replicate in range(ratings_per_stimulus):
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


class BlockSettings(Protocol):
    """A task, of a file or stored."""

    @property
    def block_size(self) -> int: ...
    @property
    def ratings_per_stimulus(self) -> int: ...
    @property
    def blocks_per_session(self) -> int: ...
    @property
    def repeat_items(self) -> bool: ...
    @property
    def material(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Amount:
    """One task: `trials` are screens of one replicate, `ratings` those of all."""

    columns: int  # conditions, or pairs of them
    items: int
    trials: int
    ratings: int
    sessions: int
    screens_each: int  # of a session, without traps
    clips_together: float  # rated on one screen


def amount_of(trials: Sequence[PlannedTrial], task: BlockSettings) -> Amount:
    """Counted in the blocks that opening the study would plan; each replicate has as many."""
    blocks = 0
    if trials and task.block_size > 0:
        planned = plan_blocks(
            trials,
            block_size=task.block_size,
            ratings_per_stimulus=1,
            seed=0,
            repeat_items=task.repeat_items,
            scattered=is_scattered(task.material.get("draw", {})),
        )
        blocks = sum(1 for _ in planned)
    in_session = max(task.blocks_per_session, 1)
    return Amount(
        columns=len({trial.column for trial in trials}),
        items=len({trial.item for trial in trials}),
        trials=len(trials),
        ratings=len(trials) * task.ratings_per_stimulus,
        sessions=ceil(blocks * task.ratings_per_stimulus / in_session),
        screens_each=task.block_size * in_session,
        clips_together=fmean(len(trial.rated) for trial in trials) if trials else 1.0,
    )


def sessions_of(needs: Iterable[int], task_plan: str) -> int:
    """Sessions that fill all tasks once: each rater takes all of them, or one."""
    return sum(needs) if task_plan == "one" else max(needs, default=0)


def material_of(study: StudyFile, task: TaskEntry) -> list[StimulusRef]:
    """What a task rates, by places in the study: its conditions, or all that settings did not
    make, of these what was drawn; never traps."""
    conditions = {c.key: c for c in study.conditions}
    items = {item.key: n for n, item in enumerate(study.items)}
    takes = takes_of(task, {item.key: item.dimension for item in study.items})
    named = task.conditions or [c.key for c in study.conditions if not c.derived]
    return [
        StimulusRef(n, items[s.item], s.condition, conditions[s.condition].role)
        for n, s in enumerate(study.stimuli)
        if s.condition in named and takes(s)
    ]


def trials_of(study: StudyFile, task: TaskEntry) -> list[PlannedTrial]:
    """The screens of one replicate, by places in the study."""
    planned = method_named(task.method).trials(material_of(study, task), task.options)
    return only_drawn(planned, task.draw, {n: item.key for n, item in enumerate(study.items)})
