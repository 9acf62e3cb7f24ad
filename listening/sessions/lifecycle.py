"""A session started, resumed, answered, finished, withdrawn: the writer of Rater to Rating."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Max, Q
from django.utils import timezone

from listening.common.secret_seeds import secret_seed
from listening.common.signals import withdrawn
from listening.common.statements import rows_of, run_steps
from listening.design.occasions import asks_between
from listening.design.sources import Source
from listening.models import (
    Rater,
    Recruitment,
    Session,
    SessionSummary,
    Study,
    Submission,
    Task,
    Trial,
)
from listening.models.codes import pilot_rater_code, rater_code, scripted_rater_code
from listening.models.study import earlier_versions
from listening.models.study_log import note
from listening.sessions import allocation, leases, stages
from listening.sessions.answers import Answer, StoredAnswer, skip_trial, store_answer
from listening.sessions.outcomes import finish_steps
from listening.sessions.pair_draws import draw_pairs, is_drawn_at_claim
from listening.sessions.rejection import reject_sessions
from listening.sessions.source_quotas import is_full, lock_quota
from listening.sessions.task_rules import LEASE_LOST, Refused
from listening.sessions.trial_layout import lay_out, store_trials

A_RATER = "a rater"  # who of them is not kept
SCREENED_BEFORE = "screened out before"  # all that is kept of why, where such a rater withdraws
REJECTED_BEFORE = "rejected before"
KEPT_OF_WHY: dict[str, str] = {Session.Status.SCREENED: SCREENED_BEFORE}
KEPT_OF_WHY[Session.Status.REJECTED] = REJECTED_BEFORE


class NoRoom(Exception):
    """Nothing (left) for this rater: closed, paused, full, came_before and others."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Arrival:
    """The entry of a rater: from Prolific with three ids, by the plain link, or as a script."""

    source: Source | None = None  # the way in, of those that the study names
    external_id: str = ""  # of another platform or panel: see Source.identity
    external_session: str = ""
    external_project: str = ""
    proofs: tuple[str, ...] = ()  # of who came by an invitation: see studies.invitations
    prolific_id: str = ""
    prolific_study: str = ""
    prolific_session: str = ""
    device: str = ""
    browser_of: str = ""  # the code of the rater whom this browser remembers
    agent: str = ""  # a program that signs its requests with a name, or is no browser
    scripts_ran: bool | None = None  # False for who comes by the landing page: its script will tell
    origin: str = ""  # a keyed hash of address and browser: tells who may have come before
    simulated: bool = False
    pilot: bool = False  # a researcher tries a draft: see listening.studies.pilots
    rater: Rater | None = None
    earlier: tuple[str, ...] = ()  # codes of raters by which the browser began earlier versions
    language: str = ""  # chosen at the door, of those in which the study is offered


def session_of(study: Study, arrival: Arrival) -> Session | None:
    """The session that this rater already has here: the open one, else the last one.

    Who was screened out may not try again, however often raters may come, nor by withdrawing.
    """
    sessions = Session.objects.filter(study=study)
    if arrival.prolific_id:
        sessions = sessions.filter(rater__prolific_id=arrival.prolific_id)
    elif arrival.external_id:
        sessions = sessions.filter(rater__external_id=arrival.external_id)
    elif arrival.rater is not None:
        sessions = sessions.filter(rater=arrival.rater)
    else:
        return None
    opened = sessions.filter(status=Session.Status.STARTED).first()
    withdrew = Q(status=Session.Status.WITHDRAWN, rejected_because=SCREENED_BEFORE)
    screened = sessions.filter(Q(status=Session.Status.SCREENED) | withdrew).first()
    if opened or screened or sessions.count() < study.sessions_per_rater:
        return opened or screened
    return sessions.order_by("-started_at").first()


def has_earlier_session(study: Study, arrival: Arrival) -> bool:
    """Whether who arrives began an earlier version of a study that keeps such raters out.

    Known by the id of a platform, by a panel's, or by the browser: as well as anybody is known.
    """
    if not study.keeps_out_earlier:
        return False
    known = Q(rater__code__in=arrival.earlier)
    if arrival.prolific_id:
        known |= Q(rater__prolific_id=arrival.prolific_id)
    if arrival.external_id:
        known |= Q(rater__external_id=arrival.external_id)
    earlier = [version.pk for version in earlier_versions(study)]
    return Session.objects.filter(known, study__in=earlier).exists()


