"""The simulated Prolific with what tests need beside it: control over everything, and faults.

`python -m tests.prolific_double --port 0`. Its paths below /control make participants and let them
act, and change the clock, the settings and the money. Faults are switched on by name: how often,
for which requests.
"""

from __future__ import annotations

import random
import re
import secrets
import socket
import time
from decimal import Decimal
from typing import Any

from listening.recruitment.play_money import api, hooks, money, people, studies, submissions
from listening.recruitment.play_money.__main__ import main
from listening.recruitment.play_money.routing import Reply, Request, Routes
from listening.recruitment.play_money.server import API, Handler, Server
from listening.recruitment.play_money.state import ApiError, Json, State, moment, number

CONTROL = "/control"
ROUTES = Routes()


@ROUTES.add("GET", "/state/")
def everything(request: Request) -> Json:
    """All that is known, but for the key; with each study's and submission's present form."""
    state = request.state
    hidden = ("key", "bulk_seen")
    shown = {name: value for name, value in state.data.items() if name not in hidden}
    return {**shown, "now": state.now()}


@ROUTES.add("GET", "/ledger/")
def ledger(request: Request) -> Json:
    """Per submission what was paid; per batch of bonuses how often; messages; rejections."""
    state = request.state
    paid = state.data["ledger"]
    return {
        "submissions": {s["id"]: _account(s, paid) for s in state.all("submissions")},
        "batches": {
            b["id"]: {"paid": b["paid"], "lines": b["lines"]} for b in state.all("batches")
        },
        "messages": state.data["messages"],
        "rejections": {
            s["id"]: s["rejection"] for s in state.all("submissions") if "rejection" in s
        },
        "balances": {name: money.balance(state, name) for name in state.data["workspaces"]},
        "entries": paid,
    }


def _account(submission: Json, paid: list[Json]) -> Json:
    mine = [entry for entry in paid if entry["submission"] == submission["id"]]

    def of(*kinds: str) -> list[Any]:
        return [entry["amount"] for entry in mine if entry["kind"] in kinds]

    about = {key: submission[key] for key in ("participant", "status", "study_id", "code")}
    sums = {"reward": sum(of("reward")), "screen_out": sum(of("screen-out"))}
    return about | sums | {"bonuses": of("bonus")}


# --- Participants and what they do ---------------------------------------------------------------


@ROUTES.add("POST", "/participants/")
def create_participants(request: Request) -> Json:
    """`n` of them (1), all with `attributes`."""
    body = request.body
    attributes, n = body.get("attributes") or {}, int(body.get("n", 1))
    participants = [people.create(request.state, attributes) for _ in range(n)]
    return {"participants": [each["id"] for each in participants]}


@ROUTES.add("POST", "/reserve/")
def reserve(request: Request) -> Json:
    study = request.state.get("studies", str(request.body.get("study")))
    participant = request.state.get("participants", str(request.body.get("participant")))
    return submissions.detail(submissions.reserve(request.state, study, participant))


@ROUTES.add("POST", "/submissions/{id}/start/")
def start(request: Request, name: str) -> Json:
    """Gives the address that the participant's browser goes to; `at` is when it started."""
    submission = request.state.get("submissions", name)
    url = submissions.start(request.state, submission, _moment(request.body, "at"))
    return {"url": url, **submissions.detail(submission)}


@ROUTES.add("POST", "/submissions/{id}/return/")
def give_back(request: Request, name: str) -> Json:
    submission = request.state.get("submissions", name)
    submissions.give_back(request.state, submission)
    return submissions.detail(submission)


@ROUTES.add("POST", "/submissions/{id}/submit/")
def submit(request: Request, name: str) -> Json:
    """With `code` (null: NOCODE); `started_at` and `completed_at` as ISO or seconds."""
    body, submission = request.body, request.state.get("submissions", name)
    if body.get("started_at") is not None:
        submission["started_at"] = moment(body["started_at"])
    submissions.submit(request.state, submission, body.get("code"), _moment(body, "completed_at"))
    return submissions.detail(submission)


def _moment(body: Json, name: str) -> float | None:
    return None if body.get(name) is None else moment(body[name])


# --- The clock, settings and faults --------------------------------------------------------------


