"""Studies: checked field by field, created, edited, published, paused, stopped; or ended."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, TypeGuard

from listening.recruitment.play_money import hooks, money, people
from listening.recruitment.play_money.state import ApiError, Json, State, number, stamp

LABELS = (
    *("survey", "writing_task", "annotation", "decision_making_task", "interview", "other"),
    *("ai_annotation", "ai_evaluation", "ai_reasoning", "ai_fact_checking", "ai_safety"),
    *("ai_data_creation_text", "ai_data_creation_audio", "ai_data_creation_video"),
    *("ai_data_creation_images", "ai_other"),
)
ACTIONS = (
    *("AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW", "ADD_TO_PARTICIPANT_GROUP"),
    *("REMOVE_FROM_PARTICIPANT_GROUP", "REQUEST_RETURN", "FIXED_SCREEN_OUT_PAYMENT"),
    "DYNAMIC_PAYMENT",
)
REQUIRED = (
    *("name", "description", "prolific_id_option", "total_available_places"),
    *("estimated_completion_time", "reward"),
)
LISTS = {
    "device_compatibility": ("desktop", "tablet", "mobile"),
    "peripheral_requirements": ("audio", "camera", "download", "microphone"),
    "study_labels": LABELS,
    "content_warnings": ("sensitive", "explicit"),
}
Faults = dict[str, list[str]]
OPEN = ("RESERVED", "ACTIVE", "AWAITING REVIEW")
TAKEN = (*OPEN, *money.PAID)
AFTER_PUBLISHING = (
    *("internal_name", "total_available_places", "submissions_config"),
    "completion_codes",  # for the slots of a screen-out only
)
MOVES = {
    ("UNPUBLISHED", "PUBLISH"): "PUBLISHING",
    ("ACTIVE", "PAUSE"): "PAUSED",
    ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "START"): "ACTIVE",
    ("PAUSED", "STOP"): "COMPLETED",
}


def least_time(estimate: float) -> float:
    """Minutes; the shortest maximum_allowed_time."""
    return 2 + 2 * estimate + 2 * math.sqrt(estimate)


def is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def study_faults(state: State, workspace: str, body: Json) -> Faults:
    """Of a whole study, as it is created or as a draft would be after a change."""
    faults = {
        name: ["This field is required."] for name in REQUIRED if body.get(name) in ("", None)
    }
    for check in (_texts, _numbers, _lists, _filters, _config):
        for name, sentences in check(body).items():
            faults.setdefault(name, sentences)
    faults |= gate_faults(state, workspace, body)
    if sentences := code_faults(state, workspace, body):
        faults.setdefault("completion_codes", sentences)
    return faults


def _texts(body: Json) -> Faults:
    faults: Faults = {}
    for name in ("name", "description", "internal_name", "external_study_url", "metadata"):
        if body.get(name) is not None and not isinstance(body[name], str):
            faults[name] = ["Not a valid string."]
    url = body.get("external_study_url")
    if isinstance(url, str) and url and not url.startswith(("https://", "http://")):
        faults["external_study_url"] = ["Enter a valid URL."]
    if body.get("prolific_id_option") not in ("url_parameters", "question", "not_required"):
        faults["prolific_id_option"] = [f"{body.get('prolific_id_option')!r} is not a choice."]
    return faults


def _numbers(body: Json) -> Faults:
    faults: Faults = {}
    for name in ("total_available_places", "estimated_completion_time", "reward"):
        if not is_number(body.get(name)) or body[name] <= 0:
            faults[name] = ["A number greater than 0 is required."]
    if faults or (longest := body.get("maximum_allowed_time")) is None:
        return faults
    least = least_time(body["estimated_completion_time"])
    if not is_number(longest) or longest < math.floor(least):
        faults["maximum_allowed_time"] = [f"At least {least:.1f} minutes are required."]
    return faults


def _lists(body: Json) -> Faults:
    faults: Faults = {}
    for name, choices in LISTS.items():
        values = body.get(name) or []
        if not isinstance(values, list):
            faults[name] = ["Expected a list of items."]
        elif unknown := [str(value) for value in values if value not in choices]:
            faults[name] = [f"Not a valid choice: {', '.join(unknown)}"]
        elif name in ("study_labels", "content_warnings") and len(values) > 1:
            faults[name] = ["At most one is allowed."]
    return faults


def _filters(body: Json) -> Faults:
    sentences = people.faults_of(body.get("filters") or [])
    return {"filters": sentences} if sentences else {}


def _config(body: Json) -> Faults:
    config = body.get("submissions_config") or {}
    if not isinstance(config, dict):
        return {"submissions_config": ["Expected an object."]}
    for name in ("max_submissions_per_participant", "max_concurrent_submissions"):
        value = config.get(name, 1)
        if not is_number(value) or not (value >= 1 or value == -1):
            return {"submissions_config": [f"{name} must be -1, or 1 or more."]}
    return {}


def gate_faults(state: State, workspace: str, body: Json) -> Faults:
    """What the workspace may not do; the texts name the feature."""
    faults: Faults = {}
    if body.get("is_external_study_url_secure") and not state.has_feature(
        workspace, "secure_links"
    ):
        text = "The feature secure external study URL is not enabled for this workspace."
        faults["is_external_study_url_secure"] = [text]
    return faults


def code_faults(state: State, workspace: str, body: Json) -> list[str]:
    codes = body.get("completion_codes")
    if not codes:
        return ["At least one completion code is required."]
    if not isinstance(codes, list) or not all(isinstance(code, dict) for code in codes):
        return ["Expected a list of completion codes."]
    sentences = [text for code in codes for text in _faults_of_code(code, codes, body)]
    if sentences:
        return sentences
    if doubled := [str(c) for c, n in Counter(code["code"] for code in codes).items() if n > 1]:
        return [f"Completion codes must be unique: {', '.join(doubled)}"]
    named = [action["action"] for code in codes for action in code["actions"]]
    if named.count("FIXED_SCREEN_OUT_PAYMENT") > 1:
        return ["Only one completion code may have the action FIXED_SCREEN_OUT_PAYMENT."]
    for action, feature in (
        ("FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out"),
        ("DYNAMIC_PAYMENT", "dynamic_payment"),
    ):
        if action in named and not state.has_feature(workspace, feature):
            sentences.append(f"The action {action} is a feature not enabled for this workspace.")
    return sentences


def _faults_of_code(code: Json, codes: list[Json], body: Json) -> list[str]:
    if any(name not in code for name in ("code", "code_type", "actions")):
        return ["code, code_type and actions are required."]
    actor, actions = code.get("actor") or "participant", code["actions"]
    if actor not in ("participant", "researcher"):
        return [f"{actor!r} is not an actor."]
    if not isinstance(actions, list) or not all(isinstance(each, dict) for each in actions):
        return ["actions must be a list of objects."]
    if code["code"] is None:
        mine = [c for c in codes if (c.get("actor") or "participant") == "participant"]
        if actor != "participant" or len(mine) > 1 or actions:
            return ["code may be null only for the one code of the participant, without actions."]
    elif not isinstance(code["code"], str) or not code["code"]:
        return ["code must be a string."]
    named = [str(action.get("action")) for action in actions]
    if {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"} <= set(named):
        return ["AUTOMATICALLY_APPROVE and MANUALLY_REVIEW exclude each other."]
    return [text for action in actions for text in _faults_of_action(action, actor, body)]


def _faults_of_action(action: Json, actor: str, body: Json) -> list[str]:
    name = action.get("action")
    if name not in ACTIONS:
        return [f"{name!r} is not an action."]
    if name.endswith("_PARTICIPANT_GROUP") and not isinstance(action.get("participant_group"), str):
        return [f"{name} needs participant_group."]
    if name == "REQUEST_RETURN" and not action.get("return_reason"):
        return ["REQUEST_RETURN needs return_reason."]
    if name == "DYNAMIC_PAYMENT" and actor != "researcher":
        return ["DYNAMIC_PAYMENT needs the actor researcher."]
    if name == "FIXED_SCREEN_OUT_PAYMENT":
        pay, slots = action.get("fixed_screen_out_reward"), action.get("slots")
        if not is_number(pay) or not is_number(slots) or pay <= 0 or slots < 1:
            return [f"{name} needs fixed_screen_out_reward and slots."]
        if is_number(body.get("reward")) and pay >= body["reward"]:
            return ["fixed_screen_out_reward must be less than the study's reward."]
    return []


def create(state: State, body: Json, workspaces: list[str]) -> Json:
    project = body.get("project") or next(
        (p["id"] for p in state.all("projects") if p["workspace"] in workspaces), ""
    )
    owner = state.data["projects"].get(str(project))
    if owner is None or owner["workspace"] not in workspaces:
        raise ApiError(400, {"project": [f"There is no project {project}."]})
    if faults := study_faults(state, owner["workspace"], body):
        raise ApiError(400, faults)
    return _add(state, _normal(body), owner, is_test=False)


def _normal(body: Json) -> Json:
    """A code without an actor is the participant's."""
    codes = [
        {**code, "actor": code.get("actor") or "participant"} for code in body["completion_codes"]
    ]
    return {**body, "completion_codes": codes}