def is_second_of_browser(arrival: Arrival) -> bool:
    """Whether another rater started the study in this browser, and the source allows only one."""
    source = arrival.source
    if source is None or not source.once_per_browser or not arrival.browser_of:
        return False
    named = {"prolific_id": arrival.prolific_id} if arrival.prolific_id else {}
    own = Rater.objects.filter(**(named or {"external_id": arrival.external_id}))
    return not own.filter(code=arrival.browser_of).exists()


FIND = """
SELECT s.id, s.rater_id, s.study_id, s.code, s.language, t.language AS of_study, t.link,
    r.code AS rater_code
FROM listening_session s JOIN listening_study t ON t.id = s.study_id
JOIN listening_rater r ON r.id = s.rater_id WHERE s.code = %(code)s
"""


def session_named(code: str) -> Session:
    """The session with this code; the columns that few requests need are loaded when asked for."""
    for *own, language, link, rater in rows_of(
        FIND, code=code
    ):  # in the order of the models' fields
        fields = ("id", "rater_id", "study_id", "code", "language")
        session = Session.from_db("default", fields, own)
        study = (session.study_id, link, language)
        session.study = Study.from_db("default", ("id", "link", "language"), study)
        session.rater = Rater.from_db("default", ("id", "code"), (session.rater_id, rater))
        return session
    raise Session.DoesNotExist


def start(study: Study, arrival: Arrival) -> Session:
    """A new session with all its trials, or the one that the rater has; NoRoom when it is full."""
    if study.state != Study.State.OPEN and not arrival.pilot:
        raise NoRoom({"draft": "not_open"}.get(study.state, study.state))
    existing = session_of(study, arrival)
    if existing is not None:
        return existing
    if not arrival.pilot and has_earlier_session(study, arrival):
        raise NoRoom("came_before")
    if is_second_of_browser(arrival):
        raise NoRoom("same_browser")
    try:
        with transaction.atomic():  # whoever finds no room leaves no empty session behind
            return _start(study, arrival)
    except IntegrityError:  # the same rater arrived twice at once: the first arrival counts
        existing = session_of(study, arrival)
        if existing is None:
            raise
        return existing


def _start(study: Study, arrival: Arrival) -> Session:
    if arrival.pilot:
        _plan_for_pilot(study)
    if arrival.source is not None and arrival.source.quota:
        lock_quota(study)
        if is_full(study, arrival.source):
            raise NoRoom("full")
    rater = _rater(arrival)
    session = Session.objects.create(
        source=arrival.source.key if arrival.source else "",
        external_session=arrival.external_session,
        external_project=arrival.external_project,
        rater=rater,
        browser_of=arrival.browser_of if arrival.browser_of != rater.code else "",
        study=study,
        prolific_study=arrival.prolific_study,
        prolific_session=arrival.prolific_session,
        consent_version=str(study.texts.get("consent_version", "1")),
        device=arrival.device,
        origin=arrival.origin,
        agent=arrival.agent,
        scripts_ran=arrival.scripts_ran,
        pilot=arrival.pilot,
        language=arrival.language if arrival.language in study.translations else "",
        wording_first=study.wording,
        wording_last=study.wording,
        ready=not (study.checks or any(q["when"] == "before" for q in study.questionnaires)),
    )
    rng = Random(secret_seed("session", study.seed, session.code))
    trials: list[Trial] = []
    for task in _tasks_for(study, rng):
        taken = _take_blocks(session, task, rng, first_position=len(trials) + 1)
        trials += taken
        if taken and study.task_plan == Study.TaskPlan.ONE:
            break
    if not trials:
        raise NoRoom("full")
    store_trials(trials)
    return session


