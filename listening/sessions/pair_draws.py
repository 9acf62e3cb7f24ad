"""Pairs of systems drawn when a rater claims a block, from the counts and the last fit.

A slot's pair is drawn once, with the claim of its block, and stays: whoever takes the block again
compares the same two. So both orders of a pair, and its count, stay as they were drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from random import Random

from msgspec.json import decode, encode

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
from listening.models import Slot, Task
from listening.sessions.allocation import material_of
from listening.sessions.leases import ANSWERED, PLANNED

# Slots without a pair in their order, counts in theirs, and by which fit pairs are drawn.
KNOWN = """
SELECT (
    SELECT json_agg(json_build_array(s.id, u.item_id) ORDER BY s.block_id, s.position)::text
    FROM listening_slot s JOIN listening_stimulus u ON u.id = s.stimulus_id
    WHERE s.block_id = ANY(%(blocks)s) AND s.pair_probability IS NULL
) AS undrawn, c.first, c.drawn, (
    SELECT number FROM listening_pairfit WHERE task_id = %(task)s
) AS fit
FROM (
    SELECT min(id) AS first, json_agg(drawn ORDER BY id)::text AS drawn
    FROM listening_paircount WHERE task_id = %(task)s
) c
"""
FIT = "SELECT pairs::text AS pairs FROM listening_pairfit WHERE task_id = %(task)s"
MET = f"""
SELECT x.condition_id, v.condition_id AS versus_id FROM listening_trial t
JOIN listening_stimulus x ON x.id = t.stimulus_id
JOIN listening_stimulus v ON v.id = t.versus_id
WHERE t.session_id = ANY(ARRAY(SELECT id FROM listening_session WHERE rater_id = %(rater)s))
  AND t.task_id = %(task)s AND t.slot_id IS NOT NULL AND (t.{PLANNED} OR t.{ANSWERED})
"""
# Counts are locked in one order by everybody. The order in which a pair is heard follows from its
# count, so both are equally often, within one, however many raters claim at once. `still` is how
# many of the claim's comparisons of this pair there are, from this one on.
DRAW = """
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(draws)s::json) AS g(slot bigint, count bigint,
        stimulus bigint, versus bigint, still int, probability float8)
), wanted AS MATERIALIZED (
    SELECT count AS id, max(still) AS n FROM given GROUP BY count
), locked AS MATERIALIZED (
    SELECT c.id FROM listening_paircount c JOIN wanted ON wanted.id = c.id
    ORDER BY c.id FOR NO KEY UPDATE OF c
), counted AS (
    UPDATE listening_paircount c SET drawn = c.drawn + wanted.n
    FROM wanted, locked WHERE c.id = wanted.id AND locked.id = c.id
    RETURNING c.id, c.drawn, c.versus_starts
)
UPDATE listening_slot s SET stimulus_id = g.stimulus, versus_id = g.versus,
    versus_first = c.versus_starts <> ((c.drawn - g.still) %% 2 = 1),
    pair_probability = g.probability
FROM given g JOIN counted c ON c.id = g.count WHERE s.id = g.slot
"""


def draw_pairs(task: Task, blocks: Sequence[int], rater: int, rng: Random) -> None:
    """Draw the pairs of claimed blocks that have none yet."""
    (known,) = rows_of(KNOWN, task=task.pk, blocks=list(blocks))
    if known.undrawn is None:
        return
    own = _own_pairs(task.pk, known.first)
    pairs = len(own.pairs)
    drawing = PairDrawing(
        drawing_rule(task),
        PairFacts.before_answers(pairs) if known.fit is None else _fit(own, known.fit),
        decode(known.drawn),
        uniform_share(task.options),
        most=most_of_pair(own.comparisons, pairs),
        met=_met(task, rater, own),
        most_met=most_of_rater(task.block_size * task.blocks_per_rater, pairs),
    )
    rows = []
    for slot, item in decode(known.undrawn):
        clips = own.clips[item]
        place, probability = drawing.draw(clips, rng)
        stimulus, versus = clips[place]
        rows.append(
            {
                "slot": slot,
                "count": own.counts[place],
                "stimulus": stimulus,
                "versus": versus,
                "probability": probability,
            }
        )
    still: Counter[int] = Counter()
    for row in reversed(rows):
        still[row["count"]] += 1
        row["still"] = still[row["count"]]
    rows_of(DRAW, draws=encode(rows).decode())


class _OwnPairs:
    """What of a task's pairs never changes once its blocks are planned; a pair is its place."""

    def __init__(self, task: Task) -> None:
        self.task = task.pk
        rows = task.pair_counts.select_related("condition", "versus").order_by("pk")
        self.counts = [row.pk for row in rows]
        self.pairs: dict[Pair, int] = {
            (row.condition.key, row.versus.key): place for place, row in enumerate(rows)
        }
        self.by_conditions = {
            (row.condition_id, row.versus_id): place for place, row in enumerate(rows)
        }
        self.clips = {
            item: {self.pairs[pair]: clips for pair, clips in there.items()}
            for item, there in candidates_of(task, material_of(task)).items()
        }
        self.comparisons = Slot.objects.filter(task=task).count()


@lru_cache(maxsize=64)
def _own_pairs(task: int, first: int) -> _OwnPairs:
    """Cached by the first count as well: the pilots of a draft have counts of their own."""
    return _OwnPairs(Task.objects.get(pk=task))


@lru_cache(maxsize=64)
def _fit(own: _OwnPairs, number: int) -> PairFacts:
    """What a fit says; a newer one, where there is one by now."""
    (row,) = rows_of(FIT, task=own.task)
    rows = {own.pairs[a, b]: each for a, b, *each in decode(row.pairs)}
    by_place = [rows[place] for place in range(len(own.pairs))]
    return PairFacts(
        drawn=[drawn for drawn, _, _, _ in by_place],
        gain=[spread * variance for _, spread, variance, _ in by_place],
        met=[met for _, _, _, met in by_place],
    )


def _met(task: Task, rater: int, own: _OwnPairs) -> Counter[int]:
    """How often a rater has met each pair in the task."""
    if task.blocks_per_rater == 1:
        return Counter()
    rows = rows_of(MET, rater=rater, task=task.pk)
    return Counter(own.by_conditions[row.condition_id, row.versus_id] for row in rows)


def is_drawn_at_claim(task: Task) -> bool:
    """Whether a task's pairs are drawn when a rater claims a block."""
    return drawing_rule(task) in AT_CLAIM
