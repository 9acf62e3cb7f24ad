"""Whole studies at the double of Prolific, with all that goes wrong in one, to the penny."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import pytest

from listening.models import Bonus, BonusBatch, LedgerEntry, Recruitment
from listening.recruitment import deciding, drafting, ledger, paying, syncing
from listening.recruitment.errors import NotConfirmed, RecruitmentError
from listening.recruitment.terms import seal_of
from tests.listening.recruited import (
    Person,
    bonuses,
    make_published,
    make_recruitment,
    settle,
)
from tests.play_money import Double

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
State = Recruitment.State
FEES = Decimal("1.5136")  # a fee of 42.8 % and 20 % tax on it


def look(double: Double, recruitment: Recruitment) -> None:
    double.settle()
    syncing.sync(recruitment)
    recruitment.refresh_from_db()


def pay_all(double: Double, recruitment: Recruitment, presses: int = 1) -> None:
    """Press both buttons as often as somebody does who is told nothing."""
    for _ in range(presses):
        with suppress(RecruitmentError):
            written = (
                paying.write_batch(recruitment)
                or BonusBatch.objects.filter(recruitment=recruitment, state="written").first()
            )
            if written:
                paying.pay(written)
        look(double, recruitment)


def assert_paid(double: Double, recruitment: Recruitment, rewards: int, extra: int) -> None:
    """Rewards and bonuses in pence, here, at Prolific and in the ledger."""
    mine = {str(each.prolific_id) for each in recruitment.submissions.all()}
    there = [each for key, each in double.ledger()["submissions"].items() if key in mine]
    assert sum(each["reward"] for each in there) == rewards
    assert sum(sum(each["bonuses"]) for each in there) == extra
    money = ledger.money_of(recruitment)
    assert (money.rewards_minor, money.bonuses_minor) == (rewards, extra)
    assert money.owed_minor == 0
    assert round(money.fees_minor, 2) == round((FEES - 1) * (rewards + extra), 2)
    differences = ledger.reconciled(recruitment)
    assert differences
    assert [each.name for each in differences if not each.agrees] == []


def test_an_edited_study_with_parts_and_bonuses_that_is_decided_on_day_20(double: Double) -> None:
    recruitment = make_recruitment(places=2, minutes=16, screened_out="return")
    drafting.send_draft(recruitment)
    seen = seal_of(recruitment)
    double.edit(recruitment.prolific_study, reward=300, total_available_places=4)
    with pytest.raises(NotConfirmed, match=r"Reward: £2\.40 → £3\.00; Places: 2 → 4"):
        drafting.publish(recruitment, seen)
    double.fault("drop_before", method="POST", path="/transition/")
    drafting.publish(recruitment, seal_of(recruitment))
    settle(recruitment)
    syncing.sync(recruitment)
    assert recruitment.state == State.DRAFT
    double.move(recruitment.prolific_study, "PUBLISH")  # the request is carried out now
    look(double, recruitment)
    assert recruitment.state == State.LIVE
    locked = ledger.money_of(recruitment).committed_minor
    assert locked == double.locked(recruitment.prolific_study) == 4 * 300 * FEES
    first, second = (Person(double, recruitment).work().hand_in() for _ in range(2))
    back, stayed = (Person(double, recruitment).work(2).hand_in(None) for _ in range(2))
    look(double, recruitment)
    for person, minor in ((back, 90), (stayed, 80)):
        ask = {"message": "Please return it.", "part_minor": minor}
        deciding.decide(person.row(), "part", by="ada", **ask)
    for _ in range(2):
        paying.decide_bonus(first.row(), "thanks", 55, "ada")
    double.fault("error_500_after", method="POST", path="/pay/", status=520)
    pay_all(double, recruitment, presses=3)
    assert bonuses(double, first) == [55]
    double.give_back(back.submission)
    look(double, recruitment)
    pay_all(double, recruitment, presses=2)
    assert (bonuses(double, back), bonuses(double, stayed)) == ([90], [])
    double.forward(days=20)
    look(double, recruitment)
    assert deciding.approve_many(recruitment, "ada") == 2
    look(double, recruitment)
    paying.decide_bonus(second.row(), "thanks", 100, "ada")
    double.forward(days=2)  # Prolific approves whom nobody decided about
    look(double, recruitment)
    assert stayed.row().status == "APPROVED"
    pay_all(double, recruitment)
    assert not Bonus.objects.filter(submission=stayed.row()).exists()
    assert_paid(double, recruitment, rewards=3 * 300, extra=55 + 90 + 100)


def test_a_list_of_parts_whose_people_are_approved_before_it_is_paid(double: Double) -> None:
    recruitment = make_published(double, screened_out="return")
    people = [Person(double, recruitment).work(2).hand_in(None) for _ in range(3)]
    look(double, recruitment)
    for person in people:
        ask = {"message": "Please return it.", "part_minor": 70}
        deciding.decide(person.row(), "part", by="ada", **ask)
    for person in people[:2]:
        double.give_back(person.submission)
    look(double, recruitment)
    batch = paying.write_batch(recruitment)
    assert batch is not None
    assert batch.own_bonuses.count() == 2
    double.fault("error_500", method="POST", path="/pay/", status=524)  # and nothing was done
    paying.pay(batch)
    look(double, recruitment)
    assert [bonuses(double, person) for person in people] == [[], [], []]
    with pytest.raises(RecruitmentError, match="still be paying"):
        paying.pay_again(BonusBatch.objects.get(pk=batch.pk))
    BonusBatch.objects.filter(pk=batch.pk).update(
        paying_at=batch.paying_at - paying.settling_time()
    )
    assert paying.pay_again(BonusBatch.objects.get(pk=batch.pk)) == 2
    pay_all(double, recruitment, presses=3)
    double.forward(days=22)
    look(double, recruitment)
    pay_all(double, recruitment, presses=2)
    assert [bonuses(double, person) for person in people] == [[70], [70], []]
    assert_paid(double, recruitment, rewards=180, extra=140)


def test_a_study_at_its_limit_spends_the_limit_and_no_penny_more(double: Double) -> None:
    recruitment = make_published(double, places=2, screened_out="return")
    committed = ledger.money_of(recruitment).committed_minor
    assert committed == 2 * 180 * FEES
    drafting.change_limit(recruitment, int(committed) + 1)  # £5.45
    with pytest.raises(RecruitmentError, match="limit"):
        drafting.more_places(recruitment, 3)
    people = [Person(double, recruitment).work().hand_in() for _ in range(2)]
    look(double, recruitment)
    paying.decide_bonus(people[0].row(), "thanks", 50, "ada")
    with pytest.raises(RecruitmentError, match="limit"):
        paying.write_batch(recruitment)
    double.fault("error_500_after", method="POST", path="/bulk-approve/", status=599)
    deciding.approve_many(recruitment, "ada")
    look(double, recruitment)
    with suppress(RecruitmentError):
        deciding.approve_many(recruitment, "ada")
    look(double, recruitment)
    assert {person.row().status for person in people} == {"APPROVED"}
    drafting.change_limit(recruitment, int(committed) + 1 + 76)  # 50 p with fees are 75.68 p
    pay_all(double, recruitment, presses=3)
    assert bonuses(double, people[0]) == [50]
    assert_paid(double, recruitment, rewards=360, extra=50)
    assert LedgerEntry.objects.filter(recruitment=recruitment).exists()