def _plan_for_pilot(study: Study) -> None:
    """Blocks as raters will have them, while nobody can open the study; they go with the pilots."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    if row.state != Study.State.DRAFT:
        raise NoRoom("pilot_over")
    allocation.plan_study(row)


def _rater(arrival: Arrival) -> Rater:
    if arrival.rater is not None:
        return arrival.rater
    code = scripted_rater_code() if arrival.simulated else rater_code()
    code = pilot_rater_code() if arrival.pilot else code
    marks = {"simulated": arrival.simulated, "code": code}
    if arrival.prolific_id:
        return Rater.objects.get_or_create(prolific_id=arrival.prolific_id, defaults=marks)[0]
    if arrival.external_id:
        return Rater.objects.get_or_create(external_id=arrival.external_id, defaults=marks)[0]
    return Rater.objects.create(**marks)


def _tasks_for(study: Study, rng: Random) -> list[Task]:
    """All tasks in order; or, where a rater gets one, the task that lags behind most first."""
    tasks = list(study.tasks.order_by("order"))
    if study.task_plan == Study.TaskPlan.ALL:
        return tasks
    return sorted(tasks, key=lambda t: (-allocation.open_share(t.pk, rng), rng.random()))


def _take_blocks(
    session: Session, task: Task, rng: Random, *, first_position: int, wanted: int | None = None
) -> list[Trial]:
    """Claim blocks of one task and lay out their trials, traps woven in; maybe none."""
    blocks = allocation.claim_blocks(
        task,
        session=session.pk,
        rater=session.rater_id,
        lease_s=session.study.lease_s,
        wanted=task.blocks_per_session if wanted is None else wanted,
        rng=rng,
    )
    if blocks and is_drawn_at_claim(task):
        draw_pairs(task, blocks, session.rater_id, rng)
    trials = lay_out(session, task, blocks, rng)
    for position, trial in enumerate(trials, start=first_position):
        trial.session, trial.rater_id, trial.task = session, session.rater_id, task
        trial.position = position
    return trials


def record_answer(session: Session, answer: Answer) -> StoredAnswer:
    """Store one answer; see `listening.sessions.answers` for what is refused and why."""
    try:
        stored = store_answer(session.code, answer)
    except Refused as refused:
        if refused.code != LEASE_LOST.code:
            raise
        refresh(session)  # gives the block back to its rater where nobody took it: it is no loss
        stored = store_answer(session.code, answer)
    if stored.over:
        refresh(session)  # it has ended, or lost blocks are replaced
    return stored


def skip(session: Session, trial: str, reason: str, playback: Mapping[str, Any]) -> None:
    """Go on without a clip that this device cannot play; see `answers.skip_trial`."""
    if skip_trial(session.code, trial, reason, playback):
        refresh(session)


def refresh(session: Session) -> Session:
    """Bring a session up to date when its rater comes back: lost blocks are retaken or replaced."""
    with transaction.atomic():  # locked, so that two tabs do not replace one lost block twice
        rows = Session.objects.select_for_update(no_key=True, of=("self",))
        locked = rows.select_related("study").get(pk=session.pk)
        if locked.status == Session.Status.STARTED:
            lost, left = stages.course_of(locked)
            if lost:
                _replace_lost(locked)
            if not stages.is_current(lost=lost, left=left):
                _finish_if_over(locked)
        if locked.status == Session.Status.STARTED and asks_between(locked.study.questionnaires):
            stages.hold(locked)  # a lost block may end a task, or begin it again
    for column in Session._meta.concrete_fields:  # as it is stored now
        setattr(session, column.attname, getattr(locked, column.attname))
    return session


def _replace_lost(session: Session) -> None:
    """Every block that went back is leased again if it is free; else another takes its place.

    Not once the study is erased: reasons would gather anew.
    """
    if session.study.erased_at is not None:
        return
    void = session.trials.filter(state=Trial.State.VOID)
    lost = list(void.order_by("block_id").values_list("block_id", "task_id").distinct())
    position = session.trials.aggregate(last=Max("position"))["last"] or 0
    rng = Random(secret_seed("session", session.study.seed, session.code, position))
    for block, task in lost:
        if leases.retake_block(block, session=session.pk, lease_s=session.study.lease_s):
            leases.recount(block, session.pk)
            still_open = [slot.pk for slot in allocation.open_slots([block])]
            mine = Q(slot__isnull=True) | Q(slot__in=still_open)
            void.filter(mine, block=block).update(state=Trial.State.PLANNED)
            void.filter(block=block).delete()  # others answered these meanwhile
            continue
        void.filter(block=block).update(state=Trial.State.GONE)
        fresh = _replacement(session, Task.objects.get(pk=task), rng, position + 1)
        store_trials(fresh)
        position += len(fresh)
        session.short = session.short or not fresh
    session.save(update_fields=["short"])


def _replacement(session: Session, task: Task, rng: Random, first_position: int) -> list[Trial]:
    if session.study.state != Study.State.OPEN:
        return []
    return _take_blocks(session, task, rng, first_position=first_position, wanted=1)


def note_submission(session: Session, arrival: Arrival) -> None:
    """A task that was given back at the provider and accepted again has a new submission id."""
    submission = arrival.external_session
    if submission and session.source == (arrival.source.key if arrival.source else ""):
        going_on = Session.objects.filter(pk=session.pk, status=Session.Status.STARTED)
        going_on.update(external_session=submission)


def note_scripts(session: Session) -> None:
    """The scripts of the session's page run; where it is not asked for, nothing is kept."""
    Session.objects.filter(pk=session.pk, scripts_ran=False).update(scripts_ran=True)


