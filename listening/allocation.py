"""Blocks planned, claimed, leased, returned and reopened; exactness is a database constraint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from random import Random
from typing import Any

from django.db import connection, transaction

from listening.design.blocks import PlannedBlock, plan_blocks
from listening.methods import StimulusRef, method_named
from listening.models import Block, Slot, Stimulus, Study, Task

COPY_BATCH = 2000  # blocks written at a time


def material_of(task: Task) -> list[StimulusRef]:
    """The stimuli that a task rates: its conditions and dimensions, never traps.

    What settings make of lines is rated where a task names it.
    """
    stimuli = Stimulus.objects.filter(study=task.study_id, trap="")
    if conditions := task.material.get("conditions"):
        stimuli = stimuli.filter(condition__key__in=conditions)
    else:
        stimuli = stimuli.filter(derived=False)
    if dimensions := task.material.get("dimensions"):
        stimuli = stimuli.filter(item__dimension__in=dimensions)
    rows = stimuli.values_list("pk", "item_id", "condition__key", "condition__role")
    return [StimulusRef(*row) for row in rows]


@transaction.atomic
def plan_study(study: Study) -> int:
    """Write blocks and slots of every task that has none yet; the number of slots written."""
    Study.objects.select_for_update().get(pk=study.pk)
    return sum(_plan_task(t) for t in study.tasks.filter(blocks__isnull=True))


def _plan_task(task: Task) -> int:
    method = method_named(task.method)
    trials = list(method.trials(material_of(task), task.options))
    blocks = plan_blocks(
        trials,
        block_size=task.block_size,
        replicates=task.ratings_per_stimulus,
        seed=task.study.seed + task.order,
        repeat_items=task.repeat_items,
        steady_chunks=task.blocks_per_rater > 1,
    )
    rng = Random(f"queue {task.study.seed} {task.order}")
    while batch := list(islice(blocks, COPY_BATCH)):
        _write_blocks(task, batch, rng)
    written = Slot.objects.filter(task=task).count()
    if written != len(trials) * task.ratings_per_stimulus:
        raise AssertionError(f"{written} slots planned for {len(trials)} trials of task {task.key}")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE listening_block, listening_slot")
    return written


def _write_blocks(task: Task, batch: Sequence[PlannedBlock], rng: Random) -> None:
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
                keys = [_meets(task, slot.trial.item, slot.trial.rated[0]) for slot in block.slots]
                copy.write_row((pk, task.pk, block.replicate, rng.getrandbits(31), keys, 0))
        with cursor.copy(
            "COPY listening_slot (block_id, task_id, position, stimulus_id, versus_id,"
            " versus_first, others, context, replicate, target) FROM STDIN"
        ) as copy:
            for row in _slot_rows(task, ids, batch):
                copy.write_row(row)


def _slot_rows(
    task: Task, ids: Sequence[int], batch: Sequence[PlannedBlock]
) -> Iterator[tuple[Any, ...]]:
    for pk, block in zip(ids, batch, strict=True):
        for position, slot in enumerate(block.slots):
            rated, *others = slot.trial.rated
            yield (
                *(pk, task.pk, position, rated, slot.trial.versus, slot.versus_first),
                *(others, list(slot.trial.context), block.replicate, task.ratings_per_stimulus),
            )


def _meets(task: Task, item: int, stimulus: int) -> int:
    """What a rater may meet once in this task: the item, or the stimulus where items may repeat."""
    return stimulus if task.repeat_items else item


CLAIM = """
WITH picked AS MATERIALIZED (
    SELECT id FROM listening_block
    WHERE task_id = %(task)s AND state = 0 AND ord >= %(low)s AND ord < %(high)s
      AND NOT keys && %(met)s::bigint[]
    ORDER BY ord LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE listening_block b
SET state = 1, session_id = %(session)s,
    lease_until = statement_timestamp() + make_interval(secs => %(lease_s)s)
FROM picked WHERE b.id = picked.id RETURNING b.id, b.keys
"""


def claim_blocks(
    task: Task, *, session: int, rater: int, lease_s: int, wanted: int, rng: Random
) -> list[int]:
    """Lease up to `wanted` open blocks that hold nothing this rater has met in the task."""
    met = met_keys(rater, task.pk)
    claimed: list[int] = []
    while len(claimed) < wanted:
        found = _claim_one(task.pk, session, lease_s, met, rng)
        if found is None and return_expired_leases(task.pk):
            found = _claim_one(task.pk, session, lease_s, met, rng)
        if found is None:
            break
        claimed.append(found[0])
        met |= set(found[1])
    return claimed


def _claim_one(
    task: int, session: int, lease_s: int, met: set[int], rng: Random
) -> tuple[int, list[int]] | None:
    """From a random place in the queue to its end, then from its start to that place."""
    start = rng.getrandbits(31)
    with connection.cursor() as cursor:
        for low, high in ((start, 2**31 - 1), (0, start)):
            cursor.execute(
                CLAIM,
                {
                    **{"task": task, "session": session, "lease_s": lease_s},
                    **{"met": list(met), "low": low, "high": high},
                },
            )
            if row := cursor.fetchone():
                return row[0], row[1]
    return None


def met_keys(rater: int, task: int) -> set[int]:
    """What the rater has met in this task, answered or not (found by the index of sessions)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT meets FROM listening_trial"
            " WHERE session_id = ANY(ARRAY(SELECT id FROM listening_session WHERE rater_id = %s))"
            " AND task_id = %s AND meets IS NOT NULL",
            [rater, task],
        )
        return {row[0] for row in cursor.fetchall()}


