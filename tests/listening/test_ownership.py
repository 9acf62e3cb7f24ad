"""Ids and addresses get about: what takes more than knowing one, and how a rater proves it."""

import json
import re
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from jwt.algorithms import RSAAlgorithm

from listening.models import Connection, Rater, Recruitment, Session, Study
from listening.recruitment.prolific import signed_links
from tests.factories import answer_all, make_study
from tests.listening.test_rater_doors import enter, post

pytestmark = pytest.mark.django_db
IDS = {"PROLIFIC_PID": "a1" * 12, "STUDY_ID": "b2" * 12, "SESSION_ID": "c3" * 12}
VICTIM = {"PROLIFIC_PID": IDS["PROLIFIC_PID"]}


@pytest.fixture
def study() -> Study:
    return make_study(completion_codes={"complete": "DONE1234"})


def where(response) -> str:
    return response.url if response.status_code == 302 else str(response.status_code)


# --- Who arrives ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [VICTIM, VICTIM | {"SESSION_ID": "d4" * 12}])
@pytest.mark.medium
def test_a_link_and_a_prolific_id_do_not_take_over_a_session(study, ids):
    session = enter(Client(), study, **IDS)
    thief = Client()
    assert where(thief.get(f"/r/{study.link}/", ids)) == "403"
    assert where(thief.post(f"/r/{study.link}/", {"consent": "yes", **ids})) == "403"
    assert session.code not in thief.get(f"/r/{study.link}/", ids).content.decode()
    assert f"rater-{study.link}" not in thief.cookies
    assert Session.objects.count() == 1


@pytest.mark.medium
def test_the_browser_that_began_needs_no_proof(study):
    client = Client()
    session = enter(client, study, **IDS)
    assert where(client.get(f"/r/{study.link}/", VICTIM)) == f"/s/{session.code}/"


@pytest.mark.medium
def test_the_submissions_own_id_brings_back_on_another_device(study):
    session = enter(Client(), study, **IDS)
    assert where(Client().get(f"/r/{study.link}/", IDS)) == f"/s/{session.code}/"


@pytest.mark.medium
def test_a_session_without_a_submission_is_not_opened_by_an_empty_one(study):
    enter(Client(), study, **VICTIM)
    assert where(Client().get(f"/r/{study.link}/", VICTIM)) == "403"


@pytest.mark.medium
def test_who_is_asked_may_show_the_address_of_the_listening_page(study):
    session = enter(Client(), study, **IDS)
    other = Client()
    wrong = other.post(f"/r/{study.link}/", {**VICTIM, "proof": "https://x.org/s/made-up/"})
    assert wrong.status_code == 403
    assert b"not the address of your session" in wrong.content
    for proof in (f"https://x.org/s/{session.code}/", session.code):
        back = Client().post(f"/r/{study.link}/", {**VICTIM, "proof": proof})
        assert where(back) == f"/s/{session.code}/"


def test_ids_that_differ_in_capitals_are_one(study):
    first = enter(Client(), study, **IDS)
    again = Client().get(f"/r/{study.link}/", IDS | {"PROLIFIC_PID": "A1" * 12})
    assert where(again) == f"/s/{first.code}/"
    assert Rater.objects.count() == 1


@pytest.mark.medium
def test_a_browser_whose_cookies_were_cleared_is_known_by_what_the_page_kept(study):
    client = Client()
    for ids in (IDS, {}):
        session = enter(client, study, **ids)
        page = client.get(f"/s/{session.code}/").content.decode()
        memory = re.search(r'data-memory="([^"]+)"', page)[1]
        assert "data-memory" not in Client().get(f"/s/{session.code}/").content.decode()
        client = Client()  # its cookies are gone
        door = f"/r/{study.link}/"
        ids = {k: v for k, v in ids.items() if k == "PROLIFIC_PID"}
        assert b'id="known-form"' in client.get(door, ids).content
        assert where(client.post(door, {**ids, "memory": memory})) == f"/s/{session.code}/"
        assert where(Client().get(door, ids)) == ("403" if ids else "200")
        other = make_study(key=f"other-{len(ids)}")
        assert where(Client().post(f"/r/{other.link}/", {"memory": memory})) == "422"
        client = Client()


