"""What comes back from Prolific, as plain values; unknown fields and statuses do no harm.

Money is in minor units (pence, cents) as ``Decimal``: fees may be fractions of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from listening.recruitment.prolific.errors import NoReply

Json = Mapping[str, Any]
SUBMISSION_OVER = ("APPROVED", "PARTIALLY APPROVED", "REJECTED", "RETURNED", "SCREENED OUT")
PLACE_FREE = ("RETURNED", "TIMED-OUT", "REJECTED")  # Prolific recruits somebody else


class Malformed(NoReply, ValueError):
    """A reply lacks what it must have, or has it in a shape that nobody documented.

    Whether the request was carried out is not known by it.
    """


def needed(reply: object, name: str) -> Any:
    """A field that a reply must have."""
    if not isinstance(reply, Mapping) or name not in reply:
        raise Malformed(f"Prolific's reply has no {name}.")
    return reply[name]


@dataclass(frozen=True)
class Money:
    """An amount in minor units of a currency."""

    minor: Decimal
    currency: str

    def __str__(self) -> str:
        return f"{self.currency} {self.minor / 100:.2f}"


@dataclass(frozen=True)
class Workspace:
    id: str
    title: str


@dataclass(frozen=True)
class Balance:
    available: Money
    total: Money


@dataclass(frozen=True)
class RewardRates:
    """Per hour, in minor units."""

    minimum: int
    recommended: int


@dataclass(frozen=True)
class Study:
    """A study as Prolific has it; `status` with spaces, as it writes them."""

    id: str
    name: str
    status: str
    places: int
    places_taken: int
    reward: Decimal  # minor units
    currency: str
    maximum_minutes: float | None  # read back: the value that was sent is not always taken
    is_publishable: bool
    parent: str
    internal_name: str = ""
    metadata: str = ""
    description: str = ""
    minutes: float = 0.0
    devices: tuple[str, ...] = ()
    filters: tuple[Json, ...] = ()
    address: str = ""
    is_secure: bool = False
    codes: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Submission:
    """One participant's place in a study; its id is the session id in the study's address."""

    id: str
    participant: str
    status: str
    study: str  # "" in lists, which are of one study
    parent_study: str
    code: str  # as entered: NOCODE, or any word
    started_at: datetime | None
    completed_at: datetime | None
    return_requested: datetime | None
    # Minor units; fixed payments for a screen-out stand here too. None: a list does not say.
    bonuses: tuple[Decimal, ...] | None

    @property
    def is_over(self) -> bool:
        return self.status in SUBMISSION_OVER


@dataclass(frozen=True)
class BonusBatch:
    """Bonuses that are written down at Prolific, and not paid before `pay_bonuses`."""

    id: str
    amount: Decimal
    fees: Decimal
    vat: Decimal
    total: Decimal


def status_of(text: object) -> str:
    """A status in Prolific's own spelling, however a hook or a filter spells it."""
    spelt = " ".join(str(text or "UNKNOWN").upper().replace("_", " ").split())
    return "TIMED-OUT" if spelt in ("TIMED OUT", "TIME-OUT", "TIMED-OUT") else spelt


def amount(value: object) -> Decimal:
    """Minor units from a JSON number, written as 30, 30.0 or "30"."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise Malformed(f"{value!r} is no amount of money.") from None
    if not number.is_finite():
        raise Malformed(f"{value!r} is no amount of money.")
    return number


def whole(value: object) -> int:
    number = amount(value)
    if number != number.to_integral_value():
        raise Malformed(f"{value!r} is no whole number.")
    return int(number)


def moment(value: object) -> datetime | None:
    """ISO 8601 in UTC, with or without a fraction of the second."""
    if not isinstance(value, str) or not value:
        return None
    try:
        read = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return read if read.tzinfo else None


def _id(reply: Json, *names: str) -> str:
    for name in names:
        if isinstance(reply.get(name), str) and reply[name]:
            return str(reply[name])
    raise Malformed(f"Prolific's reply has no {names[0]}.")


def workspace(reply: Json) -> Workspace:
    return Workspace(_id(reply, "id"), str(reply.get("title") or ""))


def balance(reply: Json) -> Balance:
    currency = str(reply.get("currency_code") or "")
    return Balance(
        Money(amount(reply.get("available_balance")), currency),
        Money(amount(reply.get("total_balance")), currency),
    )


def reward_rates(reply: object) -> RewardRates:
    """From a list, whose first entry is the newest; from one entry alone, too."""
    if isinstance(reply, Mapping):
        reply = reply.get("results", reply)
    first = reply[0] if isinstance(reply, list) and reply else reply
    return RewardRates(
        whole(needed(first, "min_reward_per_hour")),
        whole(needed(first, "recommended_reward_per_hour")),
    )


def study(reply: Json) -> Study:
    maximum = reply.get("maximum_allowed_time")
    return Study(
        id=_id(reply, "id"),
        name=str(reply.get("name") or ""),
        status=status_of(reply.get("status")),
        places=whole(reply.get("total_available_places") or 0),
        places_taken=whole(reply.get("places_taken") or 0),
        reward=amount(reply.get("reward") or 0),
        currency=str(reply.get("currency_code") or reply.get("presentment_currency_code") or ""),
        maximum_minutes=float(maximum) if isinstance(maximum, int | float) else None,
        is_publishable=bool(reply.get("is_ready_to_publish", True)),
        parent=str(reply.get("parent_study_id") or ""),
        internal_name=str(reply.get("internal_name") or ""),
        metadata=str(reply.get("metadata") or ""),
        description=str(reply.get("description") or ""),
        minutes=float(amount(reply.get("estimated_completion_time") or 0)),
        devices=tuple(str(each) for each in _list(reply, "device_compatibility")),
        filters=tuple(each for each in _list(reply, "filters") if isinstance(each, dict)),
        address=str(reply.get("external_study_url") or ""),
        is_secure=bool(reply.get("is_external_study_url_secure")),
        codes=tuple(_code(each) for each in _list(reply, "completion_codes")),
    )


def _list(reply: Json, name: str) -> list[Any]:
    value = reply.get(name) or []
    if not isinstance(value, list):
        raise Malformed(f"Prolific's reply has no list of {name}.")
    return value


def _code(value: object) -> Json:
    """A completion code as it is written: it goes back whole when its slots are raised."""
    actions = value.get("actions") if isinstance(value, dict) else None
    if not isinstance(actions, list) or not all(isinstance(each, dict) for each in actions):
        raise Malformed("Prolific's reply has a completion code that cannot be read.")
    assert isinstance(value, dict)
    return value


def submission(reply: Json) -> Submission:
    """From a detail or from a list: they name participant and code differently."""
    bonuses = reply.get("bonus_payments", ())
    if "bonus_payments" not in reply and "participant" not in reply:
        bonuses = None
    return Submission(
        id=_id(reply, "id"),
        participant=_id(reply, "participant", "participant_id"),
        status=status_of(reply.get("status")),
        study=str(reply.get("study_id") or ""),
        parent_study=str(reply.get("parent_study_id") or ""),
        code=str(reply.get("entered_code") or reply.get("study_code") or ""),
        started_at=moment(reply.get("started_at")),
        completed_at=moment(reply.get("completed_at")),
        return_requested=moment(reply.get("return_requested")),
        bonuses=None if bonuses is None else tuple(amount(each) for each in bonuses or ()),
    )


def bonus_batch(reply: Json) -> BonusBatch:
    parts = (amount(reply.get(name) or 0) for name in ("amount", "fees", "vat", "total_amount"))
    return BonusBatch(_id(reply, "id"), *parts)
