"""Money is read before it moves: what was edited, published or lost at Prolific, to the penny."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from listening.models import Bonus, LedgerEntry, Recruitment, StudyEvent
from listening.recruitment import connecting, deciding, drafting, ledger, paying, syncing
from listening.recruitment import plan as plans
from listening.recruitment.errors import NotConfirmed, RecruitmentError
from listening.recruitment.plan import money
from listening.recruitment.prolific import Prolific
from listening.recruitment.terms import seal_of, terms_of
from listening.studies.length import session_length
from tests.factories import make_user
from tests.listening.recruited import (
    CODES,
    Person,
    bonuses,
    make_published,
    make_recruitment,
    settle,
)
from tests.play_money import Double

pytestmark = [pytest.mark.django_db, pytest.mark.medium]
State = Recruitment.State
FEES = Decimal("1.3996")  # a fee of 33.3 % and 20 % tax on it


@pytest.fixture(autouse=True)
def fees(double: Double) -> Any:
    """At most one look between a request and what comes of it."""
    double.set(fee_percent=33.3, vat_percent=20)
    yield
    double.set(fee_percent=42.8, vat_percent=20, lists_show_bonuses=True)


def make_draft(**changes: Any) -> Recruitment:
    """Two places of £2.40, and two screen-outs of £0.30."""
    recruitment = make_recruitment(places=2, minutes=16, **changes)
    drafting.send_draft(recruitment)
    return recruitment


def said(recruitment: Recruitment, minor: Decimal | float) -> str:
    return money(minor, recruitment.currency)


def limit(recruitment: Recruitment, minor: int) -> None:
    drafting.change_limit(recruitment, minor)


# --- A draft that is edited at Prolific ----------------------------------------------------------


def test_a_draft_edited_at_prolific_is_not_published_before_it_is_confirmed_again(
    double: Double,
) -> None:
    recruitment = make_draft()
    assert said(recruitment, ledger.locked_by_publishing(recruitment)) == "£7.56"
    limit(recruitment, 10_00)
    seen = seal_of(recruitment)
    double.edit(recruitment.prolific_study, reward=500, total_available_places=200)
    with pytest.raises(NotConfirmed, match=r"£1,400\.44") as changed:
        drafting.publish(recruitment, seen)
    assert "Reward: £2.40 → £5.00; Places: 2 → 200" in str(changed.value)
    with pytest.raises(RecruitmentError, match=r"£1,400\.44, and its limit is £10\.00"):
        drafting.publish(recruitment)
    assert double.study(recruitment.prolific_study)["status"] == "UNPUBLISHED"
    assert not LedgerEntry.objects.exists()
    limit(recruitment, 1400_44)
    drafting.publish(recruitment, seal_of(recruitment))
    double.settle()
    syncing.sync(recruitment)
    assert recruitment.state == State.LIVE
    sums = ledger.money_of(recruitment)
    assert said(recruitment, sums.committed_minor) == "£1,400.44"
    assert said(recruitment, double.locked(recruitment.prolific_study)) == "£1,400.44"
    assert terms_of(recruitment).reward_minor == 500


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"name": "Another"}, "Name: “Rate short clips (headphones)” → “Another”"),
        ({"estimated_completion_time": 10}, "Minutes: 16 → 10"),
        ({"device_compatibility": ["mobile"]}, "Devices: all → mobile"),
    ],
)
def test_whatever_is_edited_there_is_named(double: Double, edit: Any, words: str) -> None:
    recruitment = make_draft()
    double.edit(recruitment.prolific_study, **edit)
    with pytest.raises(NotConfirmed) as changed:
        drafting.publish(recruitment)
    assert words in str(changed.value)


def test_numbers_written_otherwise_are_no_change(double: Double) -> None:
    recruitment = make_draft()
    double.fault("floats", path="/studies/", count=None)
    drafting.publish(recruitment)
    assert (recruitment.state, drafting.changes_of(recruitment)) == (State.PUBLISHING, [])


def test_pay_below_the_minimum_is_not_published(double: Double) -> None:
    recruitment = make_draft(screened_out="return")
    double.edit(recruitment.prolific_study, reward=5)  # for about a minute
    syncing.sync(recruitment)
    with pytest.raises(RecruitmentError, match=r"below Prolific's minimum of £6\.00"):
        drafting.publish(recruitment)
    assert recruitment.state == State.DRAFT


# --- A study that is live at Prolific ------------------------------------------------------------


def test_a_draft_that_was_published_there_is_found_by_the_clock(double: Double) -> None:
    recruitment = make_draft()
    double.move(recruitment.prolific_study, "PUBLISH")
    (found,) = syncing.unfinished()
    assert found == recruitment
    syncing.sync(recruitment)
    assert (recruitment.state, recruitment.status) == (State.PUBLISHING, "PUBLISHING")
    double.settle()
    syncing.sync(recruitment)
    assert recruitment.state == State.LIVE
    assert said(recruitment, ledger.money_of(recruitment).committed_minor) == "£7.56"
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    assert person.row().status == "AWAITING REVIEW"


@pytest.mark.parametrize("status", [520, 524, 409])
def test_publishing_that_answers_nothing_known_is_read_back(double: Double, status: int) -> None:
    recruitment = make_draft()
    double.fault("error_500_after", method="POST", path="/transition/", status=status)
    drafting.publish(recruitment)
    assert recruitment.state == State.PUBLISHING
    double.settle()
    syncing.sync(recruitment)
    assert (recruitment.state, recruitment.problem) == (State.LIVE, "")


def test_publishing_slower_than_the_time_out_is_found(double: Double) -> None:
    recruitment = make_draft()
    double.fault("drop_before", method="POST", path="/transition/")
    drafting.publish(recruitment)
    assert (recruitment.state, recruitment.status) == (State.PUBLISHING, "UNPUBLISHED")
    settle(recruitment)
    syncing.sync(recruitment)
    assert recruitment.state == State.DRAFT
    double.move(recruitment.prolific_study, "PUBLISH")  # the request is carried out now
    double.settle()
    syncing.sync(recruitment)
    assert recruitment.state == State.LIVE


def test_publishing_that_falls_back_is_reported(double: Double) -> None:
    recruitment = make_draft()
    drafting.publish(recruitment)
    assert (recruitment.state, recruitment.status) == (State.PUBLISHING, "PUBLISHING")
    double.ask("POST", f"/studies/{recruitment.prolific_study}/status", {"status": "UNPUBLISHED"})
    syncing.sync(recruitment)
    assert recruitment.state == State.DRAFT
    assert "began to publish this study and stopped" in recruitment.problem
    assert StudyEvent.objects.get(by="Prolific").details["said"] == recruitment.problem
    assert not LedgerEntry.objects.exists()


# --- Unknown is unknown for every call -----------------------------------------------------------

UNKNOWN = [
    ("error_500_after", {"status": 520}),
    ("error_500_after", {"status": 524}),
    ("error_500_after", {"status": 409}),
    ("not_json", {}),
]


@pytest.mark.parametrize(("fault", "how"), UNKNOWN)
def test_a_bonus_is_paid_once_whatever_the_answer_says(
    double: Double, fault: str, how: Any
) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    paying.decide_bonus(person.row(), "thanks", 150, "ada")
    batch = paying.write_batch(recruitment)
    double.fault(fault, method="POST", path="/pay/", **how)
    paying.pay(batch)
    assert (batch.state, batch.accepted) == ("paying", False)
    assert paying.write_batch(recruitment) is None
    double.settle()
    syncing.sync(recruitment)
    assert bonuses(double, person) == [150]
    assert Bonus.objects.get().paid_at


@pytest.mark.parametrize(("fault", "how"), UNKNOWN)
def test_two_drafts_never_come_of_an_answer_that_says_nothing(
    double: Double, fault: str, how: Any
) -> None:
    recruitment = make_recruitment()
    double.fault(fault, method="POST", path="/studies/$", **how)
    with pytest.raises(RecruitmentError, match="not known yet"):
        drafting.send_draft(recruitment)
    connection = recruitment.connection
    other = double.ask("POST", "/workspaces", {"title": "Elsewhere"})
    connecting.choose_workspace(connection, other["workspace"], other["project"])
    recruitment.refresh_from_db()
    syncing.sync(recruitment)  # by the clock, and where it was made
    assert recruitment.state == State.DRAFT
    drafting.send_draft(recruitment)
    name = drafting.internal_name(recruitment)
    there = [s for s in double.state()["studies"].values() if s["fields"]["internal_name"] == name]
    assert [each["id"] for each in there] == [recruitment.prolific_study]


def test_a_draft_whose_cost_cannot_be_read_is_not_made_again(double: Double) -> None:
    recruitment = make_recruitment()
    double.set(tokens={"play-money": {}})
    double.fault("error_500", path="/study-cost-calculator/", count=None)
    with pytest.raises(RecruitmentError):
        drafting.send_draft(recruitment)
    assert recruitment.state == State.DRAFT
    double.heal()
    syncing.sync(recruitment)
    assert said(recruitment, recruitment.expected_minor) == said(recruitment, 4 * 180 * FEES)


@pytest.mark.parametrize(("fault", "how"), UNKNOWN)
def test_approving_and_adding_places_are_read_back(double: Double, fault: str, how: Any) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    double.fault(fault, method="PATCH", path="/studies/", count=9, **how)
    drafting.more_places(recruitment, 6)
    assert recruitment.places == 6
    double.fault(fault, method="POST", path="/transition/", count=9, **how)
    assert deciding.LOOK_AGAIN in deciding.decide(person.row(), "approve", by="ada")
    with pytest.raises(RecruitmentError, match="was sent already"):
        deciding.decide(person.row(), "reject", by="ada", message="x" * 200)
    double.heal()
    syncing.sync(recruitment)
    assert (person.row().status, person.row().problem) == ("APPROVED", "")
    assert double.ledger()["submissions"][person.submission]["reward"] == 180


def test_a_refused_bulk_approval_leaves_nothing_decided(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    double.set(tokens={"play-money": {"is_read_only": True}})
    with pytest.raises(RecruitmentError, match="Nothing was approved"):
        deciding.approve_many(recruitment, "ada")
    assert person.row().decision == ""
    double.set(tokens={"play-money": {"is_read_only": False}})


# --- Parts ---------------------------------------------------------------------------------------


def part_of(double: Double) -> tuple[Recruitment, Person]:
    recruitment = make_published(double)
    person = Person(double, recruitment).work(2).hand_in(None)
    syncing.sync(recruitment)
    deciding.decide(person.row(), "part", by="ada", message="Please return it.", part_minor=90)
    return recruitment, person


def test_a_part_is_cancelled_where_the_whole_reward_was_paid(double: Double) -> None:
    recruitment, person = part_of(double)
    double.forward(days=22)  # they never returned it, and Prolific approves by itself
    syncing.sync(recruitment)
    assert person.row().status == "APPROVED"
    assert paying.owed(recruitment) == []
    assert not Bonus.objects.exists()
    assert "£0.90 was cancelled" in StudyEvent.objects.get(by="Prolific").details["said"]
    assert double.ledger()["submissions"][person.submission]["reward"] == 180


@pytest.mark.parametrize("status", ["AWAITING REVIEW", "TIMED-OUT", "REJECTED", "UNKNOWN"])
def test_a_part_is_due_for_a_returned_place_only(double: Double, status: str) -> None:
    recruitment, person = part_of(double)
    recruitment.submissions.update(status=status)
    assert paying.owed(recruitment) == []
    recruitment.submissions.update(status="RETURNED")
    assert [each.minor for each in paying.owed(recruitment)] == [90]
    batch = paying.write_batch(recruitment)
    with pytest.raises(RecruitmentError, match="1 of these bonuses is not due"):
        paying.pay(batch)  # Prolific shows no return
    assert bonuses(double, person) == []


# --- Sums on buttons -----------------------------------------------------------------------------


def test_places_are_added_for_the_sum_that_was_confirmed(double: Double) -> None:
    recruitment = make_published(double, places=2, minutes=16)
    cost = drafting.cost_of_raise(recruitment, places=702)
    assert said(recruitment, cost) == "£2,351.33"
    before = double.locked(recruitment.prolific_study)
    small = plans.whole_minor(drafting.cost_of_raise(recruitment, places=48))
    assert said(recruitment, small) == "£154.52"
    with pytest.raises(NotConfirmed, match=r"This costs £2,351\.33"):
        drafting.more_places(recruitment, 702, small)
    limit(recruitment, plans.whole_minor(cost))
    with pytest.raises(RecruitmentError, match="its limit is"):
        drafting.more_places(recruitment, 702, plans.whole_minor(cost))
    assert double.locked(recruitment.prolific_study) == before
    limit(recruitment, plans.whole_minor(cost + before) + 1)
    drafting.more_places(recruitment, 702, plans.whole_minor(cost))
    assert drafting.changes_of(recruitment) == []  # it was not edited there
    added = double.locked(recruitment.prolific_study) - before
    assert said(recruitment, added) == "£2,351.33"
    committed = ledger.money_of(recruitment).committed_minor
    assert said(recruitment, committed) == said(
        recruitment, double.locked(recruitment.prolific_study)
    )


def test_places_that_were_added_there_meanwhile_change_the_sum(double: Double) -> None:
    recruitment = make_published(double, places=2, minutes=16)
    seen = plans.whole_minor(drafting.cost_of_raise(recruitment, places=10))
    double.edit(recruitment.prolific_study, total_available_places=8)
    with pytest.raises(NotConfirmed, match=r"This costs £6\.72"):
        drafting.more_places(recruitment, 10, seen)
    assert recruitment.places == 8


def test_approving_stays_within_the_limit_and_costs_what_was_confirmed(double: Double) -> None:
    recruitment = make_published(double)
    people = [Person(double, recruitment).work().hand_in() for _ in range(2)]
    syncing.sync(recruitment)
    cost = plans.whole_minor(deciding.cost_of_approvals(recruitment, 2))
    assert said(recruitment, cost) == "£5.04"
    with pytest.raises(NotConfirmed, match=r"This costs £5\.04"):
        deciding.approve_many(recruitment, "ada", cost // 2)
    limit(recruitment, 5_00)
    with pytest.raises(RecruitmentError, match=r"£5\.04, and its limit is £5\.00"):
        deciding.approve_many(recruitment, "ada", cost)
    assert {each.row().decision for each in people} == {""}
    deciding.decide(people[0].row(), "approve", by="ada")
    for _ in range(2):  # before and after Prolific shows the first
        with pytest.raises(RecruitmentError, match="its limit is"):
            deciding.decide(people[1].row(), "approve", by="ada")
        with pytest.raises(RecruitmentError, match="its limit is"):
            deciding.approve_many(recruitment, "ada")
        syncing.sync(recruitment)
    assert people[1].row().decision == ""


def test_screen_outs_are_raised_and_the_study_goes_on(double: Double) -> None:
    recruitment = make_published(double, places=2)
    for _ in range(2):
        screened = Person(double, recruitment)
        screened.arrive()
        screened.hand_in(CODES["screened_out"])
    syncing.sync(recruitment)
    assert recruitment.status == "PAUSED"
    before = double.locked(recruitment.prolific_study)
    cost = drafting.cost_of_raise(recruitment, slots=12)
    assert said(recruitment, cost) == "£4.20"
    drafting.more_slots(recruitment, 12, plans.whole_minor(cost))
    assert (terms_of(recruitment).slots, recruitment.status) == (12, "ACTIVE")
    assert said(recruitment, double.locked(recruitment.prolific_study) - before) == "£4.20"
    with pytest.raises(RecruitmentError, match="can only be added: there are 12"):
        drafting.more_slots(recruitment, 12)
    Person(double, recruitment)


# --- Length --------------------------------------------------------------------------------------


def test_a_draft_that_is_made_again_is_paid_for_the_length_that_the_study_has(
    double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    recruitment = make_draft()
    length = session_length(recruitment.study)
    measured = type(length)(length.trials, length.seconds, measured_minutes=1.4)
    monkeypatch.setattr("listening.recruitment.places.session_length", lambda _study: measured)
    drafting.discard_draft(recruitment)
    fresh = recruitment.study.recruitments.first()
    plan = drafting.plan_of(fresh)
    assert (plan.minutes, plan.reward_minor) == (1, 15)
    cheap = replace(plan, hourly_minor=600)
    assert cheap.reward_minor == 14  # 1.4 min at £6 per hour, not 1 min


# --- Requests ------------------------------------------------------------------------------------


ONCE = Prolific._once


def count_requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are asked for from now on."""
    asked: list[str] = []
    monkeypatch.setattr(
        Prolific, "_once", lambda self, *what: asked.append(what[1]) or ONCE(self, *what)
    )
    return asked


