"""The researcher's API: studies, submissions, bonuses, money, groups, messages and hooks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from listening.recruitment.play_money import faults, hooks, money, people, studies, submissions
from listening.recruitment.play_money.routing import Reply, Request, Routes
from listening.recruitment.play_money.state import ApiError, Json, State, number

USUAL = 20
ROUTES = Routes()
FLAGS = {
    "returned": ("RETURNED",),
    "awaiting_review": ("AWAITING REVIEW",),
    "approved": ("APPROVED",),
    "active": ("ACTIVE",),
    "timeout": ("TIMED-OUT",),
    "rejected": ("REJECTED",),
    "screened_out": ("SCREENED OUT",),
    "completed": ("AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "REJECTED"),
    "completeoractive": ("ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED", "REJECTED"),
}
ORDERINGS: dict[str, Callable[[Json], Any]] = {
    "started_at": lambda s: s["started_at"],
    "completed_at": lambda s: s["completed_at"] or float("inf"),
    "status": lambda s: s["status"],
    "participant_id": lambda s: s["participant"],
    "study_code": lambda s: s["code"] or "",
    "time_taken": lambda s: (s["completed_at"] or float("inf")) - s["started_at"],
    "ip": lambda s: "",
    "study_name": lambda s: s["study_id"],
    "submission_reward": lambda s: s["study_id"],
}


def paged(state: State, path: str, query: dict[str, str], entries: Sequence[Json]) -> Json:
    base = f"{state.links['api']}/api/v1{path}"
    if "page" not in query and ("limit" in query or "offset" in query):
        return _by_offset(state, base, query, entries)
    size = min(_positive(query, "page_size", USUAL), state.setting("max_page_size"))
    page, count = _positive(query, "page", 1), len(entries)
    last = max(1, -(-count // size))
    if page > last:
        raise ApiError(404, "Invalid page.")

    def link(number: int | None) -> str | None:
        params = {**query, "page": str(number), "page_size": str(size)}
        return None if number is None else f"{base}?{urlencode(params)}"

    following = page + 1 if page < last else None
    links = (page, following, page - 1 if page > 1 else None, last)
    return _envelope(entries[(page - 1) * size : page * size], count, [link(n) for n in links])


def _by_offset(state: State, base: str, query: dict[str, str], entries: Sequence[Json]) -> Json:
    size = min(_positive(query, "limit", USUAL), state.setting("max_page_size"))
    offset, count = _positive(query, "offset", 0, least=0), len(entries)

    def link(number: int | None) -> str | None:
        params = {**query, "limit": str(size), "offset": str(number)}
        return None if number is None else f"{base}?{urlencode(params)}"

    following = offset + size if offset + size < count else None
    before = max(0, offset - size) if offset else None
    last = max(0, (count - 1) // size * size)
    links = [link(n) for n in (offset, following, before, last)]
    return _envelope(entries[offset : offset + size], count, links)


def _positive(query: dict[str, str], name: str, usual: int, least: int = 1) -> int:
    text = query.get(name, str(usual))
    if not text.isdigit() or int(text) < least:
        raise ApiError(404 if name == "page" else 400, f"Invalid {name}.")
    return int(text)


def _envelope(results: Sequence[Json], count: int, hrefs: list[str | None]) -> Json:
    titles = {"self": "Current", "next": "Next", "previous": "Previous", "last": "Last"}
    links: dict[str, Any] = {
        name: {"href": href, "title": title}
        for (name, title), href in zip(titles.items(), hrefs, strict=True)
    }
    return {"results": list(results), "_links": links, "meta": {"count": count}}


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
    workspace_row = request.state.data["workspaces"][request.workspace(name)]
    return {"id": workspace_row["id"], "title": workspace_row["title"]}


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
    project_row = request.state.get("projects", name)
    request.workspace(project_row["workspace"])
    return {key: project_row[key] for key in ("id", "title", "workspace")}


@ROUTES.add("POST", "/study-cost-calculator/")
def total_cost(request: Request) -> Json:
    reward, places = (request.body.get(k) for k in ("reward", "total_available_places"))
    if not studies.is_number(reward) or not studies.is_number(places):
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
    return {"results": people.FILTERS, "meta": {"count": len(people.FILTERS)}}


@ROUTES.add("POST", "/eligibility-count/")
def eligible(request: Request) -> Json:
    chosen = request.body.get("filters")
    if sentences := people.faults_of(chosen):
        raise ApiError(400, {"filters": sentences})
    assert isinstance(chosen, list)
    return {"count": people.count(request.state, chosen)}


@ROUTES.add("POST", "/researchers/participants/")
def test_participant(request: Request) -> Reply:
    if not any(request.state.has_feature(w, "test_study") for w in request.workspaces):
        raise ApiError(403, "You do not have permission to use the feature test participants.")
    tester = people.create_tester(request.state, request.body.get("email"))
    return Reply(201, {"participant_id": tester["id"]})


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
    return listed(request, [people.group_json(request.state, group) for group in entries])


@ROUTES.add("POST", "/participant-groups/")
def create_group(request: Request) -> Reply:
    body = request.body
    wanted = body.get("workspace_id")
    if wanted is None:
        raise ApiError(400, {"workspace_id": ["This field is required."]})
    group = people.create_group(request.state, body, request.workspace(wanted))
    return Reply(201, people.group_json(request.state, group))


def _group(request: Request, name: str) -> Json:
    group = request.state.get("groups", name)
    request.workspace(group["workspace_id"])
    if group["is_deleted"]:
        raise ApiError(404, "The group was deleted.")
    return group


@ROUTES.add("GET", "/participant-groups/{id}/")
def group(request: Request, name: str) -> Json:
    return people.group_json(request.state, _group(request, name))


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
    group = _group(request, name)
    people.add_members(request.state, group, request.body.get("participant_ids"))
    return people.members(group)


@ROUTES.add("DELETE", "/participant-groups/{id}/participants/")
def remove_members(request: Request, name: str) -> Json:
    group = _group(request, name)
    people.remove_members(group, request.body.get("participant_ids"))
    return people.members(group)


# --- Messages ------------------------------------------------------------------------------------


@ROUTES.add("POST", "/messages/")
def send_message(request: Request) -> Reply:
    who = request.body.get("recipient_id")
    people.send(request.state, [who] if who else None, request.body)
    return Reply(204)


@ROUTES.add("POST", "/messages/bulk/")
def send_messages(request: Request) -> Reply:
    people.send(request.state, request.body.get("ids"), request.body)
    return Reply(204)


@ROUTES.add("POST", "/messages/participant-group/")
def message_group(request: Request) -> Reply:
    group = _group(request, str(request.body.get("participant_group_id")))
    people.send(request.state, list(group["members"]), request.body)
    return Reply(204)


@ROUTES.add("GET", "/messages/")
def list_messages(request: Request) -> Json:
    return {"results": people.messages_matching(request.state, request.query)}


@ROUTES.add("GET", "/messages/unread/")
def unread(request: Request) -> Json:
    return {"results": people.unread_messages(request.state)}


# --- Hooks ---------------------------------------------------------------------------------------


@ROUTES.add("GET", "/hooks/event-types/")
def event_types(request: Request) -> Json:
    types = hooks.EVENT_TYPES.items()
    return {"results": [{"event_type": name, "description": text} for name, text in types]}


@ROUTES.add("GET", "/hooks/secrets/")
def hook_secrets(request: Request) -> Json:
    workspace_id = request.workspace(request.query.get("workspace_id"))
    secrets = request.state.all("secrets", workspace_id=workspace_id)
    return {"results": [{k: s[k] for k in ("id", "value", "workspace_id")} for s in secrets]}


@ROUTES.add("POST", "/hooks/secrets/")
def new_hook_secret(request: Request) -> Reply:
    secret = hooks.new_secret(request.state, request.workspace(request.body.get("workspace_id")))
    return Reply(201, {key: secret[key] for key in ("id", "value", "workspace_id")})


@ROUTES.add("GET", "/hooks/subscriptions/")
def subscriptions(request: Request) -> Json:
    """The enabled ones, unless the disabled ones are asked for."""
    is_enabled = request.query.get("is_enabled", "true").lower() != "false"
    entries = request.state.all("subscriptions", is_enabled=is_enabled)
    wanted = request.query.get("workspace_id")
    allowed = [request.workspace(wanted)] if wanted else request.workspaces
    return listed(
        request, [hooks.subscription_json(s) for s in entries if s["workspace_id"] in allowed]
    )


@ROUTES.add("POST", "/hooks/subscriptions/")
def subscribe(request: Request) -> Reply:
    body = request.body
    workspace_id = request.workspace(body.get("workspace_id"))
    subscription = hooks.subscribe(
        request.state, workspace_id, body.get("event_type"), body.get("target_url")
    )
    return Reply(
        201, hooks.subscription_json(subscription), {"X-Hook-Secret": subscription["confirmation"]}
    )


def _subscription(request: Request, name: str) -> Json:
    subscription = request.state.get("subscriptions", name)
    request.workspace(subscription["workspace_id"])
    return subscription


@ROUTES.add("GET", "/hooks/subscriptions/{id}/")
def subscription(request: Request, name: str) -> Json:
    return hooks.subscription_json(_subscription(request, name))


@ROUTES.add("POST", "/hooks/subscriptions/{id}/")
def confirm(request: Request, name: str) -> Json:
    subscription = _subscription(request, name)
    hooks.confirm(subscription, request.body.get("secret"))
    return hooks.subscription_json(subscription)


@ROUTES.add("PATCH", "/hooks/subscriptions/{id}/")
def change_subscription(request: Request, name: str) -> Json:
    subscription, names = _subscription(request, name), ("event_type", "target_url", "is_enabled")
    changes = {key: value for key, value in request.body.items() if key in names}
    after = subscription | changes
    hooks.check(request.state, after["event_type"], after["target_url"])
    subscription.update(changes)
    return hooks.subscription_json(subscription)


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
    return paged(request.state, path, query, [hooks.event_json(e) for e in entries])


@ROUTES.add("POST", "/studies/")
def create(request: Request) -> Reply:
    study = studies.create(request.state, request.body, request.workspaces)
    return Reply(201, studies.study_json(request.state, study))


@ROUTES.add("GET", "/studies/")
def all_studies(request: Request) -> Json:
    mine = [s for s in request.state.all("studies") if s["workspace"] in request.workspaces]
    return _studies(request, mine)


@ROUTES.add("GET", "/projects/{id}/studies/")
def project_studies(request: Request, project: str) -> Json:
    request.workspace(request.state.get("projects", project)["workspace"])
    return _studies(request, request.state.all("studies", project=project))


def _studies(request: Request, rows: list[Json]) -> Json:
    if state := request.query.get("state"):
        wanted = [each.replace("_", " ").strip().upper() for each in state.split(",")]
        rows = [study for study in rows if study["status"] in wanted]
    newest_first = sorted(rows, key=lambda study: -float(study["created"]))
    if request.query.get("ordering") == "date_created":
        newest_first.reverse()
    return listed(request, [studies.short(request.state, study) for study in newest_first])


@ROUTES.add("GET", "/studies/{id}/")
def study(request: Request, name: str) -> Json:
    row = request.study(name)
    shown = studies.study_json(request.state, row)
    return shown if row["id"] == name else {**shown, "id": name, "parent_study_id": row["id"]}


@ROUTES.add("PATCH", "/studies/{id}/")
def change(request: Request, name: str) -> Json:
    row = request.study(name)
    studies.change(request.state, row, request.body)
    return studies.study_json(request.state, row)


@ROUTES.add("DELETE", "/studies/{id}/")
def delete(request: Request, name: str) -> Json:
    studies.delete(request.state, request.study(name))
    return {}


@ROUTES.add("DELETE", "/projects/{id}/studies/{id}/")
def delete_study_of_project(request: Request, project: str, name: str) -> Reply:
    row = request.study(name)
    if row["project"] != project:
        raise ApiError(404, "The project has no such study.")
    studies.delete(request.state, row)
    return Reply(204)


@ROUTES.add("POST", "/studies/{id}/transition/")
def transition(request: Request, name: str) -> Json:
    row = request.study(name)
    studies.transition(request.state, row, request.body)
    return studies.study_json(request.state, row)


@ROUTES.add("POST", "/studies/{id}/test-study/")
def test_study(request: Request, name: str) -> Json:
    copy = studies.test_copy(request.state, request.study(name))
    url = f"{request.state.links['pages']}/studies/{copy['id']}"
    return {"study_id": copy["id"], "study_url": url}


@ROUTES.add("POST", "/studies/{id}/clone/")
def clone(request: Request, name: str) -> Json:
    block = bool(request.body.get("block_previous_participants", True))
    return studies.study_json(
        request.state, studies.clone(request.state, request.study(name), block=block)
    )


@ROUTES.add("GET", "/studies/{id}/cost/")
def cost(request: Request, name: str) -> Json:
    is_projected = request.query.get("is_projected", "").lower() == "true"
    return money.study_cost(request.state, request.study(name), projected=is_projected)


@ROUTES.add("GET", "/studies/{id}/access-details-progress/")
def progress(request: Request, name: str) -> Json:
    return {"access_details": submissions.progress(request.state, request.study(name))}


@ROUTES.add("GET", "/studies/{id}/export/")
def export(request: Request, name: str) -> Reply:
    text = people.demographics(request.state, request.study(name))
    return Reply(200, text, content_type="text/csv")


@ROUTES.add("POST", "/studies/{id}/demographic-export/")
def demographic_export(request: Request, name: str) -> Any:
    if not isinstance(request.body.get("filters", []), list):
        raise ApiError(400, {"filters": ["Expected a list."]})
    return export(request, name)


# --- Submissions ---------------------------------------------------------------------------------


@ROUTES.add("GET", "/submissions/")
def all_submissions(request: Request) -> Json:
    wanted = request.query.get("study")
    names = [wanted] if wanted else list(request.state.data["studies"])
    rows = [
        submission
        for name in names
        if request.study(name)
        for submission in submissions.of_study(request.state, name)
    ]
    return _submissions(request, rows)


@ROUTES.add("GET", "/studies/{id}/submissions/")
def study_submissions(request: Request, name: str) -> Json:
    own = request.state.all("submissions", study_id=request.study(name)["id"])
    return _submissions(request, own)


def _submissions(request: Request, rows: list[Json]) -> Json:
    query = request.query
    if status := query.get("status"):
        wanted = status.upper().replace("_", " ")
        if wanted not in submissions.STATUSES:
            raise ApiError(400, {"status": [f"{status!r} is not a valid choice."]})
        rows = [s for s in rows if s["status"] == wanted]
    for flag, statuses in FLAGS.items():
        if query.get(flag, "").lower() in ("true", "1"):
            rows = [s for s in rows if s["status"] in statuses]
    if query.get("submitted_from"):
        first = _day(query["submitted_from"])
        rows = [s for s in rows if s["completed_at"] and s["completed_at"] >= first]
    if query.get("submitted_before"):
        last = _day(query["submitted_before"])
        rows = [s for s in rows if s["completed_at"] and s["completed_at"] < last]
    ordering = query.get("ordering", "started_at")
    key = ORDERINGS.get(ordering.removeprefix("-"))
    if key is None:
        raise ApiError(400, {"ordering": [f"{ordering!r} is not a valid choice."]})
    ordered = sorted(rows, key=key, reverse=ordering.startswith("-"))
    return listed(request, [submissions.entry(request.state, each) for each in ordered])


def _day(text: str) -> float:
    try:
        return datetime.strptime(text, "%d/%m/%Y").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise ApiError(400, f"{text!r} is not DD/MM/YYYY.") from None


@ROUTES.add("GET", "/studies/{id}/submissions/counts/")
def counts(request: Request, name: str) -> Json:
    own = request.state.all("submissions", study_id=request.study(name)["id"])
    counted = Counter(submission["status"] for submission in own)
    return {status: counted[status] for status in submissions.STATUSES} | {"TOTAL": len(own)}


@ROUTES.add("POST", "/submissions/bulk-approve/")
def bulk_approve(request: Request) -> str:
    submissions.approve_later(request.state, request.body, request.workspaces)
    return "The submissions will be approved."


@ROUTES.add("POST", "/submissions/bonus-payments/")
def create_bonuses(request: Request) -> Reply:
    name, csv = request.body.get("study_id"), request.body.get("csv_bonuses")
    if not isinstance(csv, str):
        raise ApiError(400, {"csv_bonuses": ["This field is required."]})
    try:
        row = request.study(str(name))
    except ApiError as error:
        raise ApiError(400, {"study_id": [str(error.detail)]}) from None
    people = submissions.of_study(request.state, str(name))
    batch = money.create_batch(request.state, row, people, csv)
    return Reply(201, money.batch_json(request.state, batch))


@ROUTES.add("POST", "/bulk-bonus-payments/{id}/pay/")
def pay_bonuses(request: Request, name: str) -> Reply:
    batch = request.state.get("batches", name)
    request.workspace(batch["workspace"])
    money.pay_batch_later(request.state, batch)
    return Reply(202, "The bonuses will be paid.")


@ROUTES.add("GET", "/submissions/{id}/")
def submission(request: Request, name: str) -> Json:
    return submissions.detail(request.submission(name))


@ROUTES.add("POST", "/submissions/{id}/transition/")
def decide(request: Request, name: str) -> Json:
    submission = request.submission(name)
    submissions.transition(request.state, submission, request.body)
    last = ("parent_study_id", "bonus_payments", "return_requested")
    shown = submissions.detail(submission).items()
    return {key: value for key, value in shown if key not in last}


@ROUTES.add("POST", "/submissions/{id}/request-return/")
def ask_to_return(request: Request, name: str) -> Json:
    submission = request.submission(name)
    reasons = request.body.get("request_return_reasons")
    submissions.ask_to_return(request.state, submission, reasons)
    shown = submissions.detail(submission)
    return {key: shown[key] for key in ("id", "status", "participant", "return_requested")}
