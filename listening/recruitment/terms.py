"""What a study at Prolific says, asks and pays, as it was read there last.

A draft can be edited at Prolific, so no sum is computed from the plan that was sent. Money is in
minor units, without fees.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from hashlib import sha256
from typing import Any

from listening.models import Recruitment
from listening.recruitment.plan import FIXED, PAYS_SCREEN_OUT, Plan, money
from listening.recruitment.prolific import ProlificStudy
from listening.recruitment.prolific.wire import Json, amount


@dataclass(frozen=True)
class Terms:
    """One study as Prolific has it."""

    name: str
    description: str
    places: int
    reward_minor: Decimal
    minutes: float
    maximum_minutes: float | None = None
    devices: tuple[str, ...] = ()
    filters: tuple[Json, ...] = ()
    address: str = ""
    is_secure: bool = False
    codes: tuple[Json, ...] = ()  # completion codes as Prolific writes them

    @property
    def screened_out_minor(self) -> Decimal:
        """What one person who is screened out is paid at once; 0 where nobody is."""
        return amount(self._screen_out.get("fixed_screen_out_reward") or 0)

    @property
    def slots(self) -> int:
        """How many people can be paid for being screened out."""
        return int(amount(self._screen_out.get("slots") or 0))

    @property
    def _screen_out(self) -> Json:
        for code in self.codes:
            for action in code.get("actions") or ():
                if action.get("action") == PAYS_SCREEN_OUT:
                    return dict(action)
        return {}

    @property
    def rewards_minor(self) -> Decimal:
        return self.reward_minor * self.places

    @property
    def screen_outs_minor(self) -> Decimal:
        return self.screened_out_minor * self.slots

    @property
    def locked_minor(self) -> Decimal:
        """What publishing locks: all places, and all screen-outs that are paid."""
        return self.rewards_minor + self.screen_outs_minor

    def hourly_minor(self, minutes: float) -> float:
        return float(self.reward_minor) * 60 / minutes if minutes else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "reward_minor": f"{self.reward_minor.normalize():f}"}

    @classmethod
    def from_dict(cls, stored: Json) -> Terms:
        known = {each.name for each in fields(cls)}
        values = {name: value for name, value in stored.items() if name in known}
        for name in ("devices", "filters", "codes"):
            values[name] = tuple(values.get(name) or ())
        return cls(**{**values, "reward_minor": amount(values["reward_minor"])})

    @classmethod
    def of_study(cls, there: ProlificStudy) -> Terms:
        return cls(
            name=there.name,
            description=there.description,
            places=there.places,
            reward_minor=there.reward,
            minutes=there.minutes,
            maximum_minutes=there.maximum_minutes,
            devices=there.devices,
            filters=there.filters,
            address=there.address,
            is_secure=there.is_secure,
            codes=there.codes,
        )

    @classmethod
    def of_plan(cls, plan: Plan) -> Terms:
        """What the plan will be there, before anything was read."""
        fixed = {"fixed_screen_out_reward": plan.screened_out_minor, "slots": plan.places}
        code = {"actions": [{"action": PAYS_SCREEN_OUT, **fixed}]}
        return cls(
            name=plan.name,
            description=plan.description,
            places=plan.places,
            reward_minor=Decimal(plan.reward_minor),
            minutes=plan.minutes,
            maximum_minutes=plan.maximum_minutes,
            devices=plan.devices,
            filters=plan.filters,
            is_secure=plan.secure,
            codes=(code,) if plan.screened_out == FIXED else (),
        )


def terms_of(recruitment: Recruitment) -> Terms:
    """As read from Prolific last; as planned where it was never read."""
    if recruitment.terms:
        return Terms.from_dict(recruitment.terms)
    return Terms.of_plan(Plan.from_dict(recruitment.plan))


def seal_of(recruitment: Recruitment) -> str:
    """Stands for all that is shown before publishing: other terms or another cost have another."""
    terms = terms_of(recruitment).as_dict()
    codes = sorted(json.dumps(_plain(each), sort_keys=True) for each in terms["codes"])
    shown = {**_plain(terms), "codes": codes, "fee_share": str(recruitment.fee_share)}
    return sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:32]


def _plain(value: Any) -> Any:
    """The same for 4 and 4.0: Prolific writes whole numbers either way."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class Change:
    """One thing that Prolific has otherwise than before."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name}: {self.before} → {self.after}"


def changes_between(before: Terms, after: Terms, currency: str) -> list[Change]:
    """In words, what costs money first."""
    changes = [
        Change(name, *(words(getattr(each, field), currency) for each in (before, after)))
        for field, (name, words) in SHOWN.items()
        if getattr(before, field) != getattr(after, field)
    ]
    if not changes and before.codes != after.codes:
        changes.append(Change("Completion codes", "as drafted", "changed"))
    return changes


def _money(value: Decimal, currency: str) -> str:
    return money(value, currency)


def _number(value: float | None, currency: str) -> str:
    return "none" if value is None else f"{value:g}"


def _text(value: str, currency: str) -> str:
    return f"“{value if len(value) <= 80 else value[:79] + '…'}”"


def _listed(value: Sequence[object], currency: str) -> str:
    names = [
        str(each.get("filter_id", "")) if isinstance(each, Mapping) else str(each) for each in value
    ]
    return ", ".join(names) or "all"


def _yes(value: bool, currency: str) -> str:
    return "yes" if value else "no"


SHOWN: dict[str, tuple[str, Callable[[Any, str], str]]] = {
    "reward_minor": ("Reward", _money),
    "places": ("Places", _number),
    "screened_out_minor": ("Payment for a screen-out", _money),
    "slots": ("Paid screen-outs", _number),
    "minutes": ("Minutes", _number),
    "maximum_minutes": ("Longest time in minutes", _number),
    "name": ("Name", _text),
    "description": ("Text", _text),
    "devices": ("Devices", _listed),
    "filters": ("Filters", _listed),
    "address": ("Address", _text),
    "is_secure": ("Signed links", _yes),
}
