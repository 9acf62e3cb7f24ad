"""Forty participants of every kind at the double of Prolific, and their sessions here."""

from __future__ import annotations

from collections import Counter

from listening.models import Recruitment
from listening.recruitment import syncing
from listening.sessions import lifecycle
from listening.sessions.lifecycle import Arrival, NoRoom
from tests.listening.recruited import CODES, Person
from tests.play_money import Double

KINDS = {  # kind -> how many of 40
    "complete": 22,
    "no_code": 3,
    "wrong_code": 2,
    "returned": 3,
    "timed_out_and_back": 2,
    "screened_out": 3,
    "never_back": 2,
    "withdrew": 1,
    "no_consent": 1,
    "no_session": 1,
}


def send(double: Double, recruitment: Recruitment) -> dict[str, list[Person]]:
    """All of them, one after the other; whoever timed out comes back at the end."""
    came: dict[str, list[Person]] = {kind: [] for kind in KINDS}
    for kind, count in KINDS.items():
        for _ in range(count):
            came[kind].append(_one(double, recruitment, kind))
    double.forward(minutes=(recruitment.maximum_minutes or 60) + 1)
    syncing.sync(recruitment)
    for person in came["timed_out_and_back"]:
        person.work()
    _forge(recruitment)
    syncing.sync(recruitment)
    return came


WORKED: dict[str, str | None] = {  # all clips, then this code
    "complete": CODES["complete"],
    "no_code": None,
    "wrong_code": "HELLO",
}
AT_ONCE = {"no_consent": CODES["no_consent"], "no_session": CODES["complete"]}  # never came here
HALF_WAY = {"returned": 3, "timed_out_and_back": 2, "withdrew": 2}  # clips


def _one(double: Double, recruitment: Recruitment, kind: str) -> Person:
    person = Person(double, recruitment)
    if kind in WORKED:
        return person.work().hand_in(WORKED[kind])
    if kind in AT_ONCE:
        return person.hand_in(AT_ONCE[kind])
    if kind == "screened_out":
        person.arrive()
        return person.hand_in(CODES["screened_out"])
    if kind == "never_back":
        return person.work()
    person.work(HALF_WAY[kind])
    if kind == "returned":
        double.give_back(person.submission)
    elif kind == "withdrew":
        lifecycle.withdraw(person.session)
        person.hand_in(None)
    return person


def _forge(recruitment: Recruitment) -> None:
    """Somebody writes ids of their own into the address."""
    forged = Arrival(
        prolific_id="0" * 24,
        prolific_study=recruitment.prolific_study,
        prolific_session="1" * 24,
        simulated=True,
    )
    try:
        lifecycle.start(recruitment.study, forged)
    except NoRoom:
        return


def statuses(recruitment: Recruitment) -> Counter[str]:
    return Counter(recruitment.submissions.values_list("status", flat=True))
