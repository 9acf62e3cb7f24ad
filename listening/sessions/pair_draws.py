"""Pairs of systems drawn when a rater claims a block, from the counts and the last fit.

A slot's pair is drawn once, with the claim of its block, and stays: whoever takes the block again
compares the same two. So both orders of a pair, and its count, stay as they were drawn.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any

from django.db import connection

from listening.common.statements import rows_of
from listening.design.pair_drawing import (
    PairDrawing,
    PairFacts,
    candidates_of,
    drawing_rule,
    most_of_pair,
    most_of_rater,
)
from listening.methods.paired import AT_CLAIM, Pair, uniform_share
from listening.models import PairCount, Slot, Task
from listening.sessions.allocation import material_of
from listening.sessions.leases import ANSWERED, PLANNED

UNDRAWN = """
SELECT s.id AS pk, u.item_id FROM listening_slot s
JOIN listening_stimulus u ON u.id = s.stimulus_id
WHERE s.block_id = ANY(%(blocks)s) AND s.pair_probability IS NULL ORDER BY s.block_id, s.position
"""
COUNTS = """
SELECT (SELECT array_agg(drawn ORDER BY id) FROM listening_paircount WHERE task_id = %(task)s)
    AS drawn, (SELECT number FROM listening_pairfit WHERE task_id = %(task)s) AS fit
"""
FIT = "SELECT pairs::text AS pairs FROM listening_pairfit WHERE task_id = %(task)s"
MET = f"""
SELECT x.condition_id, v.condition_id AS versus_id FROM listening_trial t
JOIN listening_stimulus x ON x.id = t.stimulus_id
JOIN listening_stimulus v ON v.id = t.versus_id
WHERE t.session_id = ANY(ARRAY(SELECT id FROM listening_session WHERE rater_id = %(rater)s))
  AND t.task_id = %(task)s AND t.slot_id IS NOT NULL AND (t.{PLANNED} OR t.{ANSWERED})
"""
# Locked in one order by everybody. The order in which a pair is heard follows from its count, so
# both are equally often, within one, however many raters claim at once.
COUNT = """
WITH given AS (
    SELECT * FROM json_to_recordset(%(draws)s::json) AS g(id bigint, n int)
), locked AS MATERIALIZED (
    SELECT c.id FROM listening_paircount c JOIN given ON given.id = c.id
    ORDER BY c.id FOR NO KEY UPDATE OF c
)
UPDATE listening_paircount c SET drawn = c.drawn + given.n
FROM given, locked WHERE c.id = given.id AND locked.id = c.id RETURNING c.id AS pk, c.drawn
"""
FILL = """
UPDATE listening_slot s SET stimulus_id = g.stimulus, versus_id = g.versus,
    versus_first = g.versus_first, pair_probability = g.probability
FROM json_to_recordset(%(draws)s::json)
    AS g(slot bigint, stimulus bigint, versus bigint, versus_first boolean, probability float8)
WHERE s.id = g.slot
"""


def draw_pairs(task: Task, blocks: Sequence[int], rater: int, rng: Random) -> None:
    """Draw the pairs of claimed blocks that have none yet."""
    undrawn = rows_of(UNDRAWN, blocks=list(blocks))
    if not undrawn:
        return
    own = _own_pairs(task.pk)
    (counts,) = rows_of(COUNTS, task=task.pk)
    facts = _facts(task.pk, own.pairs, counts.drawn, counts.fit)
    drawing = PairDrawing(
        drawing_rule(task),
        facts,
        uniform_share(task.options),
        most=most_of_pair(own.comparisons, len(own.pairs)),
        met=_met(task, rater, own),
        most_met=most_of_rater(task.block_size * task.blocks_per_rater, len(own.pairs)),
    )
    drawn = [(slot, *drawing.draw(own.candidates[slot.item_id], rng)) for slot in undrawn]
    turns = _take_turns(own, [pair for _, pair, _ in drawn])
    rows = []
    for slot, pair, probability in drawn:
        rated, versus = own.candidates[slot.item_id][pair]
        rows.append(
            {
                "slot": slot.pk,
                "stimulus": rated,
                "versus": versus,
                "versus_first": own.versus_starts[pair] ^ (next(turns[pair]) % 2 == 1),
                "probability": probability,
            }
        )
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"draws": json.dumps(rows)})


class _OwnPairs:
    """What of a task's pairs never changes once its blocks are planned."""

    def __init__(self, task: Task) -> None:
        self.candidates = candidates_of(task, material_of(task))
        rows = task.pair_counts.select_related("condition", "versus").order_by("pk")
        self.ids: dict[Pair, int] = {}
        self.versus_starts: dict[Pair, bool] = {}
        self.by_conditions: dict[tuple[int, int], Pair] = {}
        for row in rows:
            pair = row.condition.key, row.versus.key
            self.ids[pair], self.versus_starts[pair] = row.pk, row.versus_starts
            self.by_conditions[row.condition_id, row.versus_id] = pair
        self.pairs = tuple(self.ids)
        self.comparisons = Slot.objects.filter(task=task).count()


def _own_pairs(task: int) -> _OwnPairs:
    """Cached by the first count as well: the pilots of a draft have counts of their own."""
    first = PairCount.objects.filter(task=task).order_by("pk").values_list("pk", flat=True).first()
    return _own_pairs_from(task, first)


@lru_cache(maxsize=64)
def _own_pairs_from(task: int, first: int | None) -> _OwnPairs:
    return _OwnPairs(Task.objects.get(pk=task))


def _facts(
    task: int, pairs: Sequence[Pair], drawn: Sequence[int], fit: int | None
) -> dict[Pair, PairFacts]:
    known = _fit(task, fit) if fit is not None else {}
    nothing = PairFacts()
    return {
        pair: replace(known.get(pair, nothing), drawn=n)
        for pair, n in zip(pairs, drawn, strict=True)
    }


@lru_cache(maxsize=64)
def _fit(task: int, number: int) -> dict[Pair, PairFacts]:
    """The facts of a fit; of a newer one, where there is one by now."""
    rows: list[Any] = rows_of(FIT, task=task)
    return {
        (a, b): PairFacts(0, drawn, spread, variance, met)
        for a, b, drawn, spread, variance, met in json.loads(rows[0].pairs)
    }


def _met(task: Task, rater: int, own: _OwnPairs) -> Counter[Pair]:
    """How often a rater has met each pair in the task."""
    if task.blocks_per_rater == 1:
        return Counter()
    rows = rows_of(MET, rater=rater, task=task.pk)
    return Counter(own.by_conditions[row.condition_id, row.versus_id] for row in rows)


def _take_turns(own: _OwnPairs, pairs: Sequence[Pair]) -> dict[Pair, Iterator[int]]:
    """For each pair the numbers of its comparisons, from 0, that nobody else has."""
    wanted = Counter(pairs)
    draws = [{"id": own.ids[pair], "n": n} for pair, n in wanted.items()]
    after = {row.pk: row.drawn for row in rows_of(COUNT, draws=json.dumps(draws))}
    return {
        pair: iter(range(after[own.ids[pair]] - n, after[own.ids[pair]]))
        for pair, n in wanted.items()
    }


def is_drawn_at_claim(task: Task) -> bool:
    """Whether a task's pairs are drawn when a rater claims a block."""
    return drawing_rule(task) in AT_CLAIM
