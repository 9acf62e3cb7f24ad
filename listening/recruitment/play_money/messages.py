"""Messages between researcher and participants."""

from __future__ import annotations

from typing import Any

from listening.recruitment.play_money import faults
from listening.recruitment.play_money.state import ApiError, Json, State, moment, stamp

LONGEST_BACK_S = 30 * 86400


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


def listed(state: State, query: dict[str, str]) -> list[Json]:
    """By one participant, or since a moment at most 30 days ago."""
    user, since = query.get("user_id"), query.get("created_after")
    if not user and not since:
        raise ApiError(400, "Either user_id or created_after is required.")
    first = moment(since) if since else 0.0
    if since and state.now() - first > LONGEST_BACK_S:
        raise ApiError(400, {"created_after": ["At most 30 days back."]})
    return [
        shown(state, message)
        for message in state.data["messages"]
        if message["sent_at"] >= first
        and (not user or user in (message["sender_id"], message["recipient_id"]))
    ]


def unread(state: State) -> list[Json]:
    """Everything that participants wrote; reading here marks nothing as read."""
    mine = state.data["researcher"]
    return [shown(state, m) for m in state.data["messages"] if m["recipient_id"] == mine]


def shown(state: State, message: Json) -> Json:
    sender, sent = message["sender_id"], stamp(message["sent_at"])
    entry = {"id": message["id"], "body": message["body"], "type": "message"}
    entry |= {"channel_id": f"channel-{message['id']}", "data": message["data"]}
    if faults.hit(state, "message_fields"):
        return entry | {"sender": sender, "datetime_created": sent}
    return entry | {"sender_id": sender, "sent_at": sent}