def _add(state: State, fields: Json, project: Json, *, is_test: bool) -> Json:
    return state.add(
        "studies",
        fields=fields,
        project=project["id"],
        workspace=project["workspace"],
        status="UNPUBLISHED",
        published=None,
        stopped=False,
        is_test=is_test,
    )


def test_copy(state: State, study: Json) -> Json:
    """A published copy that test participants alone see, and that costs nothing."""
    if not state.has_feature(study["workspace"], "test_study"):
        text = "You do not have permission to use the feature test study."
        raise ApiError(403, text)
    if study["status"] != "UNPUBLISHED":
        raise ApiError(400, "Only a draft can be tested.")
    project = state.get("projects", study["project"])
    copy = _add(state, {**study["fields"]}, project, is_test=True)
    copy["published"] = state.now()
    set_status(state, copy, "ACTIVE")
    return copy


# --- As the API shows it -------------------------------------------------------------------------


def count(state: State, study: Json, *statuses: str) -> int:
    submissions = state.all("submissions", study_id=study["id"])
    return sum(submission["status"] in statuses for submission in submissions)


def longest_minutes(study: Json) -> int | float:
    """Computed from the estimate if absent."""
    fields = study["fields"]
    if (sent := fields.get("maximum_allowed_time")) is not None:
        return number(sent)
    return min(round(least_time(fields["estimated_completion_time"])), 24 * 60 - 1)


