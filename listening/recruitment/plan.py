"""What a study on Prolific will be: its words, places, time, pay, and what each code does there.

Pure: no database, no network. Money is in minor units (pence, cents).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import ROUND_HALF_UP, Decimal
from math import ceil, sqrt
from statistics import median
from typing import Any

from listening.design.providers.prolific import Prolific
from listening.recruitment.prolific.wire import Json

FLOOR = {"GBP": 600, "USD": 800}  # per hour, judged on the median time; Prolific's own minimum
LEAST_SCREENED_OUT = {"GBP": 10, "USD": 14}
DEVICES = ("desktop", "tablet", "mobile")
LONGEST_NAME = 120
MOST_PLACES = 100_000
SCREENED_OUT_MINUTES = 2.0  # that a rater is on the way before being screened out
FIXED, RETURN = "fixed", "return"
REVIEW, AUTOMATIC = "review", "automatic"
NO_CONSENT_REASON = "You chose not to take part."
SCREENED_OUT_REASON = (
    "Thank you for your time. This study needs other listeners or other equipment. Please return "
    "your place; after that we pay you for the time you spent."
)
PAYS_SCREEN_OUT = "FIXED_SCREEN_OUT_PAYMENT"
WHAT_CODES_DO = {  # way -> in words, for the researcher
    "MANUALLY_REVIEW": "waits for your decision",
    "AUTOMATICALLY_APPROVE": "is approved and paid at once",
    "REQUEST_RETURN": "is asked to return the place",
    PAYS_SCREEN_OUT: "is paid the fixed amount at once",
}


class Incomplete(ValueError):
    """A plan that Prolific would refuse, or that breaks its rules: one sentence per field."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(" ".join(problems.values()))
        self.problems = dict(problems)


@dataclass(frozen=True)
class Plan:
    """All that a researcher decides before anything is sent."""

    name: str
    description: str
    places: int
    minutes: int  # the one figure that raters are told
    hourly_minor: int
    currency: str
    devices: tuple[str, ...] = ()  # none: all
    filters: tuple[Json, ...] = ()
    approval: str = REVIEW
    screened_out: str = RETURN
    screened_out_minor: int = 0
    secure: bool = False
    keep_out: tuple[str, ...] = ()  # groups of earlier raters at Prolific
    words: Json = field(default_factory=dict)  # filter -> what it says, for people
    floor_minor: int = 0  # per hour, as Prolific named it for this plan; 0: it was not asked
    exact_minutes: float = 0.0  # before rounding; 0: not known

    @property
    def reward_minor(self) -> int:
        """For the time that a session takes, rounded up to a whole penny.

        Where the exact time is longer than the figure told, the minimum holds for the exact time.
        """
        is_longer = self.exact_minutes > self.minutes
        least = self.hourly_floor * self.exact_minutes if is_longer else 0
        return ceil(round(max(self.hourly_minor * self.minutes, least) / 60, 6))

    @property
    def maximum_minutes(self) -> int:
        """The time after which Prolific gives the place away; never below its own minimum."""
        least = 2 + 2 * self.minutes + 2 * sqrt(self.minutes)
        return ceil(max(least, 3 * self.minutes))

    @property
    def hourly_floor(self) -> int:
        return max(self.floor_minor, FLOOR.get(self.currency, 0))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Json) -> Plan:
        known = {each.name for each in fields(cls)}
        values = {name: value for name, value in stored.items() if name in known}
        for name in ("devices", "filters", "keep_out"):
            values[name] = tuple(values.get(name) or ())
        return cls(**values)


def problems(plan: Plan) -> dict[str, str]:
    """Field -> what must be changed before it can be sent; empty where nothing must."""
    problems_by_field: dict[str, str] = {}
    if not 0 < len(plan.name.strip()) <= LONGEST_NAME:
        problems_by_field["name"] = f"Give the study a name of 1 to {LONGEST_NAME} characters."
    if not plan.description.strip():
        problems_by_field["description"] = (
            "Say what participants will do, and that they need headphones."
        )
    if not 0 < plan.places <= MOST_PLACES:
        problems_by_field["places"] = f"Give a number of places from 1 to {MOST_PLACES:,}."
    if plan.hourly_minor < plan.hourly_floor:
        least = money(plan.hourly_floor, plan.currency)
        problems_by_field["hourly"] = f"Prolific's minimum is {least} per hour."
    unknown = [device for device in plan.devices if device not in DEVICES]
    if unknown:
        problems_by_field["devices"] = f"No such device: {', '.join(unknown)}."
    if plan.screened_out == FIXED:
        least_minor = LEAST_SCREENED_OUT.get(plan.currency, 1)
        if not least_minor <= plan.screened_out_minor < plan.reward_minor:
            problems_by_field["screened_out_minor"] = (
                f"The payment for people who are screened out must be at least "
                f"{money(least_minor, plan.currency)} and less than the reward of "
                f"{money(plan.reward_minor, plan.currency)}."
            )
    return problems_by_field


def with_fair_screen_out(plan: Plan) -> Plan:
    """The minutes on the way at the hourly pay, between Prolific's minimum and the reward; a return
    and a bonus where nothing lies between."""
    least = LEAST_SCREENED_OUT.get(plan.currency, 1)
    fair = max(ceil(plan.hourly_minor * SCREENED_OUT_MINUTES / 60), least)
    if plan.screened_out == FIXED and plan.reward_minor <= least:
        plan = replace(plan, screened_out=RETURN)
    return replace(plan, screened_out_minor=max(min(fair, plan.reward_minor - 1), least))


