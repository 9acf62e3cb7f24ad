"""The researcher's API: studies, their submissions, and bonuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from listening.recruitment.play_money import decisions, money, people, studies, submissions
from listening.recruitment.play_money.api import ROUTES as ROUTES
from listening.recruitment.play_money.api import listed
from listening.recruitment.play_money.routing import Reply, Request
from listening.recruitment.play_money.state import ApiError, Json

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


@ROUTES.add("POST", "/studies/")
def create(request: Request) -> Reply:
    study = studies.create(request.state, request.body, request.workspaces)
    return Reply(201, studies.shown(request.state, study))


@ROUTES.add("GET", "/studies/")
def all_studies(request: Request) -> Json:
    mine = [s for s in request.state.all("studies") if s["workspace"] in request.workspaces]
    return _studies(request, mine)


@ROUTES.add("GET", "/projects/{id}/studies/")
def project_studies(request: Request, project: str) -> Json:
    request.workspace(request.state.get("projects", project)["workspace"])
    return _studies(request, request.state.all("studies", project=project))


def _studies(request: Request, found: list[Json]) -> Json:
    if state := request.query.get("state"):
        wanted = [each.replace("_", " ").strip().upper() for each in state.split(",")]
        found = [study for study in found if study["status"] in wanted]
    newest_first = sorted(found, key=lambda study: -float(study["created"]))
    if request.query.get("ordering") == "date_created":
        newest_first.reverse()
    return listed(request, [studies.short(request.state, study) for study in newest_first])


@ROUTES.add("GET", "/studies/{id}/")
def study(request: Request, name: str) -> Json:
    found = request.study(name)
    shown = studies.shown(request.state, found)
    return shown if found["id"] == name else {**shown, "id": name, "parent_study_id": found["id"]}


@ROUTES.add("PATCH", "/studies/{id}/")
def change(request: Request, name: str) -> Json:
    found = request.study(name)
    studies.change(request.state, found, request.body)
    return studies.shown(request.state, found)


@ROUTES.add("DELETE", "/studies/{id}/")
def delete(request: Request, name: str) -> Json:
    studies.delete(request.state, request.study(name))
    return {}


@ROUTES.add("DELETE", "/projects/{id}/studies/{id}/")
def delete_of_project(request: Request, project: str, name: str) -> Reply:
    found = request.study(name)
    if found["project"] != project:
        raise ApiError(404, "The project has no such study.")
    studies.delete(request.state, found)
    return Reply(204)


@ROUTES.add("POST", "/studies/{id}/transition/")
def transition(request: Request, name: str) -> Json:
    found = request.study(name)
    studies.transition(request.state, found, request.body)
    return studies.shown(request.state, found)


@ROUTES.add("POST", "/studies/{id}/test-study/")
def test_study(request: Request, name: str) -> Json:
    copy = studies.test_copy(request.state, request.study(name))
    url = f"{request.state.links['pages']}/studies/{copy['id']}"
    return {"study_id": copy["id"], "study_url": url}


@ROUTES.add("POST", "/studies/{id}/clone/")
def clone(request: Request, name: str) -> Json:
    block = bool(request.body.get("block_previous_participants", True))
    return studies.shown(
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
    found = [
        submission
        for name in names
        if request.study(name)
        for submission in submissions.of_study(request.state, name)
    ]
    return _submissions(request, found)


@ROUTES.add("GET", "/studies/{id}/submissions/")
def study_submissions(request: Request, name: str) -> Json:
    own = request.state.all("submissions", study_id=request.study(name)["id"])
    return _submissions(request, own)


def _submissions(request: Request, found: list[Json]) -> Json:
    query = request.query
    if status := query.get("status"):
        wanted = status.upper().replace("_", " ")
        if wanted not in submissions.STATUSES:
            raise ApiError(400, {"status": [f"{status!r} is not a valid choice."]})
        found = [s for s in found if s["status"] == wanted]
    for flag, statuses in FLAGS.items():
        if query.get(flag, "").lower() in ("true", "1"):
            found = [s for s in found if s["status"] in statuses]
    if query.get("submitted_from"):
        first = _day(query["submitted_from"])
        found = [s for s in found if s["completed_at"] and s["completed_at"] >= first]
    if query.get("submitted_before"):
        last = _day(query["submitted_before"])
        found = [s for s in found if s["completed_at"] and s["completed_at"] < last]
    ordering = query.get("ordering", "started_at")
    key = ORDERINGS.get(ordering.removeprefix("-"))
    if key is None:
        raise ApiError(400, {"ordering": [f"{ordering!r} is not a valid choice."]})
    ordered = sorted(found, key=key, reverse=ordering.startswith("-"))
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
    decisions.approve_later(request.state, request.body, request.workspaces)
    return "The submissions will be approved."


@ROUTES.add("POST", "/submissions/bonus-payments/")
def create_bonuses(request: Request) -> Reply:
    name, csv = request.body.get("study_id"), request.body.get("csv_bonuses")
    if not isinstance(csv, str):
        raise ApiError(400, {"csv_bonuses": ["This field is required."]})
    try:
        found = request.study(str(name))
    except ApiError as error:
        raise ApiError(400, {"study_id": [str(error.detail)]}) from None
    people = submissions.of_study(request.state, str(name))
    batch = money.create_batch(request.state, found, people, csv)
    return Reply(201, money.batch_shown(request.state, batch))


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
    found = request.submission(name)
    decisions.transition(request.state, found, request.body)
    last = ("parent_study_id", "bonus_payments", "return_requested")
    shown = submissions.detail(found).items()
    return {key: value for key, value in shown if key not in last}


@ROUTES.add("POST", "/submissions/{id}/request-return/")
def ask_to_return(request: Request, name: str) -> Json:
    found = request.submission(name)
    reasons = request.body.get("request_return_reasons")
    submissions.ask_to_return(request.state, found, reasons)
    shown = submissions.detail(found)
    return {key: shown[key] for key in ("id", "status", "participant", "return_requested")}