def short(state: State, study: Json) -> Json:
    """As it stands in lists."""
    fields = study["fields"]
    return {
        "id": study["id"],
        "name": fields["name"],
        "internal_name": fields.get("internal_name"),
        "status": study["status"],
        "project": study["project"],
        "date_created": stamp(study["created"]),
        "published_at": stamp(study["published"]),
        "total_available_places": int(fields["total_available_places"]),
        "reward": fields["reward"],
        "currency_code": state.setting("currency"),
    }


def study_json(state: State, study: Json) -> Json:
    usual: Json = {"device_compatibility": [], "peripheral_requirements": [], "filters": []}
    usual |= {"metadata": None, "is_external_study_url_secure": False}
    longest = {"maximum_allowed_time": longest_minutes(study)}
    return {**usual, **study["fields"], **short(state, study), **longest}


# --- Changes -------------------------------------------------------------------------------------


def change(state: State, study: Json, changes: Json) -> None:
    """Drafts freely; afterwards a few fields, and places only upwards, if they can be paid."""
    fields = {**study["fields"], **changes}
    is_draft = study["status"] == "UNPUBLISHED"
    if not is_draft:
        _check_names(study, changes)
        _check_codes(study, changes)
        _check_places(study, changes)
    if faults := study_faults(state, study["workspace"], fields):
        raise ApiError(400, faults)
    if is_draft:
        study["fields"] = _normal(fields)
        return
    more_places = fields["total_available_places"] > study["fields"]["total_available_places"]
    after = {**study, "fields": fields, "stopped": study["stopped"] and not more_places}
    more = money.rewards_ahead(state, after) - money.rewards_ahead(state, study)
    if more > 0 and (more_places or study["status"] in money.LOCKING):
        money.require(state, study["workspace"], money.with_extras(state, more))
    study["fields"], study["stopped"] = _normal(fields), bool(after["stopped"])
    if more_places and study["status"] in ("COMPLETED", "AWAITING REVIEW"):
        set_status(state, study, "ACTIVE")
    recount(state, study)


