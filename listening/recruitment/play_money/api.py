"""The researcher's API, as far as Earnest uses it: studies, submissions, money, groups, hooks."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from listening.recruitment.play_money import hooks, money, people, studies, submissions
from listening.recruitment.play_money.routing import Reply, Request, Routes
from listening.recruitment.play_money.state import ApiError, Json, State, number

USUAL = 20
ROUTES = Routes()


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


def error_body(error: ApiError) -> Json:
    inner: Json = {"status": error.status, "error_code": 140000 + error.status}
    inner |= {"title": error.title, "detail": error.detail}
    inner |= {"additional_information": None, "traceback": None, "interactive": False}
    return {"error": inner}


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


@ROUTES.add("GET", "/workspaces/{id}/balance/")
def balance(request: Request, name: str) -> Json:
    return money.balance(request.state, request.workspace(name))


@ROUTES.add("GET", "/workspaces/{id}/projects/")
def projects(request: Request, name: str) -> Json:
    records = request.state.all("projects", workspace=request.workspace(name))
    return listed(request, [{k: p[k] for k in ("id", "title", "workspace")} for p in records])


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


@ROUTES.add("POST", "/participant-groups/")
def create_group(request: Request) -> Reply:
    body = request.body
    wanted = body.get("workspace_id")
    if wanted is None:
        raise ApiError(400, {"workspace_id": ["This field is required."]})
    group = people.create_group(request.state, body, request.workspace(wanted))
    return Reply(201, {name: group[name] for name in ("id", "name", "workspace_id")})


# --- Hooks ---------------------------------------------------------------------------------------


@ROUTES.add("GET", "/hooks/event-types/")
def event_types(request: Request) -> Json:
    types = hooks.EVENT_TYPES.items()
    return {"results": [{"event_type": name, "description": text} for name, text in types]}


@ROUTES.add("POST", "/hooks/secrets/")
def new_hook_secret(request: Request) -> Reply:
    secret = hooks.new_secret(request.state, request.workspace(request.body.get("workspace_id")))
    return Reply(201, {key: secret[key] for key in ("id", "value", "workspace_id")})


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


@ROUTES.add("POST", "/hooks/subscriptions/{id}/")
def confirm(request: Request, name: str) -> Json:
    subscription = _subscription(request, name)
    hooks.confirm(subscription, request.body.get("secret"))
    return hooks.subscription_json(subscription)


@ROUTES.add("DELETE", "/hooks/subscriptions/{id}/")
def unsubscribe(request: Request, name: str) -> Reply:
    _subscription(request, name)
    del request.state.data["subscriptions"][name]
    return Reply(204)


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
    newest_first = sorted(rows, key=lambda study: -float(study["created"]))
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


@ROUTES.add("GET", "/studies/{id}/cost/")
def cost(request: Request, name: str) -> Json:
    return money.study_cost(request.state, request.study(name))


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
    oldest_first = sorted(rows, key=lambda submission: float(submission["started_at"]))
    return listed(request, [submissions.entry(request.state, each) for each in oldest_first])


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
