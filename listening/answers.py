"""One answer checked and stored in one transaction: a repeat returns what is stored already."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any

from django.db import transaction

from listening import leases
from listening.design.traps import TrapPlan
from listening.draws import draws_of
from listening.leases import ANSWERED, EXTENDED, PLANNED, SKIPPED
from listening.methods import Method, Part, PlannedTrial, Scale, method_named
from listening.methods.base import gettext_noop
from listening.models import Session, Stimulus, Task, Trial
from listening.statements import rows_of
from listening.validity import judge_block

HEARD_ENOUGH = 0.95  # of the shortest-heard clip; players report the last frames late
FASTEST = 0.8  # of the clips' length: nobody hears a clip in less, whatever the page reports
TRAINING = "training"  # what stands in the place of a trap's kind for training trials
REASON = gettext_noop("Please give your reason.")
LONGER_REASON = gettext_noop("Please give your reason in at least %(n)s characters.")
AHEAD = 3  # trials that the page may hold: the current one and two that it preloads


class Refused(Exception):
    """An answer that is not stored: `code` for the page, the message for the rater.

    The message is English, with places like %(n)s for `numbers`; the door translates both.
    """

    def __init__(self, code: str, message: str, **numbers: int) -> None:
        super().__init__(message % numbers)
        self.code = code
        self.message = message
        self.numbers = numbers


@dataclass(frozen=True)
class Answer:
    """What the browser sent for one trial."""

    trial: str
    labels: Mapping[str, str]  # criterion's index, or index.place where several clips are rated
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
    feedback: Mapping[str, Any] | None = None  # after a training trial: {"right", "text"}


@dataclass(frozen=True)
class AskedCriterion:
    """A criterion as answers are checked against it."""

    pk: int
    key: str
    scale: Scale


@dataclass(frozen=True)
class TaskRules:
    """What a task asks of an answer; tasks do not change once their blocks are planned."""

    method: Method
    criteria: tuple[AskedCriterion, ...]
    justification: Mapping[str, Any]
    traps: TrapPlan
    reopen_invalid: bool
    show_text: bool
    training: tuple[Mapping[str, Any], ...]
    translations: Mapping[str, Mapping[str, Any]]
    lease_s: int


@lru_cache(maxsize=512)
def task_rules(task: int) -> TaskRules:
    row = Task.objects.select_related("study").get(pk=task)
    criteria = tuple(
        AskedCriterion(c.pk, c.key, Scale.from_dict(c.scale))
        for c in row.criteria.order_by("order")
    )
    return TaskRules(
        method_named(row.method),
        criteria,
        row.justification,
        TrapPlan.from_dict(row.traps),
        row.reopen_invalid,
        row.show_text,
        tuple(row.training),
        row.translations,
        row.study.lease_s,
    )


def parts_of(method: Method, trial: Any, draws: str = "") -> list[Part]:
    """The clips of a trial as its rater meets them; a preview brings draws of its own."""
    planned = PlannedTrial(
        item=trial.item_id,
        column="",
        rated=(trial.stimulus_id, *trial.others),
        versus=trial.versus_id,
        context=tuple(trial.context),
    )
    rng = Random(draws or draws_of(trial.code))
    return method.parts(planned, versus_first=trial.versus_first, rng=rng)


@transaction.atomic
def store_answer(session: Session, answer: Answer) -> StoredAnswer:
    """Store the answer to the session's current trial.

    The order of the checks defines what each wrong answer gets: another session's trial is
    unknown; a repeat returns the first answer; then the session must be open, the lease held,
    the trial the current one, and the answer complete, on the scale and heard out.
    """
    trial = _locked_trial(session, answer.trial)
    rules = task_rules(trial.task_id)
    if trial.state == Trial.State.ANSWERED:
        return StoredAnswer(repeat=True, over=trial.left == 0)
    _check_turn(trial)
    ratings = _ratings(rules, trial, answer.labels)
    _check_justification(rules.justification, answer.justification)
    _check_heard(trial, answer, rules.method)
    passed = _trap_passed(rules, trial, ratings) if trial.trap else None
    _write(session, trial, rules, answer, ratings, passed)
    if trial.left_in_block == 1:
        _close_block(session, trial, rules)
    trained = trial.trap == TRAINING
    feedback = _feedback(rules, trial, bool(passed), session.spoken) if trained else None
    return StoredAnswer(repeat=False, over=trial.left == 1, feedback=feedback)


@transaction.atomic
def skip_trial(session: Session, code: str, reason: str, playback: Mapping[str, Any]) -> bool:
    """Go on without a clip that cannot be played here; whether the session has nothing left.

    The trial is marked, its place goes to somebody else, and nothing is held against the rater.
    """
    trial = _locked_trial(session, code)
    if trial.state in (Trial.State.ANSWERED, Trial.State.SKIPPED):
        return bool(trial.left == 0)
    _check_turn(trial)
    rules = task_rules(trial.task_id)
    facts = {"playback": json.dumps({**playback, "skipped_because": reason})}
    block = {"block": trial.block_id, "session": session.pk, "lease_s": rules.lease_s}
    if not rows_of(SKIP, trial=trial.id, **block, **facts):
        raise _lease_lost()
    if trial.left_in_block == 1:
        _close_block(session, trial, rules)
    return bool(trial.left == 1)


SKIP = f"""  -- the block before the trial: who gives blocks back locks them in this order, too
WITH lease AS ({EXTENDED})
UPDATE listening_trial t SET {SKIPPED}, answered_at = statement_timestamp(),
    playback = %(playback)s::jsonb
