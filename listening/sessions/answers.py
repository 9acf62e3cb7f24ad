"""One answer checked, stored, and what follows from it: the rules of every way in which it comes.

The rules are generators that yield what they need of the database. `store_answer` runs them in
Django's transaction, the fast path (`listening.web.rater.answer_endpoint`) in the event loop.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from django.db import transaction
from msgspec.json import Decoder, encode

from listening.common.secret_seeds import rng_of
from listening.common.statements import Statement, rows_of, rows_of_statement, run_steps
from listening.design.traps import TRAINING, trap_passed
from listening.methods import Method, Scale
from listening.models import Session, Stimulus, Task, Trial
from listening.sessions import answer_statements, leases, stages
from listening.sessions.answer_statements import (
    ENDED_BLOCKS,
    LOCK,
    READ,
    SKIP,
    WRITE,
    LoadedTrial,
    Read,
    Sitting,
    trap_steps,
)
from listening.sessions.outcomes import finish_steps
from listening.sessions.task_rules import (
    CRITERION_MISSING,
    LEASE_LOST,
    MORE_THAN_ASKED,
    NOT_FETCHED,
    NOT_HEARD,
    NOT_READY,
    OUTSIDE_SCALE,
    REASON_MISSING,
    REASON_TOO_SHORT,
    REFERENCE_LATER,
    SESSION_OVER,
    UNKNOWN_TRIAL,
    WRONG_ORDER,
    InWords,
    Refusal,
    Refused,
    TaskRules,
    parts_of,
    task_rules,
)

HEARD_ENOUGH = 0.95  # of the shortest-heard clip; players report the last frames late
FASTEST = 0.8  # of the clips' length: nobody hears them in less, whatever the page reports
START_S = 2  # of every clip where a task asks for no share; deck.js knows it too
AHEAD = 3  # trials that the page may hold: the current one and two that it preloads
DEALT_WITH = (Trial.State.ANSWERED, Trial.State.SKIPPED)
InDjango = Callable[[], Any]  # a step that only a request of Django's can do; it is sent the result


def training_feedback(trial: LoadedTrial, language: str) -> dict[str, Any]:
    """What is said after a stored answer of training, in the study's words in this language."""
    rules = task_rules(trial.task_id)
    right = bool(Trial.objects.values_list("trap_passed", flat=True).get(pk=trial.id))
    task = Task.objects.get(pk=trial.task_id)  # its words may have been corrected
    words, first = task.translations.get(language, {}), rules.criteria[0]
    stimulus = Stimulus.objects.values_list("key", flat=True).get(pk=trial.stimulus_id)
    entry: Mapping[str, Any] = next((e for e in task.training if e["stimulus"] == stimulus), {})
    entry = {**entry, **words.get("training", {}).get(stimulus, {})}
    names = words.get("criteria", {}).get(first.key, {}).get("names", {})
    scale = Scale.from_dict(task.criteria.get(pk=first.pk).scale).named(names)
    scale = scale.of_clip(rules.attributes.get(trial.stimulus_id, {}))
    in_words = rules.expected_words(trial.stimulus_id, trial.id, scale)
    return feedback_on(entry, json.loads(trial.expected), scale, right, in_words)


def feedback_on(
    entry: Mapping[str, Any],
    expected: Sequence[str],
    scale: Scale,
    right: bool,
    in_words: InWords | None,
) -> dict[str, Any]:
    """The same for an entry of a task's training; without an expected answer none is right.

    ``in_words`` says an expected answer that is none of the steps of the scale.
    """
    text = entry.get("right" if right or not expected else "wrong", "")
    if in_words is None:
        words = [s.text or s.label for s in scale.steps if s.label in expected]
    else:
        words = [in_words(label) for label in expected]
    return {"right": right if expected else None, "text": text, "expected": words or expected}


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
    sitting: Sitting  # as the answer leaves it
    feedback: Mapping[str, Any] | None = None  # after a training trial: {"right", "text"}


