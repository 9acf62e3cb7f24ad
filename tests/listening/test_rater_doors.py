"""The rater's pages and API: consent, state, answers, refusals, CSRF, and what they never tell."""

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core import signing
from django.test import Client
from django.utils import timezone

from listening.models import Rater, Rating, Session, Study
from listening.sessions import lifecycle
from listening.sessions.outcomes import code_at_end
from tests.factories import ATT_TRAPS, FACTS, answer_all, arrive, current, make_study
from tests.shared_rows import shared_rows

pytestmark = pytest.mark.django_db


def a_study() -> Study:
    return make_study(
        items=20,
        traps={"flawed": 2, "human": 3},
        texts={"welcome": "Hello.\n\nThere.", "consent": "I agree.", "contact": "a@example.org"},
        completion_codes={"complete": "DONE1234", "partial": "PART1234"},
        task={"method": "att", "block_size": 10, "traps": ATT_TRAPS, "show_text": False},
    )


@pytest.fixture(scope="module")
def made(django_db_setup, django_db_blocker) -> Iterator[Study]:
    with shared_rows(django_db_blocker):
        yield a_study()


@pytest.fixture
def study(made, db) -> Study:
    return Study.objects.get(pk=made.pk)


def enter(client: Client, study: Study, **query: str) -> Session:
    response = client.post(f"/r/{study.link}/", {"consent": "yes", **query})
    assert response.status_code == 302
    return Session.objects.get(code=response.url.strip("/").split("/")[-1])


def simulate(study: Study) -> str:
    return signing.dumps(study.key, salt="simulate")


def post(client: Client, session: Session, door: str, body: object, **headers: str):
    return client.post(
        f"/api/s/{session.code}/{door}/",
        json.dumps(body),
        content_type="application/json",
        headers=headers,
    )


def body_for(trial, **fields) -> dict:
    return {
        "trial": trial.code,
        "answers": {"0": "Human"},
        "justification": {"text": "breathing between the words"},
        "latency_ms": 900,
        "plays": 1,
        "heard_fraction": 1.0,
        "playback": FACTS,
        **fields,
    }


@pytest.mark.medium
def test_the_door_asks_for_consent_before_anything_starts(client, study):
    page = client.get(f"/r/{study.link}/")
    assert page.status_code == 200
    assert b"I agree." in page.content
    refused = client.post(f"/r/{study.link}/", {})
    assert refused.status_code == 422
    assert Session.objects.count() == 0
    session = enter(client, study)
    assert session.consent_version == "1"
    assert session.rater.simulated is False


@pytest.mark.medium
def test_the_plain_link_leads_back_to_the_same_session_in_the_same_browser(client, study):
    session = enter(client, study)
    assert client.get(f"/r/{study.link}/").url == f"/s/{session.code}/"
    assert Client().get(f"/r/{study.link}/").status_code == 200


@pytest.mark.medium
def test_prolific_ids_come_back_to_the_same_session_on_another_device(study):
    ids = {"PROLIFIC_PID": "a1" * 12, "STUDY_ID": "b2" * 12, "SESSION_ID": "c3" * 12}
    session = enter(Client(), study, **ids)
    assert session.rater.prolific_id == "a1" * 12
    phone = Client(headers={"User-Agent": "iPhone Mobile"})
    assert phone.get(f"/r/{study.link}/", ids).url == f"/s/{session.code}/"
    assert Rater.objects.count() == 1


@pytest.mark.medium
def test_a_full_study_says_so_before_it_asks_for_consent():
    study = make_study(conditions=1, items=5, task={"ratings_per_stimulus": 1})
    page = Client().get(f"/r/{study.link}/")
    assert b'name="consent"' in page.content
    session = arrive(study)
    page = Client().get(f"/r/{study.link}/")
    assert b"All places are taken" in page.content
    assert b'name="consent"' not in page.content
    past = timezone.now() - timedelta(seconds=1)
    session.blocks.update(lease_until=past)  # whoever comes now takes it over
    assert b'name="consent"' in Client().get(f"/r/{study.link}/").content
    answer_all(session)  # now none can become free
    page = Client().get(f"/r/{study.link}/").content.decode()
    assert "The study is complete" in page
    assert "Try again" not in page


@pytest.mark.medium
def test_scripted_raters_can_be_told_by_their_code_in_every_export(study):
    scripted = enter(Client(), study, simulate=simulate(study))
    assert scripted.rater.code.startswith("sim-")
    assert enter(Client(), study).rater.code.startswith("r-")


