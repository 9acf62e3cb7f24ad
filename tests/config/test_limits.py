"""Who asks too often is told when to come back; raters never wait for passwords."""

import asyncio
import json
import threading
from collections import Counter
from dataclasses import replace
from http import HTTPStatus

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import get_hasher
from django.core import signing
from django.test import Client
from redis.exceptions import ConnectionError as Away

from config import limits, web
from config.operations import unavailable
from config.thread_queue import Asker, Queue
from config.wsgi_bridge import Bridge
from tests.factories import arrive, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_counts(monkeypatch):
    """Counts of this test alone."""
    counts: dict[str, object] = {}

    class Memory:
        def get(self, key, default=None):
            return counts.get(key, default)

        def set(self, key, value, timeout=None):
            counts[key] = value

    monkeypatch.setattr(limits._Throttle, "cache", Memory())
    return counts


def log_in(client: Client, name: str = "ada", **headers: str):
    return client.post("/login/", {"username": name, "password": "wrong"}, headers=headers)


@pytest.mark.parametrize(
    ("hop", "address", "network"),
    [
        ("192.0.2.7", "192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:40123", "192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2:9::9]:443", "2001:db8:1:2:9::9", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::]", "2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "::ffff:192.0.2.7", "192.0.2.7"),
        ("unknown", "unknown", "unknown"),
    ],
)
def test_an_address_is_known_without_its_port_and_ipv6_by_64_bits(
    rf, settings, hop, address, network
):
    settings.EARNEST_TRUSTED_PROXIES = 1
    request = rf.get("/", headers={"X-Forwarded-For": f"6.6.6.6, {hop}"})
    assert limits.client_address(request) == address
    assert limits.client_network(request) == network
    headers = [(b"x-forwarded-for", b"6.6.6.6"), (b"x-forwarded-for", hop.encode())]
    assert limits.asker_of({"headers": headers, "client": ("::1", 1)}) == Asker(network)


@pytest.mark.medium
def test_changing_ports_and_interfaces_are_one_address(settings):
    settings.EARNEST_TRUSTED_PROXIES = 1
    hops = [f"192.0.2.7:{40_000 + n}" for n in range(22)]
    hops += [f"2001:db8::{n:x}" for n in range(22)]
    statuses = [
        log_in(Client(), f"name-{hop}", **{"X-Forwarded-For": hop}).status_code for hop in hops
    ]
    assert statuses == ([200] * 20 + [429] * 2) * 2


@pytest.mark.medium
def test_an_address_may_try_twenty_log_ins_a_minute(monkeypatch):
    hashed = []
    monkeypatch.setattr(
        "django.contrib.auth.backends.ModelBackend.authenticate",
        lambda *args, **kwargs: hashed.append(1),
    )
    statuses = Counter(log_in(Client(), f"name-{n}").status_code for n in range(25))
    assert statuses == {200: 20, 429: 5}
    assert len(hashed) == 20  # nobody's password is hashed after that
    refused = log_in(Client(), "another")
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert b"wait a minute" in refused.content


@pytest.mark.medium
def test_an_account_is_tried_ten_times_a_minute_from_wherever(settings):
    settings.EARNEST_TRUSTED_PROXIES = 1
    statuses = [
        log_in(Client(), name, **{"X-Forwarded-For": f"10.0.0.{n}"}).status_code
        for n, name in enumerate(["ada", "ADA", " ada "] * 4)
    ]
    assert statuses == [200] * 10 + [429] * 2


@pytest.mark.medium
def test_a_class_logs_in_behind_one_address():
    get_user_model().objects.create_user("ada", password="right-and-long")
    right = {"username": "ada", "password": "right-and-long"}
    assert [Client().post("/login/", right).status_code for _ in range(25)] == [302] * 25
    statuses = Counter(log_in(Client(), f"name-{n}").status_code for n in range(25))
    assert statuses == {200: 20, 429: 5}  # what succeeded gave no credit to what did not


@pytest.mark.parametrize(
    ("path", "statuses"),
    [("/login/second/", {302: 20, 429: 2}), ("/login/passkey/", {302: 20, 429: 2})],
)
@pytest.mark.medium
def test_every_door_is_counted(path, statuses):
    assert Counter(Client().post(path, {"code": "1"}).status_code for _ in range(22)) == statuses


@pytest.mark.medium
def test_who_is_logged_in_shows_who_they_are_ten_times_a_minute():
    client = Client()
    client.force_login(get_user_model().objects.create_user("ada", password="right-and-long"))
    wrong = {"password": "wrong", "old_password": "wrong"}
    assert [client.post("/account/confirm/", wrong).status_code for _ in range(9)] == [200] * 9
    assert [client.post("/password/", wrong).status_code for _ in range(2)] == [200, 429]


