"""A rater's browser for tests: pages, forms, JSON and clips over real HTTP, all recorded."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx

from tests.config.helpers import PATIENCE_S

State = dict[str, Any]
FACTS = {"heard_s": [2.0], "duration_s": [2.0], "plays_each": [1], "stalls": 0, "hidden_ms": 0}
VOLUME_SET = {"comfortable": True}
REASON = {"text": "The pauses are where a reader would breathe.", "keystrokes": 44}


@cache
def authorities() -> ssl.SSLContext:
    """Certificates that no test looks at; each browser would read them again."""
    return httpx.create_ssl_context()


@dataclass
class Seen:
    """One answer of the server, with what was asked."""

    method: str
    url: str
    status: int
    headers: list[tuple[str, str]]
    body: bytes

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
    truths: Callable[[str, str, int], list[str]] = lambda code, key, attempt: []
    shunned: Mapping[str, Any] = field(default_factory=dict)  # answers that end a session
    patience_s: float = PATIENCE_S

    def __post_init__(self) -> None:
        self.client = httpx.Client(
            base_url=self.base_url, timeout=self.patience_s, verify=authorities()
        )

    def ask(self, method: str, url: str, **content: Any) -> httpx.Response:
        response = self.client.request(method, url, **content)
        headers = [(name.lower(), value) for name, value in response.headers.multi_items()]
        seen = Seen(method, str(response.url), response.status_code, headers, b"")
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
        self.post("loaded", {})
        return self.reload()

    def reload(self) -> State:
        assert self.get(f"/s/{self.code}/").status_code == 200
        return self.state()

    def state(self) -> State:
        state: State = self.get(f"/api/s/{self.code}/").json()
        return state

    def post(self, door: str, body: object, **headers: str) -> httpx.Response:
        names = ("csrftoken", "__Secure-csrftoken")
        token = {"X-CSRFToken": next(filter(None, map(self.client.cookies.get, names)), "")}
        url = f"/api/s/{self.code}/{door}/"
        return self.ask("POST", url, json=body, headers={**token, **headers})

    def pass_checks(self, state: State) -> State:
        """Through questions and checks; `truths` knows what is right in a check."""
        while state["stage"] in ("check", "questionnaire"):
            if state["stage"] == "questionnaire":
                asked = state["questionnaire"]
                body = {"key": asked["key"], "answers": plain_answers(asked, self.shunned)}
                state = self.post("questionnaires", body).json()
                continue
            check = state["check"]
            for url in filter(None, [check["clip"], *(t["clip"] for t in check["trials"])]):
                self.get(url)
            right = self.truths(self.code, check["key"], check["attempt"])
            answer = VOLUME_SET if check["kind"] == "volume" else {"answers": right}
            state = self.post("checks", {"key": check["key"], "answer": answer}).json()
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
            state = self.pass_checks(response.json()["state"])  # some questions come in between
        return state


def answer_to(state: State, trial: State | None = None) -> State:
    """A whole answer to a trial of this state: the current one unless another is given."""
    trial = trial or state["trials"][0]
    task = state["tasks"][trial["task"]]
    return {
        "trial": trial["id"],
        "answers": dict(labels_of(trial, task)),
        "justification": REASON if task["justification"] else None,
        "latency_ms": 1200,
        "plays": 1,
        "heard_fraction": 1.0,
        "playback": FACTS,
    }


def labels_of(trial: State, task: State) -> Iterator[tuple[str, str]]:
    """The first label of each scale; where several clips are rated, one for each."""
    rated = [k for k, part in enumerate(trial["parts"]) if part["role"] == "rated"]
    for criterion in task["criteria"]:
        index, scale = criterion["index"], criterion["scale"]
        if len(rated) == 1:
            own = {**scale, "steps": scale["steps"] or trial.get("alternatives", [])}
            yield f"{index}", first_label(own, 0)
            continue
        for n, place in enumerate(rated):
            top = n == 0 and task["playback"].get("needs_top")  # one must have it
            label = f"{scale['span'][1]:g}" if top else first_label(scale, n)
            yield f"{index}.{place}", label


def first_label(scale: State, place: int) -> str:
    if scale["widget"] in ("text", "transcript"):
        return "A word."
    if scale["widget"] == "marks":
        return "1:glitch"
    if scale["widget"] == "ranking":
        return str(place + 1)
    if scale["widget"] == "best_worst":
        return ("best", "worst", "neither")[min(place, 2)]
    return f"{scale['span'][0]:g}" if scale["span"] else scale["steps"][0]["label"]


def plain_answers(questionnaire: State, shunned: Mapping[str, Any]) -> State:
    """The first answer to each question that goes on with the session."""
    given: State = {}
    avoided = shunned.get(questionnaire["key"], {})
    for question in questionnaire["questions"]:
        rule = question["show_if"]
        if rule and given.get(rule["question"]) not in rule["answers"]:
            continue
        allowed = [
            option["value"]
            for option in question["options"]
            if option["value"] not in avoided.get(question["key"], ())
        ]
        kinds = {"text": "words", "number": question["low"] or 1}
        chosen = kinds[question["kind"]] if question["kind"] in kinds else allowed[0]
        given[question["key"]] = [chosen] if question["kind"] == "many" else chosen
    return given
