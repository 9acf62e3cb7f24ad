"""Requests that no page sends: broken bodies, codes and ids. None may end in an error of ours."""

import json
import re
from collections.abc import Iterator
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.test import Client

from config.incoming_requests import utf_8_only
from listening.models import Rater, Rating, Session, Study, Trial
from listening.sessions.lifecycle import withdraw
from listening.sessions.playback_facts import KNOWN
from listening.sessions.stages import record_check
from tests.factories import arrive, current, make_study
from tests.shared_rows import shared_rows

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def two_sessions(django_db_setup, django_db_blocker) -> Iterator[list[Session]]:
    """One that has only begun, and one with the check behind it."""
    with shared_rows(django_db_blocker):
        study = make_study(items=5, checks=[{"key": "volume"}])
        begun, checked = arrive(study), arrive(study)
        yield [begun, record_check(checked, "volume", {"comfortable": True})]


@pytest.fixture
def session(two_sessions, db) -> Session:
    return Session.objects.get(pk=two_sessions[0].pk)


@pytest.fixture
def ready(two_sessions, db) -> Session:
    return Session.objects.get(pk=two_sessions[1].pk)


@pytest.fixture
def study(session) -> Study:
    return session.study


def send(session: Session, door: str, body: bytes, kind: str = "application/json"):
    return Client().post(f"/api/s/{session.code}/{door}/", body, content_type=kind)


def answer_with(session: Session, **changes: object) -> bytes:
    whole = {
        "trial": current(session).code,
        "answers": {"0": "1"},
        "latency_ms": 900,
        "plays": 1,
        "heard_fraction": 1.0,
        "playback": {"stalls": 0},
    }
    return json.dumps({**whole, **changes}).encode()


NO_OBJECTS = [b"[]", b"null", b"3", b'"x"', b"true"]
NO_JSON = [
    b"{bad",
    b"[" * 100_000 + b"]" * 100_000,
    b'{"key": "volume", "key": "volume"}',
    b'{"latency_ms": 1e999}',
    b'{"trial": "\xff"}',
    b'{"latency_ms": ' + b"9" * 5000 + b"}",
    b"\xff\xfe{}",
    b"NaN",
]


@pytest.mark.medium
@pytest.mark.parametrize("door", ["answers", "checks", "withdraw"])
@pytest.mark.parametrize("body", [*NO_OBJECTS, *NO_JSON], ids=lambda body: repr(body[:12]))
def test_a_body_that_is_no_object_gets_the_one_sentence(session, door, body):
    response = send(session, door, body)
    assert response.status_code == (422 if body in NO_OBJECTS else 400)
    told = response.json()
    assert told["error"] == "malformed"
    assert "Reload it" in told["message"]
    assert told["state"] is None
    session.refresh_from_db()
    assert session.status == Session.Status.STARTED


@pytest.mark.parametrize(
    "playback",
    [
        {"a": "\x00"},
        {"a\x00": 1},
        {"a": "\ud800"},
        {"\udfff": 1},
        {"a": [{"b": "\x00"}]},
        {"a": "x" * 5000},
        {str(n): n for n in range(50)},
        [],
        "stalls",
    ],
    ids=lambda playback: repr(playback)[:20],
)
def test_playback_facts_that_no_database_keeps_are_refused(ready, playback):
    response = send(ready, "answers", answer_with(ready, playback=playback))
    assert (response.status_code, response.json()["error"]) == (422, "malformed")
    assert Rating.objects.count() == 0


def test_playback_facts_without_an_end_are_refused(ready):
    body = answer_with(ready).replace(b'"stalls": 0', b'"stalls": 1e999')
    assert send(ready, "answers", body).status_code == 400
    deep = answer_with(ready).replace(b'"stalls": 0', b'"a": ' + b"[" * 3000 + b"]" * 3000)
    assert send(ready, "answers", deep).status_code == 400
    assert Rating.objects.count() == 0


def test_no_key_of_playback_but_ours_is_stored_and_no_value_of_another_kind(ready):
    ours = {"stalls": 2, "driven": False, "heard_s": [1.5, 2], "mixer": "buffers"}
    odd = {"name": "Ohrhörer 😀", "blocked": "Tezcatlipoca", "skips": 10**30, "loops": True}
    odd |= {"plays_each": [1, "x"], "loop_s": {"deep": []}, "streamed": 1, "switches": None}
    sent_facts = ours | odd | {"skipped_because": "my name", "silent": [3]}
    assert send(ready, "answers", answer_with(ready, playback=sent_facts)).status_code == 201
    assert Trial.objects.get(state="answered").playback == ours


