"""Control over the double, for tests: participants, their doings, the clock, money, faults."""

from __future__ import annotations

import secrets
from decimal import Decimal
from typing import Any

from listening.recruitment.play_money import faults, hooks, money, people, studies, submissions
from listening.recruitment.play_money.routing import Reply, Request, Routes
from listening.recruitment.play_money.state import ApiError, Json, State, moment, number

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
    return {"now": state.now(), "done": pass_time(state)}


def pass_time(state: State) -> int:
    done = state.work_off() + submissions.let_time_pass(state)
    state.is_dirty |= done > 0
    return done


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
    return {"faults": request.state.data["faults"], "names": faults.NAMES}


@ROUTES.add("POST", "/faults/")
def add_fault(request: Request) -> Json:
    return faults.add(request.state, request.body)


@ROUTES.add("DELETE", "/faults/")
def clear_faults(request: Request) -> Reply:
    faults.remove(request.state)
    return Reply(204)


@ROUTES.add("DELETE", "/faults/{name}/")
def remove_fault(request: Request, name: str) -> Reply:
    faults.remove(request.state, name)
    return Reply(204)