def blocks_taken(rater: int, task: int) -> int:
    """Blocks that the rater holds or has answered, but for those that were lost half-way."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT FROM listening_trial"
            " WHERE session_id = ANY(ARRAY(SELECT id FROM listening_session WHERE rater_id = %s))"
            " AND task_id = %s GROUP BY block_id"
            " HAVING bool_or(state IN ('planned', 'answered')) AND NOT bool_or(state = 'gone')) b",
            [rater, task],
        )
        return int(cursor.fetchone()[0])


def has_room(study: int) -> bool:
    """Whether any block of the study is open, or held under a lease that ran out."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM listening_task k WHERE k.study_id = %s AND ("
            " EXISTS (SELECT 1 FROM listening_block WHERE task_id = k.id AND state = 0)"
            " OR EXISTS (SELECT 1 FROM listening_block WHERE task_id = k.id AND state = 1"
            " AND lease_until < statement_timestamp())))",
            [study],
        )
        return bool(cursor.fetchone()[0])


SAMPLE = 400  # blocks that tell how far a task is; smaller tasks are looked at in full


def open_share(task: int, rng: Random) -> float:
    """About which share of the task's blocks is open, from a random stretch of its queue."""
    planned = _planned_blocks(task)
    width = min(2**31, 2**31 * SAMPLE // planned) if planned else 2**31
    low = rng.randrange(2**31 - width + 1)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM listening_block"
            " WHERE task_id = %s AND state = 0 AND ord >= %s AND ord < %s",
            [task, low, low + width],
        )
        return float(cursor.fetchone()[0]) / max(planned * width / 2**31, 1)


@lru_cache(maxsize=1024)
def _planned_blocks(task: int) -> int:
    """Blocks are planned once, before the study opens, and then stay."""
    return Block.objects.filter(task=task).count()


def open_slots(blocks: Iterable[int]) -> list[Slot]:
    """Slots of these blocks that still lack a counting rating, in playing order."""
    return list(
        Slot.objects.raw(
            "SELECT s.* FROM listening_slot s WHERE s.block_id = ANY(%s)"
            " AND NOT EXISTS (SELECT 1 FROM listening_rating r WHERE r.slot_id = s.id AND r.counts)"
            " ORDER BY s.block_id, s.position",
            [list(blocks)],
        )
    )


@transaction.atomic
def return_expired_leases(task: int | None = None) -> int:
    """Give back every block whose lease ran out; locked ones are somebody's, and wait."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM listening_block"
            " WHERE state = 1 AND lease_until < statement_timestamp()"
            " AND (%(task)s::bigint IS NULL OR task_id = %(task)s)"
            " ORDER BY id FOR NO KEY UPDATE SKIP LOCKED",
            {"task": task},
        )
        blocks = [row[0] for row in cursor.fetchall()]
    give_back(blocks)
    return len(blocks)


def give_back(blocks: Sequence[int]) -> None:
    """Take locked, leased blocks from their sessions: open trials are void, the block is settled.

    Where a task counts only blocks that pass their traps, half a block cannot be judged: what was
    answered in it stays, but no longer counts towards the target.
    """
    if not blocks:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE listening_rating r SET counts = false FROM listening_trial t,"
            " listening_block b, listening_task k"
            " WHERE r.trial_id = t.id AND t.block_id = b.id AND b.task_id = k.id AND r.counts"
            " AND b.id = ANY(%s) AND b.session_id = t.session_id AND k.reopen_invalid",
            [list(blocks)],
        )
        cursor.execute(
            "UPDATE listening_trial SET state = 'void'"
            " WHERE block_id = ANY(%s) AND state = 'planned'",
            [list(blocks)],
        )
    settle(blocks)


def settle(blocks: Sequence[int]) -> None:
    """Blocks that have all their counting ratings are done; the others are open again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE listening_block SET lease_until = NULL,"
            " state = CASE WHEN listening_block_is_whole(id) THEN 2 ELSE 0 END,"
            " session_id = CASE WHEN listening_block_is_whole(id) THEN session_id END"
            " WHERE id = ANY(%s)",
            [list(blocks)],
        )


def lock_blocks_of(session: int) -> list[int]:
    """Lock every block in which the session has a trial, in one order for everybody.

    All are locked, so that nobody finishes one meanwhile; those that another session holds by now
    are not returned: they are settled when that session is through with them.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT b.id, b.state = 1 AND b.session_id IS DISTINCT FROM %(s)s"
            " FROM listening_block b"
            " WHERE b.id IN (SELECT block_id FROM listening_trial WHERE session_id = %(s)s)"
            " ORDER BY b.id FOR NO KEY UPDATE",
            {"s": session},
        )
        return [block for block, held_by_another in cursor.fetchall() if not held_by_another]


def retake_block(block: int, *, session: int, lease_s: int) -> bool:
    """Lease a lost block again if nobody else took it meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE listening_block SET state = 1, session_id = %s,"
            " lease_until = statement_timestamp() + make_interval(secs => %s)"
            " WHERE id = %s AND state = 0 RETURNING id",
            [session, lease_s, block],
        )
        return cursor.fetchone() is not None


def extend_leases(session: int, lease_s: int) -> None:
    """The blocks that a session holds stay its own for the whole of another lease."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE listening_block"
            " SET lease_until = statement_timestamp() + make_interval(secs => %s)"
            " WHERE session_id = %s AND state = 1",
            [lease_s, session],
        )


def recount(block: int, session: int) -> None:
    """Ratings that stopped counting when this session lost the block count again."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE listening_rating r SET counts = true FROM listening_trial t"
            " WHERE t.id = r.trial_id AND t.block_id = %s AND t.session_id = %s"
            " AND NOT r.counts AND r.slot_id IS NOT NULL AND NOT EXISTS (SELECT 1"
            " FROM listening_rating o WHERE o.slot_id = r.slot_id AND o.counts)",
            [block, session],
        )
