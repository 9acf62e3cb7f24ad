"""Submissions: places taken, given back and completed; secure links; and researchers' decisions."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from listening.recruitment.play_money import hooks, money, people, studies
from listening.recruitment.play_money.state import ApiError, Json, State, stamp

ISSUER = "https://www.prolific.com"
LIFETIME_S = 120
NO_CODE = "NOCODE"
CATEGORIES = (
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK"),
    *("LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
)
SHORTEST_MESSAGE = 100
RESERVATION_S = 600
AUTO_APPROVE_S = 21 * 86400
APPROVING_S = 0.2  # until a bulk approval is worked off
SAME_BULK_S = 300  # the same bulk approval is passed over for so long


def address(state: State, study: Json, submission: Json, url: str) -> str:
    """The study's own address, filled in for one submission; signed if the study is secure."""
    filled = fill(url, study, submission)
    if not study["fields"].get("is_external_study_url_secure"):
        return filled
    base, _, fragment = filled.partition("#")
    sign = "&" if "?" in base else "?"
    token = _token(state, study, submission, url, filled)
    return f"{base}{sign}prolific_token={token}" + (f"#{fragment}" if fragment else "")


def fill(url: str, study: Json, submission: Json) -> str:
    """Known placeholders, plain or URL-encoded; unknown ones stay as they are."""
    values = {
        "PROLIFIC_PID": submission["participant"],
        "STUDY_ID": submission["child"] or study["id"],
    }
    values["SESSION_ID"] = submission["id"]
    for name, value in values.items():
        written = "{{%" + name + "%}}"
        for spelt in (written, quote(written, safe="")):
            url = url.replace(spelt, quote(value, safe=""))
    return url


def _key(state: State) -> rsa.RSAPrivateKey:
    """This double's own key, made when it is first needed."""
    if state.data["key"] is None:
        state.is_dirty = True
        private_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        state.data["key"] = private_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()
    key = serialization.load_pem_private_key(state.data["key"].encode(), password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def _token(state: State, study: Json, submission: Json, url: str, filled: str) -> str:
    """By the real clock: a receiver compares with its own."""
    now = int(time.time())
    query = dict(parse_qsl(urlsplit(filled).query))
    claims = {
        **{"iss": ISSUER, "iat": now, "exp": now + LIFETIME_S, "aud": url},
        **{"sub": submission["id"], "prolific": {**query, "workspace_id": study["workspace"]}},
    }
    return jwt.encode(claims, _key(state), algorithm="RS256", headers={"kid": "double"})


def key_set(state: State) -> Json:
    public: dict[str, Any] = json.loads(
        jwt.algorithms.RSAAlgorithm.to_jwk(_key(state).public_key())
    )
    return {"keys": [{**public, "kid": "double", "use": "sig", "alg": "RS256"}]}


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
    if not study["is_test"] and not people.meets_filters(
        state, participant, fields.get("filters") or []
    ):
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
        child=study.get("child"),  # of a quota study: what participants and details name
    )
    set_status(state, submission, "RESERVED")
    return submission


def start(state: State, submission: Json, at: float | None = None) -> str:
    """The address that the participant is sent to; opening it twice changes nothing."""
    if submission["status"] not in ("RESERVED", "ACTIVE"):
        raise ApiError(400, f"The submission is {submission['status']}.")
    if submission["status"] == "RESERVED":
        submission["started_at"] = state.now() if at is None else at
        set_status(state, submission, "ACTIVE")
    study = state.get("studies", submission["study_id"])
    return address(state, study, submission, study["fields"]["external_study_url"])


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
    matching_code = next((each for each in mine if each["code"] == entered), None)
    finish(state, study, submission, entered, matching_code, at=at)


def finish(
    state: State,
    study: Json,
    submission: Json,
    entered: str | None,
    code: Json | None,
    *,
    at: float | None = None,
) -> None:
    """Runs the actions of a code, and gives the submission the status that follows."""
    submission["code"], submission["completed_at"] = entered, state.now() if at is None else at
    actions = {action["action"]: action for action in (code or {}).get("actions", ())}
    joined = actions.get("ADD_TO_PARTICIPANT_GROUP", {}).get("participant_group")
    if group := state.data["groups"].get(joined):
        group["members"].setdefault(submission["participant"], state.now())
    if "FIXED_SCREEN_OUT_PAYMENT" in actions:
        action = actions["FIXED_SCREEN_OUT_PAYMENT"]
        if studies.count(state, study, "SCREENED OUT") < action["slots"]:
            reward = Decimal(str(action["fixed_screen_out_reward"]))
            money.pay(state, submission, "screen-out", reward)
            set_status(state, submission, "SCREENED OUT")
            return
    if "AUTOMATICALLY_APPROVE" in actions:
        pay_and_approve(state, submission)
    else:
        set_status(state, submission, "AWAITING REVIEW")
        if "REQUEST_RETURN" in actions:
            ask_to_return(state, submission, [actions["REQUEST_RETURN"]["return_reason"]])


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
    people.to_participant(state, submission["participant"], text, submission["study_id"], "other")