def _finish_if_over(session: Session) -> None:
    """Close a locked session that has nothing left to answer."""
    if session.trials.filter(state=Trial.State.PLANNED).exists():
        return
    finished = run_steps(finish_steps(session.pk, simulated=session.rater.simulated))
    session.status, session.review, session.finished_at = finished


def withdraw(session: Session) -> None:
    """Delete what the rater gave and hand the places on; the empty session remains as a record."""
    with transaction.atomic():
        locked = Session.objects.select_for_update(no_key=True).get(pk=session.pk)
        if locked.status == Session.Status.WITHDRAWN:
            return
        blocks = leases.lock_blocks_of([session.pk])
        answered = locked.trials.filter(ratings__isnull=False).exists()
        with deleting_ratings():
            locked.trials.all().delete()
        SessionSummary.objects.filter(session=locked).delete()
        leases.settle(blocks)
        _store_submission(locked)
        locked.rejected_because = KEPT_OF_WHY.get(locked.status, "")
        locked.status, locked.checks, locked.device = Session.Status.WITHDRAWN, {}, ""
        locked.questionnaires, locked.comment, locked.origin = {}, "", ""
        locked.agent = locked.browser_of = ""
        locked.scripts_ran = None
        locked.prolific_study = locked.prolific_session = ""
        locked.external_session = locked.external_project = ""
        locked.finished_at = timezone.now()
        locked.save()
        if answered:  # else no analysis and no export holds a row of this rater
            study = locked.study
            note(study, "withdrew", A_RATER)
            withdrawn.send(Session, study_id=study.pk, study_key=study.key)


def _store_submission(session: Session) -> None:
    """The place at Prolific is known for pay alone, and leads to no session any more."""
    if not session.prolific_session:
        return
    live = session.study.recruitments.filter(state=Recruitment.State.LIVE)
    named = Q(prolific_study=session.prolific_study)
    child = Q(submissions__child_study=session.prolific_study)
    recruitment = live.filter(named | child).first() or live.first()
    if recruitment is not None:
        Submission.objects.get_or_create(
            prolific_id=session.prolific_session,
            defaults={
                "recruitment": recruitment,
                "participant": session.rater.prolific_id or "",
                "status": "ACTIVE",
            },
        )
    Submission.objects.filter(prolific_id=session.prolific_session).update(
        session=None, withdrew=True
    )


def reject(session: Session, reason: str) -> None:
    """Judge a session invalid; see `rejection` for many, and for the way back."""
    reject_sessions([session.pk], reason)


def delete_simulated(study: Study) -> int:
    """Delete every scripted rater of a study with all that they gave; their places are open."""
    sessions = list(Session.objects.filter(study=study, rater__simulated=True))
    for session in sessions:
        delete_session(session)
    Rater.objects.filter(simulated=True, sessions__isnull=True).delete()
    return len(sessions)


def delete_session(session: Session) -> None:
    """Delete a session with all that was answered in it; its places are open."""
    with transaction.atomic():
        blocks = leases.lock_blocks_of([session.pk])
        with deleting_ratings():
            session.trials.all().delete()
        leases.settle(blocks)
        session.delete()


@contextmanager
def deleting_ratings() -> Iterator[None]:
    """Ratings may be deleted inside, in this transaction: the database refuses it elsewhere."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL earnest.deleting = 'on'")
        yield
        cursor.execute("SET LOCAL earnest.deleting = 'off'")
