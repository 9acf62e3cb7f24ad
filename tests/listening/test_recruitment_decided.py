"""Decisions about submissions reach Prolific once, by its rules, and apart from use."""

from __future__ import annotations

import pytest

from listening.models import Recruitment
from listening.recruitment import deciding, ledger, syncing
from listening.recruitment.errors import RecruitmentError
from listening.sessions import lifecycle
from tests.listening.recruited import Person, make_published, rows
from tests.play_money import Double

pytestmark = pytest.mark.django_db


@pytest.mark.medium
def test_approval_pays_the_reward_and_stands_in_the_ledger(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    assert deciding.decide(person.row(), "approve", by="ada") == "Approved."
    syncing.sync(recruitment)
    row = person.row()
    assert (row.status, row.decided_by) == ("APPROVED", "ada")
    assert row.carried_out_at
    assert ledger.money_of(recruitment).rewards_minor == 180
    assert double.ledger()["submissions"][person.submission]["reward"] == 180


@pytest.mark.medium
def test_another_decision_waits_until_the_first_is_seen(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).hand_in()
    syncing.sync(recruitment)
    deciding.decide(person.row(), "approve", by="ada")
    with pytest.raises(RecruitmentError, match="was sent already"):
        deciding.decide(person.row(), "reject", by="ada", message="Nothing was done. " * 8)
    assert deciding.decide(person.row(), "approve", by="ada") == "Approved."
    syncing.sync(recruitment)
    assert (person.row().status, person.row().decision) == ("APPROVED", "approve")


@pytest.mark.medium
def test_all_that_is_plain_is_approved_at_once(double: Double) -> None:
    recruitment = make_published(double)
    people = [Person(double, recruitment).work().hand_in() for _ in range(2)]
    doubtful = Person(double, recruitment).hand_in()
    syncing.sync(recruitment)
    assert deciding.approve_many(recruitment, "ada") == 2
    assert {p.row().rule for p in people} == {"Completed work is paid, whether or not it is used."}
    double.settle()
    syncing.sync(recruitment)
    assert [p.row().status for p in people] == ["APPROVED", "APPROVED"]
    assert doubtful.row().status == "AWAITING REVIEW"


@pytest.mark.medium
def test_a_rejection_without_a_ground_is_refused(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    with pytest.raises(RecruitmentError, match="not open here"):
        deciding.decide(person.row(), "reject", by="ada", message="x" * 200)
    assert person.row().decision == ""


@pytest.mark.medium
def test_a_rejection_waits_for_a_second_person(double: Double) -> None:
    recruitment = make_published(double)
    Recruitment.objects.update(two_people=True)
    recruitment.refresh_from_db()
    person = Person(double, recruitment).hand_in()
    syncing.sync(recruitment)
    deciding.decide(person.row(), "reject", by="ada", message="Nothing was done. " * 8)
    assert double.ledger()["rejections"].get(person.submission) is None
    with pytest.raises(RecruitmentError, match="somebody else"):
        deciding.agree(person.row(), "ada")
    deciding.agree(person.row(), "grace")
    syncing.sync(recruitment)
    assert person.row().status == "REJECTED"
    assert double.ledger()["rejections"][person.submission]


@pytest.mark.medium
def test_who_never_came_back_with_the_code_is_completed_and_paid(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work()
    syncing.sync(recruitment)
    deciding.decide(person.row(), "complete", by="ada")
    syncing.sync(recruitment)
    assert person.row().status == "APPROVED"


@pytest.mark.medium
def test_leaving_out_and_paying_are_apart(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    lifecycle.reject(person.session, "left out of the analysis")
    row = rows(recruitment)[person.submission]
    assert (row.proposal.decision, row.mismatches) == ("approve", [])
    deciding.decide(person.row(), "approve", by="ada")
    syncing.sync(recruitment)
    assert person.row().status == "APPROVED"
    person.session.refresh_from_db()
    assert person.session.status == "rejected"
