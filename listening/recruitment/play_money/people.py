"""Participants and the groups that they are members of."""

from __future__ import annotations

from typing import Any

from listening.recruitment.play_money.filters import BY_ID, attributes
from listening.recruitment.play_money.state import ApiError, Json, State, stamp


def create(
    state: State, given: Json | None = None, *, email: str = "", is_test: bool = False
) -> Json:
    place = len(state.data["participants"])
    has = attributes(given or {}, place)
    return state.add("participants", attributes=has, email=email, is_test=is_test)


def create_tester(state: State, email: Any) -> Json:
    """A test participant; each address registers once."""
    if not isinstance(email, str) or "@" not in email:
        raise ApiError(400, {"email": ["Enter a valid email address."]})
    if state.all("participants", email=email):
        raise ApiError(400, {"email": ["This email address is registered already."]})
    return create(state, email=email, is_test=True)


def create_group(state: State, body: Json, workspace: str) -> Json:
    if not isinstance(body.get("name"), str) or not body["name"]:
        raise ApiError(400, {"name": ["This field is required."]})
    group = state.add("groups", workspace_id=workspace, is_deleted=False, members={})
    change_group(state, group, body)
    return group


def change_group(state: State, group: Json, body: Json) -> None:
    """A list of participants replaces the members."""
    group["name"] = body.get("name", group.get("name"))
    group["description"] = body.get("description", group.get("description"))
    if body.get("participant_ids") is not None:
        group["members"] = {}
        add_members(state, group, body["participant_ids"])


def add_members(state: State, group: Json, ids: Any) -> None:
    for who in _ids(ids):
        group["members"].setdefault(who, state.now())


def remove_members(group: Json, ids: Any) -> None:
    for who in _ids(ids):
        group["members"].pop(who, None)


def _ids(ids: Any) -> list[str]:
    if not isinstance(ids, list) or not all(isinstance(who, str) for who in ids):
        raise ApiError(400, {"participant_ids": ["A list of ids is required."]})
    return ids


def members(group: Json) -> Json:
    entries = group["members"].items()
    return {"results": [{"participant_id": w, "datetime_created": stamp(at)} for w, at in entries]}


def group_shown(state: State, group: Json) -> Json:
    feeding = [
        {"id": study["id"], "name": study["fields"]["name"]}
        for study in state.all("studies")
        if any(
            action.get("participant_group") == group["id"]
            for code in study["fields"]["completion_codes"]
            for action in code["actions"]
        )
    ]
    return {
        **{"id": group["id"], "name": group["name"], "description": group["description"]},
        **{"project_id": None, "workspace_id": group["workspace_id"], "organisation_id": None},
        **{"participant_count": len(group["members"]), "is_deleted": group["is_deleted"]},
        "feeder_studies": feeding,
    }


def demographics(state: State, study: Json) -> str:
    """CSV: a line for each submission."""
    lines = ["Submission id,Participant id,Status,Started at,Completed at,Age,Sex,First language"]
    for submission in state.all("submissions", study_id=study["id"]):
        has = state.get("participants", submission["participant"])["attributes"]
        cells = [submission["id"], submission["participant"], submission["status"]]
        cells += [stamp(submission["started_at"]) or "", stamp(submission["completed_at"]) or ""]
        for name in ("age", "sex", "first-language"):
            choices = BY_ID[name].get("choices") or {}
            cells.append(str(choices.get(has[name], has[name])))
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"
