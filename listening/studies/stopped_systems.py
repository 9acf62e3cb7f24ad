"""Systems and pairs of systems that a stop rule has decided, and that receive no more raters.

Their slots stay as they are planned, marked as stopped: no later claim hands them out, and a block
is done without them. Sessions that hold such slots already may finish them. No slot is added or
moved, so every other system gets exactly the ratings that were planned, and later sessions are
shorter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NotRequired, TypedDict

from django.db import transaction

from listening.common.statements import rows_of
from listening.design.pair_drawing import drawing_rule
from listening.methods.paired import AT_CLAIM
from listening.models import Study
from listening.sessions.leases import OPEN, settle

# A task whose screens hold one rated clip, and whose blocks hold two systems or pairs at least.
SEPARABLE = """
SELECT k.key FROM listening_task k WHERE k.id = ANY(%(tasks)s)
  AND EXISTS (SELECT 1 FROM listening_slot s WHERE s.task_id = k.id)
  AND NOT EXISTS (SELECT 1 FROM listening_slot s WHERE s.task_id = k.id AND s.others <> '{}')
  AND NOT EXISTS (
    SELECT 1 FROM listening_slot s JOIN listening_stimulus x ON x.id = s.stimulus_id
    LEFT JOIN listening_stimulus v ON v.id = s.versus_id
    WHERE s.task_id = k.id GROUP BY s.block_id
    HAVING count(DISTINCT (x.condition_id, v.condition_id)) < 2)
ORDER BY k.order
"""
STOP = """
UPDATE listening_slot s SET is_stopped = true
FROM listening_task k, listening_stimulus x, listening_condition xc,
    json_to_recordset(%(systems)s::json) AS g(condition text, versus text)
WHERE k.study_id = %(study)s AND k.key = %(task)s AND s.task_id = k.id AND NOT s.is_stopped
  AND x.id = s.stimulus_id AND xc.id = x.condition_id AND (
    g.versus = '' AND xc.key = g.condition
    OR g.versus <> '' AND xc.key IN (g.condition, g.versus) AND EXISTS (
        SELECT 1 FROM listening_stimulus v JOIN listening_condition vc ON vc.id = v.condition_id
        WHERE v.id = s.versus_id AND vc.key IN (g.condition, g.versus) AND vc.key <> xc.key))
"""
EMPTIED = """
SELECT EXISTS (SELECT 1 FROM listening_slot s JOIN listening_task k ON k.id = s.task_id
    WHERE k.study_id = %(study)s AND k.key = %(task)s
    GROUP BY s.block_id HAVING bool_and(s.is_stopped)) AS is_emptied
"""
WHOLE = f"""
SELECT b.id FROM listening_block b JOIN listening_task k ON k.id = b.task_id
WHERE k.study_id = %(study)s AND k.key = %(task)s AND b.{OPEN} AND listening_block_is_whole(b.id)
ORDER BY b.id FOR NO KEY UPDATE OF b
"""


class StoppedSystem(TypedDict):
    """A condition of a task (``versus`` is ""), or a pair of conditions, without more raters."""

    task: str
    condition: str
    versus: str
    is_proposed: NotRequired[bool]  # a person may stop it


def separable_tasks(study: Study) -> list[str]:
    """The keys of the tasks in which a system may stop alone.

    Not where raters hear several systems on one screen, which would change what they compare; nor
    where claims draw pairs, which follow the answers; nor where a block holds one system, for a
    session without it would be none.
    """
    tasks = [task.pk for task in study.tasks.all() if drawing_rule(task) not in AT_CLAIM]
    return [row.key for row in rows_of(SEPARABLE, tasks=tasks)]


def stop_systems(study: Study, systems: Sequence[StoppedSystem]) -> list[StoppedSystem]:
    """Mark their slots as stopped, in the caller's transaction; those that were.

    The systems of a task stay together where a block would be left without a clip: sessions would
    be fewer than the looks count on.
    """
    stopped: list[StoppedSystem] = []
    for task in dict.fromkeys(system["task"] for system in systems):
        own = [system for system in systems if system["task"] == task]
        if _stop(study, task, own):
            stopped += own
    return stopped


def words_of_systems(systems: Sequence[StoppedSystem]) -> str:
    """Their conditions, or both of each pair."""
    return ", ".join(" versus ".join(filter(None, (s["condition"], s["versus"]))) for s in systems)


class _WouldEmptyBlocks(Exception):
    """Some block would hold no clip."""


def _stop(study: Study, task: str, systems: Sequence[StoppedSystem]) -> bool:
    of = {"study": study.pk, "task": task}
    try:
        with transaction.atomic():
            rows_of(STOP, systems=json.dumps(systems), **of)
            (row,) = rows_of(EMPTIED, **of)
            if row.is_emptied:
                raise _WouldEmptyBlocks
    except _WouldEmptyBlocks:
        return False
    settle([row.id for row in rows_of(WHOLE, **of)])
    return True