class NewRating(NamedTuple):
    """One judgement that an answer holds, as it is stored: a comparison's sign is turned here."""

    criterion: int
    stimulus: int
    label: str
    score: float | None


class Write(NamedTuple):
    """A step that stores an answer, as WRITE does; it is sent whether the answer is stored."""

    values: dict[str, Any]
    settles: bool  # its block, with it
    goes_on: bool  # more steps follow, which belong into its transaction


AnswerSteps = Generator[Write | Statement | InDjango, Any, StoredAnswer]


@transaction.atomic
def store_answer(session: str, answer: Answer) -> StoredAnswer:
    """Store the answer to the current trial of the session with this code."""
    return run_steps(answer_steps(_locked_read(session, answer.trial), answer), _perform_step)


def answer_steps(read: Read, answer: Answer) -> AnswerSteps:
    """Check an answer, store it, and close the block and the session that end with it.

    The order of the checks defines what each wrong answer gets: another session's trial is
    unknown; a repeat returns the first answer; then the session must be open, the lease held,
    the trial the current one, and the answer complete, on the scale and heard out.
    """
    sitting, trial = _sitting_and_trial(read)
    over, trains = trial.left == 1, trial.trap == TRAINING
    tell = partial(training_feedback, trial, sitting.language)
    if trial.state == Trial.State.ANSWERED:  # the page sends until it hears back; the first counts
        feedback = (yield tell) if trains else None
        return StoredAnswer(True, trial.left == 0, sitting, feedback)
    rules = task_rules(trial.task_id)
    values = check_answer(sitting, trial, rules, answer)
    ends_block = trial.left_in_block == 1
    settles = ends_block and not rules.judges_blocks
    goes_on = over or trains or (ends_block and (rules.judges_blocks or rules.asks_between))
    if not (yield Write(values, settles, goes_on)):
        raise Refused(LEASE_LOST)  # its block went to somebody else
    if ends_block:
        yield from _close_block_steps(sitting, trial, rules, already_settled=settles)
    feedback = (yield tell) if trains else None
    if over and not read.lost:  # else the lost blocks are retaken or replaced
        finished = yield from finish_steps(sitting.pk, simulated=trial.simulated)
        sitting.status, sitting.review, _ = finished
    return StoredAnswer(repeat=False, over=over, sitting=sitting, feedback=feedback)


def _close_block_steps(
    sitting: Sitting, trial: LoadedTrial, rules: TaskRules, *, already_settled: bool = False
) -> Generator[Statement | InDjango, Any, None]:
    """Count a block whose last trial is dealt with, or hand it on where its traps failed.

    Questions may come before the next block.
    """
    blocks = [trial.block_id]
    valid = True
    if rules.judges_blocks:
        facts = {"session": sitting.pk, "task": trial.task_id, "block": trial.block_id}
        valid = yield from trap_steps(rules.traps, **facts)
        if not valid and rules.traps.voids == "session":  # those before, too
            blocks = [block for (block,) in (yield Statement(ENDED_BLOCKS, facts))]
    if not valid:
        yield from leases.give_back_steps(blocks)
    elif not already_settled:
        yield Statement(leases.SETTLED, {"blocks": blocks})
    if rules.asks_between:
        yield partial(_hold_for_questions, sitting.pk)


def _hold_for_questions(session: int) -> None:
    stages.hold(Session.objects.select_related("study").get(pk=session))


def _perform_step(step: Write | Statement | InDjango) -> Any:
    """Do one step on Django's connection."""
    match step:
        case Write():
            stored = bool(rows_of(WRITE, answers=encode([step.values]).decode()))
            if stored and step.settles:
                leases.settle([step.values["block"]])
            return stored
        case Statement():
            return rows_of_statement(step)
        case _:
            return step()


