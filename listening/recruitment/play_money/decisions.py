"""Decisions of the researcher: approving, rejecting, completing with a code of their own."""

from __future__ import annotations

import json

from listening.recruitment.play_money import checks, messages
from listening.recruitment.play_money.state import ApiError, Json, State
from listening.recruitment.play_money.submissions import (
    finish,
    impossible,
    pay_and_approve,
    set_status,
)

CATEGORIES = (
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK"),
    *("LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
)
ACTIONS = (
    *("APPROVE", "COMPLETE", "REJECT", "RETURN", "START", "SCREEN_OUT", "UNREJECT", "UNRETURN"),
)
SHORTEST_MESSAGE = 100


def transition(state: State, submission: Json, body: Json) -> None:
    action = body.get("action")
    if action not in ACTIONS:
        raise ApiError(400, {"action": [f"{action!r} is not a valid choice."]})
    if action == "APPROVE":
        approve(state, submission)
    elif action == "REJECT":
        reject(state, submission, body)
    elif action == "COMPLETE":
        complete(state, submission, body)
    else:  # documented by name only
        raise impossible(action, submission)


def approve(state: State, submission: Json) -> None:
    if submission["status"] == "APPROVED":
        return
    may = ["AWAITING REVIEW"] + ["TIMED-OUT"] * bool(state.setting("approve_timed_out"))
    if submission["status"] not in may:
        raise impossible("APPROVE", submission)
    pay_and_approve(state, submission)


def reject(state: State, submission: Json, body: Json) -> None:
    message, category = body.get("message"), body.get("rejection_category")
    faults: Json = {}
    if not isinstance(message, str) or len(message) < SHORTEST_MESSAGE:
        faults["message"] = [f"At least {SHORTEST_MESSAGE} characters are required."]
    if category not in CATEGORIES:
        faults["rejection_category"] = [f"{category!r} is not a valid choice."]
    if faults:
        raise ApiError(400, faults)
    if submission["status"] == "REJECTED":
        return
    if submission["status"] != "AWAITING REVIEW":
        raise impossible("REJECT", submission)
    most, study = state.setting("rejection_limit"), submission["study_id"]
    others = state.all("submissions", study_id=study, status="REJECTED")
    counted = [s for s in others if not (s.get("rejection") or {}).get("is_automatic")]
    if most is not None and len(counted) >= most:
        raise ApiError(400, "The limit of rejections for this study is reached.")
    submission["rejection"] = {"category": category, "message": message}
    messages.to_participant(state, submission["participant"], str(message), study, "rejections")
    set_status(state, submission, "REJECTED")


def complete(state: State, submission: Json, body: Json) -> None:
    """By the researcher, with a code that participants cannot use."""
    study = state.get("studies", submission["study_id"])
    entered = body.get("completion_code")
    codes = [c for c in study["fields"]["completion_codes"] if c["actor"] == "researcher"]
    code = next((each for each in codes if each["code"] == entered), None)
    if code is None:
        raise ApiError(400, {"completion_code": ["Not a code of this study for researchers."]})
    percentage = (body.get("completion_code_data") or {}).get("percentage_of_reward")
    is_dynamic = any(action["action"] == "DYNAMIC_PAYMENT" for action in code["actions"])
    if is_dynamic and not (checks.is_number(percentage) and 8 <= percentage <= 99):
        raise ApiError(
            400, {"completion_code_data": ["percentage_of_reward: 8 to 99 is required."]}
        )
    over = ("RESERVED", "ACTIVE", "TIMED-OUT")
    if submission["code"] == entered and submission["status"] not in over:
        return
    if submission["status"] not in ("ACTIVE", "TIMED-OUT"):
        raise impossible("COMPLETE", submission)
    finish(state, study, submission, entered, code, percentage=percentage)


def approve_later(state: State, body: Json, allowed: list[str]) -> None:
    """Written down for later; the same request is passed over for five minutes."""
    ids = body.get("submission_ids")
    if ids is None and body.get("study_id"):
        own = state.all("submissions", study_id=body["study_id"])
        wanted = body.get("participant_ids")
        wanted = wanted if isinstance(wanted, list) else []
        ids = [each["id"] for each in own if each["participant"] in wanted]
    if not isinstance(ids, list):
        raise ApiError(400, {"submission_ids": ["This field is required."]})
    known = (state.data["submissions"].get(str(each)) for each in ids)
    mine = [s["id"] for s in known if s and _workspace(state, s) in allowed]
    seen, request = state.data["bulk_seen"], json.dumps(body, sort_keys=True)
    if state.now() - seen.get(request, float("-inf")) >= state.setting("same_bulk_s"):
        seen[request] = state.now()
        state.later("approve", state.setting("approve_s"), submissions=mine)


def _workspace(state: State, submission: Json) -> str:
    return str(state.get("studies", submission["study_id"])["workspace"])


def approve_many(state: State, args: Json) -> None:
    for name in args["submissions"]:
        submission = state.get("submissions", name)
        if submission["status"] == "AWAITING REVIEW":
            pay_and_approve(state, submission)
