"""One answer checked and stored in one transaction: a repeat returns what is stored already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.db import transaction

from listening import allocation
from listening.design.traps import TrapPlan
from listening.methods import Method, Scale, method_named
from listening.models import Session, Task, Trial
from listening.statements import rows_of
from listening.validity import judge_block

HEARD_ENOUGH = 0.95  # of the shortest-heard clip; players report the last frames late
FASTEST = 0.8  # of the clips' length: nobody hears a clip in less, whatever the page reports
AHEAD = 3  # trials that the page may hold: the current one and two that it preloads


class Refused(Exception):
    """An answer that is not stored: `code` for the page, the message for the rater."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True)
class Answer:
    """What the browser sent for one trial."""

    trial: str
    labels: Mapping[str, str]  # criterion's index, or index.clip where several clips are rated
    justification: Mapping[str, Any] | None = None
    latency_ms: int = 0
    plays: int = 0
    heard_fraction: float = 0.0
    playback: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredAnswer:
    """What became of it: stored now or before, and whether the session has nothing left."""

    repeat: bool
    over: bool


@dataclass(frozen=True)
class TaskRules:
    """What a task asks of an answer; tasks do not change once their blocks are planned."""

    method: Method
    criteria: tuple[tuple[int, Scale], ...]
    justification: Mapping[str, Any]
    traps: TrapPlan
    reopen_invalid: bool
    show_text: bool
    lease_s: int


@lru_cache(maxsize=512)
def task_rules(task: int) -> TaskRules:
    row = Task.objects.select_related("study").get(pk=task)
    criteria = tuple((c.pk, Scale.from_dict(c.scale)) for c in row.criteria.order_by("order"))
    return TaskRules(
        method_named(row.method),
        criteria,
        row.justification,
        TrapPlan.from_dict(row.traps),
        row.reopen_invalid,
        row.show_text,
        row.study.lease_s,
    )


@transaction.atomic
def store_answer(session: Session, answer: Answer) -> StoredAnswer:
    """Store the answer to the session's current trial.

    The order of the checks defines what each wrong answer gets: another session's trial is
    unknown; a repeat returns the first answer; then the session must be open, the lease held,
    the trial the current one, and the answer complete, on the scale and heard out.
    """
    (locked,) = rows_of(LOCK, session=session.pk)
    found = rows_of(LOAD, code=answer.trial, session=session.pk, ahead=AHEAD)
    if not found:
        raise Refused("unknown_trial", "This clip is not part of your session. Reload the page.")
    trial = found[0]
    if trial.state == Trial.State.ANSWERED:
        return StoredAnswer(repeat=True, over=trial.left == 0)
    if locked.status != Session.Status.STARTED:
        raise Refused("session_over", "This session has ended, so the answer was not stored.")
    if trial.state != Trial.State.PLANNED:
        raise _lease_lost()
    if trial.position != trial.current:
        raise Refused("wrong_order", "Another clip comes first. Please answer that one.")
    rules = task_rules(trial.task_id)
    ratings = _ratings(rules, trial, answer.labels)
    _check_justification(rules.justification, answer.justification)
    _check_heard(trial, answer)
    _write(session, trial, rules, answer, ratings)
    if trial.left_in_block == 1:
        _close_block(session, trial, rules)
    return StoredAnswer(repeat=False, over=trial.left == 1)


LOCK = "SELECT status FROM listening_session WHERE id = %(session)s FOR NO KEY UPDATE"
LOAD = """  -- what stands around the trial, read after the session's row is locked
SELECT t.id, t.state, t.position, t.task_id, t.block_id, t.slot_id, t.stimulus_id, t.others,
       t.versus_first, t.trap, t.expected, r.simulated,
       plan.current, plan.left_in_block, plan.left, plan.available_since,
       (SELECT sum(duration_s) FROM listening_stimulus WHERE id IN (t.stimulus_id, t.versus_id)
           OR id = ANY(t.others) OR id = ANY(t.context)) AS duration_s,
       extract(epoch FROM statement_timestamp()
           - coalesce(plan.available_since, s.started_at))::float AS open_s
FROM listening_trial t JOIN listening_session s ON s.id = t.session_id
JOIN listening_rater r ON r.id = t.rater_id,
LATERAL (SELECT min(p.position) FILTER (WHERE p.state = 'planned') AS current,
        count(*) FILTER (WHERE p.state = 'planned') AS left,
        count(*) FILTER (WHERE p.state = 'planned' AND p.block_id = t.block_id) AS left_in_block,
        max(p.answered_at) FILTER (WHERE p.position <= t.position - %(ahead)s) AS available_since
    FROM listening_trial p WHERE p.session_id = t.session_id) plan
WHERE t.code = %(code)s AND t.session_id = %(session)s
"""


def _lease_lost() -> Refused:
    return Refused(
        "lease_lost",
        "You were away for a while, so this clip went to somebody else. "
        "Please go on with the next one.",
    )


