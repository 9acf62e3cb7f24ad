"""The events that people are notified of, and the message of each, for people and for programs.

A message has no ids of raters and no free text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from listening.access.rights import EDIT, LOOK
from listening.common.addresses import public_route
from listening.common.counted import counted
from listening.models import Occurrence, Study

Facts = Mapping[str, Any]
TEST = "earnest.test"  # of no study: the button that tries a channel
ERRORS = {
    "clips": "Clips that raters’ browsers could not play, as a share of a session’s trials",
    "ended": "Sessions in which the rater dropped out right after a playback error",
}
MOST_TOLD = 5  # sentences in words
MOST_LISTED = 20  # occurrences for programs


@dataclass(frozen=True)
class Kind:
    """One kind of event: its type for programs, its words, what one must be allowed to do."""

    key: str
    name: str
    about: str  # on the page where it is chosen
    route: str  # of the page that a message leads to
    says: Callable[[Facts], str]
    wants: str = LOOK


def _full(facts: Facts) -> str:
    return f"All {counted(facts['planned'], 'planned rating')} are there."


def _stalled(facts: Facts) -> str:
    listening = facts["listening"]
    hold = "holds" if listening == 1 else "hold"
    now = f" {counted(listening, 'rater')} {hold} places." if listening else ""
    return (
        f"No rating for {counted(facts['hours'], 'hour')} (since {facts['since']} UTC), and "
        f"{facts['left']:,} of {facts['planned']:,} places are free or not filled yet.{now}"
    )


def _rate(facts: Facts) -> str:
    """The rate, over how many, its bound, and against what."""
    return (
        f"{facts['percent']:g} % on average of {counted(facts['sessions'], 'session')} that are "
        f"over, and with 99 % confidence at least {facts['at_least_percent']:g} %; expected were "
        f"at most {facts['expected_percent']} %. {counted(facts['concerned'], 'session')} had one "
        "or more. The bound is valid however often you look; simulated raters are excluded."
    )


def _traps(facts: Facts) -> str:
    where = f"Traps of kind “{facts['trap']}” in task “{facts['task']}” are failed more often"
    return f"{where} than expected: {_rate(facts)}"


def _errors(facts: Facts) -> str:
    return f"{ERRORS[facts['what']]}: {_rate(facts)}"


def _budget(facts: Facts) -> str:
    return (
        f"{facts['spent']} are paid or owed, with fees: {facts['percent']} % of the "
        f"{facts['of']} of {facts['limit']}."
    )


def _review_due(facts: Facts) -> str:
    count = facts["submissions"]
    return (
        f"{counted(count, 'submission')} on Prolific without a decision: Prolific approves "
        f"{'it' if count == 1 else 'them'} automatically within a day."
    )


def _stop_rule(facts: Facts) -> str:
    closed = "The study was closed." if facts["closed"] else "Close the study, or let it go on."
    return f"{facts['why']} {closed}"


def _ready(facts: Facts) -> str:
    over = facts.get("ratings")
    return f"An analysis is ready{f', of {over:,} ratings' if over else ''}."


def _failed(facts: Facts) -> str:
    return "An analysis failed. The results page shows the reason."


KINDS = {
    kind.key: kind
    for kind in (
        Kind("study.full", "Quota reached", "all planned ratings are complete", "study", _full),
        Kind(
            "study.stalled",
            "Stalled",
            "the study is open and incomplete, but nobody rates",
            "study",
            _stalled,
        ),
        Kind(
            "study.traps_unusual",
            "Traps failed",
            "raters fail more traps than expected",
            "study",
            _traps,
        ),
        Kind(
            "study.errors_unusual",
            "Errors",
            "clips do not play, or raters drop out because of it, more often than expected",
            "study",
            _errors,
        ),
        Kind(
            "study.budget_reached",
            "Budget",
            "a share of the budget, or all of it, is paid or due; for editors and owners",
            "recruiting",
            _budget,
            EDIT,
        ),
        Kind(
            "study.review_due",
            "Review due",
            "Prolific approves submissions automatically within a day; for editors and owners",
            "recruiting",
            _review_due,
            EDIT,
        ),
        Kind(
            "study.stop_rule",
            "Stop rule",
            "the stop rule of the study applies: it was closed, or you decide",
            "study",
            _stop_rule,
        ),
        Kind("analysis.ready", "Analysis ready", "an analysis finished", "results", _ready),
        Kind("analysis.failed", "Analysis failed", "an analysis failed", "results", _failed),
    )
}


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
    text = "\n".join([subject, "", *lines, "", url, "", f"Your notifications: {choose}"])
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
    words = f"This is a test of the channel “{channel}”. Notifications arrive here."
    text = "\n".join(["A test message", "", words, "", url])
    payload = {"type": TEST, "timestamp": now, "data": {"text": words, "url": url}}
    return Message("A test message of Earnest", text, payload)
