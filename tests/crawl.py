"""A crawl through whole sessions as raters: each page, clip, error and linked file, recorded."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

from tests.demo_house import DemoHouse
from tests.visitor import Seen, State, Visitor, answer_to


@dataclass
class Crawl:
    """Three raters' visits: one to the end with everything tried, one half-way, one withdrawn."""

    house: DemoHouse
    whole: Visitor
    half: Visitor
    gone: Visitor
    trials: dict[str, dict[str, Any]] = field(default_factory=dict)  # as the page got them
    answers: dict[str, Seen] = field(default_factory=dict)  # by trial code
    clips: dict[str, list[Seen]] = field(default_factory=dict)  # by trial code

    @property
    def seen(self) -> list[Seen]:
        return [*self.whole.seen, *self.half.seen, *self.gone.seen]

    def truth(self) -> dict[str, str]:
        """The kind of trap of each trial of the whole session, "" for none: from the database."""
        rows = self.house.rows(
            "SELECT t.code, t.trap FROM listening_trial t"
            " JOIN listening_session s ON s.id = t.session_id WHERE s.code = %s",
            self.whole.code,
        )
        return {row["code"]: row["trap"] for row in rows}


def crawl_of(house: DemoHouse) -> Crawl:
    whole, state = with_a_trap_amid(house)
    half, gone = house.visitor(), house.visitor()
    crawled = Crawl(house, whole, half, gone)
    half_state = half.pass_checks(half.arrive())
    half.answer(half_state)
    go_through(crawled, state, half_state["trials"][2]["id"])
    gone_state = gone.pass_checks(gone.arrive())
    gone.answer(gone_state)
    gone.post("withdraw", {"confirm": True})
    gone.answer(gone_state)
    gone.reload()
    fetch_everything_linked(whole)
    return crawled


def with_a_trap_amid(house: DemoHouse) -> tuple[Visitor, State]:
    """A rater whose first set holds a trap before its last three trials, as nearly all do."""
    for number in range(20):
        ids = {"PROLIFIC_PID": f"{number:02d}" + "5f" * 11}
        ids |= {"STUDY_ID": "6a" * 12, "SESSION_ID": f"{number:02d}" + "7b" * 11}
        visitor = house.visitor(**ids)
        try_the_door(visitor)
        state = visitor.arrive()
        rows = house.rows(
            "SELECT t.trap FROM listening_trial t JOIN listening_session s ON s.id = t.session_id"
            " JOIN listening_task k ON k.id = t.task_id WHERE s.code = %s AND k.key = 'att'"
            " ORDER BY t.position",
            visitor.code,
        )
        if any(row["trap"] for row in rows[:-3]):
            return visitor, state
    raise AssertionError("20 raters, and the traps of each were their last trials")


def try_the_door(visitor: Visitor) -> None:
    door = f"/r/{visitor.link}/"
    visitor.get(door)
    visitor.ask("POST", door, data={"consent": "yes"})  # no token
    token = {"csrfmiddlewaretoken": visitor.client.cookies["csrftoken"]}
    visitor.ask("POST", door, data=token)  # no consent
    for url in ("/r/nothere/", "/s/nothere/", "/api/s/nothere/", "/nothing", "/c/nothing", "/c/"):
        visitor.get(url)
    for method in ("HEAD", "OPTIONS", "PUT", "DELETE"):
        visitor.ask(method, door)


def go_through(crawled: Crawl, state: State, foreign_trial: str) -> None:
    """Every trial, each with its clips in all manners, wrong answers now and then, and reloads."""
    visitor = crawled.whole
    state = visitor.pass_checks(state)
    while state["stage"] == "trial":
        crawled.trials |= {trial["id"]: trial for trial in state["trials"]}
        current = state["trials"][0]
        if current["id"] not in crawled.clips:
            crawled.clips[current["id"]] = [listen(visitor, url) for url in current["clips"]]
        if current["position"] % 5 == 2:
            answer_wrongly(visitor, state, foreign_trial)
            visitor.reload()
        response = visitor.answer(state)
        assert response.status_code == 201, response.text
        crawled.answers[current["id"]] = visitor.seen[-1]
        visitor.answer(state)  # the same again
        state = response.json()["state"]
    visitor.reload()
    visitor.post("checks", {"key": "volume", "answer": {"comfortable": True}})
    visitor.get(f"/r/{visitor.link}/", params=visitor.ids)


def listen(visitor: Visitor, url: str) -> Seen:
    visitor.get(url)
    whole = visitor.seen[-1]
    assert whole.status == 200
    visitor.ask("HEAD", url)
    visitor.get(url, headers={"Range": "bytes=0-99"})
    visitor.get(url, headers={"Range": f"bytes={len(whole.body)}-"})
    visitor.ask("OPTIONS", url)
    return whole


def answer_wrongly(visitor: Visitor, state: dict[str, Any], foreign_trial: str) -> None:
    right = answer_to(state)
    asked = right["justification"] is not None
    unheard: dict[str, Any] = {"justification": {"text": ""}} if asked else {"plays": 0}
    wrongs: tuple[dict[str, Any], ...] = (
        {"answers": {"0": "none of these"}},
        {"answers": {"9": "x"}},
        {"answers": {}},
        {"heard_fraction": 0.1},
        {"trial": "nosuchtrial"},
        {"trial": foreign_trial},
        {"trial": state["trials"][-1]["id"]},
        unheard,
        {"latency_ms": "soon"},
    )
    for wrong in wrongs:
        visitor.post("answers", {**right, **wrong})
    visitor.post("answers", ["nothing"])
    visitor.post("answers", right, **{"X-CSRFToken": "forged"})
    visitor.post("withdraw", {})
    for method in ("HEAD", "OPTIONS", "PUT", "DELETE", "GET"):
        for door in ("", "answers/", "checks/", "withdraw/"):
            visitor.ask(method, f"/api/s/{visitor.code}/{door}")


def fetch_everything_linked(visitor: Visitor) -> None:
    """Every file that the pages and their modules name, and what might lie beside them."""
    base, seen = visitor.base_url, len(visitor.seen)
    todo = {f"{base}/favicon.ico", f"{base}/robots.txt", f"{base}/static/"}
    done: set[str] = set()
    for page in visitor.seen[:seen]:
        todo |= links_of(page)
    while todo - done:
        url = sorted(todo - done)[0]
        done.add(url)
        if url.startswith(base) and "/c/" not in url:
            visitor.get(url)
            todo |= links_of(visitor.seen[-1])


def links_of(seen: Seen) -> set[str]:
    patterns = {
        "text/html": r'(?:src|href)="([^"#?]+)"',
        "text/javascript": r'from "([^"]+)"|import "([^"]+)"',
        "text/css": r'url\("?([^")]+)"?\)',
    }
    pattern = patterns.get(seen.media_type)
    if pattern is None:
        return set()
    found = re.findall(pattern, seen.body.decode())
    names = {"".join(match) if isinstance(match, tuple) else match for match in found}
    return {urljoin(seen.url, name) for name in names if not name.startswith("data:")}
