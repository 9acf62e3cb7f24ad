"""The box of a running study: finished raters only, refreshed as a piece, never a final result."""

import pytest
from django.core.cache.backends.dummy import DummyCache
from django.urls import reverse

from analysis.web import planning_views
from listening.models import Condition
from listening.selectors import interim_questions, task_plans
from listening.sessions import lifecycle
from tests import factories
from tests.factories import an_answer, arrive, current, make_study

CONDITIONS = {"cond-0": "2", "cond-1": "5"}


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    monkeypatch.setattr(planning_views, "cache", DummyCache("", {}))


def rate(study, stop_after=10**6):
    session = arrive(study)
    conditions = dict(session.trials.values_list("stimulus", "stimulus__condition__key"))
    for _ in range(stop_after):
        trial = current(session)
        if trial is None:
            break
        label = CONDITIONS[conditions[trial.stimulus_id]]
        lifecycle.record_answer(session, an_answer(trial, label))
    session.refresh_from_db()
    return session


@pytest.fixture
def running(db):
    task = {"block_size": 6, "ratings_per_stimulus": 8}
    study = make_study(conditions=2, items=6, task=task)
    Condition.objects.filter(study=study, key="cond-0").update(label="<Ossian>")
    return study


def box(client, study, query=""):
    client.force_login(study.owner)
    return client.get(reverse("so-far-box", args=[study.key]) + query).content.decode()


@pytest.mark.medium
def test_rater_means_are_those_of_finished_sessions_only(running):
    done = [rate(running) for _ in range(3)]
    rate(running, stop_after=2)
    assert {session.status for session in done} == {"finished"}
    (asked,) = interim_questions(running.key)
    assert [row["rater"] for row in asked["means"][::2]] == [s.rater.code for s in done]
    assert {(row["condition"], row["score"]) for row in asked["means"]} == {
        ("cond-0", 2.0),
        ("cond-1", 5.0),
    }
    assert asked["ends"] == (1.0, 5.0)
    assert sum(row["ratings"] for row in asked["columns"]) == 96
    assert sum(row["ratings"] for row in asked["means"]) == 18


@pytest.mark.medium
def test_rejected_sessions_are_left_out(running):
    first, second = rate(running), rate(running)
    lifecycle.reject(first, "did not listen")
    (asked,) = interim_questions(running.key)
    assert {row["rater"] for row in asked["means"]} == {second.rater.code}


@pytest.mark.medium
def test_scales_without_numbers_have_no_bounds(db, client):
    study = make_study(conditions=3, items=4, task={"method": "rank", "block_size": 2})
    assert interim_questions(study.key) == []
    assert "no numeric ratings" in box(client, study)


@pytest.mark.slow
def test_the_box_says_decided_and_how_many(running, client):
    assert "No rater has finished yet" in box(client, running)
    for _ in range(14):
        rate(running)
    text = box(client, running)
    assert "not final" in text
    assert "cond-1 scores higher than &lt;Ossian&gt;." in text
    assert "14 raters finished, of about 16" in text
    assert "1 of 1 comparison significant" in text
    assert "<html" not in text
    whole = client.get(reverse("so-far", args=[running.key])).content.decode()
    assert "<html" in whole
    assert "scores higher" in whole


@pytest.mark.parametrize(
    ("query", "told"),
    [("?matters=x", "is not a number"), ("?matters=-1", "above 0"), ("?matters=nan", "above 0")],
)
def test_a_wrong_difference_is_told(running, client, query, told):
    assert told in box(client, running, query)


@pytest.mark.medium
def test_the_studys_page_holds_the_box_once_it_is_open(running, client):
    client.force_login(running.owner)
    url = reverse("study", args=[running.key])
    assert f'data-box="/studies/{running.key}/so-far/box/"' in client.get(url).content.decode()
    running.state = "draft"
    running.save()
    assert "data-box" not in client.get(url).content.decode()


@pytest.mark.medium
def test_a_tasks_plan_is_told_in_numbers(running):
    rate(running)
    (plan,) = task_plans(running.key)
    assert (plan["conditions"], plan["items"], plan["clips_per_rater"]) == (2, 6, 6)
    assert plan["clip_s"] == factories.CLIP_S
    assert plan["is_measured"] is False  # too few trials to tell


def test_pairs_are_the_conditions_of_a_comparison(db):
    study = make_study(conditions=3, items=4, task={"method": "cmos", "block_size": 4})
    (plan,) = task_plans(study.key)
    assert (plan["conditions"], plan["items"]) == (3, 4)


def test_a_draft_that_is_not_planned_has_no_design(db):
    study = factories.Study.objects.create(
        owner=factories.make_user(), key="bare", title="Bare", state="draft"
    )
    factories.make_material(study, 2, 2, {})
    factories.add_task(study)
    (plan,) = task_plans("bare")
    assert plan["conditions"] == 0