def test_every_fact_that_the_page_reports_is_stored():
    wire = (settings.BASE_DIR / "static/js/shared/wire.js").read_text()
    for kind in ("Playback", "DeckPlayback"):
        declared = re.split(rf"\{{object\}} {kind}\b", wire)[1].partition("\n *\n")[0]
        names = re.findall(r"@property \{[^}]+\} \[?(\w+)", declared)
        assert len(names) > 4
        assert set(names) <= KNOWN.keys()


@pytest.mark.parametrize("trial", ["a\x00b", "\ud800", "é", "a b", "x" * 21, "", "a\n"])
def test_a_trial_that_no_code_can_be_is_malformed(ready, trial):
    for door, more in (("answers", {}), ("skips", {"reason": "load"})):
        body = json.dumps(json.loads(answer_with(ready)) | more | {"trial": trial}).encode()
        response = send(ready, door, body)
        assert (response.status_code, response.json()["error"]) == (422, "malformed")


@pytest.mark.parametrize("door", ["answers", "skips", "checks", "loaded", "comments", "withdraw"])
def test_a_field_name_that_no_text_can_hold_is_malformed(ready, door):
    body = b'{"\\udfff\\ud800": 1, ' + answer_with(ready)[1:]
    response = send(ready, door, body)
    assert (response.status_code, response.json()["error"]) == (422, "malformed")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_other_kinds_of_bodies_are_refused(session, kind):
    response = send(session, "answers", b"x", kind)
    assert (response.status_code, response.json()["error"]) == (415, "malformed")


@pytest.mark.medium
@pytest.mark.parametrize("method", ["put", "patch", "delete", "options", "trace"])
@pytest.mark.parametrize("door", ["", "answers/", "checks/", "withdraw/"])
def test_other_methods_do_nothing_and_describe_nothing(session, method, door):
    response = getattr(Client(), method)(f"/api/s/{session.code}/{door}")
    assert response.status_code == 405
    assert b"renders" not in response.content
    assert b"Django" not in response.content


@pytest.mark.medium
@pytest.mark.parametrize(
    "code", ["%00", "a%00b", "%ff", "%F0%9F%92%A9", "..%2f..", "a" * 500, "%0d%0a"]
)
def test_codes_that_no_database_can_look_up_are_unknown_pages(session, code):
    for url in (
        f"/r/{code}/",
        f"/s/{code}/",
        f"/api/s/{code}/",
        f"/c/{code}",
        f"/checks/{code}.wav",
    ):
        assert Client().get(url).status_code == 404


@pytest.mark.parametrize("sign", ["А", "ѕ", "ａ", "​"])  # looks like, or like nothing
def test_a_code_has_one_spelling(session, sign):
    for other in (session.code.upper(), sign + session.code[1:], session.code + sign):
        assert Client().get(f"/s/{other}/").status_code == 404
        assert Client().get(f"/api/s/{other}/").status_code == 404


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("5f\x00" * 12, "5f" * 12),
        (f" {'5F' * 12} \t", "5f" * 12),
        ("5f" * 12 + "\r\nSet-Cookie: mine=1", None),
        ("<script>alert(1)</script>", None),
        ("5" * 500, None),
        ("٥" * 24, None),
        ("\x00\x01", None),
    ],
)
@pytest.mark.medium
def test_a_prolific_id_is_kept_as_far_as_it_can_be_one(study, sent, kept):
    ids = {"PROLIFIC_PID": sent, "STUDY_ID": "s\x00", "SESSION_ID": "\x00"}
    page = Client().get(f"/r/{study.link}/", ids)
    assert page.status_code == 200
    assert b"<script>alert" not in page.content
    entered = Client().post(f"/r/{study.link}/", {**ids, "consent": "yes"})
    assert entered.status_code == 302
    assert "mine" not in entered.cookies
    rater = Rater.objects.get(sessions__code=entered["Location"].strip("/").split("/")[-1])
    assert rater.prolific_id == kept


