"""A session's trials laid out: training first, traps woven into the blocks, repeats at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from msgspec.json import encode

from listening.common.secret_seeds import draws_of
from listening.common.statements import rows_of
from listening.design.pair_drawing import drawing_rule
from listening.design.traps import TRAINING, TrapKind, TrapPlan, draw_traps, labels_to_pass, weave
from listening.methods.paired import ALL
from listening.models import Session, Stimulus, Task, Trial
from listening.sessions import allocation
from listening.sessions.task_rules import task_rules

# Trials that the rater has had or is to have; what was lost with its block is neither.
LIVE = (Trial.State.PLANNED, Trial.State.ANSWERED, Trial.State.SKIPPED)


# Clips that fill no slot: traps of these kinds, or those with these keys.
BESIDE = """
SELECT id AS pk, trap, item_id, sha256, key, coalesce(attributes->>'expected', '') AS expected,
       coalesce(attributes->>'versus', '') AS versus
FROM listening_stimulus
WHERE study_id = %(study)s AND (trap = ANY(%(kinds)s) OR key = ANY(%(keys)s)) ORDER BY key
"""
# What the rater has met or is to meet in these trials: the same sound twice tells a trap.
SOUNDS = """
SELECT sha256 FROM listening_stimulus WHERE id = ANY(%(beside)s) OR id = ANY(ARRAY(
    SELECT stimulus_id FROM listening_trial WHERE session_id = ANY(ARRAY(
        SELECT id FROM listening_session WHERE rater_id = %(rater)s))))
"""


def lay_out(session: Session, task: Task, blocks: Sequence[int], rng: Random) -> list[Trial]:
    """The trials of these claimed blocks in the order in which they are taken; none is saved."""
    slots = allocation.open_slots(blocks)
    draws = drawing_rule(task) != ALL
    rated: list[Trial] = []
    woven: list[Trial] = []
    for block in blocks:
        own = [_slot_trial(task, slot, draws) for slot in slots if slot.block_id == block]
        rated += own
        woven += _with_traps(session, task, block, own, woven, rng)
    if not rated:
        return woven
    first, last = blocks[0], blocks[-1]
    training = [] if _is_trained(session, task) else _training(task, first, rated, rng)
    repeats = [] if _is_repeated(session, task) else _repeats(task, last, rated, rng)
    return [*training, *woven, *repeats]


def _slot_trial(task: Task, slot: Any, draws: bool) -> Trial:
    return Trial(
        block_id=slot.block_id,
        slot_id=slot.pk,
        stimulus_id=slot.stimulus_id,
        versus_id=slot.versus_id,
        versus_first=slot.versus_first,
        others=slot.others,
        context=slot.context,
        item_id=slot.item_id,
        pair_probability=slot.pair_probability,
        meets=allocation.met_once(
            task, slot.block_id, slot.position, slot.item_id, slot.stimulus_id, draws
        ),
    )


def _with_traps(
    session: Session, task: Task, block: int, rated: list[Trial], before: list[Trial], rng: Random
) -> list[Trial]:
    plan = TrapPlan.from_dict(task.traps)
    if not plan.kinds:
        return rated
    kinds = [kind.kind for kind in plan.kinds]
    rows = {s.pk: s for s in rows_of(BESIDE, study=session.study_id, kinds=kinds, keys=[])}
    pool = {kind: [pk for pk, s in rows.items() if s.trap == kind] for kind in kinds}
    beside = [trial.stimulus_id for trial in (*rated, *before)]
    known = {row.sha256 for row in rows_of(SOUNDS, rater=session.rater_id, beside=beside)}
    heard = {pk for pk, s in rows.items() if s.sha256 in known}
    sets = plan.sets_for(len(rated))
    paired = any(trial.versus_id is not None for trial in rated)
    items = {pk: s.item_id for pk, s in rows.items()}
    met = {trial.item_id for trial in (*rated, *before)}
    traps = [
        _trap(task, block, kind, rows[pk], paired, rng)
        for kind, pk in draw_traps(plan, pool, heard, sets, rng, items, met)
    ]
    return weave(rated, traps, sets, rng)


def _trap(
    task: Task, block: int, kind: TrapKind, stimulus: Any, paired: bool, rng: Random
) -> Trial:
    """A trap; a row's own `expected` overrides that of its kind."""
    own = stimulus.expected
    expected = [word.strip() for word in own.split("|")] if own else kind.expected
    trial = _single(task, block, stimulus, paired, rng)
    trial.trap = kind.kind
    trial.expected = _passing(task, trial, expected, kind.tolerance, kind.criterion)
    return trial


