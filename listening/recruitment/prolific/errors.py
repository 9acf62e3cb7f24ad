"""What goes wrong with Prolific: it refused, or it is not known whether it did what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

REFUSALS = (400, 401, 403, 404)  # the documented ways to say no: nothing has happened there


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