def _ratings(
    rules: TaskRules, trial: Any, labels: Mapping[str, str]
) -> list[tuple[int, int, str, float]]:
    """(criterion, stimulus, label, stored score) for everything the screen asks."""
    rated = [trial.stimulus_id, *trial.others]
    ratings = []
    for index, (criterion, scale) in enumerate(rules.criteria):
        for place, stimulus in enumerate(rated):
            key = f"{index}" if len(rated) == 1 else f"{index}.{place}"
            if key not in labels:
                raise Refused("criterion_missing", "One question has no answer yet.")
            try:
                score = scale.score(labels[key])
            except ValueError:
                raise Refused(
                    "outside_scale", "That answer is not on the scale. Please choose again."
                ) from None
            stored = rules.method.stored_score(score, versus_first=trial.versus_first)
            ratings.append((criterion, stimulus, labels[key], stored))
    if len(labels) != len(ratings):
        raise Refused("malformed", "The answer holds more than was asked. Reload the page.")
    return ratings


def _check_justification(rules: Mapping[str, Any], given: Mapping[str, Any] | None) -> None:
    text = str((given or {}).get("text", "")).strip()
    shortest = max(int(rules.get("min_chars", 0)), 1)
    if rules.get("required") and len(text) < shortest:
        raise Refused(
            "justification_required",
            f"Please give your reason in at least {shortest} characters.",
        )


def _check_heard(trial: Any, answer: Answer) -> None:
    too_soon = not trial.simulated and trial.open_s < FASTEST * trial.duration_s
    if answer.heard_fraction < HEARD_ENOUGH or answer.plays < 1 or too_soon:
        raise Refused("not_heard", "Please listen to the whole clip before you answer.")


WRITE = """
WITH lease AS (
    UPDATE listening_block
    SET lease_until = statement_timestamp() + make_interval(secs => %(lease_s)s)
    WHERE id = %(block)s AND session_id = %(session)s AND state = 1 RETURNING id
), answered AS (
    UPDATE listening_trial t SET state = 'answered', answered_at = statement_timestamp(),
        latency_ms = %(latency_ms)s, plays = %(plays)s, heard_fraction = %(heard)s,
        playback = %(playback)s::jsonb, trap_passed = %(trap_passed)s
    FROM lease WHERE t.id = %(trial)s AND t.state = 'planned' RETURNING t.id
), rated AS (
    INSERT INTO listening_rating
        (trial_id, slot_id, criterion_id, stimulus_id, label, score, counts, rated_at)
    SELECT answered.id, %(slot)s, r.criterion, r.stimulus, r.label, r.score, %(counts)s,
        statement_timestamp()
    FROM answered, unnest(%(criteria)s::bigint[], %(stimuli)s::bigint[], %(labels)s::text[],
        %(scores)s::float8[]) AS r(criterion, stimulus, label, score) RETURNING 1
), reason AS (
    INSERT INTO listening_justification (trial_id, text, keystrokes, pasted_chars, typing_ms)
    SELECT answered.id, %(text)s, %(keystrokes)s, %(pasted_chars)s, %(typing_ms)s
    FROM answered WHERE %(text)s <> '' RETURNING 1
)
SELECT count(*) FROM rated
"""


def _write(
    session: Session,
    trial: Any,
    rules: TaskRules,
    answer: Answer,
    ratings: list[tuple[int, int, str, float]],
) -> None:
    criteria, stimuli, labels, scores = (list(column) for column in zip(*ratings, strict=True))
    reason = dict(answer.justification or {})
    passed = all(label in json.loads(trial.expected) for label in labels) if trial.trap else None
    ((stored,),) = rows_of(
        WRITE,
        **{"lease_s": rules.lease_s, "block": trial.block_id, "session": session.pk},
        **{"trial": trial.id, "slot": trial.slot_id, "trap_passed": passed},
        **{"latency_ms": answer.latency_ms, "plays": answer.plays},
        **{"heard": answer.heard_fraction, "playback": json.dumps(dict(answer.playback))},
        **{"counts": trial.slot_id is not None, "criteria": criteria},
        **{"stimuli": stimuli, "labels": labels, "scores": scores},
        **{"text": str(reason.get("text", "")).strip()},
        **{k: reason.get(k) for k in ("keystrokes", "pasted_chars", "typing_ms")},
    )
    if stored != len(ratings):
        raise _lease_lost()


def _close_block(session: Session, trial: Any, rules: TaskRules) -> None:
    """The block's last trial is answered: count it, or hand it on when its traps failed."""
    if rules.reopen_invalid and rules.traps.kinds:
        traps = Trial.objects.filter(session=session, block=trial.block_id).exclude(trap="")
        outcomes = [(t.trap, bool(t.trap_passed)) for t in traps]
        verdict = judge_block(rules.traps, outcomes)
        if not verdict.valid:
            allocation.give_back([trial.block_id])
            return
    allocation.settle([trial.block_id])
