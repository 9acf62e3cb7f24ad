"""Kill -9 of everything in turn while raters submit: each acknowledged answer is there, once."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx
import pytest
from psycopg.types.json import Jsonb

from tests.config.helpers import PATIENCE_S, RETRY_S, own_folder, processes_in, wait_for
from tests.demo_house import DemoHouse
from tests.migrated_house import migrated_into
from tests.visitor import Visitor, answer_to

pytestmark = pytest.mark.slow

RATERS = 4
VICTIMS = ("web", "web worker", "postgres", "valkey", "jobs", "postgres keeper")
FEW = ("web", "postgres keeper")  # the others die at once and with the supervisor
AT_ONCE = ("postgres", "valkey", "web worker")
ENOUGH = 15  # answers acknowledged between two kills
WORD = {
    **{"key": "word", "question": "A word?", "kind": "text", "options": [], "help": ""},
    **{"required": True, "low": None, "high": None, "longest": 80, "show_if": None},
    "screen_out": [],
}
FORM = {  # in the middle of each session: after its first task
    **{"key": "between", "when": "after_task", "task": [], "title": "", "text": "", "use": []},
    **{"ready": [], "questions": [WORD]},
}


@dataclass
class Crowd:
    """Threads that take one session after the other, and send again what was not acknowledged."""

    house: DemoHouse
    acknowledged: dict[str, tuple[str, int]] = field(default_factory=dict)  # trial: label, how many
    forms: dict[tuple[str, str], str] = field(default_factory=dict)  # session, occasion: the word
    repeats: int = 0
    sent_again: int = 0
    wrong: list[str] = field(default_factory=list)
    earlier: set[str] = field(default_factory=set)  # trials that others answered before
    own_questionnaires: object = None
    stopping: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        ((self.link, self.own_questionnaires),) = (
            row.values()
            for row in self.house.rows(
                "SELECT link, questionnaires FROM listening_study WHERE key = 'demo'"
            )
        )
        self.ask_in_between([FORM])
        self.earlier = {row["code"] for row in stored_ratings(self.house)}
        self.token = self.house.simulate_token()
        self.threads = [threading.Thread(target=self.work) for _ in range(RATERS)]
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join(PATIENCE_S)
        self.ask_in_between(self.own_questionnaires)

    def ask_in_between(self, questionnaires: object) -> None:
        """Give the demo study these questionnaires."""
        change = "UPDATE listening_study SET questionnaires = %s WHERE key = 'demo' RETURNING key"
        assert self.house.column(change, Jsonb(questionnaires)) == ["demo"]

    def work(self) -> None:
        while not self.stopping.is_set():
            visitor = Visitor(self.house.url, self.link, self.token, patience_s=RETRY_S)
            try:
                self.take(visitor)
            except Exception as error:  # a test must hear of whatever ends a thread
                self.wrong.append(repr(error))
                return
            finally:
                visitor.client.close()

    def patiently(self, ask: Callable[[], httpx.Response]) -> httpx.Response | None:
        """The first answer that is no failure of the server; None when the crowd is to stop."""
        while not self.stopping.is_set():
            try:
                response = ask()
                if response.status_code < 500:
                    return response
            except httpx.TransportError:
                pass
            self.sent_again += 1
            self.stopping.wait(0.1)
        return None

    def take(self, visitor: Visitor) -> None:
        """One session, from the door; an arrival is tried until one works."""
        entered = self.patiently(lambda: self.enter(visitor))
        if entered is None:
            return
        state = entered.json()
        if state["stage"] == "check":
            answer = {"key": "volume", "answer": {"comfortable": True}}
            passed = self.patiently(lambda: visitor.post("checks", answer))
            if passed is None:
                return
            state = passed.json()
        while state["stage"] != "end":
            if state["stage"] == "questionnaire":
                filled = self.fill_in(visitor, state["questionnaire"]["key"])
                if filled is None:
                    return
                state = filled.json()
                continue
            body = answer_to(state)
            response = self.patiently(lambda body=body: visitor.post("answers", body))  # type: ignore[misc]  # mypy infers no default
            if response is None:
                return
            if response.status_code not in (200, 201):
                self.wrong.append(f"{response.status_code} {response.text[:200]}")
                return
            with self.lock:
                self.acknowledged[body["trial"]] = (body["answers"]["0"], len(body["answers"]))
                self.repeats += response.json()["repeat"]
            state = response.json()["state"]

    def fill_in(self, visitor: Visitor, key: str) -> httpx.Response | None:
        """A questionnaire between the tasks, with a word that only this form has."""
        word = f"{visitor.code} {key}"
        body = {"key": key, "answers": {"word": word}}
        response = self.patiently(lambda: visitor.post("questionnaires", body))
        if response is not None:
            assert response.status_code == 200, response.text[:200]
            with self.lock:
                self.forms[visitor.code, key] = word
        return response

    def enter(self, visitor: Visitor) -> httpx.Response:
        if not visitor.code:
            try:
                visitor.arrive()
            except (AssertionError, ValueError):  # a page that failed half-way
                visitor.code = ""
                return httpx.Response(503)
        return visitor.get(f"/api/s/{visitor.code}/")


def test_every_acknowledged_answer_survives_kill_9_of_everything(demo_house: DemoHouse):
    lose_nothing(demo_house, FEW)


@pytest.mark.soak
@pytest.mark.parametrize("nth", range(1, 34))
def test_every_acknowledged_answer_survives_kill_9_of_each_process(nth: int):
    with own_folder() as var:
        migrated_into(var)
        house = DemoHouse(var).start()
        try:
            lose_nothing(house, VICTIMS)
        finally:
            house.close()


def lose_nothing(house: DemoHouse, victims: Sequence[str]) -> None:
    """Compare what is stored after all kills with what was acknowledged."""
    crowd, healed = Crowd(house), dict[str, float]()
    crowd.start()
    try:
        kill_one_after_the_other(house, crowd, healed, victims)
    finally:
        crowd.stop()
    report(house, crowd, healed)


def kill_one_after_the_other(
    house: DemoHouse, crowd: Crowd, healed: dict[str, float], victims: Sequence[str]
) -> None:
    """Notes in ``healed`` how many seconds each kill kept the raters waiting."""
    for victim in victims:
        wait_for_answers(crowd, ENOUGH)
        healed[victim] = kill(house, crowd, victim)
    wait_for_answers(crowd, ENOUGH)
    healed["a database backend"] = kill_a_backend(house, crowd)
    wait_for_answers(crowd, ENOUGH)
    healed["three at once"] = kill(house, crowd, *AT_ONCE)
    wait_for_answers(crowd, ENOUGH)
    healed["supervisor"] = kill_and_start_again(house, crowd)
    wait_for_answers(crowd, ENOUGH)


def wait_for_answers(crowd: Crowd, count: int) -> None:
    goal = len(crowd.acknowledged) + count
    wait_for(lambda: crowd.wrong or len(crowd.acknowledged) >= goal)
    assert crowd.wrong == []


def kill(house: DemoHouse, crowd: Crowd, *names: str) -> float:
    """Seconds from the kill until others are in their places and an answer was acknowledged."""
    victims = {name: wait_for(partial(house.part, name)) for name in names}
    began = time.monotonic()
    for victim in victims.values():
        victim.kill()

    def healed() -> bool:
        parts = {name: house.part(name) for name in names}
        fresh = all(part and part.pid != victims[name].pid for name, part in parts.items())
        return fresh and house.health() == 200

    wait_for(healed)
    wait_for_answers(crowd, 1)
    return time.monotonic() - began


def kill_a_backend(house: DemoHouse, crowd: Crowd) -> float:
    """One connection's process: PostgreSQL then drops all others and recovers by itself."""
    server = wait_for(partial(house.part, "postgres"))
    (pid,) = house.column(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
        " AND pid <> pg_backend_pid() ORDER BY query_start DESC LIMIT 1"
    )
    began = time.monotonic()
    next(child for child in server.children() if child.pid == pid).kill()
    wait_for_answers(crowd, ENOUGH)
    same = house.part("postgres")
    assert same is not None
    assert same.pid == server.pid
    return time.monotonic() - began


