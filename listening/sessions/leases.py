"""A block's states and its lease: taken, extended, expired, given back; the SQL of all of it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection, transaction

from listening.common.statements import Statement, Steps, rows_of, run_steps
from listening.models import Block, Session, Trial

# Written into the statements as literals: PostgreSQL uses the partial indexes `block_open` and
# `block_leased` only where it can read the state when it plans, which a parameter hides.
OPEN = f"state = {Block.State.OPEN}"
LEASED = f"state = {Block.State.LEASED}"
FULL_LEASE_OF = "lease_until = statement_timestamp() + make_interval(secs => {lease_s})"
FULL_LEASE = FULL_LEASE_OF.format(lease_s="%(lease_s)s")
RAN_OUT = f"{LEASED} AND lease_until < statement_timestamp()"  # expired, and not yet given back

PLANNED = f"state = '{Trial.State.PLANNED}'"  # of trials
ANSWERED = f"state = '{Trial.State.ANSWERED}'"
SKIPPED = f"state = '{Trial.State.SKIPPED}'"
VOID = f"state = '{Trial.State.VOID}'"

# It asks the ratings, not the caller: whoever gave the block back, another may have filled it.
SETTLED = f"""
    UPDATE listening_block SET lease_until = NULL,
        state = CASE WHEN listening_block_is_whole(id)
            THEN {Block.State.DONE} ELSE {Block.State.OPEN} END,
        session_id = CASE WHEN listening_block_is_whole(id) THEN session_id END
    WHERE id = ANY(%(blocks)s)
"""

# Half a block cannot be judged where a task counts only blocks that pass their traps.
UNCOUNTED = """
    UPDATE listening_rating r SET counts = false
    FROM listening_trial t, listening_block b, listening_task k
    WHERE r.trial_id = t.id AND t.block_id = b.id AND b.task_id = k.id AND r.counts
      AND b.id = ANY(%(blocks)s) AND b.session_id = t.session_id AND k.reopen_invalid
"""
VOIDED = f"UPDATE listening_trial SET {VOID} WHERE block_id = ANY(%(blocks)s) AND {PLANNED}"

# Who left and lost every block is shown as expired, though the session may still come back.
STATUS_NOW = f"""CASE WHEN s.status = '{Session.Status.STARTED}' AND NOT EXISTS (
        SELECT 1 FROM listening_block b WHERE b.session_id = s.id AND b.{LEASED})
    THEN '{Session.Status.EXPIRED}' ELSE s.status END"""


@transaction.atomic
def return_expired_leases(task: int | None = None) -> int:
    """Give back every block whose lease ran out; locked ones are somebody's, and wait."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM listening_block WHERE {RAN_OUT}"
            " AND (%(task)s::bigint IS NULL OR task_id = %(task)s)"
            " ORDER BY id FOR NO KEY UPDATE SKIP LOCKED",
            {"task": task},
        )
        blocks = [row[0] for row in cursor.fetchall()]
    give_back(blocks)
    return len(blocks)


def give_back(blocks: Sequence[int]) -> None:
    """Take locked, leased blocks from their sessions: see `give_back_steps`."""
    if blocks:
        run_steps(give_back_steps(blocks))


def give_back_steps(blocks: Sequence[int]) -> Steps[None]:
    """Void the open trials of locked, leased blocks, and settle the blocks.

    Where a task counts only blocks that pass their traps, what was answered stays, but no longer
    counts towards the target.
    """
    for statement in (UNCOUNTED, VOIDED, SETTLED):
        yield Statement(statement, {"blocks": list(blocks)})


def settle(blocks: Sequence[int]) -> None:
    """Blocks that have all their counting ratings are done; the others are open again."""
    rows_of(SETTLED, blocks=list(blocks))


def lock_blocks_of(sessions: Sequence[int]) -> list[int]:
    """Lock every block in which the sessions have a trial, in one order for everybody.

    All are locked, so that nobody finishes one meanwhile; those that another session holds by now
    are not returned: they are settled when that session is through with them.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT b.id, b.{LEASED} AND NOT coalesce(b.session_id = ANY(%(s)s), false)"
            " FROM listening_block b"
            " WHERE b.id IN (SELECT block_id FROM listening_trial WHERE session_id = ANY(%(s)s))"
            " ORDER BY b.id FOR NO KEY UPDATE",
            {"s": list(sessions)},
        )
        return [block for block, held_by_another in cursor.fetchall() if not held_by_another]


def retake_block(block: int, *, session: int, lease_s: int) -> bool:
    """Lease a lost block again if nobody else took it meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE listening_block SET {LEASED}, session_id = %(session)s, {FULL_LEASE}"
            f" WHERE id = %(block)s AND {OPEN} RETURNING id",
            {"session": session, "lease_s": lease_s, "block": block},
        )
        return cursor.fetchone() is not None


def extend_leases(session: int, lease_s: int) -> None:
    """The blocks that a session holds stay its own for the whole of another lease."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE listening_block SET {FULL_LEASE} WHERE session_id = %(session)s AND {LEASED}",
            {"session": session, "lease_s": lease_s},
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
