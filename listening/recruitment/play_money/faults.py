"""Faults that can be switched on by name: how often, for which requests, and what they do."""

from __future__ import annotations

import random
import re
from typing import Any

from listening.recruitment.play_money.state import ApiError, Json, State

NAMES = {
    "too_many": "429, nothing happens; `retry_after` in seconds is its header",
    "error_500": "a server error before the effect; `status` for another one than 500",
    "error_500_after": "a server error after the effect; `status` for another one than 500",
    "slow": "the reply comes after `seconds` (2)",
    "drop_before": "the connection is closed, nothing has happened",
    "drop_after": "the connection is closed after the effect",
    "not_json": "the reply is a page of HTML",
    "error_bare": "errors without the object around them",
    "error_message": "errors as message and detail",
    "extra_fields": "objects have fields that nobody has heard of",
    "unknown_status": "statuses that nobody has heard of",
    "floats": "whole numbers come as 30.0",
    "rates_bare": "the recommended rewards are one object instead of a list",
    "hook_twice": "an event is sent twice",
    "hook_out_of_order": "an event is overtaken by those of the next `seconds` (2)",
    "hook_bad_signature": "an event is signed with another secret",
    "hook_underscores": "statuses in events have underscores",
}


def add(state: State, body: Json) -> Json:
    """`count` (1; null: for ever), `probability` (1), regular expressions `method` and `path`."""
    if body.get("name") not in NAMES:
        raise ApiError(400, f"There is no fault {body.get('name')!r}: {', '.join(NAMES)}")
    fault = {"count": None if "probability" in body else 1, "probability": 1, "hits": 0, **body}
    try:
        for name in ("method", "path"):
            re.compile(fault.get(name) or "")
    except re.error as error:
        raise ApiError(400, f"{name} is no regular expression: {error}") from None
    state.data["faults"].append(fault)
    return fault


def remove(state: State, name: str | None = None) -> None:
    others = [fault for fault in state.data["faults"] if name and fault["name"] != name]
    state.data["faults"] = others


def hit(state: State, name: str, method: str = "", path: str = "") -> Json | None:
    """A fault that strikes now, counted; or nothing."""
    for fault in state.data["faults"]:
        if fault["name"] != name or fault["count"] == 0:
            continue
        if not re.fullmatch(fault.get("method") or ".*", method):
            continue
        if not re.search(fault.get("path") or "", path):
            continue
        if fault["probability"] < 1 and random.random() >= fault["probability"]:
            continue
        fault["hits"] += 1
        state.is_dirty = True
        if fault["count"] is not None:
            fault["count"] -= 1
        hit_fault: Json = fault
        return hit_fault
    return None


def warp(state: State, body: Any, method: str, path: str) -> Any:
    """A reply's body with what faults do to it."""
    if hit(state, "extra_fields", method, path):
        body = _each(body, lambda o: {**o, "an_unheard_of_field": {"new": [1, None]}})
    if hit(state, "unknown_status", method, path):
        body = _each(body, lambda o: {**o, "status": "UNHEARD OF"} if "status" in o else o)
    if hit(state, "floats", method, path):
        body = _floats(body)
    return body


def _each(body: Any, change: Any) -> Any:
    if isinstance(body, list):
        return [_each(each, change) for each in body]
    if isinstance(body, dict):
        return change({name: _each(each, change) for name, each in body.items()})
    return body


def _floats(body: Any) -> Any:
    if isinstance(body, list):
        return [_floats(each) for each in body]
    if isinstance(body, dict):
        return {name: _floats(each) for name, each in body.items()}
    return float(body) if isinstance(body, int) and not isinstance(body, bool) else body
