"""Blocks planned and claimed; a database constraint makes their number exact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from listening.common.statements import rows_of
from listening.design.blocks import PlannedBlock, plan_blocks
from listening.design.pair_drawing import Candidates, candidates_of, deal_into, drawing_rule
from listening.design.studyfile.drawing import drawn_clips, is_scattered, only_drawn
from listening.methods import PlannedTrial, StimulusRef, method_named
from listening.methods.paired import ALL, AT_CLAIM
from listening.models import (
    Block,
    Condition,
    Item,
    PairCount,
    PairFit,
    Slot,
    Stimulus,
    Study,
    Task,
    Trial,
)
from listening.sessions.leases import (
    ANSWERED,
    FULL_LEASE,
    LEASED,
    OPEN,
    PLANNED,
    RAN_OUT,
    return_expired_leases,
)

COPY_BATCH = 2000  # blocks written at a time
MOST_IN_BLOCK = 1000  # of `block_size`


def _before_draws(task: Task) -> QuerySet[Stimulus]:
    """The stimuli of a task's conditions and dimensions; see `material_of`."""
    stimuli = Stimulus.objects.filter(study=task.study_id, trap="", run=1)
    if conditions := task.material.get("conditions"):
        stimuli = stimuli.filter(condition__key__in=conditions)
    else:
        stimuli = stimuli.filter(derived=False)
    if dimensions := task.material.get("dimensions"):
        stimuli = stimuli.filter(item__dimension__in=dimensions)
    return stimuli


def material_of(task: Task) -> list[StimulusRef]:
    """The stimuli that a task rates: its conditions and dimensions, or what was drawn of them.

    Never traps, and of several runs of the synthesis the first.

    What settings make of lines is rated where a task names it.
    """
    drawn = drawn_clips(task.material.get("draw", {}))
    fields = ("pk", "item_id", "condition__key", "condition__role", "item__key", "key")
    return [
        StimulusRef(pk, item, condition, role)
        for pk, item, condition, role, item_key, key in _before_draws(task).values_list(*fields)
        if drawn(item_key, condition, key)
    ]


def count_conditions(task: Task) -> int:
    """Return how many conditions a task rates; its clips are read only where some were drawn."""
    if task.material.get("draw"):
        return len({ref.condition for ref in material_of(task)})
    return _before_draws(task).values("condition").distinct().count()


def trials_of(task: Task) -> list[PlannedTrial]:
    """The screens of one replicate."""
    planned = method_named(task.method).trials(material_of(task), task.options)
    keys = dict(Item.objects.filter(study=task.study_id).values_list("pk", "key"))
    return only_drawn(planned, task.material.get("draw", {}), keys)


@transaction.atomic
def plan_study(study: Study) -> int:
    """Write blocks and slots of every task that has none yet; the number of slots written."""
    Study.objects.select_for_update().get(pk=study.pk)
    return sum(_plan_task(t) for t in study.tasks.filter(blocks__isnull=True))


def _plan_task(task: Task) -> int:
    trials = trials_of(task)
    blocks = plan_blocks(
        trials,
        block_size=task.block_size,
        ratings_per_stimulus=task.ratings_per_stimulus,
        seed=task.study.seed + task.order,
        repeat_items=task.repeat_items,
        steady_chunks=task.blocks_per_rater > 1,
        scattered=is_scattered(task.material.get("draw", {})),
    )
    rng = Random(f"queue {task.study.seed} {task.order}")
    rule, pairs = drawing_rule(task), Random(f"pairs {task.study.seed} {task.order}")
    probability: dict[int, float] = {}
    if rule != ALL:
        candidates = candidates_of(task, material_of(task))
        blocks = deal_into(blocks, candidates, pairs)
        if rule in AT_CLAIM:
            _start_counts(task, candidates, pairs)
        else:
            probability = {item: 1 / len(there) for item, there in candidates.items()}
    while batch := list(islice(blocks, COPY_BATCH)):
        _write_blocks(task, batch, rng, probability)
    written = Slot.objects.filter(task=task).count()
    if written != len(trials) * task.ratings_per_stimulus:
        raise AssertionError(f"{written} slots planned for {len(trials)} trials of task {task.key}")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE listening_block, listening_slot")
    return written