@pytest.mark.medium
def test_who_comes_again_from_the_same_address_and_browser_is_counted(client, study):
    agents = ("Firefox", "Firefox", "Safari", "Firefox")
    for agent in agents:
        enter(Client(headers={"User-Agent": agent}), study)
    client.force_login(study.owner)
    said = []
    for session in Session.objects.order_by("pk"):
        page = client.get(f"/studies/{study.key}/raters/{session.pk}/").content.decode()
        said += re.findall(r"(\d+) other raters with the same address", page) or ["none"]
    assert said == ["2", "2", "none", "2"]
    origins = list(Session.objects.values_list("origin", flat=True))
    assert len(set(origins)) == 2
    assert not any("127.0.0.1" in origin or "Firefox" in origin for origin in origins)


# --- What only the browser that began may do -----------------------------------------------------


@pytest.fixture
def finished(study) -> tuple[Client, Session]:
    client = Client()
    session = enter(client, study, **IDS)
    Rater.objects.update(simulated=True)  # who needs no time
    answer_all(session)
    return client, session


@pytest.mark.medium
def test_the_code_is_shown_where_the_session_began_and_nowhere_else(finished):
    client, session = finished
    for look in (lambda c: c.get(f"/api/s/{session.code}/").json(),):
        assert look(client)["end"]["code"] == "DONE1234"
        end = look(Client())["end"]
        assert (end["code"], end["return_url"], end["comment"]) == ("", None, False)
        assert "in which you began" in end["next"]
    page = Client().get(f"/s/{session.code}/").content.decode()
    assert "DONE1234" not in page
    back = Client()
    back.get(f"/r/{session.study.link}/", IDS)  # from Prolific once more
    assert back.get(f"/api/s/{session.code}/").json()["end"]["code"] == "DONE1234"


@pytest.mark.medium
def test_another_browser_may_answer_but_neither_withdraw_nor_comment(study):
    client = Client()
    session = enter(client, study)
    other = Client()
    assert other.get(f"/s/{session.code}/").status_code == 200
    for door, body in (("withdraw", {"confirm": True}), ("comments", {"text": "mine now"})):
        refused = post(other, session, door, body)
        assert (refused.status_code, refused.json()["error"]) == (403, "malformed")
        assert "in which you began" in refused.json()["message"]
    session.refresh_from_db()
    assert (session.status, session.comment) == ("started", "")
    assert post(client, session, "withdraw", {"confirm": True}).json()["stage"] == "end"


