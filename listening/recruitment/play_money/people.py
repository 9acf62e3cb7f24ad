"""Participants, their groups, the filters that choose them, and messages with researchers."""

from __future__ import annotations

from typing import Any

from listening.recruitment.play_money import faults
from listening.recruitment.play_money.state import ApiError, Json, State, moment, stamp

YES_NO = {"0": "Yes", "1": "No"}
LANGUAGES = {"0": "English", "1": "French", "2": "German", "3": "Spanish", "4": "Mandarin"}
COUNTRIES = {"0": "United Kingdom", "1": "United States", "2": "Ireland", "3": "Germany"}
LONGEST_BACK_S = 30 * 86400


def _select(name: str, title: str, question: str, choices: dict[str, str] | None) -> Json:
    texts = {"title": title, "description": title, "question": question}
    entry = {"filter_id": name, **texts, "type": "select", "choices": choices}
    return entry | {"data_type": "ChoiceID" if choices else "StrID"}


def _range(name: str, title: str, question: str, lowest: int, highest: int) -> Json:
    texts = {"title": title, "description": title, "question": question}
    entry = {"filter_id": name, **texts, "type": "range", "data_type": "integer"}
    return entry | {"min": lowest, "max": highest}


FILTERS = [
    _range("age", "Age", "What is your date of birth?", 18, 100),
    _range("approval_rate", "Approval Rate", "", 0, 100),
    _range("approval_numbers", "Number of previous submissions", "", 0, 100_000),
    _select("first-language", "First Language", "What is your first language?", LANGUAGES),
    _select("fluent-languages", "Fluent languages", "Which do you speak fluently?", LANGUAGES),
    _select(
        "hearing-difficulties",
        "Hearing difficulties",
        "Do you have any hearing loss or hearing difficulties?",
        YES_NO,
    ),
    _select("handedness", "Handedness", "Which hand?", {"0": "Left", "1": "Right", "2": "Both"}),
    _select(
        "current-country-of-residence", "Country of residence", "Where do you live?", COUNTRIES
    ),
    _select("sex", "Sex", "What is your sex?", {"0": "Male", "1": "Female"}),
    _select("custom_allowlist", "Custom allowlist", "", None),
    _select("custom_blocklist", "Custom blocklist", "", None),
    _select("participant_group_allowlist", "Participant group allowlist", "", None),
    _select("participant_group_blocklist", "Participant group blocklist", "", None),
    _select("previous_studies_allowlist", "Previous studies allowlist", "", None),
    _select("previous_studies_blocklist", "Previous studies blocklist", "", None),
]
BY_ID = {entry["filter_id"]: entry for entry in FILTERS}


def faults_of(filters: Any) -> list[str]:
    """What is wrong with a study's filters, in sentences."""
    if not isinstance(filters, list):
        return ["Expected a list of filters."]
    return [fault for each in filters for fault in _faults_of_one(each)]


def _faults_of_one(entry: Any) -> list[str]:
    if not isinstance(entry, dict) or not isinstance(entry.get("filter_id"), str):
        return ["A filter needs a filter_id."]
    name = entry["filter_id"]
    if name in ("and", "or"):
        return faults_of(entry.get("selected_filters"))
    known = BY_ID.get(name)
    if known is None:
        return [f"There is no filter {name}."]
    if known["type"] == "range":
        return _faults_of_range(name, entry)
    values = entry.get("selected_values")
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return [f"{name}: selected_values must be a list of strings."]
    unknown = [value for value in values if known["choices"] and value not in known["choices"]]
    return [f"{name}: there is no choice {', '.join(unknown)}."] if unknown else []


def _faults_of_range(name: str, entry: Json) -> list[str]:
    chosen = entry.get("selected_range")
    if not isinstance(chosen, dict) and "weightings" not in entry:
        return [f"{name}: selected_range must have lower or upper."]
    ends = [chosen.get(end) for end in ("lower", "upper")] if isinstance(chosen, dict) else []
    if not all(end is None or isinstance(end, int | float) for end in ends):
        return [f"{name}: lower and upper must be numbers."]
    return []


def meets_filters(state: State, participant: Json, filters: list[Json]) -> bool:
    """Whether a participant meets all of these filters."""
    return all(_meets(state, participant, each) for each in filters)


def _meets(state: State, participant: Json, entry: Json) -> bool:
    name = entry["filter_id"]
    if name in ("and", "or"):
        answers = (_meets(state, participant, each) for each in entry["selected_filters"])
        return all(answers) if name == "and" else any(answers)
    if BY_ID[name]["type"] == "range":
        chosen, has = entry.get("selected_range") or {}, participant["attributes"].get(name)
        if has is None:
            return False
        lower, upper = chosen.get("lower"), chosen.get("upper")
        return (lower is None or has >= lower) and (upper is None or has <= upper)
    common = bool(_values(state, participant, name) & set(entry["selected_values"]))
    return not common if name.endswith("_blocklist") else common