def _check_names(study: Json, changes: Json) -> None:
    if shut := [name for name in changes if name not in AFTER_PUBLISHING]:
        text = "This cannot be changed after the study was published."
        raise ApiError(400, {name: [text] for name in shut})


def _check_places(study: Json, changes: Json) -> None:
    before = study["fields"]["total_available_places"]
    places = changes.get("total_available_places", before)
    if not is_number(places) or places < before:
        raise ApiError(400, {"total_available_places": ["Places can only be added."]})


def _check_codes(study: Json, changes: Json) -> None:
    """After publishing, only the slots of a screen-out may change, and only grow."""
    if "completion_codes" not in changes:
        return

    def bare(codes: Any) -> Any:
        return [
            (c.get("code"), c.get("code_type"), [{**a, "slots": 0} for a in c.get("actions", ())])
            for c in codes
        ]

    slots = (money.screen_out_action(study) or {}).get("slots", 0)
    after = {"fields": {"completion_codes": changes["completion_codes"]}}
    try:
        is_same = bare(changes["completion_codes"]) == bare(study["fields"]["completion_codes"])
        grown = (money.screen_out_action(after) or {}).get("slots", 0) >= slots
    except (TypeError, AttributeError, KeyError):
        raise ApiError(400, {"completion_codes": ["Not a list of completion codes."]}) from None
    if not is_same or not grown:
        text = "After publishing only the slots of a screen-out can be changed, upwards."
        raise ApiError(400, {"completion_codes": [text]})


def delete(state: State, study: Json) -> None:
    if study["status"] != "UNPUBLISHED":
        raise ApiError(400, "Only a draft can be deleted.")
    del state.data["studies"][study["id"]]


def transition(state: State, study: Json, body: Json) -> None:
    action, status = body.get("action"), study["status"]
    target = MOVES.get((status, str(action)))
    if target is None:
        raise ApiError(400, f"The action {action} is not possible for a study that is {status}.")
    if action == "PUBLISH":
        _publish(state, study)
    elif action == "STOP":
        study["stopped"] = True
        waiting = count(state, study, *OPEN)
        set_status(state, study, "AWAITING REVIEW" if waiting else "COMPLETED")
    else:
        if action == "START" and _screened_all(state, study):
            raise ApiError(400, "All slots of the screen-out are used: give more slots first.")
        set_status(state, study, target)


def _publish(state: State, study: Json) -> None:
    needed = money.with_extras(state, money.rewards_ahead(state, study))
    money.require(state, study["workspace"], needed)
    set_status(state, study, "PUBLISHING")
    if state.setting("publish_s") > 0:
        state.later("activate", state.setting("publish_s"), study=study["id"])
    else:
        activate(state, {"study": study["id"]})


def activate(state: State, args: Json) -> None:
    study = state.get("studies", args["study"])
    if study["status"] == "PUBLISHING":
        study["published"] = state.now()
        set_status(state, study, "ACTIVE")


def set_status(state: State, study: Json, status: str) -> None:
    if study["status"] != status:
        study["status"] = status
        hooks.emit(
            state,
            study["workspace"],
            "study.status.change",
            study["id"],
            metadata={},
            status=status,
        )


def _screened_all(state: State, study: Json) -> bool:
    action = money.screen_out_action(study)
    return bool(action) and count(state, study, "SCREENED OUT") >= int((action or {})["slots"])


def recount(state: State, study: Json) -> None:
    """What a study does by itself when one of its submissions has changed."""
    places = int(study["fields"]["total_available_places"])
    paid = count(state, study, *money.PAID)
    submitted = paid + count(state, study, "AWAITING REVIEW")
    status = study["status"]
    if study["stopped"]:
        if status == "AWAITING REVIEW" and not count(state, study, *OPEN):
            set_status(state, study, "COMPLETED")
    elif status in ("ACTIVE", "PAUSED", "AWAITING REVIEW") and paid >= places:
        set_status(state, study, "COMPLETED")
    elif status == "ACTIVE" and submitted >= places:
        set_status(state, study, "AWAITING REVIEW")
    elif (status == "AWAITING REVIEW" and submitted < places) or (
        status == "ACTIVE" and _screened_all(state, study)
    ):
        set_status(state, study, "PAUSED")