# --- Prolific's signed links ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def prolific(key, settings, monkeypatch):
    """Prolific's keys, served as it serves them; how often they were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            public = json.loads(RSAAlgorithm.to_jwk(key.public_key()))
            body = json.dumps({"keys": [public | {"kid": "k1", "use": "sig", "alg": "RS256"}]})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    settings.EARNEST_PROLIFIC_API = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(signed_links, "_keys", signed_links._Keys())
    yield asked
    server.shutdown()
    server.server_close()


def signed(key, study, *, kid: str = "k1", **claims: object) -> dict[str, str]:
    from django.conf import settings

    now = int(time.time())
    session = "e5" * 12
    whole = {
        "iss": signed_links.ISSUER,
        "iat": now,
        "exp": now + 120,
        "aud": f"{settings.EARNEST_PUBLIC_URL}/r/{study.link}/?PROLIFIC_PID=x",
        "sub": session,
        "prolific": VICTIM,
        **claims,
    }
    token = jwt.encode(whole, key, algorithm="RS256", headers={"kid": kid})
    return VICTIM | {"SESSION_ID": session, "prolific_token": token}


@pytest.mark.medium
def test_prolifics_signature_is_proof(study, key, prolific):
    session = enter(Client(), study, **IDS)
    for _ in range(2):
        back = Client().get(f"/r/{study.link}/", signed(key, study))
        assert where(back) == f"/s/{session.code}/"
    assert prolific == [signed_links.KEYS_PATH]  # asked for once


FALSE_CLAIMS = [
    {"exp": 1},
    {"iss": "https://example.org"},
    {"aud": "http://127.0.0.1:8000/r/another/"},
    {"sub": "f6" * 12},
    {"prolific": {"PROLIFIC_PID": "9" * 24}},
    {"prolific": None},
    {"kid": "k2"},
]


@pytest.mark.parametrize("claims", FALSE_CLAIMS)
@pytest.mark.medium
def test_a_signature_for_something_else_is_none(study, key, prolific, claims):
    enter(Client(), study, **IDS)
    assert where(Client().get(f"/r/{study.link}/", signed(key, study, **claims))) == "403"


def recruited(study: Study, *, secure: bool = True, name: str = IDS["STUDY_ID"]) -> Recruitment:
    connection = Connection.objects.filter(owner=study.owner).first()
    connection = connection or Connection.objects.create(owner=study.owner, token="play-money")
    at_prolific = {"state": "live", "prolific_study": name, "secure": secure}
    return Recruitment.objects.create(study=study, connection=connection, **at_prolific)


@pytest.mark.medium
def test_a_signed_link_is_verified_on_arrival(study, key, prolific):
    recruited(study)
    client, page = Client(), f"/r/{study.link}/"
    arrived = client.get(page, signed(key, study) | {"STUDY_ID": IDS["STUDY_ID"]})
    assert "prolific_token" not in arrived.url
    read = client.get(arrived.url)  # may be read for longer than Prolific's signature holds
    assert b'name="consent"' in read.content
    entered = client.post(arrived.url, {"consent": "yes"})
    assert entered.url.startswith("/s/")
    assert Session.objects.get().rater.prolific_id == IDS["PROLIFIC_PID"]
    mark = re.search(r"signed=[^&]+", arrived.url)[0]
    for ids in ({"PROLIFIC_PID": "e7" * 12}, {"SESSION_ID": "e7" * 12}):
        others = {"PROLIFIC_PID": "e8" * 12, "SESSION_ID": "e5" * 12} | ids
        assert where(Client().post(f"{page}?{mark}", {"consent": "yes", **others})) == "403"


@pytest.mark.parametrize("claims", [{}, *FALSE_CLAIMS])
@pytest.mark.medium
def test_nobody_begins_a_signed_study_without_prolifics_signature(study, key, prolific, claims):
    recruited(study)
    query = signed(key, study, **claims) if claims else dict(IDS)
    for _ in range(2):
        refused = Client().get(f"/r/{study.link}/", query)
        assert where(refused) == "403"
        assert "open the study on Prolific again" in refused.content.decode()
        query.pop("prolific_token", None)
    assert where(Client().post(f"/r/{study.link}/", {"consent": "yes", **query})) == "403"
    assert not Session.objects.exists()


@pytest.mark.medium
def test_a_study_there_without_signed_links_is_entered_unsigned(study, key, prolific):
    recruited(study)
    recruited(study, secure=False, name="d9" * 12)
    assert enter(Client(), study, **IDS | {"STUDY_ID": "d9" * 12})
    assert where(Client().get(f"/r/{study.link}/", {"PROLIFIC_PID": "f1" * 12})) == "403"
    bad = signed(key, study, exp=1) | {"PROLIFIC_PID": "f2" * 12, "STUDY_ID": "d9" * 12}
    assert where(Client().get(f"/r/{study.link}/", bad)) == "403"


@pytest.mark.medium
def test_another_key_or_algorithm_signs_nothing(study, key, prolific):
    enter(Client(), study, **IDS)
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    query = signed(stranger, study)
    assert where(Client().get(f"/r/{study.link}/", query)) == "403"
    claims = jwt.decode(query["prolific_token"], options={"verify_signature": False})
    for token in (jwt.encode(claims, None, algorithm="none", headers={"kid": "k1"}), "x.y.z", "é"):
        assert where(Client().get(f"/r/{study.link}/", query | {"prolific_token": token})) == "403"


@pytest.mark.medium
def test_made_up_keys_do_not_make_us_ask_each_time(study, key, prolific):
    enter(Client(), study, **IDS)
    for n in range(5):
        Client().get(f"/r/{study.link}/", signed(key, study, kid=f"made-up-{n}"))
    assert len(prolific) == 1


def test_keys_from_elsewhere_are_not_fetched(settings, prolific):
    there = settings.EARNEST_PROLIFIC_API

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", there + self.path)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    elsewhere = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=elsewhere.serve_forever, daemon=True).start()
    keys = signed_links._Keys()
    address = f"http://127.0.0.1:{elsewhere.server_port}"
    settings.EARNEST_PROLIFIC_API = address
    assert keys.named("k1") is None
    assert prolific == []
    settings.EARNEST_PROLIFIC_API = there
    assert signed_links._Keys().named("k1") is not None
    elsewhere.shutdown()
    elsewhere.server_close()


@pytest.mark.medium
def test_prolific_away_is_no_proof_and_no_error(study, key, settings, monkeypatch):
    settings.EARNEST_PROLIFIC_API = "http://127.0.0.1:9"
    monkeypatch.setattr(signed_links, "_keys", signed_links._Keys())
    enter(Client(), study, **IDS)
    assert where(Client().get(f"/r/{study.link}/", signed(key, study))) == "403"
