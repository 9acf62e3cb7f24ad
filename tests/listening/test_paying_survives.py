"""Whoever pays is killed with -9 at any point: nobody is paid twice, nobody is forgotten."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from listening.models import Bonus, BonusBatch, Recruitment
from listening.recruitment import ledger, paying, syncing
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.prolific import Prolific
from tests.listening.recruited import Person, make_published
from tests.play_money import Double

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE = 2


@pytest.fixture(autouse=True)
def settled_at_once(settings: Any) -> None:
    settings.EARNEST_PROLIFIC_SETTLED_S = 0


def pay_all(recruitment: Recruitment) -> None:
    """What the buttons of the page do, one after the other."""
    syncing.sync(recruitment)
    batch = BonusBatch.objects.filter(state="written").first() or paying.write_batch(recruitment)
    if batch is not None:
        paying.pay(batch)
    syncing.sync(recruitment)


def counted(action: Callable[[], None], die_at: int | None) -> int:
    """Runs it; before and after each request and before each SQL statement counts one more, and
    at `die_at` this process is killed."""
    seen = 0

    def point() -> None:
        nonlocal seen
        seen += 1
        if seen == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def statement(execute: Any, *args: Any) -> Any:
        point()
        return execute(*args)

    once = Prolific._once

    def request(self: Prolific, *args: Any) -> Any:
        point()
        reply = once(self, *args)
        point()
        return reply

    Prolific._once = request  # type: ignore[method-assign]
    try:
        with connection.execute_wrapper(statement):
            action()
    finally:
        Prolific._once = once  # type: ignore[method-assign]
    return seen


def killed_at(point: int, action: Callable[[], None]) -> bool:
    """In a process of its own, with a connection of its own; whether it was killed."""
    connection.close()
    child = os.fork()
    if child == 0:
        try:
            counted(action, point)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def finish(double: Double, recruitment: Recruitment) -> None:
    """Somebody comes back later, and presses what the page offers until nothing is owed."""
    for _ in range(6):
        double.settle()
        BonusBatch.objects.filter(state="writing").update(created_at="2020-01-01T00:00Z")
        try:
            pay_all(recruitment)
        except RecruitmentError:
            continue
        double.settle()
        syncing.sync(recruitment)
        for batch in BonusBatch.objects.filter(state="paying"):
            paying.pay_again(batch)
        if not Bonus.objects.filter(paid_at__isnull=True).exists():
            return
    raise AssertionError("something is still owed")


@pytest.mark.parametrize("rounds", [6, pytest.param(50, marks=pytest.mark.soak)])
@pytest.mark.medium
def test_nobody_is_paid_twice_and_nobody_forgotten(double: Double, rounds: int) -> None:
    recruitment = make_published(double)
    people = [Person(double, recruitment).work().hand_in() for _ in range(PEOPLE)]
    syncing.sync(recruitment)

    def owe(purpose: str, minor: int) -> None:
        for person in people:
            paying.decide_bonus(person.row(), purpose, minor, "ada")

    owe("whole", 7)
    points = counted(lambda: pay_all(recruitment), None)
    finish(double, recruitment)
    assert points > 60
    chance = random.Random(20261123 if rounds < 50 else None)
    killed = 0
    for number in range(rounds):
        owe(f"round {number}", 10 + number % 3)  # the same amounts again and again
        killed += killed_at(chance.randint(1, points), lambda: pay_all(recruitment))
        finish(double, recruitment)
    assert killed >= rounds * 0.5  # a payment that shows early makes the way shorter
    expected = sorted([7, *(10 + number % 3 for number in range(rounds))])
    paid = double.ledger()
    for person in people:
        assert sorted(paid["submissions"][person.submission]["bonuses"]) == expected
    assert ledger.money_of(recruitment).bonuses_minor == PEOPLE * sum(expected)
    print(f"{killed} killed, {PEOPLE * len(expected)} bonuses, each paid once")