def _values(state: State, participant: Json, name: str) -> set[str]:
    """What a participant has of a filter: choices, own id, groups, or studies taken part in."""
    if name.startswith("custom_"):
        return {participant["id"]}
    if name.startswith("participant_group_"):
        groups = state.all("groups")
        return {g["id"] for g in groups if participant["id"] in g["members"]}
    if name.startswith("previous_studies_"):
        mine = state.all("submissions", participant=participant["id"])
        return {submission["study_id"] for submission in mine}
    value = participant["attributes"].get(name)
    return set(value) if isinstance(value, list) else {value}


def attributes(own: Json, place: int) -> Json:
    """A participant's answers to the filters; choices by id or by their text."""
    usual: Json = {"age": 20 + place * 7 % 45, "approval_rate": 100, "approval_numbers": 50}
    usual |= {"first-language": "0", "fluent-languages": ["0"], "hearing-difficulties": "1"}
    usual |= {"handedness": "1", "current-country-of-residence": "0", "sex": str(place % 2)}
    return usual | {name: _as_ids(name, value) for name, value in own.items()}


def _as_ids(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_as_ids(name, each) for each in value]
    choices: dict[str, str] = BY_ID.get(name, {}).get("choices") or {}
    by_text = {text.lower(): key for key, text in choices.items()}
    return by_text.get(str(value).lower(), value)


def count(state: State, filters: list[Json]) -> int:
    """How many are eligible; 0 stands for fewer than 25."""
    everybody = state.all("participants")
    eligible = sum(meets_filters(state, each, filters) for each in everybody)
    if state.setting("pool_size") and everybody:
        eligible = int(state.setting("pool_size") * eligible / len(everybody))
    return eligible if eligible >= 25 else 0


def create(
    state: State, own: Json | None = None, *, email: str = "", is_test: bool = False
) -> Json:
    place = len(state.data["participants"])
    has = attributes(own or {}, place)
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


def group_json(state: State, group: Json) -> Json:
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


def to_participant(
    state: State, who: str, body: str, study: str | None, category: str = ""
) -> None:
    _add(state, state.data["researcher"], who, body, study, category)


def to_researcher(state: State, who: str, body: str, study: str | None, category: str = "") -> None:
    _add(state, who, state.data["researcher"], body, study, category)


def _add(state: State, sender: str, to: str, body: str, study: str | None, category: str) -> None:
    numbered = f"{len(state.data['messages']):024x}"
    between = {"sender_id": sender, "recipient_id": to}
    about = {"study_id": study, "category": category or "other"}
    entry = {"id": numbered, **between, "body": body, "sent_at": state.now(), "data": about}
    state.data["messages"].append(entry)


def send(state: State, recipients: Any, body: Json) -> None:
    """To participants that are known; all or none."""
    text = body.get("body")
    if not isinstance(text, str) or not text.strip():
        raise ApiError(400, {"body": ["This field is required."]})
    if not isinstance(recipients, list) or not recipients:
        raise ApiError(400, "Recipients are required.")
    if unknown := [str(who) for who in recipients if str(who) not in state.data["participants"]]:
        raise ApiError(400, f"Unknown participants: {', '.join(unknown)}")
    for who in recipients:
        to_participant(state, who, text, body.get("study_id"))


def messages_matching(state: State, query: dict[str, str]) -> list[Json]:
    """By one participant, or since a moment at most 30 days ago."""
    user, since = query.get("user_id"), query.get("created_after")
    if not user and not since:
        raise ApiError(400, "Either user_id or created_after is required.")
    first = moment(since) if since else 0.0
    if since and state.now() - first > LONGEST_BACK_S:
        raise ApiError(400, {"created_after": ["At most 30 days back."]})
    return [
        message_json(state, message)
        for message in state.data["messages"]
        if message["sent_at"] >= first
        and (not user or user in (message["sender_id"], message["recipient_id"]))
    ]


def unread_messages(state: State) -> list[Json]:
    """Everything that participants wrote; reading here marks nothing as read."""
    mine = state.data["researcher"]
    return [message_json(state, m) for m in state.data["messages"] if m["recipient_id"] == mine]


def message_json(state: State, message: Json) -> Json:
    sender, sent = message["sender_id"], stamp(message["sent_at"])
    entry = {"id": message["id"], "body": message["body"], "type": "message"}
    entry |= {"channel_id": f"channel-{message['id']}", "data": message["data"]}
    if faults.hit(state, "message_fields"):
        return entry | {"sender": sender, "datetime_created": sent}
    return entry | {"sender_id": sender, "sent_at": sent}