FROM lease WHERE t.id = %(trial)s AND t.{PLANNED} RETURNING t.id
"""


def _locked_trial(session: Session, code: str) -> Any:
    """The trial with what stands around it; the session's row stays locked."""
    (locked,) = rows_of(LOCK, session=session.pk)
    found = rows_of(LOAD, code=code, session=session.pk, ahead=AHEAD)
    if not found:
        raise Refused(
            "unknown_trial",
            gettext_noop("This clip is not part of your session. Reload the page."),
        )
    trial = found[0]
    done = trial.state in (Trial.State.ANSWERED, Trial.State.SKIPPED)
    if locked.status != Session.Status.STARTED and not done:
        raise Refused(
            "session_over",
            gettext_noop("This session has ended, so the answer was not stored."),
        )
    if not locked.ready and not done:
        raise Refused(
            "not_ready",
            gettext_noop("There are questions or sound tests to do before the clips."),
        )
    return trial


def _check_turn(trial: Any) -> None:
    if trial.state != Trial.State.PLANNED:
        raise _lease_lost()
    if trial.position != trial.current:
        raise Refused(
            "wrong_order", gettext_noop("Another clip comes first. Please answer that one.")
        )


LOCK = "SELECT status, ready FROM listening_session WHERE id = %(session)s FOR NO KEY UPDATE"
LOAD = f"""  -- what stands around the trial, read after the session's row is locked
SELECT t.id, t.code, t.state, t.position, t.task_id, t.block_id, t.slot_id, t.item_id,
       t.stimulus_id, t.versus_id, t.others, t.context,
       t.versus_first, t.trap, t.expected, r.simulated,
       plan.current, plan.left_in_block, plan.left, plan.available_since,
       clips.sum_s, clips.longest_s,
       extract(epoch FROM statement_timestamp()
           - coalesce(plan.available_since, s.started_at))::float AS open_s
FROM listening_trial t JOIN listening_session s ON s.id = t.session_id
JOIN listening_rater r ON r.id = t.rater_id,
LATERAL (SELECT sum(duration_s) AS sum_s, max(duration_s) AS longest_s FROM listening_stimulus
    WHERE id IN (t.stimulus_id, t.versus_id) OR id = ANY(t.others) OR id = ANY(t.context)) clips,
LATERAL (SELECT min(p.position) FILTER (WHERE p.{PLANNED}) AS current,
        count(*) FILTER (WHERE p.{PLANNED}) AS left,
        count(*) FILTER (WHERE p.{PLANNED} AND p.block_id = t.block_id) AS left_in_block,
        max(p.answered_at) FILTER (WHERE p.position <= t.position - %(ahead)s) AS available_since
    FROM listening_trial p WHERE p.session_id = t.session_id) plan
WHERE t.code = %(code)s AND t.session_id = %(session)s
"""


def _lease_lost() -> Refused:
    return Refused(
        "lease_lost",
        gettext_noop(
            "You were away for a while, so this clip went to somebody else. "
            "Please go on with the next one."
        ),
    )