@ROUTES.add("POST", "/clock/")
def forward(request: Request) -> Json:
    """Forward by `seconds`, `minutes`, `hours` and `days`; what has become due is done."""
    state, units = request.state, {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
    by_s = sum(float(request.body.get(unit, 0)) * length for unit, length in units.items())
    if by_s < 0:
        raise ApiError(400, "The clock goes forward only.")
    state.data["offset_s"] += by_s
    return {"now": state.now(), "done": submissions.pass_time(state)}


def settle(state: State, *, retries: bool = False) -> Json:
    """All delayed jobs at once, events too; called without the lock: receivers may ask back."""
    done = sent = 0
    while True:
        with state.lock:
            worked = state.work_off(all_now=True)
            state.is_dirty |= worked > 0
            state.save()
        delivered = hooks.deliver_due(state, all_now=True, retries=retries)
        done, sent = done + worked, sent + delivered
        if not worked and not delivered:
            return {"done": done, "sent": sent}


@ROUTES.add("POST", "/settings/")
def change_settings(request: Request) -> Json:
    """Any of the settings, and `balance`, `features` or `tokens`; `workspace` if not the first."""
    state, body = request.state, request.body
    name = body.pop("workspace", None) or next(iter(state.data["workspaces"]))
    workspace = state.get("workspaces", name)
    if (balance := body.pop("balance", None)) is not None:
        workspace["total"] = str(balance)
    workspace["features"].update(body.pop("features", {}))
    for token, access in body.pop("tokens", {}).items():
        if access is None:
            state.data["tokens"].pop(token, None)
        else:
            state.data["tokens"][token] = {"workspaces": None, "is_read_only": False, **access}
    if unknown := set(body) - set(state.data["settings"]):
        raise ApiError(400, f"There are no settings {', '.join(sorted(unknown))}.")
    state.data["settings"].update(body)
    return {}


@ROUTES.add("POST", "/workspaces/")
def create_workspace(request: Request) -> Json:
    """Another workspace with a project of its own: `title`, `balance`, `features`."""
    state, body = request.state, request.body
    first = next(iter(state.data["workspaces"].values()))
    features = {**first["features"], **body.get("features", {})}
    row = state.add(
        "workspaces",
        title=str(body.get("title") or "Another workspace"),
        total=str(body.get("balance", 0)),
        features=features,
    )
    project = state.add("projects", title="Project", workspace=row["id"])
    return {"workspace": row["id"], "project": project["id"]}


@ROUTES.add("POST", "/studies/{id}/child/")
def have_child(request: Request, name: str) -> Json:
    """From now on its participants come by the id of a child study, as those of quotas may."""
    study = request.state.get("studies", name)
    study["child"] = secrets.token_hex(12)
    study["children"] = [*study.get("children", ()), study["child"]]
    return {"child": study["child"]}


@ROUTES.add("GET", "/studies/{id}/locked/")
def locked(request: Request, name: str) -> Json:
    study = request.state.get("studies", name)
    ahead = money.rewards_ahead(request.state, study) if study["status"] in money.LOCKING else 0
    return {"locked": number(money.with_extras(request.state, Decimal(ahead)))}


@ROUTES.add("POST", "/studies/{id}/edit/")
def edit(request: Request, name: str) -> Json:
    """As the researcher edits it on Prolific's own pages: any fields of a draft, later a few."""
    study = request.state.get("studies", name)
    studies.change(request.state, study, request.body)
    return studies.study_json(request.state, study)


@ROUTES.add("POST", "/studies/{id}/move/")
def move(request: Request, name: str) -> Json:
    """As the researcher publishes, pauses or stops it on Prolific's own pages: `action`."""
    study = request.state.get("studies", name)
    studies.transition(request.state, study, request.body)
    return studies.study_json(request.state, study)


@ROUTES.add("POST", "/studies/{id}/status/")
def force_status(request: Request, name: str) -> Json:
    """Any status, against all rules: for what is not documented."""
    study = request.state.get("studies", name)
    studies.set_status(request.state, study, str(request.body.get("status")))
    return studies.study_json(request.state, study)


@ROUTES.add("GET", "/faults/")
def list_faults(request: Request) -> Json:
    return {"faults": request.state.data["faults"], "names": FAULTS}


@ROUTES.add("POST", "/faults/")
def add_fault(request: Request) -> Json:
    """`count` (1; null: for ever), `probability` (1), regular expressions `method` and `path`."""
    body = request.body
    if body.get("name") not in FAULTS:
        raise ApiError(400, f"There is no fault {body.get('name')!r}: {', '.join(FAULTS)}")
    fault = {"count": None if "probability" in body else 1, "probability": 1, "hits": 0, **body}
    try:
        for name in ("method", "path"):
            re.compile(fault.get(name) or "")
    except re.error as error:
        raise ApiError(400, f"{name} is no regular expression: {error}") from None
    request.state.data["faults"].append(fault)
    return fault


@ROUTES.add("DELETE", "/faults/")
def clear_faults(request: Request) -> Reply:
    request.state.data["faults"] = []
    return Reply(204)


@ROUTES.add("DELETE", "/faults/{name}/")
def remove_fault(request: Request, name: str) -> Reply:
    others = [fault for fault in request.state.data["faults"] if fault["name"] != name]
    request.state.data["faults"] = others
    return Reply(204)


# --- Faults --------------------------------------------------------------------------------------

FAULTS = {
    "too_many": "429, nothing happens; `retry_after` in seconds is its header",
    "error_500": "a server error before the effect; `status` for another one than 500",
    "error_500_after": "a server error after the effect; `status` for another one than 500",
    "slow": "the reply comes after `seconds` (2)",
    "drop_before": "the connection is closed, nothing has happened",
    "drop_after": "the connection is closed after the effect",
    "not_json": "the reply is a page of HTML",
    "error_bare": "errors without the object around them",
    "error_message": "errors as message and detail",
    "extra_fields": "objects have fields that nobody has heard of",
    "unknown_status": "statuses that nobody has heard of",
    "floats": "whole numbers come as 30.0",
    "rates_bare": "the recommended rewards are one object instead of a list",
}


def hit(state: State, name: str, method: str = "", path: str = "") -> Json | None:
    """A fault that strikes now, counted; or nothing."""
    for fault in state.data["faults"]:
        if fault["name"] != name or fault["count"] == 0:
            continue
        if not re.fullmatch(fault.get("method") or ".*", method):
            continue
        if not re.search(fault.get("path") or "", path):
            continue
        if fault["probability"] < 1 and random.random() >= fault["probability"]:
            continue
        fault["hits"] += 1
        state.is_dirty = True
        if fault["count"] is not None:
            fault["count"] -= 1
        hit_fault: Json = fault
        return hit_fault
    return None


def warp(state: State, body: Any, method: str, path: str) -> Any:
    """A reply's body with what faults do to it."""
    if hit(state, "extra_fields", method, path):
        body = _each(body, lambda o: {**o, "an_unheard_of_field": {"new": [1, None]}})
    if hit(state, "unknown_status", method, path):
        body = _each(body, lambda o: {**o, "status": "UNHEARD OF"} if "status" in o else o)
    if hit(state, "floats", method, path):
        body = _floats(body)
    return body


def _each(body: Any, change: Any) -> Any:
    if isinstance(body, list):
        return [_each(each, change) for each in body]
    if isinstance(body, dict):
        return change({name: _each(each, change) for name, each in body.items()})
    return body


def _floats(body: Any) -> Any:
    if isinstance(body, list):
        return [_floats(each) for each in body]
    if isinstance(body, dict):
        return {name: _floats(each) for name, each in body.items()}
    return float(body) if isinstance(body, int) and not isinstance(body, bool) else body


class Dropped(BaseException):
    """The connection is to be closed without an answer; no mistake of the double's own."""


class FaultyHandler(Handler):
    """Hang up where a fault says so."""

    def _any(self) -> None:
        try:
            super()._any()
        except Dropped:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = _any


class ControlledServer(Server):
    """The simulated Prolific with its control and its faults."""

    handler = FaultyHandler

    def __init__(self, state: State, host: str, port: int) -> None:
        state.data.setdefault("faults", [])
        super().__init__(state, host, port)

    def answer(self, request: Request) -> Reply:
        state, at = self.state, (request.method, request.path)
        if request.path.rstrip("/") == CONTROL + "/settle":
            return Reply(200, settle(state, retries=bool(request.body.get("retries"))))
        if request.path.startswith(CONTROL + "/"):
            return self._control(request)
        if not request.path.startswith(API + "/"):
            return super().answer(request)
        with state.lock:
            fault = hit(state, "slow", *at)
        if fault:
            time.sleep(float(fault.get("seconds") or 2))
        with state.lock:
            try:
                reply = _fault_before(state, *at)
                if reply is None:
                    reply = super().answer(request)
                    reply = _fault_after(state, reply, *at) or reply
                return reply
            finally:
                state.save()

    def _control(self, request: Request) -> Reply:
        with self.state.lock:
            self.state.is_dirty |= request.method != "GET"
            try:
                submissions.pass_time(self.state)
                return ROUTES.answer(request, request.path.removeprefix(CONTROL))
            except ApiError as error:
                return Reply(error.status, api.error_body(error))
            finally:
                self.state.save()


def _fault_before(state: State, *at: str) -> Reply | None:
    if hit(state, "drop_before", *at):
        raise Dropped
    if fault := hit(state, "too_many", *at):
        retry_after_s = fault.get("retry_after")
        headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
        return Reply(429, api.error_body(ApiError(429, "Too many requests.")), headers)
    return _broken(hit(state, "error_500", *at))


def _fault_after(state: State, reply: Reply, *at: str) -> Reply | None:
    if reply.status >= 400 and hit(state, "error_bare", *at):
        reply.body = reply.body["error"]
    elif reply.status >= 400 and hit(state, "error_message", *at):
        error = reply.body["error"]
        reply.body = {"message": error["title"], "detail": error["detail"]}
    if "/reward-recommendations" in at[1] and hit(state, "rates_bare", *at):
        reply.body = reply.body[0]
    if hit(state, "drop_after", *at):
        raise Dropped
    if hit(state, "not_json", *at):
        return Reply(reply.status, "<html>Just a moment</html>", content_type="text/html")
    if reply.content_type == "application/json":
        reply.body = warp(state, reply.body, *at)
    return _broken(hit(state, "error_500_after", *at))


def _broken(fault: Any) -> Reply | None:
    if not fault:
        return None
    status = int(fault.get("status") or 500)
    return Reply(status, "<h1>Server Error</h1>", content_type="text/html")


if __name__ == "__main__":
    main(ControlledServer)
