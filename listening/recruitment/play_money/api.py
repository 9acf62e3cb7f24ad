"""The researcher's API but for studies: who asks, money, groups, messages, hooks."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from listening.recruitment.play_money import checks, faults, filters, hooks, messages, money, people
from listening.recruitment.play_money.lists import paged
from listening.recruitment.play_money.routing import Reply, Request, Routes
from listening.recruitment.play_money.state import ApiError, Json, number

ROUTES = Routes()


def authorise(request: Request) -> None:
    """By the word Token, a token that is known, and what it may do."""
    word, _, token = request.headers.get("authorization", "").partition(" ")
    access = request.state.data["tokens"].get(token.strip()) if word == "Token" else None
    if access is None:
        raise ApiError(401, "Invalid token.", "Unauthorised")
    if access["is_read_only"] and request.method != "GET":
        raise ApiError(403, "You do not have permission to perform this action.")
    everything = list(request.state.data["workspaces"])
    request.workspaces = everything if access["workspaces"] is None else access["workspaces"]


def error_body(error: ApiError, shape: str = "") -> Json:
    """Wrapped, unless a fault wants it bare or as a message."""
    inner: Json = {"status": error.status, "error_code": 140000 + error.status}
    inner |= {"title": error.title, "detail": error.detail}
    if shape == "message":
        return {"message": error.title, "detail": error.detail}
    inner |= {"additional_information": None, "traceback": None, "interactive": False}
    return inner if shape == "bare" else {"error": inner}


def listed(request: Request, entries: list[Json]) -> Json:
    path = request.path.removeprefix("/api/v1")
    return paged(request.state, path, request.query, entries)


# --- Who we are, and money -----------------------------------------------------------------------


@ROUTES.add("GET", "/users/me/")
def me(request: Request) -> Json:
    name = {"first_name": "Play", "last_name": "Researcher", "user_type": "researcher"}
    money_of = {"currency_code": request.state.setting("currency")}
    mail = {"id": request.state.data["researcher"], "email": "researcher@example.org"}
    return mail | name | money_of


@ROUTES.add("GET", "/workspaces/")
def workspaces(request: Request) -> Json:
    records = (request.state.data["workspaces"][name] for name in request.workspaces)
    return listed(request, [{"id": w["id"], "title": w["title"]} for w in records])


@ROUTES.add("GET", "/workspaces/{id}/")
def workspace(request: Request, name: str) -> Json:
    found = request.state.data["workspaces"][request.workspace(name)]
    return {"id": found["id"], "title": found["title"]}


@ROUTES.add("GET", "/workspaces/{id}/balance/")
def balance(request: Request, name: str) -> Json:
    return money.balance(request.state, request.workspace(name))


@ROUTES.add("GET", "/workspaces/{id}/projects/")
def projects(request: Request, name: str) -> Json:
    records = request.state.all("projects", workspace=request.workspace(name))
    return listed(request, [{k: p[k] for k in ("id", "title", "workspace")} for p in records])


@ROUTES.add("POST", "/workspaces/{id}/projects/")
def create_project(request: Request, name: str) -> Reply:
    title = request.body.get("title")
    if not isinstance(title, str) or not title:
        raise ApiError(400, {"title": ["This field is required."]})
    project = request.state.add("projects", title=title, workspace=request.workspace(name))
    return Reply(201, {key: project[key] for key in ("id", "title", "workspace")})


@ROUTES.add("GET", "/projects/{id}/")
def project(request: Request, name: str) -> Json:
    found = request.state.get("projects", name)
    request.workspace(found["workspace"])
    return {key: found[key] for key in ("id", "title", "workspace")}


@ROUTES.add("POST", "/study-cost-calculator/")
def total_cost(request: Request) -> Json:
    reward, places = (request.body.get(k) for k in ("reward", "total_available_places"))
    if not checks.is_number(reward) or not checks.is_number(places):
        raise ApiError(400, "reward and total_available_places must be numbers.")
    rewards = Decimal(str(reward)) * Decimal(str(places))
    return {"total_cost": number(money.with_extras(request.state, rewards))}


@ROUTES.add("GET", "/reward-recommendations/")
def recommendations(request: Request) -> Any:
    """A list, the newest first; higher where `screener_ids` leave only some (a setting)."""
    request.workspace(request.query.get("workspace_id"))
    if (currency := request.query.get("currency")) not in ("GBP", "USD"):
        raise ApiError(400, {"currency": ["Choose GBP or USD."]})
    names = ("min_reward_per_hour", "recommended_reward_per_hour")
    newest: Json = {"currency": currency} | {name: request.state.setting(name) for name in names}
    if request.query.get("screener_ids"):
        newest["recommended_reward_per_hour"] += request.state.setting("more_with_filters")
    if faults.hit(request.state, "rates_bare", "GET", request.path):
        return newest
    older = {"currency": currency} | dict.fromkeys(names, 1)
    return [newest, older]


# --- Participants and groups ---------------------------------------------------------------------


@ROUTES.add("GET", "/filters/")
def all_filters(request: Request) -> Json:
    return {"results": filters.FILTERS, "meta": {"count": len(filters.FILTERS)}}


@ROUTES.add("POST", "/eligibility-count/")
def eligible(request: Request) -> Json:
    chosen = request.body.get("filters")
    if sentences := filters.faults_of(chosen):
        raise ApiError(400, {"filters": sentences})
    assert isinstance(chosen, list)
    return {"count": filters.count(request.state, chosen)}


@ROUTES.add("POST", "/researchers/participants/")
def test_participant(request: Request) -> Reply:
    if not any(request.state.has_feature(w, "test_study") for w in request.workspaces):
        raise ApiError(403, "You do not have permission to use the feature test participants.")
    made = people.create_tester(request.state, request.body.get("email"))
    return Reply(201, {"participant_id": made["id"]})


@ROUTES.add("GET", "/participant-groups/")
def groups(request: Request) -> Json:
    query = request.query
    if not query.get("workspace_id") and not query.get("project_id"):
        raise ApiError(400, "workspace_id or project_id is required.")
    wanted = query.get("workspace_id") or ""
    if not wanted:
        wanted = request.state.get("projects", query["project_id"])["workspace"]
    entries = request.state.all("groups", workspace_id=request.workspace(wanted))
    if query.get("active"):
        is_active = query["active"].lower() == "true"
        entries = [group for group in entries if group["is_deleted"] != is_active]
    return listed(request, [people.group_shown(request.state, group) for group in entries])


@ROUTES.add("POST", "/participant-groups/")
def create_group(request: Request) -> Reply:
    body = request.body
    wanted = body.get("workspace_id")
    if wanted is None:
        raise ApiError(400, {"workspace_id": ["This field is required."]})
    group = people.create_group(request.state, body, request.workspace(wanted))
    return Reply(201, people.group_shown(request.state, group))


def _group(request: Request, name: str) -> Json:
    group = request.state.get("groups", name)
    request.workspace(group["workspace_id"])
    if group["is_deleted"]:
        raise ApiError(404, "The group was deleted.")
    return group


@ROUTES.add("GET", "/participant-groups/{id}/")
def group(request: Request, name: str) -> Json:
    return people.group_shown(request.state, _group(request, name))


@ROUTES.add("PATCH", "/participant-groups/{id}/")
def change_group(request: Request, name: str) -> Json:
    people.change_group(request.state, _group(request, name), request.body)
    return group(request, name)  # type: ignore[no-any-return]


@ROUTES.add("DELETE", "/participant-groups/{id}/")
def delete_group(request: Request, name: str) -> Reply:
    _group(request, name)["is_deleted"] = True
    return Reply(204)


@ROUTES.add("GET", "/participant-groups/{id}/participants/")
def members(request: Request, name: str) -> Json:
    return people.members(_group(request, name))


@ROUTES.add("POST", "/participant-groups/{id}/participants/")
def add_members(request: Request, name: str) -> Json:
    found = _group(request, name)
    people.add_members(request.state, found, request.body.get("participant_ids"))
    return people.members(found)


@ROUTES.add("DELETE", "/participant-groups/{id}/participants/")
def remove_members(request: Request, name: str) -> Json:
    found = _group(request, name)
    people.remove_members(found, request.body.get("participant_ids"))
    return people.members(found)


# --- Messages ------------------------------------------------------------------------------------


@ROUTES.add("POST", "/messages/")
def send_message(request: Request) -> Reply:
    who = request.body.get("recipient_id")
    messages.send(request.state, [who] if who else None, request.body)
    return Reply(204)


@ROUTES.add("POST", "/messages/bulk/")
def send_messages(request: Request) -> Reply:
    messages.send(request.state, request.body.get("ids"), request.body)
    return Reply(204)


@ROUTES.add("POST", "/messages/participant-group/")
def message_group(request: Request) -> Reply:
    found = _group(request, str(request.body.get("participant_group_id")))
    messages.send(request.state, list(found["members"]), request.body)
    return Reply(204)


@ROUTES.add("GET", "/messages/")
def list_messages(request: Request) -> Json:
    return {"results": messages.listed(request.state, request.query)}


@ROUTES.add("GET", "/messages/unread/")
def unread(request: Request) -> Json:
    return {"results": messages.unread(request.state)}


# --- Hooks ---------------------------------------------------------------------------------------


@ROUTES.add("GET", "/hooks/event-types/")
def event_types(request: Request) -> Json:
    types = hooks.EVENT_TYPES.items()
    return {"results": [{"event_type": name, "description": text} for name, text in types]}


@ROUTES.add("GET", "/hooks/secrets/")
def hook_secrets(request: Request) -> Json:
    workspace_id = request.workspace(request.query.get("workspace_id"))
    kept = request.state.all("secrets", workspace_id=workspace_id)
    return {"results": [{k: s[k] for k in ("id", "value", "workspace_id")} for s in kept]}


@ROUTES.add("POST", "/hooks/secrets/")
def new_hook_secret(request: Request) -> Reply:
    made = hooks.new_secret(request.state, request.workspace(request.body.get("workspace_id")))
    return Reply(201, {key: made[key] for key in ("id", "value", "workspace_id")})


@ROUTES.add("GET", "/hooks/subscriptions/")
def subscriptions(request: Request) -> Json:
    """The enabled ones, unless the disabled ones are asked for."""
    is_enabled = request.query.get("is_enabled", "true").lower() != "false"
    entries = request.state.all("subscriptions", is_enabled=is_enabled)
    wanted = request.query.get("workspace_id")
    allowed = [request.workspace(wanted)] if wanted else request.workspaces
    return listed(request, [hooks.shown(s) for s in entries if s["workspace_id"] in allowed])


@ROUTES.add("POST", "/hooks/subscriptions/")
def subscribe(request: Request) -> Reply:
    body = request.body
    workspace_id = request.workspace(body.get("workspace_id"))
    made = hooks.subscribe(
        request.state, workspace_id, body.get("event_type"), body.get("target_url")
    )
    return Reply(201, hooks.shown(made), {"X-Hook-Secret": made["confirmation"]})


def _subscription(request: Request, name: str) -> Json:
    found = request.state.get("subscriptions", name)
    request.workspace(found["workspace_id"])
    return found


@ROUTES.add("GET", "/hooks/subscriptions/{id}/")
def subscription(request: Request, name: str) -> Json:
    return hooks.shown(_subscription(request, name))


@ROUTES.add("POST", "/hooks/subscriptions/{id}/")
def confirm(request: Request, name: str) -> Json:
    found = _subscription(request, name)
    hooks.confirm(found, request.body.get("secret"))
    return hooks.shown(found)


@ROUTES.add("PATCH", "/hooks/subscriptions/{id}/")
def change_subscription(request: Request, name: str) -> Json:
    found, names = _subscription(request, name), ("event_type", "target_url", "is_enabled")
    changes = {key: value for key, value in request.body.items() if key in names}
    after = found | changes
    hooks.check(request.state, after["event_type"], after["target_url"])
    found.update(changes)
    return hooks.shown(found)


@ROUTES.add("DELETE", "/hooks/subscriptions/{id}/")
def unsubscribe(request: Request, name: str) -> Reply:
    _subscription(request, name)
    del request.state.data["subscriptions"][name]
    return Reply(204)


@ROUTES.add("GET", "/hooks/subscriptions/{id}/events/")
def events(request: Request, name: str) -> Any:
    _subscription(request, name)
    entries = request.state.all("events", subscription=name)
    for key in ("status", "resource_id"):
        if wanted := request.query.get(key):
            entries = [event for event in entries if event[key] == wanted]
    query = {"limit": "100", "offset": "0", **request.query}
    path = request.path.removeprefix("/api/v1")
    return paged(request.state, path, query, [hooks.event_shown(e) for e in entries])
