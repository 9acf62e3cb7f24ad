"""Each answer that a browser can send has its defined end."""

from re import sub

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH

from listening.common.statements import rows_of
from listening.models import Block, Justification, Rater, Rating, Session, Trial
from listening.sessions import leases, lifecycle
from listening.sessions.answer_statements import FETCHED, FETCHED_FREE, READ, WRITE_FREE
from listening.sessions.task_rules import Refused
from tests.factories import ATT_TRAPS, an_answer, answer_all, arrive, current, make_study

pytestmark = pytest.mark.django_db


def refused_with(code: str, session, answer) -> None:
    before = Rating.objects.count()
    with pytest.raises(Refused) as refusal:
        lifecycle.record_answer(session, answer)
    assert refusal.value.code == code
    assert refusal.value.message.endswith(".")
    assert Rating.objects.count() == before


@pytest.fixture
def session():
    return arrive(make_study())


def test_an_answer_is_stored_with_its_score_and_playback(session):
    trial = current(session)
    stored = lifecycle.record_answer(
        session, an_answer(trial, "4", latency_ms=2345, plays=2, playback={"stalls": 1})
    )
    assert (stored.repeat, stored.over) == (False, False)
    rating = Rating.objects.get()
    trial.refresh_from_db()
    assert (rating.label, rating.score, rating.counts) == ("4", 4.0, True)
    assert (rating.slot_id, rating.stimulus_id) == (trial.slot_id, trial.stimulus_id)
    assert (trial.state, trial.latency_ms, trial.plays) == ("answered", 2345, 2)
    assert trial.playback == {"stalls": 1}


def test_trials_are_changed_in_their_page_and_none_of_their_indexes_is_written(session):
    """PostgreSQL's count of "heap-only" updates: what is sent and answered costs half of others."""
    for trial in session.trials.all():
        rows_of(FETCHED, trial=trial.pk, clip=1)
    answer_all(session)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables"
            " WHERE relname = 'listening_trial'"
        )
        changed, in_page = cursor.fetchone()
    assert changed >= 2 * session.trials.count()
    assert in_page > 0.7 * changed  # all but what no longer fits into a page of this transaction's


def test_psycopg_remembers_how_the_statements_of_an_answer_are_sent():
    assert max(map(len, (READ, WRITE_FREE, FETCHED_FREE))) <= MAX_CACHED_STATEMENT_LENGTH


def test_a_repeated_answer_returns_the_first_rating(session):
    trial = current(session)
    lifecycle.record_answer(session, an_answer(trial, "4"))
    again = lifecycle.record_answer(session, an_answer(trial, "2"))
    assert again.repeat
    assert list(Rating.objects.values_list("label", flat=True)) == ["4"]


def test_an_answer_outside_the_scale_is_refused(session):
    for label in ("6", "0", "4.5", "", "Human", "4 "):
        refused_with("outside_scale", session, an_answer(current(session), label or "x"))


def test_a_trial_of_another_session_is_unknown(session):
    other = arrive(session.study)
    refused_with("unknown_trial", session, an_answer(current(other)))


def test_a_later_trial_must_wait_for_its_turn(session):
    later = session.trials.order_by("position")[1]
    refused_with("wrong_order", session, an_answer(later))


def test_a_clip_must_be_heard_to_its_end(session):
    trial = current(session)
    refused_with("not_heard", session, an_answer(trial, heard_fraction=0.9))
    refused_with("not_heard", session, an_answer(trial, plays=0))


def test_an_unasked_criterion_is_malformed(session):
    answer = an_answer(current(session))
    extra = type(answer)(**{**answer.__dict__, "labels": {"0": "4", "1": "4"}})
    refused_with("malformed", session, extra)
    missing = type(answer)(**{**answer.__dict__, "labels": {"1": "4"}})
    refused_with("criterion_missing", session, missing)


def test_a_required_reason_must_be_long_enough():
    reason = {"required": True, "min_chars": 10}
    session = arrive(make_study(task={"method": "att", "justification": reason}))
    trial = current(session)
    for text in ("", "too short", "   padded   "):
        answer = an_answer(trial, justification={"text": text})
        refused_with("justification_required", session, answer)
    lifecycle.record_answer(
        session, an_answer(trial, justification={"text": "flat pitch throughout", "keystrokes": 25})
    )
    kept = Justification.objects.get()
    assert (kept.text, kept.keystrokes) == ("flat pitch throughout", 25)


