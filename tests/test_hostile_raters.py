"""Raters who do things twice and all at once: one session, one rating, one end."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import httpx
import pytest

from tests.config.helpers import PATIENCE_S
from tests.demo_house import DemoHouse
from tests.visitor import Visitor, answer_to

pytestmark = pytest.mark.slow


def together(asks: Sequence[Callable[[], httpx.Response]]) -> list[httpx.Response]:
    """All at once, each in a thread of its own."""
    answers: list[Any] = [None] * len(asks)
    gate = threading.Barrier(len(asks))

    def ask(place: int) -> None:
        gate.wait()
        try:
            answers[place] = asks[place]()
        except Exception as error:  # looked at below, in the test's own thread
            answers[place] = error

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(asks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(a, httpx.Response) for a in answers), answers
    return answers


def doubles(house: DemoHouse, visitor: Visitor, count: int) -> list[Visitor]:
    """Other windows of the same browser."""
    copies = [house.visitor() for _ in range(count)]
    for copy in copies:
        copy.code = visitor.code
        copy.client.cookies.update(visitor.client.cookies)
    return copies


def ready(house: DemoHouse) -> tuple[Visitor, dict[str, Any]]:
    visitor = house.visitor()
    return visitor, visitor.pass_checks(visitor.arrive())


def test_twenty_arrivals_of_one_rater_make_one_session(demo_house: DemoHouse):
    ids = {"PROLIFIC_PID": "a1" * 12, "STUDY_ID": "b2" * 12, "SESSION_ID": "c3" * 12}
    visitors = [demo_house.visitor(**ids) for _ in range(20)]
    asks = []
    for visitor in visitors:
        form = {**ids, "simulate": visitor.simulate}
        page = visitor.get(f"/r/{visitor.link}/", params=form)
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert found
        form |= {"consent": "yes", "csrfmiddlewaretoken": found[1]}
        door = f"/r/{visitor.link}/"
        asks.append(partial(visitor.ask, "POST", door, data=form))
    entered = together(asks)
    assert {r.status_code for r in entered} == {302}
    assert len({r.headers["location"] for r in entered}) == 1
    rows = demo_house.rows(
        "SELECT count(DISTINCT r.id) AS raters, count(DISTINCT s.id) AS sessions,"
        " count(DISTINCT b.id) AS blocks FROM listening_rater r JOIN listening_session s"
        " ON s.rater_id = r.id JOIN listening_block b ON b.session_id = s.id"
        " WHERE r.id IN (SELECT o.rater_id FROM listening_session o WHERE o.code = %s)",
        entered[0].headers["location"].strip("/").rpartition("/")[2],
    )
    ids_stored = demo_house.rows("SELECT prolific_id FROM listening_rater")
    sealed = [row["prolific_id"] for row in ids_stored if row["prolific_id"]]
    assert len(set(sealed)) == len(sealed)  # one row of this id: the same id has the same seal
    assert rows == [{"raters": 1, "sessions": 1, "blocks": 2}]  # a block of each task


def test_twenty_different_answers_to_one_trial_store_the_first(demo_house: DemoHouse):
    visitor, state = ready(demo_house)
    trial = state["trials"][0]
    steps = state["tasks"][trial["task"]]["criteria"][0]["scale"]["steps"]
    windows = doubles(demo_house, visitor, 20)
    bodies = [
        {**answer_to(state), "answers": {"0": steps[place % len(steps)]["label"]}}
        for place in range(len(windows))
    ]
    answers = together(
        [partial(w.post, "answers", body) for w, body in zip(windows, bodies, strict=True)]
    )
    assert Counter(a.status_code for a in answers) == {201: 1, 200: 19}
    assert Counter(a.json()["repeat"] for a in answers) == {False: 1, True: 19}
    stored = demo_house.rows(
        "SELECT q.label FROM listening_rating q JOIN listening_trial t ON t.id = q.trial_id"
        " WHERE t.code = %s",
        trial["id"],
    )
    first = next(b for a, b in zip(answers, bodies, strict=True) if a.status_code == 201)
    assert stored == [{"label": first["answers"]["0"]}]
    progress = [a.json()["state"]["progress"]["done"] for a in answers]
    assert set(progress) == {1}


def test_answers_reloads_and_the_next_answer_at_once_keep_the_order(demo_house: DemoHouse):
    visitor, state = ready(demo_house)
    now, later = answer_to(state), answer_to(state, state["trials"][1])
    asks: list[Callable[[], httpx.Response]] = []
    for place, window in enumerate(doubles(demo_house, visitor, 16)):
        kinds: list[Callable[[], httpx.Response]] = [
            partial(window.post, "answers", now),
            partial(window.post, "answers", later),
            partial(window.get, f"/s/{visitor.code}/"),
            partial(window.get, f"/api/s/{visitor.code}/"),
        ]
        asks.append(kinds[place % 4])
    statuses = Counter(a.status_code for a in together(asks))
    assert set(statuses) <= {200, 201, 409}
    assert statuses[201] in (1, 2)
    rows = demo_house.rows(
        "SELECT position FROM listening_trial t JOIN listening_session s ON s.id = t.session_id"
        " WHERE s.code = %s AND t.state = 'answered' ORDER BY answered_at",
        visitor.code,
    )
    assert [row["position"] for row in rows] == list(range(1, statuses[201] + 1))


def test_withdrawal_wins_over_answers_and_checks_at_the_same_moment(demo_house: DemoHouse):
    for _ in range(3):
        visitor, state = ready(demo_house)
        answer, check = answer_to(state), {"key": "volume", "answer": {"comfortable": True}}
        asks: list[Callable[[], httpx.Response]] = []
        for place, window in enumerate(doubles(demo_house, visitor, 9)):
            kinds: list[Callable[[], httpx.Response]] = [
                partial(window.post, "answers", answer),
                partial(window.post, "withdraw", {"confirm": True}),
                partial(window.post, "checks", check),
            ]
            asks.append(kinds[place % 3])
        assert {a.status_code for a in together(asks)} <= {200, 201, 404}
        assert visitor.state()["end"]["outcome"] == "withdrawn"
        rows = demo_house.rows(
            "SELECT s.status, s.checks, s.device, count(t.id) AS trials,"
            " (SELECT count(*) FROM listening_block b WHERE b.session_id = s.id) AS blocks"
            " FROM listening_session s LEFT JOIN listening_trial t ON t.session_id = s.id"
            " WHERE s.code = %s GROUP BY s.id",
            visitor.code,
        )
        empty = {"status": "withdrawn", "checks": {}, "device": "", "trials": 0, "blocks": 0}
        assert rows == [empty]


def test_a_session_that_ended_takes_nothing_more(demo_house: DemoHouse):
    visitor, state = ready(demo_house)
    first = answer_to(state)
    end = visitor.take_all(state)["end"]
    assert end["outcome"] == "complete"
    assert re.fullmatch(r"[A-Z0-9]{8}", end["code"])
    repeat = visitor.post("answers", {**first, "answers": {"0": "Machine"}})
    assert (repeat.status_code, repeat.json()["repeat"]) == (200, True)
    assert visitor.reload()["end"] == end


def test_strangers_requests_never_break_a_page(demo_house: DemoHouse):
    """Raw bytes on the one port, as no browser sends them."""
    with httpx.Client(base_url=demo_house.url, timeout=PATIENCE_S) as client:
        url = f"/api/s/{ready(demo_house)[0].code}/answers/"
        headers = {"Content-Type": "application/json", "X-CSRFToken": "x"}
        for body in (b"", b"\x00" * 1000, b"[" * 50_000, b"\xff" * 100, b'"' * 10_000):
            assert client.post(url, content=body, headers=headers).status_code == 403
        for path in ("/r/%00/", "/s/%ff/", "/c/%00%00", "/checks/%2e%2e.wav", "/static/%2e%2e/x"):
            assert client.get(path).status_code == 404
        assert client.get(f"/r/x/?{'a' * 20_000}").status_code in (404, 414, 431)
        large = b"x" * (17 * 1024**2)
        assert client.post(url, content=large, headers=headers).status_code == 413
    # A refused body may hang up: another connection.
    with httpx.Client(base_url=demo_house.url, timeout=PATIENCE_S) as client:
        assert client.get("/readyz", headers={"Host": "evil.example"}).status_code == 400
        assert client.get("/readyz").status_code == 200
