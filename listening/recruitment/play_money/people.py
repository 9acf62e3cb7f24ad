"""Participants, their groups, the filters that choose them, and messages to them."""

from __future__ import annotations

from typing import Any

from listening.recruitment.play_money.state import ApiError, Json, State

YES_NO = {"0": "Yes", "1": "No"}
LANGUAGES = {"0": "English", "1": "French", "2": "German", "3": "Spanish", "4": "Mandarin"}
COUNTRIES = {"0": "United Kingdom", "1": "United States", "2": "Ireland", "3": "Germany"}


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
    return state.add("groups", name=body["name"], workspace_id=workspace, members={})


def to_participant(state: State, who: str, body: str, study: str, category: str) -> None:
    about = {"study_id": study, "category": category}
    message = {"recipient_id": who, "body": body, "sent_at": state.now(), "data": about}
    state.data["messages"].append(message)
