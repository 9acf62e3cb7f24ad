"""A clip that cannot be played is passed over: its place goes to others, its rater goes on."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from listening.models import Block, Rating, Session, Study, Trial
from listening.selectors import unplayed_clips
from listening.sessions import leases, lifecycle
from listening.sessions.outcomes import code_at_end
from listening.sessions.task_rules import Refused
from listening.web.rater.state import session_state
from tests.config.helpers import PATIENCE_S
from tests.factories import ATT_TRAPS, an_answer, answer_all, arrive, current, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(
        items=5, conditions=1, sessions_per_rater=2, completion_codes={"complete": "C"}
    )


def skip(session: Session, trial: Any = None) -> Any:
    trial = trial or current(session)
    lifecycle.skip(session, trial.code, "decode", {"load_failures": 3})
    trial.refresh_from_db()
    return trial


def refused(call: Any) -> str:
    with pytest.raises(Refused) as refusal:
        call()
    assert refusal.value.message.endswith(".")
    return refusal.value.code


def turing(*, reopen: bool) -> Session:
    task = {"method": "att", "block_size": 10, "traps": ATT_TRAPS, "reopen_invalid": reopen}
    return arrive(make_study(traps={"flawed": 2, "human": 3}, task=task))


def go_through(session: Session, skipped: set[str]) -> None:
    """Answers everything rightly, but for one trap of each of these kinds."""
    left = set(skipped)
    while (trial := current(session)) is not None:
        if trial.trap in left:
            left.remove(trial.trap)
            skip(session, trial)
        else:
            label = trial.expected[0] if trial.expected else "Unclear"
            lifecycle.record_answer(session, an_answer(trial, label))
    session.refresh_from_db()


# --- The trial and its place ---------------------------------------------------------------------


def test_who_skips_keeps_the_rest_of_the_block_as_long_as_who_answers(study):
    session = arrive(study)
    late = timezone.now() + timedelta(seconds=5)
    Block.objects.filter(session=session).update(lease_until=late)
    skip(session)
    assert Block.objects.get(session=session).lease_until > late + timedelta(minutes=1)


def test_a_skipped_trial_is_marked_with_its_reason_and_has_no_rating(study):
    session = arrive(study)
    trial = skip(session)
    assert trial.state == "skipped"
    assert trial.playback == {"load_failures": 3, "skipped_because": "decode"}
    assert trial.answered_at is not None
    assert not Rating.objects.exists()
    assert current(session).position == trial.position + 1
    assert session_state(session, own=True)["progress"] == {"done": 1, "total": 5}


@pytest.mark.medium
def test_its_place_goes_to_another_rater_and_ends_with_exactly_its_ratings(study):
    session = arrive(study)
    trial = skip(session)
    assert answer_all(session) == 4
    assert Block.objects.get(pk=trial.block_id).state == Block.State.OPEN
    others = []
    while study.tasks.get().blocks.exclude(state=Block.State.DONE).exists():
        others.append(arrive(study))
        answer_all(others[-1])
    assert sorted(other.trials.count() for other in others) == [1, 5]
    (filled,) = Trial.objects.filter(slot=trial.slot_id, state="answered")
    assert filled.session_id != session.pk
    assert Rating.objects.filter(counts=True).count() == 10


@pytest.mark.medium
def test_its_rater_never_gets_it_again(study):
    study.tasks.update(blocks_per_rater=2)
    session = arrive(study)
    skip(session)
    answer_all(session)
    with pytest.raises(lifecycle.NoRoom):  # all that is left is what this rater has met
        arrive(study, rater=session.rater)
    assert arrive(study).trials.count() in (1, 5)


def test_the_session_ends_complete_though_clips_were_skipped(study):
    session = arrive(study)
    answer_all(session, stop_after=4)
    skip(session)
    session.refresh_from_db()
    assert session.status == "finished"
    end = session_state(session, own=True)["end"]
    assert (end["outcome"], end["code"]) == ("complete", code_at_end(session))
    assert not session.blocks.exists()


def test_a_session_of_which_nothing_can_be_played_ends_and_leaves_its_block_open(study):
    session = arrive(study)
    while current(session) is not None:
        skip(session)
    session.refresh_from_db()
    assert session.status == "finished"
    assert not Block.objects.exclude(state=Block.State.OPEN).exists()


# --- What else may arrive ------------------------------------------------------------------------


@pytest.mark.medium
def test_the_same_skip_again_changes_nothing(study):
    session = arrive(study)
    first = skip(session)
    again = skip(session, first)
    assert (again.answered_at, again.playback) == (first.answered_at, first.playback)
    assert Trial.objects.filter(state="skipped").count() == 1
    answer_all(session)
    skip(session, first)
    assert session.status == "finished"


def test_a_skip_that_comes_after_the_answer_takes_nothing_away(study):
    session = arrive(study)
    trial = current(session)
    lifecycle.record_answer(session, an_answer(trial))
    assert skip(session, trial).state == "answered"
    assert Rating.objects.filter(counts=True).count() == 1


def test_an_answer_that_comes_after_the_skip_is_not_stored(study):
    session = arrive(study)
    trial = skip(session)
    assert refused(lambda: lifecycle.record_answer(session, an_answer(trial))) == "lease_lost"
    assert not Rating.objects.exists()


def test_a_later_trial_and_that_of_another_session_cannot_be_skipped(study):
    session, other = arrive(study), arrive(study)
    later = session.trials.order_by("position")[1]
    assert refused(lambda: skip(session, later)) == "wrong_order"
    assert refused(lambda: skip(session, current(other))) == "unknown_trial"
    assert set(Trial.objects.values_list("state", flat=True)) == {"planned"}


def test_a_block_that_somebody_else_has_by_now_is_left_alone(study):
    session = arrive(study)
    trial = current(session)
    leases.give_back([trial.block_id])
    assert refused(lambda: skip(session, trial)) == "lease_lost"
    trial.refresh_from_db()
    assert trial.state == "void"


def test_after_withdrawal_there_is_nothing_to_skip(study):
    session = arrive(study)
    trial = current(session)
    lifecycle.withdraw(session)
    assert refused(lambda: lifecycle.skip(session, trial.code, "load", {})) == "unknown_trial"


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_a_skip_and_an_answer_at_once_leave_one_of_them():
    study = make_study(items=5, conditions=1, task={"ratings_per_stimulus": 1})
    session = arrive(study)
    for _ in range(5):
        trial = current(session)
        calls = (
            lambda t=trial: lifecycle.record_answer(session, an_answer(t)),
            lambda t=trial: lifecycle.skip(session, t.code, "load", {}),
        )
        at_once(*calls)
        trial.refresh_from_db()
        assert (trial.state, trial.ratings.count()) in (("answered", 1), ("skipped", 0))
    session.refresh_from_db()
    assert session.status == "finished"
    whole = Rating.objects.filter(counts=True).count() == 5
    assert Block.objects.get().state == (Block.State.DONE if whole else Block.State.OPEN)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_last_skip_and_a_lease_that_runs_out_do_not_wait_for_each_other():
    study = make_study(conditions=1, items=20, task={"block_size": 1, "ratings_per_stimulus": 4})
    for _ in range(60):
        session = arrive(study)
        trial = current(session)
        Block.objects.filter(session=session).update(lease_until=timezone.now())
        at_once(
            lambda s=session, t=trial: lifecycle.skip(s, t.code, "load", {}),
            leases.return_expired_leases,
        )
        session.refresh_from_db()
        held = Block.objects.filter(session=session, state=Block.State.LEASED)
        assert session.status == "finished" or not held.exists()


def at_once(*calls: Any) -> None:
    gate = Barrier(len(calls))

    def go(call: Any) -> None:
        gate.wait(PATIENCE_S)
        with closing(connection), suppress(Refused):
            call()

    with ThreadPoolExecutor(len(calls)) as pool:
        for done in [pool.submit(go, call) for call in calls]:
            done.result(30)


# --- Traps, practice, repeats --------------------------------------------------------------------


@pytest.mark.medium
def test_a_skipped_trap_is_neither_passed_nor_failed():
    session = turing(reopen=False)
    go_through(session, {"flawed", "human"})
    skipped = session.trials.filter(state="skipped")
    assert sorted(skipped.values_list("trap", "trap_passed")) == [("flawed", None), ("human", None)]
    assert session.status == "finished"
    assert Rating.objects.filter(counts=True).count() == 10
    assert Block.objects.filter(state=Block.State.DONE).count() == 1


@pytest.mark.medium
def test_a_block_that_passes_with_the_traps_that_could_be_played_counts():
    session = turing(reopen=True)
    go_through(session, {"human"})  # one of two must pass, and one was heard
    assert Rating.objects.filter(counts=True).count() == 10
    assert Block.objects.filter(state=Block.State.DONE).count() == 1


@pytest.mark.medium
def test_a_block_whose_trap_could_not_be_judged_is_asked_again_and_its_rater_is_done():
    session = turing(reopen=True)
    go_through(session, {"flawed"})
    assert session.status == "finished"
    assert Rating.objects.filter(trial__trap="").count() == 10
    assert not Rating.objects.filter(counts=True).exists()
    assert not Block.objects.exclude(state=Block.State.OPEN).exists()


@pytest.mark.medium
def test_practice_and_repeats_can_be_skipped_too():
    task = {"training": [{"stimulus": "trap_training-0"}], "repeats": 1}
    session = arrive(make_study(traps={"training": 1}, task=task))
    assert skip(session).trap == "training"
    answer_all(session, stop_after=5)
    repeat = current(session)
    assert (repeat.slot_id, repeat.trap) == (None, "")
    skip(session)
    session.refresh_from_db()
    assert session.status == "finished"
    assert Block.objects.filter(state=Block.State.DONE).count() == 1


# --- The door ------------------------------------------------------------------------------------


def post(client: Any, session: Session, body: dict[str, Any]) -> Any:
    return client.post(f"/api/s/{session.code}/skips/", body, content_type="application/json")


@pytest.mark.medium
def test_the_page_gets_the_next_trial_and_the_end(client, study):
    session = arrive(study)
    shown = [t.code for t in session.trials.order_by("position")]
    body = {"trial": shown[0], "reason": "load", "playback": {"load_failures": 4}}
    state = post(client, session, body).json()
    assert [t["id"] for t in state["trials"]] == shown[1:4]
    answer_all(session, stop_after=3)
    assert post(client, session, body | {"trial": shown[4]}).json()["stage"] == "end"


@pytest.mark.parametrize(
    "wrong",
    [
        {"reason": "boredom"},
        {"reason": None},
        {"trial": ""},
        {"playback": []},
        {"playback": {"x": "\u0000"}},
        {"playback": {str(k): 1 for k in range(50)}},
    ],
)
def test_a_skip_without_a_reason_of_ours_is_malformed(client, study, wrong):
    session = arrive(study)
    body = {"trial": current(session).code, "reason": "load", "playback": {}} | wrong
    response = post(client, session, body)
    assert (response.status_code, response.json()["error"]) == (422, "malformed")
    assert not Trial.objects.filter(state="skipped").exists()


def test_a_refused_skip_says_why_and_where_the_session_stands(client, study):
    session = arrive(study)
    later = session.trials.order_by("position")[1].code
    response = post(client, session, {"trial": later, "reason": "load"})
    assert (response.status_code, response.json()["error"]) == (409, "wrong_order")
    assert response.json()["state"]["stage"] == "trial"


def end_of(session: Session) -> tuple[str, str, str]:
    session.refresh_from_db()
    end = session_state(session, own=True)["end"]
    return session.status, session.review, end["outcome"]


def test_who_skips_many_clips_ends_with_the_code_for_a_review(study):
    study.completion_codes |= {"needs_review": "LOOK"}
    study.save()
    session = arrive(study, prolific_id="p" * 24, prolific_session="s" * 24)
    for _ in range(3):
        skip(session)
    answer_all(session)
    assert end_of(session) == ("finished", "skips", "needs_review")
    end = session_state(session, own=True)["end"]
    assert (end["code"], end["return_url"][-7:]) == ("LOOK", "cc=LOOK")


def test_two_skips_are_everybodys(study):
    session = arrive(study)
    for _ in range(2):
        skip(session)
    answer_all(session)
    assert end_of(session) == ("finished", "", "complete")


@pytest.mark.medium
def test_a_clip_that_others_could_not_play_either_is_held_against_nobody():
    study = make_study(items=5, conditions=1, task={"ratings_per_stimulus": 3})
    sessions_of_all = [arrive(study) for _ in range(3)]
    for session in sessions_of_all:
        while current(session) is not None:
            skip(session)
    assert [end_of(s)[1] for s in sessions_of_all] == ["skips", "skips", ""]


@pytest.mark.medium
def test_a_study_of_before_gives_a_doubtful_session_the_code_for_complete(study):
    session = arrive(study, prolific_id="p" * 24, prolific_session="s" * 24)
    while current(session) is not None:
        skip(session)
    session.refresh_from_db()
    assert session_state(session, own=True)["end"]["code"] == "C"


@pytest.mark.medium
def test_clips_that_several_raters_passed_over_are_named(client):
    study = make_study(items=5, conditions=1, task={"ratings_per_stimulus": 4})
    broken = ""
    for _ in range(3):
        assert unplayed_clips(study.key) == []
        session = arrive(study)
        while (trial := current(session)) is not None:
            broken = broken or trial.stimulus.key
            if trial.stimulus.key == broken:
                skip(session)
            else:
                lifecycle.record_answer(session, an_answer(trial))
    (clip,) = unplayed_clips(study.key)
    assert (clip["stimulus"], clip["skipped"], clip["met"]) == (broken, 3, 3)
    client.force_login(study.owner)
    page = client.get(f"/studies/{study.key}/").content.decode()
    assert "3 of 3 sessions" in page