def ways_of(plan: Plan) -> dict[str, str]:
    """Outcome -> what its code does at Prolific."""
    return {
        "complete": "AUTOMATICALLY_APPROVE" if plan.approval == AUTOMATIC else "MANUALLY_REVIEW",
        "needs_review": "MANUALLY_REVIEW",
        "partial": "MANUALLY_REVIEW",
        "screened_out": (PAYS_SCREEN_OUT if plan.screened_out == FIXED else "REQUEST_RETURN"),
        "no_consent": "REQUEST_RETURN",
    }


CODE_TYPES = {
    "complete": "COMPLETED",
    "needs_review": "OTHER",
    "partial": "OTHER",
    "screened_out": "SCREENED_OUT",
    "no_consent": "NO_CONSENT",
}
JOINS_GROUP = ("complete", "needs_review", "partial", "screened_out")


def completion_codes(plan: Plan, codes: Mapping[str, str], group: str = "") -> list[Json]:
    """One code per outcome, and one that only we can use, for who never came back with theirs."""
    entries: list[Json] = []
    for outcome, way in ways_of(plan).items():
        if not codes.get(outcome):
            continue
        action: dict[str, Any] = {"action": way}
        if way == PAYS_SCREEN_OUT:
            action |= {"fixed_screen_out_reward": plan.screened_out_minor, "slots": plan.places}
        elif way == "REQUEST_RETURN":
            is_screened = outcome == "screened_out"
            action["return_reason"] = SCREENED_OUT_REASON if is_screened else NO_CONSENT_REASON
        actions = [action]
        if group and outcome in JOINS_GROUP:
            actions.append({"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group})
        entries.append(_code(codes[outcome], CODE_TYPES[outcome], actions))
    if codes.get("server"):
        approve = [{"action": "AUTOMATICALLY_APPROVE"}]
        entries.append(_code(codes["server"], "COMPLETED_BY_SERVER", approve, actor="researcher"))
    return entries


def _code(code: str, kind: str, actions: list[Any], actor: str = "participant") -> Json:
    return {"code": code, "code_type": kind, "actor": actor, "actions": actions}


def study_address(landing: str) -> str:
    """The page that participants open; Prolific fills the places in."""
    filled = Prolific.placeholders.items()
    return landing + "?" + "&".join(f"{name}={placeholder}" for name, placeholder in filled)


def body_of(
    plan: Plan,
    *,
    landing: str,
    internal_name: str,
    project: str,
    codes: Mapping[str, str],
    group: str = "",
    keep_out_by: str = "",
) -> dict[str, Any]:
    """What is sent to make the draft; `keep_out_by` is Prolific's filter for groups, if any."""
    filters: list[Any] = list(plan.filters)
    if plan.keep_out and keep_out_by:
        filters.append({"filter_id": keep_out_by, "selected_values": list(plan.keep_out)})
    body: dict[str, Any] = {
        "name": plan.name,
        "internal_name": internal_name,
        "description": plan.description,
        "external_study_url": study_address(landing),
        "prolific_id_option": "url_parameters",
        "completion_codes": completion_codes(plan, codes, group),
        "total_available_places": plan.places,
        "estimated_completion_time": plan.minutes,
        "maximum_allowed_time": plan.maximum_minutes,
        "reward": plan.reward_minor,
        "device_compatibility": list(plan.devices),
        "peripheral_requirements": ["audio"],
        "filters": filters,
        "submissions_config": {
            "max_submissions_per_participant": 1,
            "max_concurrent_submissions": -1,
        },
        "metadata": internal_name,
    }
    if project:
        body["project"] = project
    if plan.secure:
        body["is_external_study_url_secure"] = True
    return body


def whole_minor(minor: Decimal | float) -> int:
    """To the nearest penny, half a penny up: fees are fractions of one."""
    return int(Decimal(str(minor)).quantize(Decimal(1), ROUND_HALF_UP))


def money(minor: Decimal | float, currency: str) -> str:
    """As people write it: £6.00, $8.00, EUR 7.50."""
    sign = {"GBP": "£", "USD": "$"}.get(currency, f"{currency} " if currency else "")
    pence = abs(whole_minor(minor))
    return f"{'−' if minor < 0 else ''}{sign}{pence // 100:,}.{pence % 100:02d}"


AMOUNT = re.compile(r"[£$€ ]*([0-9]{1,7})(?:[.,]([0-9]{0,2}))?[£$€ ]*")


def minor_of(text: str) -> int:
    """Minor units of what somebody wrote: 9, 9.00, £9, 9,50. ValueError where it is no amount."""
    match = AMOUNT.fullmatch(text)
    if match is None:
        raise ValueError(f"“{text[:20]}” is no amount of money: write it like 9.00.")
    return int(match[1]) * 100 + int(f"{match[2] or ''}00"[:2])


def pay_per_hour(reward_minor: float, minutes: Sequence[float]) -> float | None:
    """The reward on the median time really taken, in minor units per hour."""
    taken = [each for each in minutes if each > 0]
    return 60 * reward_minor / median(taken) if taken else None
