"""Field rules of a study's body: what is missing or wrong, by field, in sentences."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, TypeGuard

from listening.recruitment.play_money import people
from listening.recruitment.play_money.state import Json, State

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
    if not body.get("external_study_url") and not body.get("access_details"):
        faults["external_study_url"] = ["This field is required."]
    for check in (_texts, _numbers, _lists, _filters, _config, _taskflow):
        for name, sentences in check(body).items():
            faults.setdefault(name, sentences)
    if "eligibility_requirements" in body:
        faults["eligibility_requirements"] = ["This field is no longer supported. Use filters."]
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
    if body.get("filters") and body.get("filter_set_id"):
        return {"filters": ["Give filters or filter_set_id, not both."]}
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
    if config.get("auto_rejection_categories") not in (None, [], ["EXCEPTIONALLY_FAST"]):
        return {"submissions_config": ["auto_rejection_categories: only EXCEPTIONALLY_FAST."]}
    return {}


def _taskflow(body: Json) -> Faults:
    if not (details := body.get("access_details")):
        return {}
    if not isinstance(details, list) or not all(
        isinstance(each, dict)
        and isinstance(each.get("external_url"), str)
        and is_number(each.get("total_allocation"))
        for each in details
    ):
        return {"access_details": ["Each needs external_url and total_allocation."]}
    if sum(each["total_allocation"] for each in details) != body.get("total_available_places"):
        return {"access_details": ["Allocations must sum to total_available_places."]}
    return {}


def gate_faults(state: State, workspace: str, body: Json) -> Faults:
    """What the workspace may not do; the texts name the feature."""
    faults: Faults = {}
    if body.get("is_external_study_url_secure") and not state.has_feature(
        workspace, "secure_links"
    ):
        text = "The feature secure external study URL is not enabled for this workspace."
        faults["is_external_study_url_secure"] = [text]
    config = body.get("submissions_config")
    automatic = isinstance(config, dict) and config.get("auto_rejection_categories")
    if automatic and not state.has_feature(workspace, "auto_rejection"):
        text = "The feature auto rejection is not enabled for this workspace."
        faults["submissions_config"] = [text]
    return faults


def code_faults(state: State, workspace: str, body: Json) -> list[str]:
    codes = body.get("completion_codes")
    if not codes:
        legacy = body.get("completion_code") and body.get("completion_option") in ("url", "code")
        return [] if legacy else ["At least one completion code is required."]
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
