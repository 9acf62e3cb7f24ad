"""Vocalisations marked by people: a majority, a fourth, and who is held against them."""

from __future__ import annotations

import csv
from uuid import uuid4

import pytest

from listening import review
from listening.models import Item, Stimulus, Study
from listening.review import Plan
from listening.review.clip_marks import Event, event_types, merge_events
from listening.selectors import marked_events
from metrics.core.vocalisations import Vocalisation
from metrics.models import MetricScore
from metrics.web.vocalisation_reviews import reviewer_agreement, settled_truths, system_agreement
from tests.factories import make_material, make_user

pytestmark = pytest.mark.django_db


def test_types_hold_by_majority_and_places_are_the_middle_of_theirs():
    one, two, three = [Event("laugh", 2)], [Event("laugh", 4)], [Event("sigh", 9)]
    assert merge_events("laugh", [one, two, three], []) == [Event("laugh", 2)]
    assert merge_events("laugh", [one, two, [Event("laugh", 9)]], []) == [Event("laugh", 4)]
    twice = [Event("laugh", 1), Event("laugh", 8)]
    again = [Event("laugh", 9), Event("laugh", 3)]
    assert merge_events(event_types(twice), [twice, again, one], []) == twice
    assert merge_events("cough", [one, three], [Event("cough", 5)]) == [Event("cough", 5)]
    assert merge_events("none", [[], [], one], []) == []


@pytest.fixture
def study():
    """Six clips of two systems; the text of each asks for a laugh after its third word."""
    study = Study.objects.create(owner=make_user(), key="nvv", title="NVV", seed=1)
    make_material(study, 2, 3, {})
    Item.objects.update(text="so that is [laugh] what you call a good one", language="en")
    return study


def reviewer(job, **fields):
    token = (
        review.invite(job, 30, by=job.study.owner.username, **fields).rstrip("/").rpartition("/")[2]
    )
    return review.reviewer_at(token, None)


def mark(who, events_of):
    count = 0
    while given := review.give_next(who, 20):
        for each in given:
            events = [
                {"type": name, "position": place, "seconds": None}
                for name, place in events_of(each.item.clip)
            ]
            answer = {"events": events, "unsure": False}
            sent = [{"key": str(uuid4()), "item": str(each.code), "answer": answer}]
            assert review.store(who, sent).refused == []
            count += 1
    return count


def job_of(study):
    plan = Plan(
        *("events", "Vocalisations"),
        **{"per_item": 3, "rule": "majority_third", "resolving": "third", "repeated": 0},
    )
    job = review.make_job(study, plan, by="ada")
    review.set_state(job, "open", by="ada")
    return job


@pytest.mark.slow
def test_a_fourth_decides_only_where_there_is_no_majority_and_judges_are_held_against_it(
    study, client
):
    hard = study.stimuli.order_by("key").first()
    Stimulus.objects.filter(pk=hard.pk).update(key="=1+1")
    hard.refresh_from_db()
    job = job_of(study)
    third = reviewer(job, adjudicates=True)
    for name in ("laugh", "sigh", "cough"):
        odd = name  # of the hard clip each says something else; of the others one is off
        place = 9 if name == "cough" else 3
        mark(
            reviewer(job),
            lambda clip, odd=odd, place=place: [
                (odd if clip["stimulus"] == hard.key else "laugh", place)
            ],
        )
    assert mark(third, lambda _: [("chuckle", 4)]) == 1
    found = marked_events("nvv", job.pk)
    known = settled_truths(found["clips"])
    assert known[hard.key].events == (Vocalisation("chuckle", 4),)
    assert known[hard.key].length == 9
    assert {each.events for name, each in known.items() if name != hard.key} == {
        (Vocalisation("laugh", 3),)
    }
    rows = {
        each.who: (each.agreement.tp, each.agreement.fp)
        for each in reviewer_agreement(found["clips"], 1)
    }
    assert rows == {"Reviewer 2": (5, 1), "Reviewer 3": (5, 1), "Reviewer 4": (0, 6)}
    asked = {name: (Vocalisation("laugh", 3),) for name in known}
    assert [(each.who, each.agreement.recall) for each in system_agreement(known, asked, 1)] == [
        ("cond-0", pytest.approx(2 / 3)),
        ("cond-1", 1.0),
    ]
    MetricScore.objects.create(
        sha256=hard.sha256,
        metric="judge_nvv",
        version="1",
        value=1.0,
        details={"predicted": [["chuckle", 5], ["sigh", 0]]},
        computed_at="2026-01-01T00:00:00Z",
    )
    client.force_login(study.owner)
    page = client.get(f"/studies/nvv/reviews/{job.pk}/events/").content.decode()
    assert "judge_nvv" in page
    assert "1 / 1 / 0" in page  # of the judge: one right, one too much, none missed
    text = client.get(f"/studies/nvv/reviews/{job.pk}/events.csv").content.decode()
    rows = [row for row in csv.DictReader(text.splitlines()) if row["stimulus"] == "'=1+1"]
    assert [(row["marker"], row["type"], row["position"]) for row in rows] == [
        ("adjudicated", "chuckle", "4"),
        ("Reviewer 2", "laugh", "3"),
        ("Reviewer 3", "sigh", "3"),
        ("Reviewer 4", "cough", "9"),
    ]


def test_nothing_shows_what_was_asked_for_and_bad_marks_are_refused(study):
    from listening.review.kinds import kind_named

    job = job_of(study)
    who = reviewer(job)
    given = review.give_next(who, 1)
    (seen,) = kind_named("events").show_items(job, given)
    assert seen["units"] == ["so", "that", "is", "what", "you", "call", "a", "good", "one"]
    assert "laugh" not in str({**seen, "types": []})
    assert len(seen["types"]) == 45
    study.conditions.update(attributes={"nvv_types": "Laughs; sigh"})
    assert kind_named("events").show_items(job, given)[0]["types"] == ["laugh", "sigh"]
    wrong = (
        {"events": [{"type": "laugh", "position": None, "seconds": None}], "unsure": False},
        {"events": [{"type": "", "position": 1}], "unsure": False},
        {"events": [{"type": "a@b", "position": 1}], "unsure": False},
        {"events": [{"type": "laugh", "position": -1}], "unsure": False},
        {"events": [{"type": "laugh", "position": 1}], "unsure": True},
    )
    sent = [{"key": str(uuid4()), "item": str(given[0].code), "answer": each} for each in wrong]
    assert len(review.store(who, sent).refused) == len(wrong)


@pytest.mark.medium
def test_reports_get_decided_clips_with_their_targets_after_unblinding(study):
    from listening.selectors import method_facts

    job = job_of(study)
    for _ in range(3):
        mark(reviewer(job), lambda _clip: [("laughter", 3)])
    (blind,) = method_facts("nvv")["vocalisation_reviews"]
    assert (blind["unblinded"], blind["reviewed"], blind["clips"]) == (False, 6, [])
    review.set_state(job, "closed", by="ada")
    review.unblind(job, by="ada")
    (known,) = method_facts("nvv")["vocalisation_reviews"]
    first = known["clips"][0]
    assert len(known["clips"]) == 6
    assert first["heard"] == [("laugh", 3)]
    assert first["target"] == "so that is [laugh] what you call a good one"
    assert (first["text"], first["language"]) == ("so that is what you call a good one", "en")