@transaction.atomic
def skip_trial(session: str, code: str, reason: str, playback: Mapping[str, Any]) -> bool:
    """Go on without a clip that cannot be played here; whether the session has nothing left.

    The trial is marked, its place goes to somebody else, and nothing is held against the rater.
    """
    sitting, trial = _sitting_and_trial(_locked_read(session, code))
    if trial.state in DEALT_WITH:
        return trial.left == 0
    _check_turn(sitting, trial)
    rules = task_rules(trial.task_id)
    facts = {"playback": json.dumps({**playback, "skipped_because": reason})}
    block = {"block": trial.block_id, "session": sitting.pk, "lease_s": rules.lease_s}
    if not rows_of(SKIP, trial=trial.id, **block, **facts):
        raise Refused(LEASE_LOST)
    if trial.left_in_block == 1:
        run_steps(_close_block_steps(sitting, trial, rules), _perform_step)
    return trial.left == 1


def read_statement(pairs: Sequence[tuple[str, str]]) -> Statement:
    """Return the statement that reads all of these codes of sessions and of trials, in a row each.

    A trial's code is "" where only the session is asked for; see `decode_read`.
    """
    sessions, codes = zip(*pairs, strict=True)
    looking = {"ahead": AHEAD, "fastest": FASTEST, "start": START_S}
    return Statement(READ, {"sessions": [*sessions], "codes": [*codes], **looking})


decode_read = Decoder(Read).decode  # of a row's only column


def read_session(session: str, trial: str = "") -> Read:
    """Return what is stored of a session, and of one of its trials."""
    ((content,),) = rows_of_statement(read_statement([(session, trial)]))
    return decode_read(content)


def _locked_read(session: str, trial: str) -> Read:
    """The session, and its trial with what stands around it.

    The session's row is locked first and stays so: what a rater sends from two tabs, or twice, is
    stored one after the other, and what is read here holds until the answer is written.
    """
    rows_of(LOCK, session=session)
    return read_session(session, trial)


def _sitting_and_trial(read: Read) -> tuple[Sitting, LoadedTrial]:
    if read.sitting is None:
        raise Session.DoesNotExist
    if read.trial is None:
        raise Refused(UNKNOWN_TRIAL)
    return read.sitting, read.trial


def check_answer(
    sitting: Sitting, trial: LoadedTrial, rules: TaskRules, answer: Answer
) -> dict[str, Any]:
    """Return what WRITE stores of an answer that is all that its task asks; else raise Refused."""
    _check_turn(sitting, trial)
    ratings = _ratings(rules, trial, answer.labels)
    _check_justification(rules.justification, answer.justification)
    share = rules.playback.share
    needed_s = trial.start_s if share is None else share * trial.sum_s
    _check_heard(trial, answer, rules, needed_s)
    reason = dict(answer.justification or {})
    return {
        "lease_s": rules.lease_s,
        "block": trial.block_id,
        "session": sitting.pk,
        "trial": trial.id,
        "slot": trial.slot_id,
        "counts": trial.slot_id is not None,
        "trap_passed": _trap_passed(rules, trial, ratings),
        "needed_s": needed_s,
        "latency_ms": answer.latency_ms,
        "plays": answer.plays,
        "heard": answer.heard_fraction,
        "playback": answer.playback,
        "ratings": [rating._asdict() for rating in ratings],
        "text": str(reason.get("text", "")).strip(),
        "keystrokes": reason.get("keystrokes"),
        "pasted_chars": reason.get("pasted_chars"),
        "typing_ms": reason.get("typing_ms"),
    }


def _check_turn(sitting: Sitting, trial: LoadedTrial) -> None:
    """A trial that is dealt with comes before: whose last answer was its end may send it again."""
    if sitting.status != Session.Status.STARTED:
        raise Refused(SESSION_OVER)
    if not sitting.ready:
        raise Refused(NOT_READY)
    if trial.state != Trial.State.PLANNED:
        raise Refused(LEASE_LOST)
    if trial.position != trial.current:
        raise Refused(WRONG_ORDER)


