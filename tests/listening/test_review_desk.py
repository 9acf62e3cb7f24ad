"""The reviewer's desk: for whom it opens, and that nothing on it tells whose an item is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
import soundfile
from django.conf import settings
from django.test import Client

from listening import review
from listening.models import (
    Membership,
    Project,
    Rater,
    ReviewAssignment,
    ReviewJob,
    Stimulus,
    Study,
)
from listening.review import Plan
from tests.factories import answer_all, arrive, make_study, make_user
from tests.shared_rows import shared_rows

pytestmark = pytest.mark.django_db
TRAPS = {"flawed": 3, "human": 6}


@pytest.fixture(scope="module")
def made(django_db_setup, django_db_blocker):
    """Reasons of two raters, about clips that can be heard; one is for training."""
    with shared_rows(django_db_blocker):
        study = make_study(
            key="secret-study",
            items=10,
            task={"justification": {"required": True}, "block_size": 10},
        )
        for _ in range(2):
            answer_all(arrive(study))
        plan = Plan("reasons", "Do they fit?", settings={"hear_clip": True}, resolving="talk")
        job = review.make_job(study, plan, by="ada")
        review.set_state(job, "open", by="ada")
        yield job


@pytest.fixture
def job(made, db):
    return ReviewJob.objects.get(pk=made.pk)


def desk_of(job: ReviewJob, **fields: object) -> str:
    link = review.invite(job, 30, by=job.study.owner.username, **fields)
    return "/" + link.split("/", 3)[3]


def ask(client: Client, url: str, **body: object):
    return client.post(url, json.dumps(body), content_type="application/json")


def judged(client: Client, desk: str, item: str, verdict: str = "fit", note: str = ""):
    sent = {"key": str(uuid4()), "item": item, "answer": {"verdict": verdict}, "note": note}
    return ask(client, f"{desk}verdicts/", verdicts=[sent])


@pytest.mark.medium
def test_nothing_on_the_desk_tells_system_rater_truth_or_what_others_said(job):
    first, second = desk_of(job, whom="Grace"), desk_of(job)
    others = Client()
    for each in ask(others, f"{second}next/", want=40).json()["items"]:
        judged(others, second, each["item"], "unsure", "a note by somebody else")
    client = Client()
    given = ask(client, f"{first}next/", want=40)
    one = given.json()["items"][0]
    seen = [client.get(first), given, judged(client, first, one["item"])]
    seen += [client.get(f"{first}clips/{one['item']}/0"), client.get(f"{first}clips/{uuid4()}/0")]
    text = "\n".join(
        f"{dict(answer.headers)}\n{b''.join(answer).decode('utf-8', 'replace')}" for answer in seen
    )
    secret = {"Grace", "secret-study", "a note by somebody else", "ada"}
    secret |= set(Rater.objects.values_list("code", flat=True))
    fields = ("key", "file", "original", "served", "condition__key", "item__key", "sha256")
    for row in Stimulus.objects.values_list(*fields):
        secret |= set(row) | {row[3].rpartition("/")[2]}
    found = [word for word in secret if re.search(rf"\b{re.escape(word)}\b", text)]
    assert found == []
    assert set(one) == {"item", "answers", "reason", "language", "clips", "training", "others"}
    assert one["others"] == []
    assert one["reason"] == "the rhythm is unlike a person's"


@pytest.mark.medium
def test_a_reviewer_gets_a_clip_in_bytes_of_its_own_for_each_assignment(job):
    """The stored copy tells the system by its bytes, and a repeated item by their hash."""
    client, sent = Client(), {}
    stored = set()
    for served in set(Stimulus.objects.values_list("served", flat=True)):
        path = Path(settings.MEDIA_ROOT) / served
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.sin(np.arange(16_000) / 9) / 4, 16_000, subtype="PCM_24")
        stored.add(path.read_bytes())
    for desk in (desk_of(job), desk_of(job)):
        for each in ask(client, f"{desk}next/", want=40).json()["items"]:
            url = f"{desk}clips/{each['item']}/0"
            answer = client.get(url)
            data = b"".join(answer)
            assert answer.status_code == 200, (answer.status_code, data)
            assert (answer["Content-Type"], int(answer["Content-Length"])) == (
                "audio/flac",
                len(data),
            )
            assert b"".join(client.get(url)) == data  # the same each time
            part = client.get(url, headers={"Range": "bytes=10-19"})
            assert (part.status_code, part.content) == (206, data[10:20])
            sent[each["item"]] = data
    rows = dict(ReviewAssignment.objects.values_list("code", "item__trial__stimulus__served"))
    assert len(set(sent.values())) == len(sent) > len(set(rows.values()))
    assert not stored & set(sent.values())


@pytest.mark.medium
def test_a_desk_opens_for_its_link_alone_and_only_while_it_works(job):
    desk, client = desk_of(job), Client()
    assert client.get(desk).status_code == 200
    item = ask(client, f"{desk}next/", want=1).json()["items"][0]["item"]
    assert client.get("/review/of-nobody/").status_code == 404
    assert client.get(f"/review/me-{job.pk}/").status_code == 404
    other = desk_of(job)
    refused = judged(client, other, item).json()["refused"][0]
    assert refused["message"] == "This item is not assigned to you."
    assert client.get(f"{other}clips/{item}/0").status_code == 404
    review.revoke(job, job.reviewers.order_by("pk")[0].pk, by="ada")
    assert client.get(desk).status_code == 404
    assert judged(client, desk, item).json()["error"] == "unknown_desk"
    assert client.get(other).status_code == 200
    job.reviewers.update(expires_at="2020-01-01T00:00:00Z")
    assert client.get(other).status_code == 404


@pytest.mark.medium
def test_members_review_by_their_role_and_a_reviewer_sees_nothing_else(job, client):
    lab = Project.objects.create(name="Lab")
    Study.objects.update(project=lab)
    for role in ("reviewer", "viewer", "owner"):
        Membership.objects.create(project=lab, user=make_user(role), role=role)
    desk, opens = f"/review/me-{job.pk}/", {}
    for role in ("reviewer", "viewer", "owner"):
        client.force_login(make_user(role))
        opens[role] = client.get(desk).status_code
        listed = desk in client.get("/reviews/").content.decode()
        assert listed is (opens[role] == 200), role
    assert opens == {"reviewer": 200, "viewer": 404, "owner": 200}
    assert dict(job.reviewers.values_list("user__username", "sees_results")) == {
        "reviewer": False,
        "owner": True,
    }
    client.force_login(make_user("reviewer"))
    assert "secret-study" not in client.get("/studies/").content.decode()
    for page in ("/studies/secret-study/", f"/projects/{lab.pk}/"):
        assert client.get(page).status_code == 404


@pytest.mark.medium
def test_who_trains_is_told_what_is_right_after_the_verdict_and_not_before(job):
    from listening.review.training import set_gold

    set_gold(job, job.items.order_by("-position")[0].pk, {"verdict": "unfit"}, "It says nothing.")
    desk, client = desk_of(job), Client()
    given = ask(client, f"{desk}next/", want=40)
    assert "It says nothing" not in given.content.decode()
    first, second = given.json()["items"][:2]
    assert (first["training"], second["training"]) == (True, False)
    told = judged(client, desk, first["item"]).json()["training"]
    assert told == [
        {"item": first["item"], "answer": {"verdict": "unfit"}, "because": "It says nothing."}
    ]
    assert judged(client, desk, second["item"]).json()["training"] == []


@pytest.mark.medium
def test_who_differ_see_each_other_when_they_talk_and_not_before(job):
    ada, ben = desk_of(job), desk_of(job)
    client = Client()
    for desk, verdict in ((ada, "fit"), (ben, "unfit")):
        while items := ask(client, f"{desk}next/", want=40).json()["items"]:
            if items[0]["others"]:
                break
            for each in items:
                judged(client, desk, each["item"], verdict, f"{verdict} for me")
    (talk, *_) = ask(client, f"{ada}next/", want=40).json()["items"]
    assert talk["others"] == [
        {"who": "You", "says": "Fits", "note": "fit for me"},
        {"who": "Reviewer 2", "says": "Does not fit", "note": "unfit for me"},
    ]


@pytest.mark.medium
def test_the_list_of_reasons_filters_by_signs_and_marks_some_for_training(job, client):
    client.force_login(job.study.owner)
    page = f"/studies/secret-study/reviews/{job.pk}/items/"
    assert "the rhythm is unlike" in client.get(page).content.decode()
    copied = client.get(f"{page}?flag=copied&sort=copies").content.decode()
    assert "Nearly identical to another rater’s comment" in copied
    assert "the rhythm is unlike" in copied
    assert "No items match" in client.get(f"{page}?flag=pasted").content.decode()
    item = job.items.order_by("position")[2]
    form = {"action": "gold", "job": job.pk, "item": item.pk, "answer": "verdict:unfit"}
    do = "/studies/secret-study/reviews/do/"
    assert client.post(do, form | {"because": "Says nothing."}).status_code == 302
    item.refresh_from_db()
    assert (item.gold, item.gold_because) == ({"verdict": "unfit"}, "Says nothing.")
    assert "Says nothing." in client.get(f"{page}?show=gold").content.decode()