# --- By the clock, and as the API shows it -------------------------------------------------------


def pass_time(state: State) -> int:
    """Do what is due by the clock; how much that was."""
    done = state.work_off() + let_time_pass(state)
    state.is_dirty |= done > 0
    return done


def let_time_pass(state: State) -> int:
    """Reservations lapse, time runs out, and what nobody reviews is approved."""
    now, changed = state.now(), 0
    for submission in state.all("submissions"):
        status, taken_s = submission["status"], now - submission["started_at"]
        study = state.get("studies", submission["study_id"])
        if status == "RESERVED" and taken_s > RESERVATION_S:
            set_status(state, submission, "RETURNED")
        elif status == "ACTIVE" and taken_s > 60 * studies.longest_minutes(study):
            set_status(state, submission, "TIMED-OUT")
        elif status == "AWAITING REVIEW" and now - submission["completed_at"] > AUTO_APPROVE_S:
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
    paid = {"bonus_payments": list(submission["bonus_payments"])}
    return {
        "id": submission["id"],
        "participant_id": submission["participant"],
        "status": submission["status"],
        "started_at": stamp(submission["started_at"]),
        "completed_at": stamp(submission["completed_at"]),
        "study_code": submission["code"],
        **(paid if state.setting("lists_show_bonuses") else {}),
        "return_requested": stamp(submission["return_requested"]),
    }


def transition(state: State, submission: Json, body: Json) -> None:
    action = body.get("action")
    if action == "APPROVE":
        approve(state, submission)
    elif action == "REJECT":
        reject(state, submission, body)
    elif action == "COMPLETE":
        complete(state, submission, body)
    else:
        raise ApiError(400, {"action": [f"{action!r} is not a valid choice."]})


def approve(state: State, submission: Json) -> None:
    if submission["status"] == "APPROVED":
        return
    if submission["status"] != "AWAITING REVIEW":
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
    study = submission["study_id"]
    submission["rejection"] = {"category": category, "message": message}
    people.to_participant(state, submission["participant"], str(message), study, "rejections")
    set_status(state, submission, "REJECTED")


def complete(state: State, submission: Json, body: Json) -> None:
    """By the researcher, with a code that participants cannot use."""
    study = state.get("studies", submission["study_id"])
    entered = body.get("completion_code")
    codes = [c for c in study["fields"]["completion_codes"] if c["actor"] == "researcher"]
    code = next((each for each in codes if each["code"] == entered), None)
    if code is None:
        raise ApiError(400, {"completion_code": ["Not a code of this study for researchers."]})
    over = ("RESERVED", "ACTIVE", "TIMED-OUT")
    if submission["code"] == entered and submission["status"] not in over:
        return
    if submission["status"] not in ("ACTIVE", "TIMED-OUT"):
        raise impossible("COMPLETE", submission)
    finish(state, study, submission, entered, code)


def approve_later(state: State, body: Json, allowed: list[str]) -> None:
    """Written down for later; the same request is passed over for five minutes."""
    ids = body.get("submission_ids")
    if not isinstance(ids, list):
        raise ApiError(400, {"submission_ids": ["This field is required."]})
    known = (state.data["submissions"].get(str(each)) for each in ids)
    mine = [s["id"] for s in known if s and _workspace(state, s) in allowed]
    seen, request = state.data["bulk_seen"], json.dumps(body, sort_keys=True)
    if state.now() - seen.get(request, float("-inf")) >= SAME_BULK_S:
        seen[request] = state.now()
        state.later("approve", APPROVING_S, submissions=mine)


def _workspace(state: State, submission: Json) -> str:
    return str(state.get("studies", submission["study_id"])["workspace"])


def approve_many(state: State, args: Json) -> None:
    for name in args["submissions"]:
        submission = state.get("submissions", name)
        if submission["status"] == "AWAITING REVIEW":
            pay_and_approve(state, submission)