def _ratings(rules: TaskRules, trial: LoadedTrial, labels: Mapping[str, str]) -> list[NewRating]:
    """One for everything that the screen asks; Refused unless all is answered, and no more."""
    parts = enumerate(parts_of(rules.method, trial))
    rated = [(place, part.stimulus) for place, part in parts if part.role == "rated"]
    several = len(rated) > 1
    ratings = []
    for index, criterion in enumerate(rules.criteria):
        keys = [f"{index}.{place}" if several else f"{index}" for place, _ in rated]
        if any(key not in labels for key in keys):
            raise Refused(CRITERION_MISSING)
        chosen = [labels[key] for key in keys]
        scales = [rules.scale_of(criterion, stimulus) for _, stimulus in rated]
        scores = _scores(rules.method, scales, chosen)
        joined = rules.method.joined_answer(chosen, scores, versus_first=trial.versus_first)
        if joined is not None:
            ratings.append(NewRating(criterion.pk, trial.stimulus_id, *joined))
            continue
        for (place, stimulus), given_label, given in zip(rated, chosen, scores, strict=True):
            try:
                label = rules.stored_label(stimulus, given_label, trial.id, place)
                score = rules.score_answer(stimulus, label) if given is None else given
            except ValueError:
                raise Refused(_refusal_of(rules.method)) from None
            stored = rules.method.stored_score(
                score, versus_first=trial.versus_first, rng=rng_of(trial.code)
            )
            ratings.append(NewRating(criterion.pk, stimulus, label, stored))
    if len(labels) != len(rated) * len(rules.criteria):
        raise Refused(MORE_THAN_ASKED)
    return ratings


def _refusal_of(method: Method) -> Refusal:
    """Why labels that the scale has are refused, in the words of the method."""
    return replace(OUTSIDE_SCALE, message=method.labels_refused or OUTSIDE_SCALE.message)


def _scores(method: Method, scales: Sequence[Scale], chosen: Sequence[str]) -> list[float | None]:
    try:
        scores = [scale.score(label) for scale, label in zip(scales, chosen, strict=True)]
    except ValueError:
        raise Refused(OUTSIDE_SCALE) from None
    try:
        method.check_labels(chosen)
    except ValueError:
        raise Refused(_refusal_of(method)) from None
    return scores


def _check_justification(rules: Mapping[str, Any], justification: Mapping[str, Any] | None) -> None:
    text = str((justification or {}).get("text", "")).strip()
    shortest = max(int(rules.get("min_chars", 0)), 1)
    if rules.get("required") and len(text) < shortest:
        raise Refused(REASON_MISSING if shortest == 1 else REASON_TOO_SHORT, n=shortest)


def _check_heard(trial: LoadedTrial, answer: Answer, rules: TaskRules, needed_s: float) -> None:
    """The page says what was played; what was sent, and that there was time for it, is known here.

    Scripted raters, whom only the server's own key makes, need no time.
    """
    if not trial.simulated:
        clips = len(parts_of(rules.method, trial))
        if trial.fetched & answer_statements.all_of(clips) != answer_statements.all_of(clips):
            raise Refused(NOT_FETCHED)
        if trial.spare_s < FASTEST * needed_s:
            raise Refused(NOT_HEARD)
    share = rules.playback.share or 0.0  # 0: the page counts seconds
    if answer.heard_fraction < min(share, HEARD_ENOUGH) or answer.plays < 1:
        raise Refused(NOT_HEARD)
    if not rules.playback.in_order(answer.playback):
        raise Refused(REFERENCE_LATER)


def _trap_passed(rules: TaskRules, trial: LoadedTrial, ratings: Sequence[NewRating]) -> bool | None:
    if not trial.trap:
        return None
    labels = {c.key: [r.label for r in ratings if r.criterion == c.pk] for c in rules.criteria}
    scales = {c.key: c.scale for c in rules.criteria}

    def passes(criterion: str, label: str, expected: Sequence[str]) -> bool:
        return rules.method.passes(label, expected, scales[criterion])

    return trap_passed(rules.traps, trial.trap, json.loads(trial.expected), labels, passes)