@pytest.mark.medium
def test_after_the_end_nothing_is_stored(session):
    first = current(session)
    assert answer_all(session) == 5
    assert session.status == Session.Status.FINISHED
    stored = lifecycle.record_answer(session, an_answer(first))
    assert stored.repeat
    assert stored.over


@pytest.mark.medium
def test_after_withdrawal_everything_is_deleted_and_the_places_are_open(session):
    answer_all(session, stop_after=3)
    gone = current(session)
    lifecycle.withdraw(session)
    session.refresh_from_db()
    assert session.status == Session.Status.WITHDRAWN
    assert (Rating.objects.count(), Trial.objects.count()) == (0, 0)
    assert not Block.objects.exclude(state=Block.State.OPEN).exists()
    refused_with("unknown_trial", session, an_answer(gone))


@pytest.mark.medium
def test_a_late_answer_counts_if_nobody_took_the_block(session):
    trial = current(session)
    lose_lease(session)
    lifecycle.record_answer(session, an_answer(trial))
    assert Rating.objects.get().counts
    assert answer_all(session) == 4
    assert session.status == Session.Status.FINISHED


@pytest.mark.medium
def test_a_late_rater_gets_another_block_when_theirs_went_on(session):
    answer_all(session, stop_after=2)
    lost = current(session)
    block = session.blocks.get()
    lose_lease(session)
    other = take_block(session.study, block)
    refused_with("lease_lost", session, an_answer(lost))
    session.refresh_from_db()
    assert session.status == Session.Status.STARTED
    assert session.blocks.get() != block
    assert answer_all(session) == 5
    assert session.status == Session.Status.FINISHED
    assert other.trials.count() == 3  # only what had no rating yet


@pytest.mark.medium
def test_a_late_rater_for_whom_nothing_is_left_ends_politely():
    session = arrive(make_study(conditions=1, items=5, task={"ratings_per_stimulus": 1}))
    answer_all(session, stop_after=2)
    block = session.blocks.get()
    lose_lease(session)
    take_block(session.study, block)
    lifecycle.refresh(session)
    assert session.status == Session.Status.EXPIRED
    assert Rating.objects.filter(counts=True).count() == 2


def lose_lease(session) -> None:
    session.blocks.update(lease_until=timezone.now() - timezone.timedelta(seconds=1))
    assert leases.return_expired_leases() == 1


def take_block(study, block: Block) -> Session:
    """Somebody else arrives while this is the only block that is free."""
    free = Block.objects.filter(state=Block.State.OPEN).exclude(pk=block.pk)
    others = list(free.values_list("pk", flat=True))
    holder = Session.objects.create(rater=Rater.objects.create(), study=study)
    soon = timezone.now() + timezone.timedelta(hours=1)
    free.update(state=Block.State.LEASED, session=holder, lease_until=soon)
    other = arrive(study)
    Block.objects.filter(pk__in=others).update(state=0, session=None, lease_until=None)
    assert other.blocks.get() == block
    return other


@pytest.mark.medium
def test_failed_traps_mark_and_where_the_study_says_so_hand_the_block_on():
    study = make_study(
        items=20,
        traps={"flawed": 2, "human": 3},
        task={"method": "att", "block_size": 10, "traps": ATT_TRAPS, "reopen_invalid": True},
    )
    session = arrive(study)
    assert answer_all(session, pass_traps=False) == 13
    assert session.status == Session.Status.FINISHED  # the rater did the work
    assert not Rating.objects.filter(counts=True).exists()
    assert Rating.objects.count() == 13
    assert not Block.objects.exclude(state=Block.State.OPEN).exists()
    careful = arrive(study)
    answer_all(careful)
    assert Rating.objects.filter(counts=True).count() == 10
    assert careful.blocks.get().state == Block.State.DONE


