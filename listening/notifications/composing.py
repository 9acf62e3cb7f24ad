"""A message in words and for programs, made of what happened: study, event, facts, links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from listening.common.addresses import public_route
from listening.models import Occurrence, Study
from listening.notifications.kinds import KINDS, TEST

MOST_TOLD = 5  # sentences in words
MOST_LISTED = 20  # occurrences for programs


@dataclass(frozen=True)
class Message:
    """What goes out: the subject is one line."""

    subject: str
    text: str
    payload: dict[str, Any]


def link(route: str, *args: str) -> str:
    return public_route(route, *args)


def message_of(study: Study, event: str, occurrences: Sequence[Occurrence]) -> Message:
    """One message for all of them, the newest first; what is left out is counted."""
    kind = KINDS[event]
    newest = sorted(occurrences, key=lambda each: (each.at, each.pk), reverse=True)
    lines = [kind.says(each.facts) for each in newest[:MOST_TOLD]]
    if len(newest) > 1:
        stamps = [each.at.strftime("%Y-%m-%d %H:%M UTC") for each in newest]
        lines = [f"{at}: {words}" for at, words in zip(stamps, lines, strict=False)]
    if more := len(newest) - MOST_TOLD:
        lines += [f"And {more:,} more of the same."] if more > 0 else []
    subject = f"{kind.name}: {study.called}"
    url, choose = link(kind.route, study.key), link("study-messages", study.key)
    text = "\n".join([subject, "", *lines, "", url, "", f"What you are told of: {choose}"])
    data = {
        "study": study.key,
        "name": study.called,
        "url": url,
        "count": len(newest),
        "occurrences": [
            {"at": each.at.isoformat(), "text": kind.says(each.facts), **each.facts}
            for each in newest[:MOST_LISTED]
        ],
    }
    payload = {"type": event, "timestamp": newest[0].at.isoformat(), "data": data}
    return Message(" ".join(subject.split()), text, payload)


def test_message(channel: str) -> Message:
    now, url = timezone.now().isoformat(), link("messages")
    words = f"This is a test of the channel “{channel}”. Messages of your studies come this way."
    text = "\n".join(["A test message", "", words, "", url])
    payload = {"type": TEST, "timestamp": now, "data": {"text": words, "url": url}}
    return Message("A test message of Earnest", text, payload)