def _ratings(
    rules: TaskRules, trial: Any, labels: Mapping[str, str]
) -> list[tuple[int, int, str, float | None]]:
    """(criterion, stimulus, label, stored score) for everything the screen asks."""
    rated = [
        (f".{place}", part.stimulus)
        for place, part in enumerate(parts_of(rules.method, trial))
        if part.role == "rated"
    ]
    if len(rated) == 1:
        rated = [("", rated[0][1])]
    ratings = []
    for index, criterion in enumerate(rules.criteria):
        given = [_given(labels, f"{index}{suffix}") for suffix, _ in rated]
        try:
            rules.method.check_labels(given)
            scores = [criterion.scale.score(label) for label in given]
        except ValueError:
            raise Refused(
                "outside_scale",
                gettext_noop("That answer is not on the scale. Please choose again."),
            ) from None
        for (_, stimulus), label, score in zip(rated, given, scores, strict=True):
            stored = rules.method.stored_score(
                score, versus_first=trial.versus_first, rng=Random(draws_of(trial.code))
            )
            ratings.append((criterion.pk, stimulus, label, stored))
    if len(labels) != len(ratings):
        raise Refused(
            "malformed", gettext_noop("The answer holds more than was asked. Reload the page.")
        )
    return ratings


def _given(labels: Mapping[str, str], key: str) -> str:
    if key not in labels:
        raise Refused("criterion_missing", gettext_noop("One question has no answer yet."))
    return labels[key]


def _trap_passed(rules: TaskRules, trial: Any, ratings: list[Any]) -> bool | None:
    """Whether the answer is an expected one, on the criterion that the kind of trap names."""
    expected = json.loads(trial.expected)
    if not expected:
        return None  # a training trial that only shows something
    named = next((k.criterion for k in rules.traps.kinds if k.kind == trial.trap), "")
    judged = next((c.pk for c in rules.criteria if c.key == named), rules.criteria[0].pk)
    return all(label in expected for criterion, _, label, _ in ratings if criterion == judged)


def _feedback(rules: TaskRules, trial: Any, right: bool, language: str) -> dict[str, Any]:
    """What the page says after a training trial: the study's words, else plain ones."""
    words, first = rules.translations.get(language, {}), rules.criteria[0]
    stimulus = Stimulus.objects.values_list("key", flat=True).get(pk=trial.stimulus_id)
    entry: Mapping[str, Any] = next((e for e in rules.training if e["stimulus"] == stimulus), {})
    entry = {**entry, **words.get("training", {}).get(stimulus, {})}
    names = words.get("criteria", {}).get(first.key, {}).get("names", {})
    return feedback_on(entry, json.loads(trial.expected), first.scale.named(names), right)


def feedback_on(
    entry: Mapping[str, Any], expected: Sequence[str], scale: Scale, right: bool
) -> dict[str, Any]:
    """The same for an entry of a task's training; without an expected answer none is right."""
    text = entry.get("right" if right or not expected else "wrong", "")
    words = [s.text or s.label for s in scale.steps if s.label in expected]
    return {"right": right if expected else None, "text": text, "expected": words or expected}


def _check_justification(rules: Mapping[str, Any], given: Mapping[str, Any] | None) -> None:
    text = str((given or {}).get("text", "")).strip()
    shortest = max(int(rules.get("min_chars", 0)), 1)
    if rules.get("required") and len(text) < shortest:
        raise Refused(
            "justification_required",
            REASON if shortest == 1 else LONGER_REASON,
            n=shortest,
        )


def _check_heard(trial: Any, answer: Answer, method: Method) -> None:
    needed_s = trial.sum_s if method.heard_out else trial.longest_s
    too_soon = not trial.simulated and trial.open_s < FASTEST * needed_s
    heard = answer.heard_fraction >= HEARD_ENOUGH or not method.heard_out
    if not heard or answer.plays < 1 or too_soon:
        raise Refused(
            "not_heard", gettext_noop("Please listen to the whole clip before you answer.")
        )


WRITE = f"""
WITH lease AS ({EXTENDED}), answered AS (
    UPDATE listening_trial t SET {ANSWERED}, answered_at = statement_timestamp(),
        latency_ms = %(latency_ms)s, plays = %(plays)s, heard_fraction = %(heard)s,
        playback = %(playback)s::jsonb, trap_passed = %(trap_passed)s
    FROM lease WHERE t.id = %(trial)s AND t.{PLANNED} RETURNING t.id
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
    ratings: list[tuple[int, int, str, float | None]],
    passed: bool | None,
) -> None:
    criteria, stimuli, labels, scores = (list(column) for column in zip(*ratings, strict=True))
    reason = dict(answer.justification or {})
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
        traps = Trial.objects.filter(
            session=session, block=trial.block_id, state=Trial.State.ANSWERED
        ).exclude(trap__in=("", TRAINING))
        outcomes = [(t.trap, bool(t.trap_passed)) for t in traps]
        verdict = judge_block(rules.traps, outcomes)
        if not verdict.valid:
            leases.give_back([trial.block_id])
            return
    leases.settle([trial.block_id])
