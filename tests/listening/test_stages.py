"""What surrounds the trials: in which order it is asked, what it does, and that it happens once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from listening.checks import check_named
from listening.design.questionnaires import Incorrect
from listening.models import Block, Rating, Session, Study, Trial
from listening.sessions import leases, lifecycle, stages
from listening.sessions.outcomes import code_at_end
from listening.sessions.stages import NotAsked, attempt_of, check_seed, stage_of_session
from listening.sessions.task_rules import Refused
from listening.web.rater.state import session_state
from tests.config.helpers import PATIENCE_S
from tests.factories import an_answer, answer_all, arrive, current, make_study

pytestmark = pytest.mark.django_db

VOLUME = {"key": "volume"}
HUGGINS = {"key": "huggins", "trials": 3, "pass_at_least": 3, "attempts": 2}
STEREO = {"key": "stereo", "attempts": 1, "on_fail": "continue"}
CODES = {"complete": "DONE1", "partial": "PART1", "screened_out": "OUT1"}


def question(key: str, **fields) -> dict[str, Any]:
    blank: dict[str, Any] = {"help": "", "kind": "one", "required": True, "low": None, "high": None}
    blank |= {"longest": 200, "show_if": None, "screen_out": []}
    options = [{"value": "yes", "text": "Yes"}, {"value": "no", "text": "No"}]
    return {"key": key, "question": f"{key}?", "options": options, **blank, **fields}


def questionnaire(key: str, when: str, **fields) -> dict[str, Any]:
    shape = {"title": key, "text": "", "use": [], "ready": []}
    return {"key": key, "when": when, **shape, "questions": [question("hearing", **fields)]}


ABOUT = questionnaire("about", "before", screen_out=["no"])
AFTER = questionnaire("after", "after", screen_out=["no"])


def a_study(**fields) -> Study:
    shape = {"checks": [VOLUME, HUGGINS], "questionnaires": [AFTER, ABOUT]}
    return make_study(completion_codes=CODES, **{**shape, **fields})


@pytest.fixture
def session() -> Session:
    return arrive(a_study())


def truths(session: Session, key: str) -> list[str]:
    check, asked = stages.check_and_settings(session.study.checks, key, "en")
    seed = check_seed(session.code, key, attempt_of(session.checks, key))
    return [trial.truth for trial in check.plan(asked, seed)]


def stage(session: Session) -> str:
    session.refresh_from_db()
    found = stage_of_session(session)
    return " ".join(filter(None, [found.kind, found.key]))


def pass_check(session: Session, key: str) -> Session:
    session.refresh_from_db()
    if key == "volume":
        return stages.record_check(session, key, {"comfortable": True})
    return stages.record_check(session, key, {"answers": truths(session, key)})


def fail_check(session: Session, key: str) -> Session:
    session.refresh_from_db()
    return stages.record_check(session, key, {"answers": all_wrong(session, key)})


def all_wrong(session: Session, key: str) -> list[str]:
    check, _ = stages.check_and_settings(session.study.checks, key, "en")
    return [next(o.value for o in check.options if o.value != t) for t in truths(session, key)]


def fill_in(session: Session, key: str, answer: str = "yes") -> Session:
    return stages.record_questionnaire(session, key, {"hearing": answer})


def past_everything(session: Session) -> Session:
    fill_in(session, "about")
    pass_check(session, "volume")
    pass_check(session, "huggins")
    session.refresh_from_db()
    return session


# --- The order -----------------------------------------------------------------------------------


@pytest.mark.medium
def test_questions_then_checks_then_trials_then_questions_and_the_end(session):
    assert not session.ready
    assert stage(session) == "questionnaire about"
    fill_in(session, "about")
    assert stage(session) == "check volume"
    pass_check(session, "volume")
    assert stage(session) == "check huggins"
    assert not session.ready
    pass_check(session, "huggins")
    assert stage(session) == "trial"
    assert session.ready
    answer_all(session)
    assert session.status == "finished"
    assert stage(session) == "questionnaire after"
    fill_in(session, "after")
    assert stage(session) == "end"


def test_without_anything_around_the_first_stage_is_a_trial():
    session = arrive(a_study(checks=[], questionnaires=[AFTER]))
    assert (stage(session), session.ready) == ("trial", True)


def test_the_page_is_told_of_the_one_stage_that_is_asked(session):
    shown = session_state(session, own=True)
    assert (shown["stage"], shown["questionnaire"]["key"]) == ("questionnaire", "about")
    assert (shown["check"], shown["trials"], shown["end"]) == (None, [], None)
    fill_in(session, "about")
    shown = session_state(session, own=True)
    assert (shown["stage"], shown["check"]["key"]) == ("check", "volume")
    assert (shown["questionnaire"], shown["trials"], shown["end"]) == (None, [], None)


def test_a_check_is_not_judged_before_its_turn(session):
    stages.record_check(session, "volume", {"comfortable": True})
    stages.record_check(session, "volume", {"answers": []})
    session.refresh_from_db()
    assert session.checks == {}
    fill_in(session, "about")
    fail_check(session, "huggins")
    session.refresh_from_db()
    assert session.checks == {}
    assert stage(session) == "check volume"


def test_a_questionnaire_is_not_kept_before_its_turn(session):
    with pytest.raises(NotAsked):
        fill_in(session, "after")
    with pytest.raises(NotAsked):
        fill_in(session, "unknown")
    session.refresh_from_db()
    assert session.questionnaires == {}


def test_a_check_that_the_study_does_not_have_is_not_asked(session):
    with pytest.raises(NotAsked):
        stages.record_check(session, "antiphase", {"answers": ["1"]})


@pytest.mark.medium
def test_answers_are_refused_until_all_before_the_trials_is_done(session):
    trial = current(session)
    for step in ("about", "volume", "huggins"):
        with pytest.raises(Refused) as refusal:
            lifecycle.record_answer(session, an_answer(trial))
        assert refusal.value.code == "not_ready"
        with pytest.raises(Refused) as refusal:
            lifecycle.skip(session, trial.code, "load", {})
        assert refusal.value.code == "not_ready"
        fill_in(session, step) if step == "about" else pass_check(session, step)
    assert not Rating.objects.exists()
    lifecycle.record_answer(session, an_answer(trial))
    assert Rating.objects.count() == 1


# --- Checks --------------------------------------------------------------------------------------


def test_an_attempt_is_kept_with_what_was_right_and_new_sounds_follow(session):
    fill_in(session, "about")
    pass_check(session, "volume")
    first = truths(session, "huggins")
    seeds = {check_seed(session.code, "huggins", n) for n in (1, 2)}
    assert len(seeds) == 2
    fail_check(session, "huggins")
    session.refresh_from_db()
    kept = session.checks["huggins"]
    assert (kept["passed"], kept["right"], kept["total"]) == (False, 0, 3)
    assert (kept["attempts"], kept["done"], kept["truths"]) == (1, False, first)
    assert stage(session) == "check huggins"
    shown = session_state(session, own=True)["check"]
    assert (shown["attempt"], shown["attempts"]) == (2, 2)
    assert shown["feedback"] == check_named("huggins").advice


@pytest.mark.medium
def test_the_last_failed_attempt_screens_out_and_gives_the_places_back(session):
    fill_in(session, "about")
    pass_check(session, "volume")
    assert Block.objects.filter(session=session, state=Block.State.LEASED).count() == 1
    fail_check(session, "huggins")
    assert stage(session) == "check huggins"
    fail_check(session, "huggins")
    assert stage(session) == "end"
    assert session.status == "screened"
    assert session.rejected_because == "check huggins: 0 of 3 right"
    assert session.finished_at is not None
    assert not Block.objects.exclude(state=Block.State.OPEN).exists()
    assert set(session.trials.values_list("state", flat=True)) == {"gone"}
    end = session_state(session, own=True)["end"]
    assert (end["outcome"], end["code"]) == ("screened_out", code_at_end(session))
    assert end["debrief"] == ""


@pytest.mark.medium
def test_the_places_of_a_screened_rater_are_filled_by_others():
    study = a_study(questionnaires=[], checks=[HUGGINS], items=5, conditions=1)
    for _ in range(2):
        fail_check(out := arrive(study), "huggins")
        fail_check(out, "huggins")
        with pytest.raises(Refused) as refusal:
            lifecycle.record_answer(out, an_answer(out.trials.first()))
        assert refusal.value.code == "session_over"
    for _ in range(2):
        session = arrive(study)
        pass_check(session, "huggins")
        assert answer_all(session) == 5
    assert Rating.objects.filter(counts=True).count() == 10
    assert not Block.objects.exclude(state=Block.State.DONE).exists()


@pytest.mark.medium
def test_who_fails_a_check_that_goes_on_goes_on_and_it_is_kept():
    session = arrive(a_study(checks=[STEREO], questionnaires=[]))
    fail_check(session, "stereo")
    assert (stage(session), session.status) == ("trial", "started")
    assert session.ready
    assert (session.checks["stereo"]["passed"], session.checks["stereo"]["done"]) == (False, True)
    assert answer_all(session) == 5
    assert session.status == "finished"


def test_a_finished_check_cannot_be_done_again(session):
    fill_in(session, "about")
    pass_check(session, "volume")
    pass_check(session, "huggins")
    session.refresh_from_db()
    kept = session.checks["huggins"]
    for again in (pass_check, fail_check, fail_check):
        again(session, "huggins")
    session.refresh_from_db()
    assert session.checks["huggins"] == kept
    assert session.status == "started"


def test_an_attempt_whose_reply_got_lost_is_not_judged_twice(session):
    fill_in(session, "about")
    pass_check(session, "volume")
    session.refresh_from_db()
    wrong = all_wrong(session, "huggins")
    for _ in range(3):
        stages.record_check(session, "huggins", {"answers": wrong, "attempt": 1})
    session.refresh_from_db()
    assert (session.status, session.checks["huggins"]["attempts"]) == ("started", 1)


@pytest.mark.parametrize("given", [[], ["first"], ["first"] * 4, ["fourth"] * 3])
def test_incomplete_answers_use_up_no_attempt_and_say_what_is_missing(session, given):
    fill_in(session, "about")
    pass_check(session, "volume")
    with pytest.raises(ValueError, match=r"Please .*\."):
        stages.record_check(session, "huggins", {"answers": given})
    session.refresh_from_db()
    assert "huggins" not in session.checks


@pytest.mark.parametrize("given", [{"answers": "111"}, {"answers": [1, 2, 3]}, {"answers": None}])
def test_answers_of_another_shape_are_not_taken(session, given):
    fill_in(session, "about")
    pass_check(session, "volume")
    with pytest.raises(NotAsked):
        stages.record_check(session, "huggins", given)


@pytest.mark.django_db(transaction=True)
def test_two_posts_of_one_attempt_at_once_count_once():
    session = arrive(a_study(questionnaires=[], checks=[HUGGINS]))
    wrong = all_wrong(session, "huggins")
    at_once(
        lambda: stages.record_check(session, "huggins", {"answers": wrong, "attempt": 1}), times=4
    )
    session.refresh_from_db()
    assert (session.status, session.checks["huggins"]["attempts"]) == ("started", 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_two_posts_of_one_questionnaire_at_once_keep_the_first():
    session = arrive(a_study(checks=[], questionnaires=[ABOUT]))
    at_once(lambda: fill_in(session, "about"), times=4)
    session.refresh_from_db()
    assert session.questionnaires["about"]["answers"] == {"hearing": "yes"}
    assert session.ready


def at_once(call, times: int) -> None:
    """The call from several threads, each with its own connection, let go together."""
    gate = Barrier(times)

    def go() -> None:
        gate.wait(PATIENCE_S)
        try:
            call()
        finally:
            connection.close()

    with ThreadPoolExecutor(times) as pool:
        for done in [pool.submit(go) for _ in range(times)]:
            done.result(30)


# --- Questions and comments ----------------------------------------------------------------------


def test_answers_to_questions_are_kept_once_with_their_time(session):
    fill_in(session, "about", "yes")
    fill_in(session, "about", "no")
    session.refresh_from_db()
    kept = session.questionnaires["about"]
    assert kept["answers"] == {"hearing": "yes"}
    assert datetime.fromisoformat(kept["at"]).tzinfo is not None
    assert session.status == "started"


def test_answers_that_do_not_fit_are_named_and_nothing_is_kept(session):
    with pytest.raises(Incorrect) as incorrect:
        fill_in(session, "about", "perhaps")
    assert set(incorrect.value.fields) == {"hearing"}
    session.refresh_from_db()
    assert session.questionnaires == {}


def test_an_answer_may_screen_out_before_the_trials(session):
    fill_in(session, "about", "no")
    assert stage(session) == "end"
    assert session.status == "screened"
    assert session.rejected_because == "questionnaire about: hearing: no"
    assert not Block.objects.exclude(state=Block.State.OPEN).exists()
    assert session_state(session, own=True)["end"]["outcome"] == "screened_out"


@pytest.mark.medium
def test_the_same_answer_after_the_trials_takes_nothing_away(session):
    past_everything(session)
    answer_all(session)
    fill_in(session, "after", "no")
    session.refresh_from_db()
    assert (session.status, stage(session)) == ("finished", "end")
    assert Rating.objects.filter(counts=True).count() == 5
    assert session_state(session, own=True)["end"]["code"] == code_at_end(session)


@pytest.mark.medium
def test_a_comment_is_kept_after_the_end_and_the_last_words_count(session):
    stages.record_comment(session, "too early")
    session.refresh_from_db()
    assert session.comment == ""
    past_everything(session)
    answer_all(session)
    stages.record_comment(session, "  the second clip \n was cut off ")
    stages.record_comment(session, "x" * 6000)
    session.refresh_from_db()
    assert session.comment == "x" * stages.LONGEST_COMMENT


# --- Leaving and coming back ---------------------------------------------------------------------


@pytest.mark.medium
def test_withdrawal_deletes_answers_checks_and_comment(session):
    past_everything(session)
    answer_all(session)
    fill_in(session, "after")
    stages.record_comment(session, "I am Ada")
    lifecycle.withdraw(session)
    session.refresh_from_db()
    assert (session.questionnaires, session.checks, session.comment) == ({}, {}, "")
    assert (session.device, Trial.objects.count(), Rating.objects.count()) == ("", 0, 0)
    stages.record_comment(session, "I am Ada")
    stages.record_check(session, "volume", {"comfortable": True})
    with pytest.raises(NotAsked):
        fill_in(session, "about")
    session.refresh_from_db()
    assert (session.questionnaires, session.checks, session.comment) == ({}, {}, "")


def test_withdrawal_deletes_the_answer_that_screened_out(session):
    fill_in(session, "about", "no")
    lifecycle.withdraw(session)
    session.refresh_from_db()
    assert (session.status, session.questionnaires) == ("withdrawn", {})
    assert session.rejected_because == lifecycle.SCREENED_BEFORE  # and not the answer


def test_who_was_screened_out_does_not_get_another_try_by_withdrawing():
    study = a_study(sessions_per_rater=3)
    session = arrive(study, prolific_id="p", prolific_session="s", simulated=False)
    fill_in(session, "about", "no")
    lifecycle.withdraw(session)
    again = arrive(study, prolific_id="p", prolific_session="t", simulated=False)
    assert again.pk == session.pk
    assert session_state(lifecycle.refresh(again), own=True)["end"]["outcome"] == "withdrawn"


def test_who_withdrew_from_the_trials_may_come_again_where_raters_may():
    study = a_study(sessions_per_rater=3)
    session = arrive(study, prolific_id="p", prolific_session="s", simulated=False)
    lifecycle.withdraw(session)
    again = arrive(study, prolific_id="p", prolific_session="t", simulated=False)
    assert again.pk != session.pk


@pytest.mark.medium
def test_a_screened_rater_who_comes_back_sees_the_end_and_no_new_session():
    for may_come in (1, 3):
        study = a_study(sessions_per_rater=may_come)
        session = arrive(study, prolific_id=f"p{may_come}", prolific_session="s", simulated=False)
        fill_in(session, "about", "no")
        again = arrive(study, prolific_id=f"p{may_come}", prolific_session="t", simulated=False)
        assert again.pk == session.pk
        assert session_state(lifecycle.refresh(again), own=True)["end"]["outcome"] == "screened_out"


@pytest.mark.medium
def test_checks_that_take_longer_than_the_lease_end_at_a_trial_all_the_same(session, client):
    fill_in(session, "about")
    pass_check(session, "volume")
    Block.objects.filter(session=session).update(lease_until=timezone.now() - timedelta(hours=1))
    assert leases.return_expired_leases() == 1
    session.refresh_from_db()
    body = {"key": "huggins", "answer": {"answers": truths(session, "huggins"), "attempt": 1}}
    response = client.post(f"/api/s/{session.code}/checks/", body, content_type="application/json")
    shown = response.json()
    assert (shown["stage"], len(shown["trials"])) == ("trial", 3)
    answer_all(session)
    assert session.status == "finished"


def test_answering_questions_keeps_the_places(session):
    soon = timezone.now() + timedelta(seconds=5)
    Block.objects.filter(session=session).update(lease_until=soon)
    fill_in(session, "about")
    (extended,) = Block.objects.filter(session=session).values_list("lease_until", flat=True)
    assert extended is not None
    assert extended > soon + timedelta(minutes=20)