@pytest.mark.medium
def test_strangers_lock_nobody_out_of_a_browser_that_has_logged_in_before(settings):
    settings.EARNEST_TRUSTED_PROXIES = 1
    get_user_model().objects.create_user("ada", password="right-and-long")
    right = {"username": "ada", "password": "right-and-long"}
    own, other = Client(), Client()
    assert own.post("/login/", right).status_code == 302
    for n in range(12):
        log_in(Client(), **{"X-Forwarded-For": f"10.0.0.{n}"})
    assert other.post("/login/", right).status_code == 429
    own.post("/logout/")
    assert own.post("/login/", right).status_code == 302
    own.post("/logout/")
    other.cookies[limits.KNOWN_BROWSER] = "forged"
    assert other.post("/login/", right).status_code == 429
    # The cookie opens no second account, and its browser has ten guesses a minute like all others.
    get_user_model().objects.create_user("bob", password="right-and-long")
    for n in range(12):
        log_in(Client(), "bob", **{"X-Forwarded-For": f"10.1.0.{n}"})
    assert own.post("/login/", right | {"username": "bob"}).status_code == 429
    assert Counter(log_in(own).status_code for _ in range(12)) == {200: 10, 429: 2}


def test_who_is_known_and_who_is_not_are_hashed_alike(monkeypatch):
    get_user_model().objects.create_user("ada", password="right-and-long")
    hasher = type(get_hasher())
    hashed: list[str] = []
    encode = hasher.encode

    def counted(self, password, *args):
        hashed.append(password)
        return encode(self, password, *args)

    monkeypatch.setattr(hasher, "encode", counted)
    for name in ("ada", "nobody"):
        hashed.clear()
        log_in(Client(), name)
        assert hashed == ["wrong"]


def test_a_failed_log_in_is_logged_without_name_or_address(caplog):
    log_in(Client(), "my-secret-password")
    assert "a login failed, from address #" in caplog.text
    assert "my-secret-password" not in caplog.text
    assert "127.0.0.1" not in caplog.text


def test_the_address_is_the_last_that_a_trusted_proxy_added(rf, settings):
    request = rf.get("/", headers={"X-Forwarded-For": "6.6.6.6, 5.5.5.5, 4.4.4.4"})
    for trusted, address in ((0, "127.0.0.1"), (1, "4.4.4.4"), (2, "5.5.5.5"), (9, "127.0.0.1")):
        settings.EARNEST_TRUSTED_PROXIES = trusted
        assert limits.client_address(request) == address


@pytest.mark.medium
def test_entering_is_limited_by_address_but_not_for_scripted_raters(monkeypatch):
    few = limits.Limit("entering from an address", ("landing",), 3, 60, limits._person)
    monkeypatch.setattr(limits, "LIMITS", (few,))
    study = make_study()
    door, token = f"/r/{study.link}/", signing.dumps(study.key, salt="simulate")
    assert [Client().post(door).status_code for _ in range(5)] == [422] * 3 + [429] * 2
    scripted = [Client().post(door, {"simulate": token}).status_code for _ in range(5)]
    assert scripted == [422] * 5
    assert [Client().get(door).status_code for _ in range(5)] == [200] * 5  # reading is not counted


@pytest.mark.medium
def test_one_address_cannot_fill_an_open_link_with_sessions_hour_by_hour(monkeypatch, settings):
    (hourly,) = (
        each for each in limits.LIMITS if "landing" in each.routes and each.seconds == 3600
    )
    assert hourly.requests == settings.EARNEST_ENTRIES_PER_HOUR
    monkeypatch.setattr(limits, "LIMITS", (replace(hourly, requests=3),))
    door = f"/r/{make_study().link}/"
    clients = [Client() for _ in range(5)]
    entered = [each.post(door, {"consent": "yes"}) for each in clients]
    assert [each.status_code for each in entered] == [302] * 3 + [429] * 2
    page = entered[-1].content.decode()
    assert "Too many sessions have been started from your network in the last hour." in page
    assert "Please try again in 60 min." in page
    assert 3500 < int(entered[-1]["Retry-After"]) <= 3600
    assert clients[0].get(entered[0]["Location"]).status_code == 200  # who is in goes on
    again = Client().post(door, {"consent": "yes"}, REMOTE_ADDR="192.0.2.9")
    assert again.status_code == 302


@pytest.mark.medium
def test_only_the_limit_of_sessions_speaks_of_sessions(monkeypatch):
    (channels,) = (each for each in limits.LIMITS if "messages-do" in each.routes)
    assert channels.seconds > 60
    asked = replace(channels, routes=("landing",), requests=1, key=limits.client_network)
    monkeypatch.setattr(limits, "LIMITS", (asked,))
    door = f"/r/{make_study().link}/"
    assert Client().post(door).status_code == 422
    refused = Client().post(door)
    assert refused.status_code == 429
    assert "Too many requests at once." in refused.content.decode()


