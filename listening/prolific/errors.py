"""What goes wrong with Prolific: it refused, or it is not known whether it did what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ProlificError(Exception):
    """Prolific did not do, or is not known to have done, what was asked of it."""


class Refused(ProlificError):
    """Prolific answered, and said no: nothing has happened there."""

    def __init__(
        self,
        status: int,
        sentences: list[str],
        fields: Mapping[str, list[str]],
        retry_after_s: float = 0.0,
    ) -> None:
        super().__init__(" ".join(sentences) or f"Prolific answered {status}.")
        self.status, self.sentences, self.fields = status, sentences, dict(fields)
        self.retry_after_s = retry_after_s

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
    """The request may have been carried out or not: ask Prolific before doing it again."""


def refusal_of(status: int, body: Any, *, retry_after: str = "") -> Refused:
    """Prolific writes errors in three shapes: wrapped in "error", bare, or as "message"."""
    wait_s = float(retry_after) if retry_after.isdigit() else 0.0
    inner = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(inner, dict):
        return Refused(status, [str(inner)] if inner else [], {}, wait_s)
    detail = inner.get("detail") or inner.get("message") or inner.get("title") or ""
    extra = inner.get("additional_information")
    fields: dict[str, list[str]] = {}
    if isinstance(detail, dict):
        fields = {name: _texts(each) for name, each in detail.items()}
        sentences = [f"{name}: {text}" for name, texts in fields.items() for text in texts]
    else:
        sentences = _texts(detail)
    return Refused(status, [*sentences, *_texts(extra or [])], fields, wait_s)


def _texts(detail: Any) -> list[str]:
    if isinstance(detail, list):
        return [text for each in detail for text in _texts(each)]
    if isinstance(detail, dict):
        return [f"{name}: {text}" for name, each in detail.items() for text in _texts(each)]
    return [str(detail)] if detail not in (None, "") else []