def test_the_way_in_leads_nowhere_else(study):
    for query in ({"next": "//evil.example"}, {"url": "https://evil.example", "PROLIFIC_PID": "a"}):
        entered = Client().post(
            f"/r/{study.link}/?next=//evil.example", {**query, "consent": "yes"}
        )
        assert entered["Location"].startswith("/s/")
    redirect = Client().get(f"/r/{study.link}")
    assert redirect["Location"].startswith(f"/r/{study.link}/")


def test_a_forged_cookie_finds_no_rater(study, session):
    browser = Client()
    browser.cookies[f"rater-{study.link}"] = session.rater.code
    assert browser.get(f"/r/{study.link}/").status_code == 200
    browser.cookies[f"rater-{study.link}"] = f"{session.rater.code}:1abcde:{'x' * 43}"
    assert browser.get(f"/r/{study.link}/").status_code == 200


def test_a_late_check_brings_nothing_back_after_a_withdrawal(session):
    withdraw(session)
    body = json.dumps({"key": "volume", "answer": {"comfortable": True}}).encode()
    response = send(session, "checks", body)
    assert response.json()["stage"] == "end"
    session.refresh_from_db()
    assert session.checks == {}


def test_an_answer_after_a_withdrawal_finds_no_trial(session):
    body = answer_with(session)
    withdraw(session)
    response = send(session, "answers", body)
    assert (response.status_code, response.json()["error"]) == (404, "unknown_trial")
    assert response.json()["state"]["end"]["outcome"] == "withdrawn"
    assert Rating.objects.count() == 0


def test_a_comment_keeps_its_words_and_no_controls(session, monkeypatch):
    sessions_end(session)
    monkeypatch.setattr("listening.web.rater.api.is_own", lambda request, session: True)
    for text, kept in (
        ("bell\x07 and \x1b[31mred", "bell and [31mred"),
        ("C:\\u0000, a path", "C:\\u0000, a path"),
        ("two\r\nlines", "two\nlines"),
    ):
        assert send(session, "comments", json.dumps({"text": text}).encode()).status_code == 200
        session.refresh_from_db()
        assert session.comment == kept
    for text in ("a\x00b", "\\\x00"):
        assert send(session, "comments", json.dumps({"text": text}).encode()).status_code == 422


def sessions_end(session: Session) -> None:
    Session.objects.filter(pk=session.pk).update(status=Session.Status.FINISHED)


@pytest.mark.slow
@pytest.mark.parametrize("door", ["questionnaires", "skips", "comments"])
@pytest.mark.parametrize("body", [*NO_OBJECTS, *NO_JSON], ids=lambda body: repr(body[:12]))
def test_the_doors_around_the_trials_refuse_them_too(session, door, body):
    response = send(session, door, body)
    assert (response.status_code, response.json()["error"]) == (
        422 if body in NO_OBJECTS else 400,
        "malformed",
    )


@pytest.mark.parametrize(
    "door", ["answers", "skips", "checks", "questionnaires", "comments", "withdraw"]
)
def test_another_site_cannot_send_in_a_raters_name(session, door):
    browser = Client(enforce_csrf_checks=True)
    url = f"/api/s/{session.code}/{door}/"
    assert browser.post(url, b"{}", content_type="application/json").status_code == 403


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        (f"{FORM}; charset=UTF-8", b"username=a", 200),
        (f"{FORM}; charset=hex", b"username=a", 415),
        (f"{FORM}; charset=punycode", b"username=a", 415),
        (f"{FORM}; charset=utf-16", b"username=a", 415),
        (FORM, b"username=a%00b", 400),
        (FORM, b"a%00b=1", 400),
        ("multipart/form-data", b"--b--", 400),
    ],
)
def test_forms_in_other_encodings_or_with_a_nul_are_refused_at_the_edge(kind, body, status):
    assert Client().generic("POST", "/login/", body, kind).status_code == status
    assert Client().get("/login/?next=%00").status_code == 400


@pytest.mark.parametrize("charset", ["hex", "idna", "nonsense", '"zlib"'])
def test_another_encoding_is_refused_before_django_decodes_the_query_with_it(charset):
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/login/",
        "QUERY_STRING": "next=%2Fstudies",
        "CONTENT_TYPE": f"{FORM}; charset={charset}",
    }
    setup_testing_defaults(environ)
    started: list[str] = []
    pages = utf_8_only(get_wsgi_application())
    (body,) = pages(environ, lambda status, headers, error=None: started.append(status) or print)
    assert started == ["415 Unsupported Media Type"]
    assert body == b"This is not in UTF-8. Send it again in UTF-8.\n"