def _single(task: Task, block: int, stimulus: Any, paired: bool, rng: Random) -> Trial:
    """A trial that fills no slot; where clips are compared, versus the one that its row names."""
    trial = Trial(block_id=block, stimulus_id=stimulus.pk, item_id=stimulus.item_id)
    if paired:
        named = stimulus.versus
        reference = (
            Stimulus.objects.filter(study=task.study_id, key=named).first() if named else None
        )
        trial.versus_id = (reference or stimulus).pk
        trial.versus_first = rng.random() < 0.5
    return trial


def _passing(
    task: Task, trial: Trial, expected: Sequence[str], tolerance: float, criterion: str
) -> list[str]:
    rules = task_rules(task.pk)
    judged = next((c for c in rules.criteria if c.key == criterion), rules.criteria[0])
    return labels_to_pass(
        rules.method,
        rules.scale_of(judged, trial.stimulus_id),
        expected,
        tolerance,
        versus_first=trial.versus_first,
        draws=draws_of(trial.code),
    )


def _training(task: Task, block: int, rated: list[Trial], rng: Random) -> list[Trial]:
    """The task's training trials in the order of the study."""
    keys = [entry["stimulus"] for entry in task.training]
    stimuli = {s.key: s for s in rows_of(BESIDE, study=task.study_id, kinds=[], keys=keys)}
    paired = any(trial.versus_id is not None for trial in rated)
    trials = []
    for entry in task.training:
        trial = _single(task, block, stimuli[entry["stimulus"]], paired, rng)
        trial.trap = TRAINING
        expected: list[Any] = list(entry.get("expected", ()))
        trial.expected = _passing(task, trial, expected, 0.0, "") if expected else []
        trials.append(trial)
    return trials


def _is_trained(session: Session, task: Task) -> bool:
    """Whether the rater has had this task's training already, here or in an earlier session."""
    own = Trial.objects.filter(session__rater=session.rater_id, task=task, trap=TRAINING)
    return not task.training or own.filter(state__in=LIVE).exists()


def _is_repeated(session: Session, task: Task) -> bool:
    """Whether the session has its repeats; a block that replaces a lost one brings no more."""
    own = Trial.objects.filter(session=session, task=task, trap="", slot__isnull=True)
    return bool(task.repeats) and own.filter(state__in=LIVE).exists()


def _repeats(task: Task, block: int, rated: list[Trial], rng: Random) -> list[Trial]:
    """Some of the session's trials a second time, drawn from its first half where that suffices.

    They fill no slot, so they never count: they tell how much a rater agrees with themselves.
    """
    if not task.repeats:
        return []
    early = rated[: max(task.repeats, len(rated) // 2)]
    return [
        Trial(
            block_id=block,
            stimulus_id=first.stimulus_id,
            versus_id=first.versus_id,
            versus_first=first.versus_first,
            others=first.others,
            context=first.context,
            item_id=first.item_id,
        )
        for first in rng.sample(early, min(task.repeats, len(early)))
    ]


STORED = [f for f in Trial._meta.concrete_fields if not f.primary_key and not f.generated]
ATTRIBUTES = [(f.column, f.attname) for f in STORED]
COLUMNS = ", ".join(f'"{column}"' for column, _ in ATTRIBUTES)
INSERT = f"""
INSERT INTO listening_trial ({COLUMNS})
SELECT {COLUMNS} FROM json_populate_recordset(NULL::listening_trial, %(trials)s::json) RETURNING id
"""


def store_trials(trials: Iterable[Trial]) -> None:
    """In one statement, as JSON; the trials do not learn their numbers."""
    rows = [{column: getattr(trial, name) for column, name in ATTRIBUTES} for trial in trials]
    rows_of(INSERT, trials=encode(rows).decode())