@pytest.mark.medium
@pytest.mark.parametrize(
    "word", ["{{%PROLIFIC_PID%}}", "undefined", "null", "5f1c0a", "5f" * 13, "zz" * 12]
)
def test_what_is_not_24_hexadecimal_digits_is_nobodys_id(study, word):
    ids = {"PROLIFIC_PID": word, "STUDY_ID": word, "SESSION_ID": word}
    first, second = enter(Client(), study, **ids), enter(Client(), study, **ids)
    assert first != second
    assert (first.rater.prolific_id, first.prolific_session, first.prolific_study) == (None, "", "")


def test_the_door_tells_how_many_clips_come_traps_included():
    study = a_study()
    study.tasks.update(block_size=20)
    assert b"26" in Client().get(f"/r/{study.link}/").content


@pytest.mark.medium
def test_only_a_signed_token_marks_a_rater_as_simulated(study):
    assert enter(Client(), study, simulate=simulate(study)).rater.simulated
    assert not enter(Client(), study, simulate="yes").rater.simulated
    other = signing.dumps("another-study", salt="simulate")
    assert not enter(Client(), study, simulate=other).rater.simulated


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("draft", "The study is not open yet"),
        ("paused", "The study is paused"),
        ("closed", "The study has ended"),
    ],
)
def test_a_study_that_is_not_open_says_so(client, study, state, words):
    Study.objects.update(state=state)
    page = client.get(f"/r/{study.link}/")
    assert page.status_code == 200
    assert f'<h2 id="problem-title">{words}</h2>' in page.content.decode()
    assert client.post(f"/r/{study.link}/", {"consent": "yes"}).status_code == 409
    assert Session.objects.count() == 0


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_a_study_that_stops_lets_those_within_go_on(client, study, state):
    session = enter(client, study, simulate=simulate(study))
    Study.objects.update(state=state)
    assert client.get(f"/s/{session.code}/").status_code == 200
    answered = post(client, session, "answers", body_for(current(session)))
    assert answered.status_code == 201
    assert answered.json()["state"]["stage"] == "trial"


def test_unknown_links_and_codes_are_404(client, study):
    assert client.get("/r/nothere/").status_code == 404
    assert client.get("/s/nothere/").status_code == 404
    answer = client.get("/api/s/nothere/")
    assert answer.status_code == 404
    assert answer.json()["error"] == "unknown_session"


@pytest.mark.medium
def test_the_state_names_the_current_trial_and_preloads_two(client, study):
    session = enter(client, study, simulate=simulate(study))
    state = client.get(f"/api/s/{session.code}/").json()
    assert state["stage"] == "trial"
    assert [t["position"] for t in state["trials"]] == [1, 2, 3]
    assert state["progress"] == {"done": 0, "total": 13}
    codes = list(session.trials.order_by("position").values_list("code", flat=True)[:3])
    assert [t["id"] for t in state["trials"]] == codes
    assert client.get(f"/api/s/{session.code}/").json() == state  # a reload changes nothing


def test_an_answer_moves_on_and_a_repeat_does_not(client, study):
    session = enter(client, study, simulate=simulate(study))
    trial = current(session)
    first = post(client, session, "answers", body_for(trial))
    assert first.status_code == 201
    assert first.json()["state"]["progress"]["done"] == 1
    again = post(client, session, "answers", body_for(trial, answers={"0": "Machine"}))
    assert again.status_code == 200
    assert again.json()["repeat"] is True
    assert Rating.objects.get().label == "Human"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "status", "error"),
    [
        ({"answers": {"0": "Robot"}}, 422, "outside_scale"),
        ({"answers": {}}, 422, "malformed"),
        ({"answers": {"7": "Human"}}, 422, "criterion_missing"),
        ({"answers": [1]}, 422, "malformed"),
        ({"heard_fraction": 0.2}, 422, "not_heard"),
        ({"heard_fraction": 7}, 422, "malformed"),
        ({"heard_fraction": float("nan")}, 400, None),
        ({"latency_ms": -1}, 422, "malformed"),
        ({"latency_ms": 2**40}, 422, "malformed"),
        ({"playback": {"a": "x" * 5000}}, 422, "malformed"),
        ({"justification": {"text": "x" * 6000}}, 422, "malformed"),
        ({"justification": {"text": "nul \x00 inside"}}, 422, "malformed"),
        ({"trial": "nosuchtrial"}, 404, "unknown_trial"),
        ({"trial": 5}, 422, "malformed"),
    ],
)
def test_each_wrong_answer_has_its_defined_end(client, study, change, status, error):
    session = enter(client, study, simulate=simulate(study))
    response = post(client, session, "answers", {**body_for(current(session)), **change})
    assert response.status_code == status
    if error:
        assert response.json()["error"] == error
        assert response.json()["message"]
    assert Rating.objects.count() == 0


