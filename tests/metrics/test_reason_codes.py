"""Codes suggested by a judge model: sent when asked to, checked, asked once more, shown late."""

from __future__ import annotations

import io
import json
import re

import pytest
from django.core.management import call_command

from listening.models import Justification, StudyEvent
from metrics.jobs import suggest_codes
from metrics.judges.client import Endpoint, configure_endpoint, current_endpoint
from metrics.models import CodeSuggestion
from tests.listening.test_review_codes import coded, job  # noqa: F401
from tests.listening.test_review_desk import ask, desk_of
from tests.metrics.judge_server import schema_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(judge_server, tmp_path):
    """A model that names speed for “rhythm” and noise for “hiss”, where the codebook has them."""
    judge_server.reset()
    judge_server.answer = by_words
    before = current_endpoint()
    configure_endpoint(Endpoint(judge_server.url, "coder", cache=tmp_path, retries=0))
    yield judge_server
    configure_endpoint(before)
    judge_server.reset()


def by_words(body):
    reason = re.search(r"<reason>\n(.*?)\n</reason>", text_of(body), flags=re.DOTALL).group(1)
    known = schema_of(body)["properties"]["codes"]["items"]["enum"]
    named = {"rhythm": "speed", "hiss": "noise"}
    codes = [code for word, code in named.items() if word in reason and code in known]
    return {"codes": codes, "none": not codes}


def suggest(job, *more):  # noqa: F811
    out = io.StringIO()
    call_command("suggest_codes", "voices", "--job", str(job.pk), *more, stdout=out)
    return out.getvalue()


@pytest.mark.medium
def test_nothing_is_sent_unless_somebody_says_so(job, server):  # noqa: F811
    assert "5 reasons" in suggest(job)
    assert server.requests == []
    assert "Nothing was sent" in suggest(job)
    suggest(job, "--send")
    assert len(server.requests) == len({text_of(each) for each in server.requests}) > 0
    words = json.dumps(server.requests)
    for secret in ("voices", job.study.sessions.get().rater.code, "condition"):
        assert secret not in words, secret
    assert StudyEvent.objects.get(what="codes_suggested").details["model"] == "coder"
    assert "0 reasons" in suggest(job, "--send")  # what is answered is not asked again


@pytest.mark.medium
def test_an_answer_that_is_none_is_asked_for_once_more_and_then_told(job, server):  # noqa: F811
    Justification.objects.update(text="A hiss.")
    server.faults = ["more fields"]
    said = suggest(job, "--send")
    assert re.search(r"5 asked, 0 from the cache, [1-5] asked once more, 0 without", said), said
    assert "could not be used (wrong fields)" in text_of(server.requests[-1])
    row = CodeSuggestion.objects.first()
    assert (row.codes, row.answered_by, len(row.rubric_sha256)) == (["noise"], "coder-2026-11", 64)
    job.settings["version"] = 2
    job.save()
    server.answer = lambda body: {"codes": ["noise"], "none": True}
    current_endpoint().cache.joinpath("x").mkdir()
    assert "without an answer" in suggest(job, "--send", "--judge", "other")
    failed = CodeSuggestion.objects.filter(judge="other")
    assert {each.reason for each in failed} == {"codes and none contradict each other"}


@pytest.mark.medium
def test_reviewers_see_it_after_their_own_and_it_is_held_against_them(job, server, client):  # noqa: F811
    texts = ["A hiss.", "A hiss and its rhythm.", "Nothing."]
    for n, row in enumerate(Justification.objects.order_by("pk")):
        row.text = texts[n % 3]
        row.save()
    job.settings["suggest"] = False  # no rules: the model alone
    job.save()
    suggest(job, "--send")
    desk = desk_of(job)
    given = ask(client, f"{desk}next/", want=40)
    assert b"judge" not in given.content
    assert b'"hints": true' in client.get(desk).content
    replies = coded(desk, ["noise"])
    shown = sorted(each["hints"][0]["hints"]["judge"] for each in replies)
    assert shown == [[], ["noise"], ["noise"], ["noise", "speed"], ["noise", "speed"]]
    coded(desk_of(job), ["noise"])
    client.force_login(job.study.owner)
    page = client.get(f"/studies/voices/reviews/{job.pk}/agreement/").content.decode()
    row = r'<th scope="row">noise.*?data-label="Reviewers">5<.*?Judge">4<.*?Both">4<'
    assert re.search(row, page, re.DOTALL), page


@pytest.mark.medium
def test_the_page_asks_only_after_a_tick(
    job,  # noqa: F811
    server,
    client,
    monkeypatch,
    django_capture_on_commit_callbacks,
):
    sent = []
    monkeypatch.setattr(
        "metrics.web.code_suggestions.suggest_codes.delay", lambda *told: sent.append(told)
    )
    client.force_login(job.study.owner)
    url = f"/studies/voices/reviews/{job.pk}/suggestions/"
    assert "I may send these 5 justifications" in client.get(url).content.decode()
    client.post(f"{url}ask/")
    assert sent == []
    assert "In progress" not in client.get(url).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        client.post(f"{url}ask/", {"send": "on"})
    assert sent == [("voices", job.pk, "coder", job.study.owner.username)]
    page = client.get(url).content.decode()
    assert "In progress" in page  # until the job has ended
    assert ">Send<" not in page
    with django_capture_on_commit_callbacks(execute=True):
        again = client.post(f"{url}ask/", {"send": "on"}, follow=True).content.decode()
    assert "already running" in again  # a second press is not paid for
    assert len(sent) == 1
    suggest_codes(*sent[0])
    assert "In progress" not in client.get(url).content.decode()