def kill_and_start_again(house: DemoHouse, crowd: Crowd) -> float:
    began = time.monotonic()
    login = (house.var / "researcher-login.txt").read_text()
    house.process.kill()
    house.process.wait(PATIENCE_S)
    wait_for(lambda: processes_in(house.var) == [])
    prepared = (house.var / "logs" / "prepare.log").read_text()
    house.start()
    wait_for_answers(crowd, 1)
    # nothing has changed, so nothing was prepared again
    assert (house.var / "logs" / "prepare.log").read_text() == prepared
    assert (house.var / "researcher-login.txt").read_text() == login
    return time.monotonic() - began


def report(house: DemoHouse, crowd: Crowd, healed: dict[str, float]) -> None:
    """Compares what was promised with what the database holds, and says it in one line."""
    rows = [row for row in stored_ratings(house) if row["code"] not in crowd.earlier]
    stored = {row["code"]: (row["label"], row["ratings"]) for row in rows}
    lost = crowd.acknowledged.keys() - stored.keys()
    unasked = len(stored.keys() - crowd.acknowledged.keys())
    times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in healed.items())
    print(
        f"\nacknowledged {len(crowd.acknowledged)}, stored {len(stored)}, lost {len(lost)}; "
        f"sent again {crowd.sent_again}, of these stored already {crowd.repeats}; healed: {times}"
    )
    assert lost == set()
    assert {code: stored[code] for code in crowd.acknowledged} == crowd.acknowledged
    assert all(row["ratings"] == row["criteria"] for row in rows)
    assert unasked <= RATERS  # stored, but the crowd was stopped before it heard so
    assert counted_twice(house) == Counter()
    forms = {
        (row["code"], key): given["answers"]["word"]
        for row in house.rows("SELECT code, questionnaires FROM listening_session")
        for key, given in row["questionnaires"].items()
        if key.startswith(FORM["key"])
    }
    assert crowd.forms
    assert {each: forms.get(each) for each in crowd.forms} == crowd.forms
    for safety in ("fsync", "synchronous_commit", "full_page_writes"):  # for lost power, not tested
        assert house.column(f"SHOW {safety}") == ["on"]


def stored_ratings(house: DemoHouse) -> list[dict[str, Any]]:
    """Each answered trial: how many ratings, the first label, of how many criteria."""
    return house.rows(
        "SELECT t.code, count(*) AS ratings, min(r.label) AS label, count(DISTINCT r.criterion_id)"
        " AS criteria FROM listening_rating r JOIN listening_trial t ON t.id = r.trial_id"
        " JOIN listening_session s ON s.id = t.session_id"
        " JOIN listening_study y ON y.id = s.study_id WHERE y.key = 'demo' GROUP BY t.code"
    )


def counted_twice(house: DemoHouse) -> Counter[int]:
    slots = house.column("SELECT slot_id FROM listening_rating WHERE counts")
    return Counter({slot: n for slot, n in Counter(slots).items() if n > 1})