def test_another_sessions_trial_and_a_later_trial_are_refused(client, study):
    session, other = enter(client, study, simulate=simulate(study)), arrive(study)
    foreign = post(client, session, "answers", body_for(current(other)))
    assert (foreign.status_code, foreign.json()["error"]) == (404, "unknown_trial")
    later = session.trials.order_by("position")[3]
    early = post(client, session, "answers", body_for(later))
    assert (early.status_code, early.json()["error"]) == (409, "wrong_order")
    assert early.json()["state"]["trials"][0]["id"] == current(session).code


@pytest.mark.medium
def test_a_whole_session_ends_with_its_code_and_late_answers_change_nothing(client, study):
    ids = {"PROLIFIC_PID": "a1" * 12, "STUDY_ID": "b2" * 12, "SESSION_ID": "c3" * 12}
    session = enter(client, study, simulate=simulate(study), **ids)
    post(client, session, "loaded", {})
    while trial := current(session):
        response = post(client, session, "answers", body_for(trial))
        assert response.status_code == 201
    end = response.json()["state"]["end"]
    assert end["outcome"] == "complete"
    assert end["code"] == code_at_end(Session.objects.get(pk=session.pk))
    assert end["return_url"].endswith("submissions/complete?cc=DONE1234")
    stored = Rating.objects.count()
    assert stored == 13
    Session.objects.update(started_at=timezone.now() - timedelta(days=2))
    again = post(client, session, "answers", body_for(session.trials.first()))
    assert again.json()["repeat"] is True
    assert Rating.objects.count() == stored


@pytest.mark.medium
def test_forms_and_api_are_protected_against_cross_site_requests(study):
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(f"/r/{study.link}/", {"consent": "yes"}).status_code == 403
    assert Session.objects.count() == 0
    session = enter(Client(), study, simulate=simulate(study))
    strict.get(f"/s/{session.code}/")
    body = body_for(current(session))
    assert post(strict, session, "answers", body).status_code == 403
    token = strict.cookies["csrftoken"].value
    assert post(strict, session, "answers", body, **{"X-CSRFToken": token}).status_code == 201


@pytest.mark.medium
def test_withdrawal_needs_a_confirmation_and_then_deletes(client, study):
    session = enter(client, study, simulate=simulate(study))
    post(client, session, "answers", body_for(current(session)))
    assert post(client, session, "withdraw", {}).status_code == 422
    done = post(client, session, "withdraw", {"confirm": True})
    assert done.json()["end"]["outcome"] == "withdrawn"
    assert Rating.objects.count() == 0
    after = post(client, session, "answers", {**body_for_code("gone"), "trial": "gone"})
    assert after.status_code == 404


def body_for_code(code: str) -> dict:
    return {
        "trial": code,
        "answers": {"0": "Human"},
        "latency_ms": 1,
        "plays": 1,
        "heard_fraction": 1.0,
    }


@pytest.mark.medium
def test_the_volume_check_comes_first_and_is_kept(client):
    study = make_study(checks=[{"key": "volume"}])
    session = enter(client, study, simulate=simulate(study))
    state = client.get(f"/api/s/{session.code}/").json()
    assert (state["stage"], state["check"]["key"], state["trials"]) == ("check", "volume", [])
    assert Client().get(state["check"]["clip"]).status_code == 404
    client.get(f"/s/{session.code}/")  # sets the cookie that opens the sounds of this session
    sound = client.get(state["check"]["clip"])
    assert sound.headers["Content-Type"] == "audio/wav"
    assert len(sound.content) > 80_000
    for wrong in ({"key": "volume", "answer": {}}, {"key": "x", "answer": {}}, {"key": "volume"}):
        assert post(client, session, "checks", wrong).status_code == 422
    passed = {"key": "volume", "answer": {"comfortable": True}}
    assert post(client, session, "checks", passed).json()["stage"] == "trial"
    session.refresh_from_db()
    assert session.ready
    kept = {"passed": True, "done": True, "attempts": 1, "right": 1, "total": 1}
    assert session.checks["volume"] == kept


@pytest.mark.medium
def test_the_api_lists_nobody_and_takes_json_only(client, study):
    session = enter(client, study, simulate=simulate(study))
    for url in ("/api/s/", "/api/sessions/", "/api/raters/"):
        assert client.get(url).status_code == 404
    form = client.post(f"/api/s/{session.code}/answers/", {"trial": "x"})
    assert form.status_code == 415
    broken = client.post(
        f"/api/s/{session.code}/answers/", "{not json", content_type="application/json"
    )
    assert broken.status_code == 400


def test_a_rejected_rater_sees_the_end_of_a_complete_session(client, study):
    session = enter(client, study)
    lifecycle.reject(session, "answered without listening")
    state = client.get(f"/api/s/{session.code}/").json()
    assert (state["stage"], state["end"]["outcome"]) == ("end", "complete")
    assert state["end"]["code"] == code_at_end(Session.objects.get(pk=session.pk))
    assert "reject" not in json.dumps(state)