def test_a_look_at_a_large_batch_reads_lists(
    double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    recruitment = make_published(double, places=30)
    people = [Person(double, recruitment).hand_in() for _ in range(30)]
    syncing.sync(recruitment)
    for person in people:
        paying.decide_bonus(person.row(), "thanks", 10, "ada")
    asked = count_requests(monkeypatch)
    paying.pay(paying.write_batch(recruitment))
    assert len(asked) == 3
    double.settle()
    asked.clear()
    syncing.sync(recruitment)
    assert asked == [
        f"/studies/{recruitment.prolific_study}/",
        "/submissions/",
        f"/studies/{recruitment.prolific_study}/cost/",
    ]
    assert Bonus.objects.filter(paid_at__isnull=True).count() == 0


def test_a_look_at_a_large_batch_reads_few_where_lists_show_no_bonuses(
    double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paying, "READ_PER_LOOK", 3)
    double.set(lists_show_bonuses=False)
    recruitment = make_published(double, places=8)
    people = [Person(double, recruitment).hand_in() for _ in range(8)]
    syncing.sync(recruitment)
    for person in people:
        paying.decide_bonus(person.row(), "thanks", 10, "ada")
    paying.pay(paying.write_batch(recruitment))
    double.settle()
    unpaid = []
    for _ in range(3):
        asked = count_requests(monkeypatch)
        syncing.sync(recruitment)
        assert len(asked) <= 3 + 3  # the study, its list, its cost
        unpaid.append(Bonus.objects.filter(paid_at__isnull=True).count())
    assert unpaid == [5, 2, 0]
    assert all(bonuses(double, person) == [10] for person in people)
    paid = recruitment.ledger.filter(kind=LedgerEntry.Kind.BONUS)
    assert sum(entry.minor for entry in paid) == 80


@pytest.mark.parametrize("token", ["т0кен", "play-money\nX: y", "ｐｌａｙ"])
def test_a_token_in_other_letters_gives_a_sentence(double: Double, token: str) -> None:
    with pytest.raises(RecruitmentError, match="only Latin letters"):
        connecting.connect(make_user(), token)


def test_a_pause_that_prolific_asks_for_holds_for_every_process(double: Double) -> None:
    recruitment = make_published(double)
    double.fault("too_many", retry_after=3000)
    with pytest.raises(RecruitmentError):
        syncing.sync(recruitment)
    before = double.faults()[-1]["hits"]
    with pytest.raises(RecruitmentError, match="asked to wait: try again in 50 min"):
        syncing.sync(recruitment)
    assert double.faults()[-1]["hits"] == before == 1
    connecting.SharedHold(recruitment.connection).write(0.0)