@pytest.mark.parametrize("failed", [0, 1])
def test_one_failed_set_voids_the_whole_session_where_the_task_asks_for_it(failed):
    study = make_study(
        items=40,
        traps={"flawed": 4, "human": 6},
        task={
            "method": "att",
            "block_size": 10,
            "blocks_per_session": 2,
            "blocks_per_rater": 2,
            "traps": {**ATT_TRAPS, "voids": "session"},
            "reopen_invalid": True,
        },
    )
    session = arrive(study)
    first, second = session.trials.order_by("position").values_list("block", flat=True)[::13]
    for block in (first, second):
        answer_all(session, pass_traps=block != (first, second)[failed], stop_after=13)
        kept = failed == 1 and block == first
        assert Rating.objects.filter(counts=True).count() == (10 if kept else 0)
    assert session.status == Session.Status.FINISHED
    assert Rating.objects.count() == 26
    assert not study.tasks.get().blocks.exclude(state=Block.State.OPEN).exists()
    careful = arrive(study)
    answer_all(careful)
    assert Rating.objects.filter(counts=True).count() == 20


def test_a_set_whose_traps_were_all_skipped_voids_the_session_too():
    study = make_study(
        items=40,
        traps={"flawed": 4, "human": 6},
        task={
            "method": "att",
            "block_size": 10,
            "blocks_per_session": 2,
            "blocks_per_rater": 2,
            "traps": {**ATT_TRAPS, "voids": "session"},
            "reopen_invalid": True,
        },
    )
    session = arrive(study)
    answer_all(session, stop_after=13)
    assert Rating.objects.filter(counts=True).count() == 10
    while (trial := current(session)) is not None:
        if trial.trap:
            lifecycle.skip(session, trial.code, "load", {})
        else:
            lifecycle.record_answer(session, an_answer(trial))
    assert not Rating.objects.filter(counts=True).exists()


@pytest.mark.medium
def test_a_trap_is_as_much_work_as_any_other_trial():
    """The same statements in the same order: how long an answer takes betrays no trap."""
    study = make_study(
        items=20,
        traps={"flawed": 2, "human": 3},
        task={"method": "att", "block_size": 10, "traps": ATT_TRAPS},
    )
    session = arrive(study)
    work: dict[bool, set[tuple[str, ...]]] = {True: set(), False: set()}
    for _ in range(12):  # the last of a block closes it
        trial = current(session)
        answer = an_answer(trial)
        with CaptureQueriesContext(connection) as asked:
            lifecycle.record_answer(session, answer)
        statements = tuple(sub(r"'[^']*'|\d+|NULL", "?", query["sql"]) for query in asked)
        work[bool(trial.trap)].add(statements)
    assert work[True] == work[False]
    assert len(work[True]) == 1


def test_a_rejected_session_counts_no_longer_but_stays(session):
    answer_all(session)
    assert session.blocks.get().state == Block.State.DONE
    lifecycle.reject(session, "answered without listening")
    session.refresh_from_db()
    assert session.status == Session.Status.REJECTED
    assert Rating.objects.count() == 5
    assert not Rating.objects.filter(counts=True).exists()
    assert not Block.objects.exclude(state=Block.State.OPEN).exists()


def test_the_database_itself_refuses_to_change_or_delete_a_rating(session):
    answer_all(session, stop_after=1)
    for change in ("UPDATE listening_rating SET score = 3", "DELETE FROM listening_rating"):
        with (
            pytest.raises(DatabaseError, match=r"only|never"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(change)
    assert Rating.objects.count() == 1


def test_the_database_itself_refuses_a_done_block_with_a_gap(session):
    answer_all(session, stop_after=4)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as at a commit
    with pytest.raises(DatabaseError, match="lacks ratings"), transaction.atomic():
        session.blocks.update(state=Block.State.DONE, lease_until=None)


def test_the_database_itself_refuses_a_second_counting_rating(session):
    answer_all(session, stop_after=1)
    with (
        pytest.raises(DatabaseError, match="one_counting_rating_per_slot"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "INSERT INTO listening_rating (trial_id, slot_id, criterion_id, stimulus_id, label,"
            " score, counts, rated_at) SELECT (SELECT id FROM listening_trial t WHERE t.id <>"
            " r.trial_id LIMIT 1), slot_id, criterion_id, stimulus_id, label, score, true, now()"
            " FROM listening_rating r"
        )


def test_the_database_itself_refuses_slots_beyond_the_target(session):
    with (
        pytest.raises(DatabaseError, match=r"slot_replicate_below_target|slot_target"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE listening_slot SET replicate = 2")
    with (
        pytest.raises(DatabaseError, match="slot_target_is_its_tasks"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE listening_slot SET ratings_per_stimulus = 9")