def _start_counts(task: Task, candidates: Candidates, rng: Random) -> None:
    """A count of 0 for each pair that the task may draw."""
    PairCount.objects.filter(task=task).delete()
    PairFit.objects.filter(task=task).delete()
    ids = dict(Condition.objects.filter(study=task.study_id).values_list("key", "pk"))
    PairCount.objects.bulk_create(
        PairCount(
            task=task, condition_id=ids[a], versus_id=ids[b], versus_starts=rng.random() < 0.5
        )
        for a, b in sorted({pair for there in candidates.values() for pair in there})
    )


def _write_blocks(
    task: Task, batch: Sequence[PlannedBlock], rng: Random, probability: Mapping[int, float]
) -> None:
    """Blocks and slots; ``probability`` is that of an item's pairs, where they were drawn."""
    draws = drawing_rule(task) != ALL
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence('listening_block', 'id'))"
            " FROM generate_series(1, %s)",
            [len(batch)],
        )
        ids = [row[0] for row in cursor.fetchall()]
        with cursor.copy(
            "COPY listening_block (id, task_id, replicate, ord, keys, state) FROM STDIN"
        ) as copy:
            for pk, block in zip(ids, batch, strict=True):
                keys = [
                    met_once(task, pk, place, slot.trial.item, slot.trial.rated[0], draws)
                    for place, slot in enumerate(block.slots)
                ]
                place = rng.getrandbits(31)
                copy.write_row((pk, task.pk, block.replicate, place, keys, Block.State.OPEN))
        with cursor.copy(
            "COPY listening_slot (block_id, task_id, position, stimulus_id, versus_id,"
            " versus_first, others, context, replicate, ratings_per_stimulus, pair_probability)"
            " FROM STDIN"
        ) as copy:
            for row in _slot_rows(task, ids, batch, probability):
                copy.write_row(row)


def _slot_rows(
    task: Task,
    ids: Sequence[int],
    batch: Sequence[PlannedBlock],
    probability: Mapping[int, float],
) -> Iterator[tuple[Any, ...]]:
    for pk, block in zip(ids, batch, strict=True):
        for position, slot in enumerate(block.slots):
            rated, *others = slot.trial.rated
            yield (
                *(pk, task.pk, position, rated, slot.trial.versus, slot.versus_first),
                *(others, list(slot.trial.context), block.replicate, task.ratings_per_stimulus),
                probability.get(slot.trial.item),
            )


def met_once(task: Task, block: int, position: int, item: int, stimulus: int, draws: bool) -> int:
    """What a rater may meet once in this task: the item, or the stimulus where items may repeat.

    Where a task draws pairs and repeats items, the slot alone: its pair is drawn later.
    """
    if not task.repeat_items:
        return item
    return -(block * MOST_IN_BLOCK + position) if draws else stimulus


# SKIP LOCKED: raters who come at once take different blocks instead of waiting for one another.
# NO KEY: rows that refer to a block (slots, trials) may be written while it is being claimed.
CLAIM = f"""
WITH picked AS MATERIALIZED (
    SELECT id FROM listening_block
    WHERE task_id = %(task)s AND {OPEN} AND ord >= %(low)s AND ord < %(high)s
      AND NOT keys && %(met)s::bigint[]
    ORDER BY ord LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE listening_block b
SET {LEASED}, session_id = %(session)s, {FULL_LEASE}
FROM picked WHERE b.id = picked.id RETURNING b.id, b.keys
"""


# What a rater has met in a task, by block, and whether it counts as taken: held or answered, not
# lost half-way. Found by the index of sessions.
BEFORE = f"""
SELECT bool_or({PLANNED} OR {ANSWERED}) AND NOT bool_or(state = '{Trial.State.GONE}') AS taken,
       coalesce(array_agg(meets) FILTER (WHERE meets IS NOT NULL), '{{}}') AS keys
FROM listening_trial
WHERE session_id = ANY(ARRAY(SELECT id FROM listening_session WHERE rater_id = %(rater)s))
  AND task_id = %(task)s GROUP BY block_id
"""


