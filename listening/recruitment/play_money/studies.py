"""Studies: created, edited, published, paused, stopped; and how they change by themselves."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from listening.recruitment.play_money import hooks, money
from listening.recruitment.play_money.checks import is_number, least_time, study_faults
from listening.recruitment.play_money.state import ApiError, Json, State, moment, number, stamp

OPEN = ("RESERVED", "ACTIVE", "AWAITING REVIEW")
TAKEN = (*OPEN, *money.PAID)
AFTER_PUBLISHING = (
    *("internal_name", "total_available_places", "access_details", "submissions_config"),
    "completion_codes",  # for the slots of a screen-out only
)
MOVES = {
    ("UNPUBLISHED", "PUBLISH"): "PUBLISHING",
    ("UNPUBLISHED", "SCHEDULE_PUBLISH"): "SCHEDULED",
    ("SCHEDULED", "CANCEL_PUBLISH"): "UNPUBLISHED",
    ("ACTIVE", "PAUSE"): "PAUSED",
    ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "START"): "ACTIVE",
    ("PAUSED", "STOP"): "COMPLETED",
}


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
    """Codes in today's form, also when they came in the old one."""
    fields = dict(body)
    if not fields.get("completion_codes"):
        code = {"code": fields["completion_code"], "code_type": "COMPLETED"}
        fields["completion_codes"] = [code | {"actions": [{"action": "MANUALLY_REVIEW"}]}]
    fields["completion_codes"] = [
        {**code, "actor": code.get("actor") or "participant"} for code in fields["completion_codes"]
    ]
    return fields


def _add(state: State, fields: Json, project: Json, *, is_test: bool) -> Json:
    return state.add(
        "studies",
        fields=fields,
        project=project["id"],
        workspace=project["workspace"],
        status="UNPUBLISHED",
        published=None,
        publish_at=None,
        stopped=False,
        is_test=is_test,
    )


def clone(state: State, study: Json, *, block: bool) -> Json:
    project = state.get("projects", study["project"])
    fields: Json = {**study["fields"]}
    if block:
        kept = [f for f in fields.get("filters") or [] if f["filter_id"] != PREVIOUS]
        before = [f for f in fields.get("filters") or [] if f["filter_id"] == PREVIOUS]
        ids = [value for each in before for value in each["selected_values"]]
        blocked = {"filter_id": PREVIOUS, "selected_values": [*ids, study["id"]]}
        fields["filters"] = [*kept, blocked]
    return _add(state, fields, project, is_test=False)


PREVIOUS = "previous_studies_blocklist"


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


def longest_minutes(state: State, study: Json) -> int | float:
    """Computed from the estimate if absent, or if the double is set to ignore what was sent."""
    fields = study["fields"]
    sent = fields.get("maximum_allowed_time")
    if sent is not None and state.setting("maximum_time") == "honoured":
        return number(sent)
    return min(round(least_time(fields["estimated_completion_time"])), 24 * 60 - 1)


def short(state: State, study: Json) -> Json:
    """As it stands in lists."""
    fields, submissions = study["fields"], state.all("submissions", study_id=study["id"])
    gone = ("RESERVED", "TIMED-OUT", "RETURNED", "SCREENED OUT")
    places = int(fields["total_available_places"])
    cost = money.with_extras(state, Decimal(str(fields["reward"])) * places)
    return {
        "id": study["id"],
        "name": fields["name"],
        "internal_name": fields.get("internal_name"),
        "status": study["status"],
        "project": study["project"],
        "date_created": stamp(study["created"]),
        "published_at": stamp(study["published"]),
        "publish_at": stamp(study["publish_at"]),
        "total_available_places": places,
        "places_taken": sum(each["status"] not in gone for each in submissions),
        "number_of_submissions": sum(each["status"] != "RESERVED" for each in submissions),
        "reward": fields["reward"],
        "total_cost": 0 if study["is_test"] else number(cost),
        "currency_code": state.setting("currency"),
        "study_type": fields.get("study_type", "SINGLE"),
    }


def shown(state: State, study: Json) -> Json:
    fields = study["fields"]
    per_hour = number(fields["reward"] * 60 / fields["estimated_completion_time"])
    usual: Json = {"device_compatibility": [], "peripheral_requirements": [], "filters": []}
    usual |= {"study_labels": [], "content_warnings": [], "metadata": None, "access_details": None}
    usual |= {"naivety_distribution_rate": None, "is_external_study_url_secure": False}
    config = {"max_submissions_per_participant": 1, "max_concurrent_submissions": -1}
    return {
        **usual,
        **fields,
        **short(state, study),
        "submissions_config": config | (fields.get("submissions_config") or {}),
        "maximum_allowed_time": longest_minutes(state, study),
        "is_ready_to_publish": study["status"] == "UNPUBLISHED",
        "researcher": {"id": state.data["researcher"], "name": "Researcher", "country": "GB"},
        "estimated_reward_per_hour": per_hour,
        "average_reward_per_hour": per_hour,
        "is_underpaying": per_hour < state.setting("min_reward_per_hour"),
    }


# --- Changes -------------------------------------------------------------------------------------


def change(state: State, study: Json, changes: Json) -> None:
    """Drafts freely; afterwards a few fields, and places only upwards, if they can be paid."""
    fields = {**study["fields"], **changes}
    is_draft = study["status"] in ("UNPUBLISHED", "SCHEDULED")
    if not is_draft:
        _check_names(study, changes)
        _check_codes(study, changes)
        _check_places(state, study, changes)
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


def _check_places(state: State, study: Json, changes: Json) -> None:
    before = study["fields"]["total_available_places"]
    places = changes.get("total_available_places", before)
    if not is_number(places) or places < before:
        raise ApiError(400, {"total_available_places": ["Places can only be added."]})
    if places > before and study["stopped"] and state.setting("stop_is_final"):
        raise ApiError(400, {"total_available_places": ["This study was stopped."]})


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
    elif action == "SCHEDULE_PUBLISH":
        at = body.get("publish_at") or study["fields"].get("publish_at")
        if not at:
            raise ApiError(400, {"publish_at": ["This field is required."]})
        study["publish_at"] = moment(at)
        set_status(state, study, target)
        state.later("publish", study["publish_at"] - state.now(), study=study["id"])
    elif action == "STOP":
        study["stopped"] = True
        waiting = count(state, study, *OPEN) and not state.setting("stop_completes_at_once")
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


def publish_scheduled(state: State, args: Json) -> None:
    study = state.data["studies"].get(args["study"])
    if study is None or study["status"] != "SCHEDULED":
        return
    try:
        _publish(state, study)
    except ApiError:
        set_status(state, study, "UNPUBLISHED")


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
    elif status == "AWAITING REVIEW" and submitted < places:
        freed = {"pause": "PAUSED", "recruit": "ACTIVE"}.get(state.setting("when_freed"), "")
        set_status(state, study, freed or status)
    elif status == "ACTIVE" and _screened_all(state, study):
        set_status(state, study, "PAUSED")
