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

from listening.recruitment.play_money import faults, hooks, money, people, studies
from listening.recruitment.play_money.state import ApiError, Json, State, stamp

ISSUER = "https://www.prolific.com"
LIFETIME_S = 120
STATUSES = (
    *("RESERVED", "ACTIVE", "TIMED-OUT", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED"),
    *("REJECTED", "RETURNED", "SCREENED OUT", "UNKNOWN"),
)
NO_CODE = "NOCODE"
TOO_FAST = 0.1  # of the estimate; what counts as exceptionally fast is not documented
CATEGORIES = (
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK"),
    *("LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
)
ACTIONS = (
    *("APPROVE", "COMPLETE", "REJECT", "RETURN", "START", "SCREEN_OUT", "UNREJECT", "UNRETURN"),
)
SHORTEST_MESSAGE = 100


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
    now = int(time.time()) - (3600 if faults.hit(state, "token_expired") else 0)
    query = dict(parse_qsl(urlsplit(filled).query))
    claims = {
        **{"iss": ISSUER, "iat": now, "exp": now + LIFETIME_S, "aud": url},
        **{"sub": submission["id"], "prolific": {**query, "workspace_id": study["workspace"]}},
    }
    token = jwt.encode(claims, _key(state), algorithm="RS256", headers={"kid": "double"})
    if faults.hit(state, "token_bad_signature"):
        head, body, signature = token.split(".")
        flipped = ("A" if signature[10] != "A" else "B").join((signature[:10], signature[11:]))
        return f"{head}.{body}.{flipped}"
    return token


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
        place=_address_index(state, study),
        child=study.get("child"),  # of a quota study: what participants and details name
    )
    set_status(state, submission, "RESERVED")
    return submission


def _address_index(state: State, study: Json) -> int:
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
    people.to_participant(state, submission["participant"], text, submission["study_id"], "other")


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
    percentage = (body.get("completion_code_data") or {}).get("percentage_of_reward")
    is_dynamic = any(action["action"] == "DYNAMIC_PAYMENT" for action in code["actions"])
    if is_dynamic and not (studies.is_number(percentage) and 8 <= percentage <= 99):
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
