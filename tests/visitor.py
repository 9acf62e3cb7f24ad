"""A rater's browser for tests: pages, forms, JSON and clips over real HTTP, all recorded."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

State = dict[str, Any]
PASSED = {"volume": {"comfortable": True}}
REASON = {"text": "The pauses are where a reader would breathe.", "keystrokes": 44}


@dataclass
class Seen:
    """One answer of the server, with what was asked."""

    method: str
    url: str
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    seconds: float

    @property
    def media_type(self) -> str:
        return dict(self.headers).get("content-type", "").partition(";")[0]

    @property
    def head(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.headers)


@dataclass
class Visitor:
    """One browser that takes a study; `simulate` is the token that marks its rater as scripted."""

    base_url: str
    link: str
    simulate: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    code: str = ""
    seen: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = httpx.Client(base_url=self.base_url, timeout=30)

    def ask(self, method: str, url: str, **content: Any) -> httpx.Response:
        began = time.perf_counter()
        response = self.client.request(method, url, **content)
        seconds = time.perf_counter() - began
        headers = [(name.lower(), value) for name, value in response.headers.multi_items()]
        seen = Seen(method, str(response.url), response.status_code, headers, b"", seconds)
        seen.body = response.content
        self.seen.append(seen)
        return response

    def get(self, url: str, **content: Any) -> httpx.Response:
        return self.ask("GET", url, **content)

    # --- From the door to the end ----------------------------------------------------------------

    def arrive(self) -> State:
        """Consents at the door and enters; the first state."""
        query = {**self.ids, **({"simulate": self.simulate} if self.simulate else {})}
        door = f"/r/{self.link}/"
        page = self.get(door, params=query)
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert found, page.text
        form = {**query, "consent": "yes", "csrfmiddlewaretoken": found[1]}
        entered = self.ask("POST", door, data=form, headers={"Referer": f"{self.base_url}{door}"})
        assert entered.status_code == 302, entered.text
        self.code = entered.headers["location"].strip("/").rpartition("/")[2]
        return self.reload()

    def reload(self) -> State:
        assert self.get(f"/s/{self.code}/").status_code == 200
        return self.state()

    def state(self) -> State:
        state: State = self.get(f"/api/s/{self.code}/").json()
        return state

    def post(self, door: str, body: object, **headers: str) -> httpx.Response:
        token = {"X-CSRFToken": self.client.cookies.get("csrftoken", "")}
        url = f"/api/s/{self.code}/{door}/"
        return self.ask("POST", url, json=body, headers={**token, **headers})

    def pass_checks(self, state: State) -> State:
        while state["stage"] == "check":
            key = state["check"]["key"]
            self.get(state["check"]["clip"])
            state = self.post("checks", {"key": key, "answer": PASSED[key]}).json()
        return state

    def answer(self, state: State, **changes: Any) -> httpx.Response:
        """Answers the current trial with the first step of each scale."""
        return self.post("answers", {**answer_to(state), **changes})

    def take_all(self, state: State) -> State:
        """From wherever the session is to its end, without listening."""
        state = self.pass_checks(state)
        while state["stage"] == "trial":
            response = self.answer(state)
            assert response.status_code == 201, response.text
            state = response.json()["state"]
        return state


def answer_to(state: State, trial: State | None = None) -> State:
    """A whole answer to a trial of this state: the current one unless another is given."""
    trial = trial or state["trials"][0]
    task = state["tasks"][trial["task"]]
    return {
        "trial": trial["id"],
        "answers": {
            str(criterion["index"]): criterion["scale"]["steps"][0]["label"]
            for criterion in task["criteria"]
        },
        "justification": REASON if task["justification"] else None,
        "latency_ms": 1200,
        "plays": 1,
        "heard_fraction": 1.0,
        "playback": {"stalls": 0, "hidden_ms": 0},
    }
