"""Submissions: places that participants take, give back and complete, and what is decided."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from listening.recruitment.play_money import hooks, messages, money, people, studies
from listening.recruitment.play_money.secure import address
from listening.recruitment.play_money.state import ApiError, Json, State, stamp

STATUSES = (
    *("RESERVED", "ACTIVE", "TIMED-OUT", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED"),
    *("REJECTED", "RETURNED", "SCREENED OUT", "UNKNOWN"),
)
NO_CODE = "NOCODE"
TOO_FAST = 0.1  # of the estimate; what counts as exceptionally fast is not documented


def set_status(state: State, submission: Json, status: str) -> None:
    if submission["status"] == status:
        return
    submission["status"] = status
    study = state.get("studies", submission["study_id"])
    who = {"participant_id": submission["participant"], "status": status}
    workspace = study["workspace"]
    hooks.emit(state, workspace, "submission.status.change", submission["id"], **who)
    hooks.emit(state, workspace, "study.progress.change", study["id"])
    studies.recount(state, study)


# --- What participants do ------------------------------------------------------------------------


def why_not(state: State, study: Json, participant: Json) -> str:
    """Why a participant cannot take a place now; empty if one is free for them."""
    fields, mine = study["fields"], state.all("submissions", participant=participant["id"])
    if study["status"] != "ACTIVE":
        return f"The study is {study['status']}."
    if study["is_test"] != participant["is_test"]:
        return "The study is not for this participant."
    if not study["is_test"] and not people.leaves(state, participant, fields.get("filters") or []):
        return "The participant is not eligible."
    config = fields.get("submissions_config") or {}
    most = config.get("max_submissions_per_participant", 1)
    if most != -1 and sum(s["study_id"] == study["id"] for s in mine) >= most:
        return "The participant has taken part already."
    if state.setting("one_at_a_time") and any(s["status"] in ("RESERVED", "ACTIVE") for s in mine):
        return "The participant has another submission open."
    if studies.count(state, study, *studies.TAKEN) >= fields["total_available_places"]:
        return "All places are taken."
    at_once = config.get("max_concurrent_submissions", -1)
    if at_once != -1 and studies.count(state, study, "RESERVED", "ACTIVE") >= at_once:
        return "Too many take part at the moment."
    return ""


def reserve(state: State, study: Json, participant: Json) -> Json:
    if problem := why_not(state, study, participant):
        raise ApiError(400, problem)
    submission = state.add(
        "submissions",
        study_id=study["id"],
        participant=participant["id"],
        status="",
        started_at=state.now(),
        completed_at=None,
        code=None,
        return_requested=None,
        bonus_payments=[],
        place=_place(state, study),
        child=study.get("child"),  # of a quota study: what participants and details name
    )
    set_status(state, submission, "RESERVED")
    return submission


def _place(state: State, study: Json) -> int:
    """Which address of a taskflow study it goes to: the one with most places left."""
    details = study["fields"].get("access_details") or [{"total_allocation": 1}]
    left = [
        each["total_allocation"] - n for each, n in zip(details, _used(state, study), strict=True)
    ]
    return left.index(max(left))


def _used(state: State, study: Json) -> list[int]:
    submissions = state.all("submissions", study_id=study["id"])
    taken = [each["place"] for each in submissions if each["status"] in studies.TAKEN]
    return [taken.count(n) for n in range(len(study["fields"].get("access_details") or [0]))]


def progress(state: State, study: Json) -> list[Json]:
    """Of a taskflow study: places and those taken, by address."""
    details = study["fields"].get("access_details")
    if not details:
        raise ApiError(404, "This study has no access_details.")
    counted = zip(details, _used(state, study), strict=True)
    return [{**each, "total_started": n} for each, n in counted]


def start(state: State, submission: Json, at: float | None = None) -> str:
    """The address that the participant is sent to; opening it twice changes nothing."""
    if submission["status"] not in ("RESERVED", "ACTIVE"):
        raise ApiError(400, f"The submission is {submission['status']}.")
    if submission["status"] == "RESERVED":
        submission["started_at"] = state.now() if at is None else at
        set_status(state, submission, "ACTIVE")
    study = state.get("studies", submission["study_id"])
    details = study["fields"].get("access_details")
    url = details[submission["place"]]["external_url"] if details else None
    return address(state, study, submission, url or study["fields"]["external_study_url"])


def give_back(state: State, submission: Json) -> None:
    if submission["status"] not in ("RESERVED", "ACTIVE", "AWAITING REVIEW"):
        raise ApiError(400, f"A submission that is {submission['status']} cannot be returned.")
    set_status(state, submission, "RETURNED")


def submit(state: State, submission: Json, code: str | None, at: float | None = None) -> None:
    """With a code, any other words, or none. A late one counts while nobody has the place."""
    study = state.get("studies", submission["study_id"])
    places = study["fields"]["total_available_places"]
    is_late = submission["status"] == "TIMED-OUT"
    if is_late and studies.count(state, study, *studies.TAKEN) >= places:
        raise ApiError(400, "The time is over, and somebody else has the place.")
    if submission["status"] != "ACTIVE" and not is_late:
        raise ApiError(400, f"The submission is {submission['status']}.")
    codes = study["fields"]["completion_codes"]
    mine = [each for each in codes if each["actor"] == "participant"]
    entered = (code or "").strip() or (None if mine and mine[0]["code"] is None else NO_CODE)
    found = next((each for each in mine if each["code"] == entered), None)
    finish(state, study, submission, entered, found, at=at)


def finish(
    state: State,
    study: Json,
    submission: Json,
    entered: str | None,
    code: Json | None,
    *,
    at: float | None = None,
    percentage: float | None = None,
) -> None:
    """Runs the actions of a code, and gives the submission the status that follows."""
    submission["code"], submission["completed_at"] = entered, state.now() if at is None else at
    actions = {action["action"]: action for action in (code or {}).get("actions", ())}
    for name in ("ADD_TO_PARTICIPANT_GROUP", "REMOVE_FROM_PARTICIPANT_GROUP"):
        group = state.data["groups"].get(actions.get(name, {}).get("participant_group"))
        if group and name.startswith("ADD"):
            group["members"].setdefault(submission["participant"], state.now())
        elif group:
            group["members"].pop(submission["participant"], None)
    if "FIXED_SCREEN_OUT_PAYMENT" in actions:
        action = actions["FIXED_SCREEN_OUT_PAYMENT"]
        if studies.count(state, study, "SCREENED OUT") < action["slots"]:
            reward = Decimal(str(action["fixed_screen_out_reward"]))
            money.pay(state, submission, "screen-out", reward)
            set_status(state, submission, "SCREENED OUT")
            return
    if "DYNAMIC_PAYMENT" in actions and percentage is not None:
        reward = Decimal(str(study["fields"]["reward"])) * Decimal(str(percentage)) / 100
        money.pay(state, submission, "reward", reward, percentage=percentage)
        set_status(state, submission, "PARTIALLY APPROVED")
    elif "AUTOMATICALLY_APPROVE" in actions:
        pay_and_approve(state, submission)
    else:
        set_status(state, submission, "AWAITING REVIEW")
        if "REQUEST_RETURN" in actions:
            ask_to_return(state, submission, [actions["REQUEST_RETURN"]["return_reason"]])
        else:
            _reject_if_too_fast(state, study, submission)


def _reject_if_too_fast(state: State, study: Json, submission: Json) -> None:
    config = study["fields"].get("submissions_config") or {}
    taken_s = submission["completed_at"] - submission["started_at"]
    fast_s = TOO_FAST * 60 * study["fields"]["estimated_completion_time"]
    if "EXCEPTIONALLY_FAST" in (config.get("auto_rejection_categories") or ()) and taken_s < fast_s:
        submission["rejection"] = {"category": "EXCEPTIONALLY_FAST", "is_automatic": True}
        set_status(state, submission, "REJECTED")


def pay_and_approve(state: State, submission: Json) -> None:
    study = state.get("studies", submission["study_id"])
    money.pay(state, submission, "reward", Decimal(str(study["fields"]["reward"])))
    set_status(state, submission, "APPROVED")


def impossible(action: str, submission: Json) -> ApiError:
    text = f"The action {action} is not possible for a submission that is {submission['status']}."
    return ApiError(400, text)


def ask_to_return(state: State, submission: Json, reasons: Any) -> None:
    """A message; the participant decides."""
    if not isinstance(reasons, list) or not reasons:
        raise ApiError(400, {"request_return_reasons": ["A list of reasons is required."]})
    if submission["status"] not in ("ACTIVE", "AWAITING REVIEW", "TIMED-OUT"):
        raise impossible("request-return", submission)
    submission["return_requested"] = state.now()
    text = f"Please return your submission: {'; '.join(map(str, reasons))}"
    messages.to_participant(state, submission["participant"], text, submission["study_id"], "other")


# --- By the clock, and as the API shows it -------------------------------------------------------


def let_time_pass(state: State) -> int:
    """Reservations lapse, time runs out, and what nobody reviews is approved."""
    now, changed = state.now(), 0
    for submission in state.all("submissions"):
        status, taken_s = submission["status"], now - submission["started_at"]
        study = state.get("studies", submission["study_id"])
        if status == "RESERVED" and taken_s > state.setting("reservation_s"):
            set_status(state, submission, "RETURNED")
        elif status == "ACTIVE" and taken_s > 60 * studies.longest_minutes(state, study):
            set_status(state, submission, "TIMED-OUT")
        elif (
            status == "AWAITING REVIEW"
            and now - submission["completed_at"] > state.setting("auto_approve_days") * 86400
        ):
            pay_and_approve(state, submission)
        else:
            continue
        changed += 1
    return changed


def of_study(state: State, name: str) -> list[Json]:
    """By the id of a study or of a child. Whether a parent's hold its children's is a setting."""
    apart = state.setting("children_apart")
    return [
        each
        for each in state.all("submissions")
        if each["child"] == name or (each["study_id"] == name and not (apart and each["child"]))
    ]


def detail(submission: Json) -> Json:
    return {
        "id": submission["id"],
        "status": submission["status"],
        "study_id": submission["child"] or submission["study_id"],
        "participant": submission["participant"],
        "started_at": stamp(submission["started_at"]),
        "completed_at": stamp(submission["completed_at"]),
        "entered_code": submission["code"],
        "parent_study_id": submission["study_id"] if submission["child"] else None,
        "bonus_payments": list(submission["bonus_payments"]),
        "return_requested": stamp(submission["return_requested"]),
    }


def entry(state: State, submission: Json) -> Json:
    """As it stands in lists, where participant and code have other names."""
    taken = (submission["completed_at"] or 0) - submission["started_at"]
    study = state.get("studies", submission["study_id"])
    paid = {"bonus_payments": list(submission["bonus_payments"])}
    return {
        "id": submission["id"],
        "participant_id": submission["participant"],
        "status": submission["status"],
        "started_at": stamp(submission["started_at"]),
        "completed_at": stamp(submission["completed_at"]),
        "study_code": submission["code"],
        "time_taken": round(taken, 3) if submission["completed_at"] else None,
        "reward": study["fields"]["reward"] * 100,  # in hundredths of a minor unit, as was seen
        "is_complete": submission["completed_at"] is not None,
        "has_siblings": False,
        "strata": {},
        "ip": "",
        "star_awarded": False,
        **(paid if state.setting("lists_show_bonuses") else {}),
        "return_requested": stamp(submission["return_requested"]),
    }
