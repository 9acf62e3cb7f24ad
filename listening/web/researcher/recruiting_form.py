"""The form of a plan: what was typed, read into a plan or back with a sentence per field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite, nan
from typing import Any

from django.http import QueryDict

from listening.recruitment import plan as plans
from listening.recruitment.plan import Plan, minor_of
from listening.recruitment.prolific.wire import Json

SHOWN_CHOICES = 400  # of a filter: more are a list that nobody reads


@dataclass
class ReadPlan:
    """The plan as far as it could be read, and what is wrong, by field."""

    plan: Plan
    budget_minor: int | None
    two_people: bool
    problems: dict[str, str] = field(default_factory=dict)


def read_plan(post: QueryDict, before: Plan) -> ReadPlan:
    """`before` holds what the form does not show: currency, filters, the study's minutes."""
    problems: dict[str, str] = {}

    def money(name: str, default: int) -> int:
        try:
            return minor_of(post.get(name, "")) if post.get(name, "").strip() else default
        except ValueError as error:
            problems[name] = str(error)
            return default

    def number(name: str, default: int) -> int:
        text = post.get(name, "").strip()
        if text.isdecimal() and len(text) < 7:
            return int(text)
        problems[name] = "Give a whole number."
        return default

    budget = money("budget", -1)
    plan = replace(
        before,
        name=post.get("name", "").strip(),
        description=post.get("description", "").strip(),
        places=number("places", before.places),
        hourly_minor=money("hourly", before.hourly_minor),
        devices=tuple(each for each in post.getlist("devices") if each in plans.DEVICES),
        approval=_one_of(post, "approval", (plans.REVIEW, plans.AUTOMATIC)),
        screened_out=_one_of(post, "screened_out", (plans.RETURN, plans.FIXED)),
        screened_out_minor=money("screened_out_minor", before.screened_out_minor),
        secure="secure" in post,
        keep_out=tuple(post.getlist("keep_out")),
    )
    return ReadPlan(
        plan,
        None if budget < 0 else budget,
        "two_people" in post,
        plans.problems(plan) | problems,
    )


def _one_of(post: QueryDict, name: str, words: tuple[str, ...]) -> str:
    return post.get(name, "") if post.get(name) in words else words[0]


# --- Filters -------------------------------------------------------------------------------------


def filter_titles(filters: list[Json]) -> list[dict[str, str]]:
    """Those that can be offered, by title; groups are offered apart."""
    offered = [
        {"id": str(each.get("filter_id", "")), "title": str(each.get("title") or "")}
        for each in filters
        if each.get("type") in ("select", "range") and "group" not in str(each.get("filter_id"))
    ]
    return sorted((each for each in offered if each["id"]), key=lambda each: each["title"].lower())


def filter_facts(filters: list[Json], name: str) -> dict[str, Any] | None:
    """One filter as its own small form shows it."""
    found = next((each for each in filters if each.get("filter_id") == name), None)
    if found is None:
        return None
    choices = found.get("choices") or {}
    return {
        "id": name,
        "title": found.get("title") or name,
        "question": found.get("question") or "",
        "is_range": found.get("type") == "range",
        "min": found.get("min"),
        "max": found.get("max"),
        "choices": list(choices.items())[:SHOWN_CHOICES] if isinstance(choices, Mapping) else [],
    }


def with_filter(plan: Plan, known: Mapping[str, Any], post: QueryDict) -> Plan:
    """The plan with one more filter; ValueError with a sentence where nothing was chosen."""
    name = str(known["id"])
    if known["is_range"]:
        bounds = {
            end: _bound(post.get(end, ""))
            for end in ("lower", "upper")
            if post.get(end, "").strip()
        }
        if not bounds:
            raise ValueError(f"Give a lowest or a highest value for “{known['title']}”.")
        made: dict[str, Any] = {"filter_id": name, "selected_range": bounds}
        words = " to ".join(str(bounds.get(end, "any")) for end in ("lower", "upper"))
    else:
        texts = {str(value): str(text) for value, text in known["choices"]}
        values = [value for value in post.getlist("values") if value in texts]
        if not values:
            raise ValueError(f"Choose at least one answer for “{known['title']}”.")
        made = {"filter_id": name, "selected_values": values}
        words = ", ".join(texts[value] for value in values)
    kept = tuple(each for each in plan.filters if each.get("filter_id") != name)
    said = {**plan.words, name: f"{known['title']}: {words}"}
    return replace(plan, filters=(*kept, made), words=said)


def without_filter(plan: Plan, name: str) -> Plan:
    kept = tuple(each for each in plan.filters if each.get("filter_id") != name)
    return replace(plan, filters=kept)


def _bound(text: str) -> float | int:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = nan
    if not isfinite(number):
        raise ValueError(f"“{text[:20]}” is no number.")
    return int(number) if number == int(number) else number