def test_a_rater_who_answers_too_often_is_told_so_in_json_and_keeps_the_answer(monkeypatch):
    few = limits.Limit("answers of a session", ("api-answers",), 2, 60, limits._session)
    monkeypatch.setattr(limits, "LIMITS", (few,))
    one, other = arrive(make_study()), arrive(make_study(key="other"))
    statuses = []
    for session in (one, one, one, other):
        url = f"/api/s/{session.code}/answers/"
        response = Client().post(url, b"{}", content_type="application/json")
        statuses.append(response.status_code)
        if response.status_code == 429:
            assert json.loads(response.content)["error"] == "too_many"
            assert int(response["Retry-After"]) >= 1
    assert statuses == [422, 422, 429, 422]  # 429 is a status that the page tries again


def test_without_valkey_nobody_is_turned_away_and_the_log_says_so(monkeypatch, caplog):
    def away(*args):
        raise Away("no such socket")

    monkeypatch.setattr(limits._Throttle, "allow_request", away)
    assert log_in(Client()).status_code == 200
    assert "are not counted: no such socket" in caplog.text


@pytest.mark.medium
def test_a_browser_that_has_logged_in_is_known_before_it_waits():
    get_user_model().objects.create_user("ada", password="right-and-long")
    client = Client()
    client.post("/login/", {"username": "ada", "password": "right-and-long"})
    known = client.cookies[limits.KNOWN_BROWSER].value

    def asker(cookie: str) -> Asker:
        headers = [(b"cookie", f"a=b; {limits.KNOWN_BROWSER}={cookie}".encode())]
        return limits.asker_of({"headers": headers, "client": ("192.0.2.7", 1)})

    assert asker(known).known
    assert asker(known) == asker(known)
    assert asker(known[:-1] + ("A" if known[-1] != "A" else "B")) == Asker("192.0.2.7")
    assert asker("") == Asker("192.0.2.7")


# --- Threads -------------------------------------------------------------------------------------


class Held:
    """A queue whose threads do nothing until they are let go on; who was served, in order."""

    def __init__(self, threads: int, waiting: int) -> None:
        self.queue = Queue("held", threads, waiting, fair=True)
        self.served: list[str] = []
        self.displaced: list[str] = []
        self.goes_on = threading.Event()

    def ask(self, key: str, *, known: bool = False) -> bool:
        asker = Asker(key, known)
        if not self.queue.has_room(asker):
            return False
        done = self.queue.run(asker, self._serve, key)
        done.add_done_callback(lambda ended: self.displaced.extend([key] * bool(ended.exception())))
        return True

    def _serve(self, key: str) -> None:
        self.goes_on.wait(30)
        self.served.append(key)

    async def finish(self) -> None:
        self.goes_on.set()
        while self.queue.inside:
            await asyncio.sleep(0)
        await asyncio.sleep(0)


def test_wrong_log_ins_from_twenty_addresses_do_not_keep_the_right_ones_out():
    async def attack() -> Held:
        held = Held(threads=1, waiting=web.WAITING["logins"])
        let_in = [held.ask(f"192.0.2.{n % 20}") for n in range(400)]
        assert sum(let_in) == 1 + web.WAITING["logins"]
        assert held.ask("right")
        assert held.ask("right, before", known=True)
        assert not held.ask("192.0.2.3")
        await held.finish()
        return held

    held = asyncio.run(attack())
    assert held.served.index("right, before") == 1  # after the one that was under way
    assert held.served.index("right") <= 22
    assert len(held.displaced) == 1
    assert held.displaced[0].startswith("192.0.2.")


def test_one_address_gives_way_to_the_others_and_takes_what_is_free():
    async def fill() -> Held:
        held = Held(threads=1, waiting=6)
        assert [held.ask("one") for _ in range(9)] == [True] * 7 + [False] * 2
        assert [held.ask("two") for _ in range(4)] == [True] * 3 + [False]
        assert held.ask("three")
        await held.finish()
        return held

    held = asyncio.run(fill())
    assert held.served == ["one", "one", "two", "three", "one", "two", "two"]
    assert Counter(held.displaced) == {"one": 4}


def test_known_browsers_go_first_and_starve_nobody():
    async def both() -> Held:
        held = Held(threads=1, waiting=10)
        held.ask("under way")
        for n in range(3):
            held.ask(f"stranger {n}")
        for n in range(8):
            held.ask(f"known {n % 2}", known=True)
        await held.finish()
        return held

    served = asyncio.run(both()).served
    assert [each.partition(" ")[0] for each in served[1:]] == (
        ["known"] * 3 + ["stranger"] + ["known"] * 3 + ["stranger"] + ["known"] * 2 + ["stranger"]
    )


