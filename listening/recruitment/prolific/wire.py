"""What comes back from Prolific as plain values, and what goes wrong.

Unknown fields and statuses do no harm. An error says that Prolific refused, or that it is not known
whether it did what was asked. Money is in minor units (pence, cents) as ``Decimal``: fees may be
fractions of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from email.utils import parsedate_to_datetime
from typing import Any

REFUSALS = (400, 401, 403, 404)  # the documented ways to say no: nothing has happened there
Json = Mapping[str, Any]
SUBMISSION_OVER = ("APPROVED", "PARTIALLY APPROVED", "REJECTED", "RETURNED", "SCREENED OUT")
PLACE_FREE = ("RETURNED", "TIMED-OUT", "REJECTED")  # Prolific recruits somebody else


class ProlificError(Exception):
    """Prolific did not do, or is not known to have done, what was asked of it."""


class Refused(ProlificError):
    """Prolific answered, and said no: nothing has happened there."""

    def __init__(
        self,
        status: int,
        sentences: list[str],
        fields: Mapping[str, list[str]],
    ) -> None:
        super().__init__(" ".join(sentences) or f"Prolific answered {status}.")
        self.status, self.sentences, self.fields = status, sentences, dict(fields)

    @property
    def is_token(self) -> bool:
        """Whether it is the token that is wrong, not the request."""
        return self.status == 401

    def names(self, *words: str) -> bool:
        """Whether the refusal speaks of any of these: features are refused in words only."""
        text = str(self).lower()
        return any(word.lower() in text or word in self.fields for word in words)


class NotSent(ProlificError):
    """Prolific could not be reached: nothing has happened there."""


class NoReply(ProlificError):
    """The request may have been carried out or not: ask Prolific before doing it again.

    `may_pass`: a later repeat may succeed. `is_rate_limit`: Prolific documents 429 as not carried
    out. `retry_after_s`: how long Prolific asks to wait.
    """

    def __init__(
        self,
        text: str,
        *,
        may_pass: bool = True,
        is_rate_limit: bool = False,
        retry_after_s: float = 0.0,
    ) -> None:
        super().__init__(text)
        self.may_pass, self.is_rate_limit = may_pass, is_rate_limit
        self.retry_after_s = retry_after_s


class OnHold(NotSent):
    """Prolific asked to wait, and the time is not over: nothing was sent."""


def problem_of(
    status: int, body: Any, *, is_readable: bool, retry_after_s: float = 0.0
) -> Refused | NoReply | None:
    """What an answer means for every call: done (None), refused, or not known.

    Only a documented refusal that can be read is a no. An answer that cannot be read, a conflict,
    and every other status leave open whether the request was carried out.
    """
    if not is_readable:
        text = f"Prolific's answer ({status}) cannot be read."
        return NoReply(text, retry_after_s=retry_after_s)
    if 200 <= status < 300:
        return None
    if status in REFUSALS:
        return refusal_of(status, body)
    if status == 429:
        text = "Prolific has had too many requests."
        return NoReply(text, is_rate_limit=True, retry_after_s=retry_after_s)
    text = f"Prolific answered {status}, which does not say whether it was done."
    may_pass = status == 408 or status >= 500
    return NoReply(text, may_pass=may_pass, retry_after_s=retry_after_s)


def seconds_to_wait(retry_after: str) -> float:
    """Seconds of a Retry-After header, a number or a date; 0 where it says neither."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    with suppress(ValueError, TypeError):
        at = parsedate_to_datetime(text)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return max((at - datetime.now(UTC)).total_seconds(), 0.0)
    return 0.0


def refusal_of(status: int, body: Any) -> Refused:
    """Prolific writes errors in three shapes: wrapped in "error", bare, or as "message"."""
    inner = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(inner, dict):
        return Refused(status, [str(inner)] if inner else [], {})
    detail = inner.get("detail") or inner.get("message") or inner.get("title") or ""
    extra = inner.get("additional_information")
    fields: dict[str, list[str]] = {}
    if isinstance(detail, dict):
        fields = {name: _texts(each) for name, each in detail.items()}
        sentences = [f"{name}: {text}" for name, texts in fields.items() for text in texts]
    else:
        sentences = _texts(detail)
    return Refused(status, [*sentences, *_texts(extra or [])], fields)


def _texts(detail: Any) -> list[str]:
    if isinstance(detail, list):
        return [text for each in detail for text in _texts(each)]
    if isinstance(detail, dict):
        return [f"{name}: {text}" for name, each in detail.items() for text in _texts(each)]
    return [str(detail)] if detail not in (None, "") else []


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
    reward: Decimal  # minor units
    currency: str
    maximum_minutes: float | None  # read back: the value that was sent is not always taken
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


def balance(reply: Json) -> Money:
    """What is not locked for studies."""
    return Money(amount(reply.get("available_balance")), str(reply.get("currency_code") or ""))


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
        reward=amount(reply.get("reward") or 0),
        currency=str(reply.get("currency_code") or reply.get("presentment_currency_code") or ""),
        maximum_minutes=float(maximum) if isinstance(maximum, int | float) else None,
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