def claim_blocks(
    task: Task, *, session: int, rater: int, lease_s: int, wanted: int, rng: Random
) -> list[int]:
    """Lease up to `wanted` open blocks that hold nothing this rater has met in the task.

    Fewer, where the rater has taken some before: no more than the task's `blocks_per_rater`.
    """
    before = rows_of(BEFORE, rater=rater, task=task.pk)
    met = {key for block in before for key in block.keys}
    wanted = min(wanted, task.blocks_per_rater - sum(block.taken for block in before))
    claimed: list[int] = []
    while len(claimed) < wanted:
        block = _claim_one(task.pk, session, lease_s, met, rng)
        if block is None and return_expired_leases(task.pk):  # no rater waits for the next beat
            block = _claim_one(task.pk, session, lease_s, met, rng)
        if block is None:
            break
        claimed.append(block[0])
        met |= set(block[1])
    return claimed


def _claim_one(
    task: int, session: int, lease_s: int, met: set[int], rng: Random
) -> tuple[int, list[int]] | None:
    """From a random place in the queue to its end, then from its start to that place.

    From one place for all, each claim would walk over all that others hold at this moment.
    """
    start = rng.getrandbits(31)
    own = {"task": task, "session": session, "lease_s": lease_s, "met": list(met)}
    for low, high in ((start, 2**31), (0, start)):
        for block, keys in rows_of(CLAIM, **own, low=low, high=high):
            return block, keys
    return None


def has_room(study: int) -> bool:
    """Whether any block of the study is open, or held under a lease that ran out."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM listening_task k WHERE k.study_id = %s AND ("
            f" EXISTS (SELECT 1 FROM listening_block WHERE task_id = k.id AND {OPEN})"
            f" OR EXISTS (SELECT 1 FROM listening_block WHERE task_id = k.id AND {RAN_OUT})))",
            [study],
        )
        return bool(cursor.fetchone()[0])


def is_finished(study: int) -> bool:
    """Whether all blocks of the study are done: none can become free any more."""
    blocks = Block.objects.filter(task__study=study)
    return blocks.exists() and not blocks.exclude(state=Block.State.DONE).exists()


SAMPLE = 400  # blocks that tell how far a task is; smaller tasks are looked at in full


def open_share(task: int, rng: Random) -> float:
    """About which share of the task's blocks is open, from a random stretch of its queue."""
    planned = _planned_blocks(task)
    width = min(2**31, 2**31 * SAMPLE // planned) if planned else 2**31
    low = rng.randrange(2**31 - width + 1)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM listening_block"
            f" WHERE task_id = %s AND {OPEN} AND ord >= %s AND ord < %s",
            [task, low, low + width],
        )
        return float(cursor.fetchone()[0]) / max(planned * width / 2**31, 1)


@lru_cache(maxsize=1024)
def _planned_blocks(task: int) -> int:
    """Blocks are planned once, before the study opens, and then stay."""
    return Block.objects.filter(task=task).count()


# With what a trial in it needs to know of its clip.
OPEN_SLOTS = """
SELECT s.id AS pk, s.block_id, s.position, s.stimulus_id, s.versus_id, s.versus_first, s.others,
       s.context, s.pair_probability, u.item_id
FROM listening_slot s JOIN listening_stimulus u ON u.id = s.stimulus_id
WHERE s.block_id = ANY(%(blocks)s) AND NOT s.is_stopped AND NOT EXISTS (
    SELECT 1 FROM listening_rating r WHERE r.slot_id = s.id AND r.counts)
ORDER BY s.block_id, s.position
"""


def open_slots(blocks: Iterable[int]) -> list[Any]:
    """Slots of these blocks that are still owed a counting rating, in playing order: rows."""
    return rows_of(OPEN_SLOTS, blocks=list(blocks))