def test_no_asker_and_not_all_strangers_hold_the_last_thread():
    async def crowd() -> None:
        held = Held(threads=3, waiting=10)
        for n in range(5):
            held.ask(f"stranger {n}")
        assert held.queue.running.total() == 2
        for _ in range(3):
            held.ask("busy", known=True)
        assert held.queue.running.total() == 3
        await held.finish()
        assert len(held.served) == 8

        alone = Held(threads=3, waiting=10)
        for _ in range(5):
            alone.ask("busy", known=True)
        assert alone.queue.running.total() == 2
        alone.ask("another", known=True)
        assert alone.queue.running.total() == 3
        await alone.finish()

    asyncio.run(crowd())


def test_what_breaks_in_a_thread_reaches_who_waits():
    def breaks() -> None:
        raise ValueError("broken")

    async def ask() -> None:
        queue = Queue("breaks", 1, 1)
        with pytest.raises(ValueError, match="broken"):
            await queue.run(Asker(), breaks)
        assert queue.inside == 0

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("method", "path", "queue"),
    [
        ("POST", "/login/", "logins"),
        ("POST", "/sign-on/uni/", "sign-ons"),
        ("GET", "/login/", "researchers"),
        ("POST", "/api/s/x/answers/", "raters"),
        ("GET", "/api/v1/studies/x/ratings", "researchers"),
        ("GET", "/r/x/", "raters"),
        ("GET", "/s/x/", "raters"),
        ("GET", "/studies/x/", "researchers"),
    ],
)
def test_raters_share_their_threads_with_nobody(method, path, queue):
    assert web.queue_of(method, path) == queue


def test_a_full_queue_sends_away_and_the_others_go_on():
    held = threading.Event()

    def pages(environ, start_response):
        if environ["PATH_INFO"] == "/slow":
            held.wait(30)
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    queues = {"slow": Queue("slow", 1, 1), "quick": Queue("quick", 1, 1)}
    bridge = Bridge(
        pages,
        queues=queues,
        max_body_bytes=100,
        queue_of=lambda method, path: "slow" if path == "/slow" else "quick",
        unavailable=unavailable.answer,
    )

    async def ask(path: str) -> tuple[int, dict[bytes, bytes]]:
        heads = []

        async def receive():
            if heads or not asked:
                await asyncio.sleep(3600)
            asked.clear()
            return {"type": "http.request", "body": b""}

        async def send(message):
            if message["type"] == "http.response.start":
                heads.append(message)

        asked = [True]
        scope = {"type": "http", "method": "GET", "path": path, "headers": []}
        await bridge(scope, receive, send)
        return heads[0]["status"], dict(heads[0]["headers"])

    async def all_of_them():
        slow = [asyncio.create_task(ask("/slow")) for _ in range(2)]
        while queues["slow"].inside < 2:
            await asyncio.sleep(0)
        status, headers = await ask("/slow")
        assert status == HTTPStatus.SERVICE_UNAVAILABLE
        assert 5 <= int(headers[b"retry-after"]) <= 15
        assert (await ask("/quick"))[0] == 200
        held.set()
        assert [status for status, _ in await asyncio.gather(*slow)] == [200, 200]

    asyncio.run(all_of_them())
    assert queues["slow"].inside == 0


def test_who_waits_for_a_database_that_hangs_is_told_to_come_back():
    held, reached = threading.Event(), []

    def pages(environ, start_response):
        reached.append(environ["PATH_INFO"])
        held.wait(30)
        start_response("200 OK", [])
        return [environ["wsgi.input"].read()]  # what was sent stays readable

    queue = Queue("hangs", 1, 5, patience_s=0.05)
    bridge = Bridge(
        pages,
        queues={"hangs": queue},
        max_body_bytes=100,
        queue_of=lambda method, path: "hangs",
        unavailable=unavailable.answer,
    )

    async def ask(path: str) -> list[dict]:
        sent, bodies = [], [b"sent"]

        async def receive():
            if not bodies:
                await asyncio.sleep(3600)
            return {"type": "http.request", "body": bodies.pop()}

        async def send(message):
            sent.append(message)

        await bridge({"type": "http", "method": "POST", "path": path, "headers": []}, receive, send)
        return sent

    async def all_of_them():
        page, api = await asyncio.gather(ask("/r/x/"), ask("/api/s/x/answers/"))
        for head, body in (page, api):
            assert head["status"] == HTTPStatus.SERVICE_UNAVAILABLE
            assert 5 <= int(dict(head["headers"])[b"retry-after"]) <= 15
            assert b"not your fault" in body["body"]
        assert json.loads(api[1]["body"])["error"] == "unavailable"
        held.set()
        while queue.inside:
            await asyncio.sleep(0)

    asyncio.run(all_of_them())
    assert reached == ["/r/x/"]  # what still waited is not done behind anybody's back
