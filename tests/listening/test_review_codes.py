"""Codes of reasons: codebooks, answers with several codes and marked words, suggestions apart."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from django.test import Client

from listening import review
from listening.models import Justification, StudyEvent, Verdict
from listening.review import Plan, ReviewError, codebook
from listening.review.claiming import reviewers_progress
from listening.review.codebook import BadCodebook
from listening.review.kinds.kind import BadVerdict, kind_named
from listening.review.rules import RULES, ItemVerdicts, decide_codes
from listening.selectors import rating_rows, review_verdicts
from tests.factories import answer_all, arrive, make_study
from tests.listening.test_review_desk import ask, desk_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def job():
    """Five reasons about rhythm, to be coded by two."""
    study = make_study(
        key="voices",
        conditions=2,
        items=5,
        task={"justification": {"required": True}, "block_size": 10, "ratings_per_stimulus": 1},
    )
    answer_all(arrive(study))
    made = review.make_job(study, Plan("codes", "Codes", rule="majority", repeated=0), by="ada")
    review.set_state(made, "open", by="ada")
    return made


def coded(desk: str, codes: list[str], **more: object) -> list[dict[str, object]]:
    """Everything coded so; the replies."""
    client, replies = Client(), []
    while items := ask(client, f"{desk}next/", want=40).json()["items"]:
        for each in items:
            sent = {
                "key": str(uuid4()),
                "item": each["item"],
                "answer": {"codes": codes, **more},
            }
            replies.append(ask(client, f"{desk}verdicts/", verdicts=[sent]).json())
    return replies


@pytest.mark.medium
def test_codes_that_most_gave_reach_the_column_codes(job):
    coded(desk_of(job), ["speed", "pauses"])
    coded(desk_of(job), ["speed"], spans=[{"code": "speed", "start": 4, "end": 10}])
    assert {row["codes"] for row in rating_rows("voices")} == {"speed"}
    assert Verdict.objects.filter(answer__spans__0__end=10).count() == 5


@pytest.mark.medium
def test_suggestions_come_after_ones_own_codes_and_are_counted_apart(job):
    desk, client = desk_of(job), Client()
    page, given = client.get(desk), ask(client, f"{desk}next/", want=1)
    assert b"hints&quot;: [" not in page.content
    assert "hints" not in given.json()
    item = given.json()["items"][0]["item"]

    def say(key: str, phase: str, codes: list[str]):
        sent = {"key": key, "item": item, "phase": phase, "answer": {"codes": codes}}
        return ask(client, f"{desk}verdicts/", verdicts=[sent]).json()

    own = say("00000000-0000-4000-8000-000000000001", "own", ["emotion"])
    assert own["hints"] == [
        {"item": item, "hints": {"rules": ["speed"], "judge": []}}
    ]  # “the rhythm is unlike …”
    later = say("00000000-0000-4000-8000-000000000002", "hinted", ["emotion", "speed"])
    assert later["hints"] == []
    assert job.items.first().assignments.get().category == "emotion"


def test_an_answer_has_codes_of_the_book_and_places_that_exist():
    kind = kind_named("codes")
    settings = kind.settings_from({})
    for answer, words in (
        ({"codes": []}, "at least one code"),
        ({"codes": ["speed", "perfume"]}, "at least one code"),
        ({"codes": ["none", "speed"]}, "cannot be combined"),
        ({"codes": ["speed"], "spans": [{"code": "pauses", "start": 0, "end": 2}]}, "chosen"),
        ({"codes": ["speed"], "spans": [{"code": "speed", "start": 5, "end": 5}]}, "before"),
    ):
        with pytest.raises(BadVerdict, match=words):
            kind.checked(settings, answer)
    assert kind.checked(settings, {"codes": ["speed", "noise"]})[1] == "noise|speed"


def test_each_code_is_decided_by_the_rule_alone():
    said = ItemVerdicts(["a|b", "b", "b|c"], wanted=3)
    assert decide_codes(RULES["majority"], said) == "b"
    assert decide_codes(RULES["all_agree"], said) == "b"
    assert decide_codes(RULES["adjudicated"], ItemVerdicts(["a|b", "b"], third=["a|b"])) == "a|b"
    assert decide_codes(RULES["majority"], ItemVerdicts(["a"])) == ""


def test_the_preset_has_four_families_and_fourteen_attributes_and_codebooks_travel():
    book = codebook.PRESET
    assert (len({code.family for code in book}), len(book)) == (4, 14)
    assert codebook.from_text(codebook.as_csv(book)) == book
    assert codebook.from_text(json.dumps(codebook.as_stored(book))) == book
    for text, words in (
        ("[", "not valid JSON: line 1, column 2"),
        ("name\nx", "columns are key"),
        ("key,title\nA B,x", "a-z"),
        ("key,title\na,x\na,y", "twice"),
    ):
        with pytest.raises(BadCodebook, match=words):
            codebook.from_text(text)


@pytest.mark.medium
def test_a_codebook_gets_another_version_and_loses_no_code_that_was_given(job):
    coded(desk_of(job), ["speed"])
    with pytest.raises(ReviewError, match="Reviewers used speed"):
        review.change_codebook(job, "key,family,title\nwarmth,Voice,Warmth", by="ada")
    new = "key,family,title,signs\nwarmth,Voice,Warmth,warm; soft\nspeed,Voice,Speed,"
    assert review.change_codebook(job, new, by="ada") == 2
    job.refresh_from_db()
    assert [each["key"] for each in job.settings["codebook"]] == ["warmth", "speed"]
    assert StudyEvent.objects.get(what="review_changed").details["codebook"] == 2


@pytest.mark.medium
def test_agreement_is_told_code_by_code(job, client):
    coded(desk_of(job), ["speed", "pauses"])
    coded(desk_of(job), ["speed"])
    Justification.objects.update(text="")
    client.force_login(job.study.owner)
    page = client.get(f"/studies/voices/reviews/{job.pk}/agreement/").content.decode()
    assert "pauses" in page
    assert "variation" in page  # all gave speed


@pytest.mark.medium
def test_training_items_are_chosen_and_every_coder_learns_what_was_expected(job, client):
    """They come first, are judged as a whole (all codes, no other), and count for no agreement."""
    client.force_login(job.study.owner)
    item = job.items.last()
    page = client.get(f"/studies/voices/reviews/{job.pk}/items/").content.decode()
    assert page.count('<input type="checkbox" name="codes" value="pauses">') == 5
    form = {"action": "gold", "job": job.pk, "item": item.pk, "because": "It names rhythm alone."}
    client.post("/studies/voices/reviews/do/", form | {"codes": ["none", "speed"]})
    assert job.items.filter(gold__isnull=False).count() == 0  # "none" stands alone
    client.post("/studies/voices/reviews/do/", form | {"codes": ["speed", "pauses"]})
    first, second = coded(desk_of(job), ["speed"])[0], coded(desk_of(job), ["pauses", "speed"])[0]
    (told,) = first["training"]
    assert told["answer"] == {"codes": ["pauses", "speed"], "spans": []}
    assert told["because"] == "It names rhythm alone."
    assert first["hints"] == []
    assert second["training"]
    done = reviewers_progress(job)
    assert sorted((each.gold_right, each.gold) for each in done.values()) == [(0, 1), (1, 1)]
    assert len(review_verdicts("voices", job.pk)) == 8  # of four items
    page = client.get(f"/studies/voices/reviews/{job.pk}/items/?show=gold").content.decode()
    assert "for training" in page
    assert "Pauses, speed" not in page
