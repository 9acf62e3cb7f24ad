"""Questionnaires between tasks and blocks: asked at their moment, once, and kept by occasion."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from listening.design.occasions import (
    TaskPlan,
    TrialPosition,
    due_occasion,
    occasions_of,
    trials_until,
)
from listening.models import Block, Rating, Session, Study
from listening.sessions import allocation, leases, lifecycle, stages
from listening.sessions.stages import AnsweredAlready
from listening.sessions.task_rules import Refused
from listening.web.rater.state import session_state
from tests.factories import add_task as factory_task
from tests.factories import an_answer, answer_all, arrive, current, make_study
from tests.listening.test_stages import AFTER, questionnaire, stage

pytestmark = pytest.mark.django_db


def between(key: str, when: str, *tasks: str, **fields: Any) -> dict[str, Any]:
    every = {"every": fields.pop("every", 1)} if when == "between_blocks" else {}
    return {**questionnaire(key, when, **fields), "task": list(tasks), **every}


HOUR = timedelta(hours=1)
EFFORT = between("effort", "after_task")
PAUSE = between("pause", "between_blocks")


def a_study(*forms: dict[str, Any], tasks: int = 2, blocks: int = 2, **fields: Any) -> Study:
    """Tasks “mos” and “att”, blocks of two clips; every rater gets `blocks` of each."""
    size = {"block_size": 2, "blocks_per_session": blocks, "blocks_per_rater": blocks}
    study = make_study(conditions=2, items=8, task=size, questionnaires=list(forms), **fields)
    if tasks == 2:
        factory_task(study, method="att", **size)
        allocation.plan_study(study)
    return study


def fill_in(session: Session, key: str, answer: str = "yes") -> Session:
    return stages.record_questionnaire(session, key, {"hearing": answer})


def walk(session: Session) -> list[str]:
    """All stages in their order, each trial as the key of its task."""
    seen: list[str] = []
    while (now := stage(session)) != "end":
        if now == "trial":
            trial = current(session)
            seen.append(trial.task.key)
            lifecycle.record_answer(session, an_answer(trial))
        else:
            seen.append(now.removeprefix("questionnaire "))
            fill_in(session, seen[-1])
    return seen


# --- When they are asked -------------------------------------------------------------------------


@pytest.mark.medium
def test_after_each_task_comes_before_those_at_the_end():
    session = arrive(a_study(AFTER, EFFORT, blocks=1))
    assert walk(session) == ["mos", "mos", "effort@1", "att", "att", "effort@2", "after"]
    kept = Session.objects.get(pk=session.pk).questionnaires
    assert kept.keys() == {"effort@1", "effort@2", "after"}
    assert (kept["effort@2"]["task"], kept["effort@2"]["block"]) == ("att", 0)


@pytest.mark.medium
def test_after_a_named_task_only():
    session = arrive(a_study(between("effort", "after_task", "att"), blocks=1))
    assert walk(session) == ["mos", "mos", "att", "att", "effort@2"]


@pytest.mark.medium
def test_between_blocks_of_a_task_and_not_after_its_last():
    session = arrive(a_study(PAUSE, EFFORT, tasks=1, blocks=3))
    pair = ["mos", "mos"]
    assert walk(session) == [*pair, "pause@1.1", *pair, "pause@1.2", *pair, "effort@1"]


@pytest.mark.medium
def test_every_second_block():
    every = between("pause", "between_blocks", "mos", every=2)
    session = arrive(a_study(every, blocks=3))
    found = walk(session)
    assert [each for each in found if "@" in each] == ["pause@1.2"]
    assert found[4] == "pause@1.2"


@pytest.mark.medium
def test_two_at_one_place_come_in_the_order_of_the_study():
    session = arrive(a_study(between("b", "after_task"), between("a", "after_task"), tasks=1))
    assert walk(session)[-2:] == ["b@1", "a@1"]


@pytest.mark.medium
def test_a_rater_of_one_task_is_asked_after_that_one():
    session = arrive(a_study(EFFORT, PAUSE, task_plan="one"))
    (task,) = {trial.task.order + 1 for trial in session.trials.all()}
    assert [each for each in walk(session) if "@" in each] == [f"pause@{task}.1", f"effort@{task}"]


@pytest.mark.medium
def test_practice_and_repeats_belong_to_the_first_and_the_last_block():
    study = a_study(PAUSE, EFFORT, tasks=1)
    study.tasks.update(repeats=2)
    assert walk(arrive(study)) == [*["mos"] * 2, "pause@1.1", *["mos"] * 4, "effort@1"]


# --- Answers to trials wait ----------------------------------------------------------------------


@pytest.mark.medium
def test_no_trial_is_answered_while_a_questionnaire_is_to_be_filled_in():
    session = arrive(a_study(EFFORT, blocks=1))
    answer_all(session, stop_after=2)
    with pytest.raises(Refused) as refused:
        lifecycle.record_answer(session, an_answer(current(session)))
    assert refused.value.code == "not_ready"
    fill_in(session, "effort@1")
    answer_all(session)
    assert Rating.objects.count() == 4


@pytest.mark.medium
def test_the_page_has_the_next_clips_but_may_not_play_them():
    session = arrive(a_study(EFFORT, blocks=1))
    held = [each.get("held", False) for each in session_state(session, own=True)["trials"]]
    assert held == [False, False, True]
    answer_all(session, stop_after=2)
    shown = session_state(session, own=True)
    assert (shown["stage"], shown["questionnaire"]["key"]) == ("questionnaire", "effort@1")
    assert shown["questionnaire"]["place"] == "Questions · 2 of 4 done"
    assert [each["task"] for each in shown["trials"]] == [1, 1]
    assert all(each["held"] for each in shown["trials"])
    assert "att" not in str(shown["questionnaire"])
    fill_in(session, "effort@1")
    assert [each.get("held") for each in session_state(session, own=True)["trials"]] == [None, None]


def test_the_form_is_said_in_the_language_of_the_session():
    words = {"zh-Hans": {"questionnaires": {"effort": {"title": "费力程度"}}}}
    session = arrive(a_study(EFFORT, blocks=1, translations=words), language="zh-Hans")
    answer_all(session, stop_after=2)
    form = session_state(session, own=True)["questionnaire"]
    assert form["title"] == "费力程度"
    assert form["place"].startswith("问卷")


def test_skipped_clips_end_a_task_too():
    session = arrive(a_study(EFFORT, blocks=1))
    for _ in range(2):
        lifecycle.skip(session, current(session).code, "load", {})
    assert stage(session) == "questionnaire effort@1"
    assert not session.ready


# --- Once, whatever is sent -----------------------------------------------------------------------


def test_what_is_sent_twice_is_kept_once():
    session = arrive(a_study(EFFORT, blocks=1))
    answer_all(session, stop_after=2)
    first = fill_in(session, "effort@1", "yes").questionnaires
    assert fill_in(session, "effort@1", "no").questionnaires == first


@pytest.mark.parametrize("key", ["effort", "effort@1", "effort@2", "effort@1.1", "effort@", "@1"])
def test_no_other_occasion_is_taken(key):
    session = arrive(a_study(EFFORT, blocks=1))
    with pytest.raises(AnsweredAlready):
        fill_in(session, key)
    answer_all(session, stop_after=2)
    if key != "effort@1":
        with pytest.raises(AnsweredAlready):
            fill_in(session, key)
    session.refresh_from_db()
    assert session.questionnaires == {}


@pytest.mark.medium
def test_the_door_answers_a_late_form_with_where_to_go_on():
    session = arrive(a_study(EFFORT, blocks=1))
    body = {"key": "effort@1", "answers": {"hearing": "yes"}}
    url = f"/api/s/{session.code}/questionnaires/"
    refused = Client().post(url, body, content_type="application/json")
    assert (refused.status_code, refused.json()["state"]["stage"]) == (409, "trial")
    answer_all(session, stop_after=2)
    for _ in range(2):
        stored = Client().post(url, body, content_type="application/json")
        assert (stored.status_code, stored.json()["stage"]) == (200, "trial")


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_two_posts_of_one_occasion_at_once_keep_the_first():
    session = arrive(a_study(EFFORT, blocks=1))
    answer_all(session, stop_after=2)

    def post(answer: str) -> None:
        try:
            fill_in(Session.objects.get(pk=session.pk), "effort@1", answer)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(post, ["yes", "no"]))
    kept = Session.objects.get(pk=session.pk).questionnaires
    assert list(kept) == ["effort@1"]


# --- Lost blocks ----------------------------------------------------------------------------------


def lose(session: Session, *blocks: int, taken: bool = False) -> None:
    """The leases of these blocks run out; maybe somebody else has them by now."""
    Block.objects.filter(pk__in=blocks).update(lease_until=timezone.now() - HOUR)
    leases.return_expired_leases()
    if taken:
        held = {"session": arrive(make_study()), "lease_until": timezone.now() + HOUR}
        Block.objects.filter(pk__in=blocks).update(state=Block.State.LEASED, **held)


def blocks_of(session: Session) -> list[int]:
    rows = session.trials.order_by("position").values_list("block_id", flat=True)
    return list(dict.fromkeys(rows))


@pytest.mark.medium
def test_a_form_that_is_filled_in_after_the_next_block_was_lost_is_kept():
    session = arrive(a_study(PAUSE, tasks=1))
    answer_all(session, stop_after=2)
    lose(session, blocks_of(session)[1])
    assert "pause@1.1" in fill_in(session, "pause@1.1").questionnaires
    lifecycle.refresh(session)
    assert (stage(session), session.ready) == ("trial", True)


@pytest.mark.medium
def test_a_block_that_was_handed_back_half_done_counts_for_nothing():
    session = arrive(a_study(PAUSE, tasks=1))
    first = blocks_of(session)[0]
    answer_all(session, stop_after=1)
    lose(session, first, taken=True)
    lifecycle.refresh(session)
    assert (stage(session), session.ready) == ("trial", True)
    assert walk(session) == ["mos", "mos", "pause@1.1", "mos", "mos"]


@pytest.mark.medium
def test_a_task_whose_lost_block_is_replaced_ends_with_that_one():
    session = arrive(a_study(EFFORT))
    second = blocks_of(session)[1]
    answer_all(session, stop_after=2)
    lose(session, second, taken=True)
    lifecycle.refresh(session)
    assert walk(session) == [*["att"] * 4, "effort@2", "mos", "mos", "effort@1"]


@pytest.mark.medium
def test_a_task_of_which_nothing_is_left_ends_at_once():
    session = arrive(a_study(EFFORT))
    second = blocks_of(session)[1]
    answer_all(session, stop_after=2)
    lose(session, second, taken=True)
    Study.objects.update(state="paused")  # so nothing comes in its place
    lifecycle.refresh(session)
    session.refresh_from_db()
    assert (stage(session), session.ready) == ("questionnaire effort@1", False)


def test_a_task_that_was_never_begun_is_not_asked_about():
    session = arrive(a_study(EFFORT, blocks=1))
    lose(session, blocks_of(session)[0], taken=True)
    Study.objects.update(state="paused")
    lifecycle.refresh(session)
    assert stage(session) == "trial"
    assert current(session).task.key == "att"


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 8))]
)
@pytest.mark.medium
def test_whatever_is_lost_or_skipped_each_occasion_comes_once_and_the_session_ends(seed):
    rng, asked = Random(seed), list[str]()
    session = arrive(a_study(PAUSE, EFFORT, AFTER, blocks=3))
    for _ in range(80):
        now = stage(session)
        assert session.ready == (now == "trial") or session.status != "started"
        held = list(session.blocks.filter(state=Block.State.LEASED).values_list("pk", flat=True))
        if held and rng.random() < 0.15:
            lose(session, rng.choice(held), taken=rng.random() < 0.5)
            lifecycle.refresh(session)
        elif now == "trial" and rng.random() < 0.2:
            lifecycle.skip(session, current(session).code, "load", {})
        elif now == "trial":
            lifecycle.record_answer(session, an_answer(current(session)))
        elif now != "end":
            asked.append(now.removeprefix("questionnaire "))
            fill_in(session, asked[-1])
    assert stage(session) == "end"
    done = {trial.task.order + 1 for trial in session.trials.filter(answered_at__isnull=False)}
    assert len(asked) == len(set(asked)) == len(session.questionnaires)
    if session.status == "finished":
        assert {key for key in asked if key.startswith("effort")} == {f"effort@{n}" for n in done}
        assert asked[-1] == "after"


@pytest.mark.medium
def test_withdrawal_takes_these_answers_too():
    session = arrive(a_study(EFFORT, blocks=1))
    answer_all(session, stop_after=2)
    fill_in(session, "effort@1")
    lifecycle.withdraw(session)
    session.refresh_from_db()
    assert (session.questionnaires, stage(session)) == ({}, "end")


@pytest.mark.medium
def test_who_is_rejected_half_way_is_asked_no_more():
    session = arrive(a_study(EFFORT, blocks=1))
    answer_all(session, stop_after=2)
    lifecycle.reject(session, "no reason")
    assert stage(session) == "end"
    assert session_state(session, own=True)["trials"] == []


def test_a_study_without_such_a_form_asks_the_database_no_more(django_assert_num_queries):
    session = arrive(a_study(AFTER, blocks=1))
    with django_assert_num_queries(0):
        stages.hold(session)


# --- The rule itself ------------------------------------------------------------------------------

TASKS = {1: "mos", 2: "att"}
PLANS = [TaskPlan("mos", 3), TaskPlan("att", 1)]


def places(text: str) -> list[TrialPosition]:
    """“1a 1.” are trials of task 1: block a, answered; a point after the block: still planned."""
    return [
        TrialPosition(int(word[0]), ord(word[1]), "planned" if word.endswith(".") else "answered")
        for word in text.split()
    ]


@pytest.mark.parametrize(
    ("trials", "answered", "found"),
    [
        ("1a. 1b. 2c.", [], None),
        ("1a 1a. 1b. 2c.", [], None),
        ("1a 1a 1b. 2c.", [], "pause@1.1"),
        ("1a 1a 1b. 2c.", ["pause@1.1"], None),
        ("1a 1b 2c.", ["pause@1.1"], "effort@1"),
        ("1a 1b 2c.", [], "effort@1"),
        ("1a 1b 2c", ["effort@1"], "effort@2"),
        ("2c 1a.", [], "effort@2"),
    ],
)
def test_what_is_due(trials, answered, found):
    asked = due_occasion([PAUSE, EFFORT], TASKS, places(trials), answered)
    assert (asked.key if asked else None) == found


@pytest.mark.parametrize(
    ("trials", "free"), [("1a. 1b. 2c.", 1), ("1a 1b. 2c.", 0), ("2c. 2c. 2c. 1a.", 3)]
)
def test_how_many_trials_come_before_something_is_asked(trials, free):
    assert trials_until([PAUSE, EFFORT], TASKS, places(trials), [], 3) == free


def test_occasions_are_known_beforehand():
    said = [each.description for form in (PAUSE, EFFORT) for each in occasions_of(form, PLANS)]
    assert said == ["after mos block 1", "after mos block 2", "after mos", "after att"]
    assert occasions_of(between("x", "between_blocks", "att"), PLANS) == []
    assert occasions_of(AFTER, PLANS) == []
