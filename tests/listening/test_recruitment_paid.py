"""Bonuses and fixed sums are paid once, and the ledger agrees with Prolific to the penny."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from listening.models import BonusBatch, LedgerEntry, Recruitment, Session, StudyEvent
from listening.recruitment import deciding, ledger, paying, syncing
from listening.recruitment.errors import RecruitmentError
from listening.selectors import pay_of_sessions, session_rows
from listening.studies import StudyError
from listening.web.rater.state import state_of
from listening.web.session_decisions import mark_pay
from tests.factories import arrive, make_study
from tests.listening.recruited import CODES, Person, bonuses, make_published
from tests.play_money import Double

pytestmark = pytest.mark.django_db


def owed_one(double: Double, minor: int = 150) -> tuple[Recruitment, Person]:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    paying.decide_bonus(person.row(), "thanks", minor, "ada")
    return recruitment, person


@pytest.mark.medium
def test_a_bonus_is_written_down_then_paid_then_seen(double: Double) -> None:
    recruitment, person = owed_one(double)
    batch = paying.write_batch(recruitment)
    assert batch.total_minor > 150
    assert bonuses(double, person) == []
    paying.pay(batch)
    syncing.sync(recruitment)
    assert BonusBatch.objects.get().state == "paying"  # Prolific pays within minutes
    double.settle()
    syncing.sync(recruitment)
    assert BonusBatch.objects.get().state == "paid"
    assert bonuses(double, person) == [150]
    assert ledger.money_of(recruitment).bonuses_minor == 150
    with pytest.raises(RecruitmentError):
        paying.pay(BonusBatch.objects.get())
    assert paying.write_batch(recruitment) is None


@pytest.mark.medium
def test_the_same_bonus_twice_is_one(double: Double) -> None:
    _, person = owed_one(double)
    paying.decide_bonus(person.row(), "thanks", 150, "ada")
    with pytest.raises(RecruitmentError, match="decided already"):
        paying.decide_bonus(person.row(), "thanks", 200, "ada")
    assert person.row().own_bonuses.count() == 1


@pytest.mark.parametrize("fault", ["drop_after", "error_500_after", "drop_before", "error_500"])
@pytest.mark.parametrize("path", ["/bonus-payments/", "/pay/"])
@pytest.mark.medium
def test_a_lost_reply_pays_nobody_twice_and_forgets_nobody(
    double: Double, settings: Any, fault: str, path: str
) -> None:
    recruitment, person = owed_one(double)
    double.fault(fault, method="POST", path=path)
    for _ in range(4):  # as somebody would who presses the button again and again
        try:
            batch = paying.write_batch(recruitment)
            written = batch or BonusBatch.objects.filter(state="written").first()
            if written:
                paying.pay(written)
        except RecruitmentError:
            pass
        double.settle()
        syncing.sync(recruitment)
    if BonusBatch.objects.filter(state="paying").exists():  # it was never carried out
        assert bonuses(double, person) == []
        batch = BonusBatch.objects.get(state="paying")
        with pytest.raises(RecruitmentError, match="still be paying"):
            paying.pay_again(batch)
        BonusBatch.objects.filter(pk=batch.pk).update(
            paying_at=batch.paying_at - timedelta(hours=2)
        )
        batch.refresh_from_db()
        assert paying.pay_again(batch) == 1
        paying.pay(paying.write_batch(recruitment))
        double.settle()
        syncing.sync(recruitment)
    assert bonuses(double, person) == [150]
    assert person.row().own_bonuses.get().paid_at
    assert ledger.money_of(recruitment).bonuses_minor == 150


@pytest.mark.medium
def test_a_part_waits_for_the_return(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work(2).hand_in(None)
    syncing.sync(recruitment)
    deciding.decide(person.row(), "part", by="ada", message="Please return it.", part_minor=90)
    syncing.sync(recruitment)
    assert paying.owed(recruitment) == []
    double.give_back(person.submission)
    syncing.sync(recruitment)
    assert [each.minor for each in paying.owed(recruitment)] == [90]
    paying.pay(paying.write_batch(recruitment))
    double.settle()
    syncing.sync(recruitment)
    assert bonuses(double, person) == [90]
    (pay,) = pay_of_sessions(recruitment.study.key).values()
    assert (pay, Session.objects.get().paid) == ("paid in part", True)


@pytest.mark.medium
def test_a_session_is_paid_once_its_submission_is_approved_and_not_before(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    key = recruitment.study.key
    assert list(pay_of_sessions(key).values()) == ["not decided"]
    deciding.decide(person.row(), "approve", by="ada")
    syncing.sync(recruitment)
    assert list(pay_of_sessions(key).values()) == ["paid"]
    assert [row["paid"] for row in session_rows(key)] == [True]
    chosen = [Session.objects.get().pk]
    assert mark_pay(recruitment.study, chosen, "not paid", "by mistake", by="ada").raters == ()
    assert Session.objects.get().paid


def test_what_is_paid_elsewhere_somebody_says_and_the_log_keeps() -> None:
    study = make_study(items=1)
    session = arrive(study, simulated=False)
    with pytest.raises(StudyError, match="how it was paid"):
        mark_pay(study, [session.pk], "paid", " ", by="ada")
    assert mark_pay(study, [session.pk], "paid", "by voucher", by="ada").raters
    assert mark_pay(study, [session.pk], "paid", "again", by="ada").left_as_they_were == 1
    assert pay_of_sessions(study.key) == {f"s{session.pk}": "paid"}
    assert StudyEvent.objects.get(what="marked_paid").details["reason"] == "by voucher"
    assert mark_pay(study, [session.pk], "not paid", "it came back", by="ada").raters
    assert pay_of_sessions(study.key) == {f"s{session.pk}": "not recorded"}


@pytest.mark.medium
def test_a_screened_out_rater_is_paid_the_fixed_sum(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment)
    person.arrive()
    person.hand_in(CODES["screened_out"])
    syncing.sync(recruitment)
    assert person.row().status == "SCREENED OUT"
    Session.objects.filter(pk=person.session.pk).update(status="screened")
    end = state_of(Session.objects.get(pk=person.session.pk), own=True)["end"]
    assert "Prolific pays you for the way to here" in end["next"]
    assert ledger.money_of(recruitment).screened_out_minor == 30


@pytest.mark.medium
def test_the_ledger_agrees_with_prolifics_account_to_the_penny(double: Double) -> None:
    recruitment = make_published(double)
    people = [Person(double, recruitment).work().hand_in() for _ in range(2)]
    screened = Person(double, recruitment)
    screened.arrive()
    screened.hand_in(CODES["screened_out"])
    syncing.sync(recruitment)
    for person in people:
        deciding.decide(person.row(), "approve", by="ada")
    paying.decide_bonus(people[0].row(), "thanks", 55, "ada")
    paying.pay(paying.write_batch(recruitment))
    double.settle()
    syncing.sync(recruitment)
    assert [(d.name, d.agrees) for d in ledger.reconciled(recruitment)] == [
        (d.name, True) for d in ledger.reconciled(recruitment)
    ]
    assert len(ledger.reconciled(recruitment)) == 3
    text = ledger.as_csv([recruitment])
    assert len(text.splitlines()) == 1 + LedgerEntry.objects.count()
    for person in people:
        assert person.id not in text
        assert person.session.rater.code in text
