"""A paid study from connection to ledger, against a double of Prolific that runs as a program."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest
from django.db import connection as database
from django.test import Client

from listening import sessions
from listening.models import BonusBatch, Connection, LedgerEntry, Recruitment, Session, Study
from listening.prolific import NoReply, Prolific, ProlificError
from listening.recruitment import (
    connecting,
    deciding,
    desk,
    drafting,
    hooks,
    ledger,
    paying,
    syncing,
)
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.places import first_plan, groups_of_earlier
from listening.views.state import state_of
from tests.factories import make_study, make_user
from tests.listening.recruited import (
    CODES,
    Person,
    make_connection,
    make_published,
    make_recruitment,
)
from tests.prolific_double.client import TOKEN, Double

pytestmark = pytest.mark.django_db
State = Recruitment.State


def rows(recruitment: Recruitment) -> dict[str, desk.Row]:
    """Submission at Prolific -> its row on the desk."""
    found = desk.rows_of_desk(recruitment)
    return {row.submission.prolific_id: row for row in found if row.submission}


# --- Connected -----------------------------------------------------------------------------------


def test_a_token_is_tried_and_sealed(double: Double) -> None:
    connection = make_connection()
    assert connection.account
    assert connection.workspace
    assert connection.project
    assert connection.currency == "GBP"
    assert connection.features == dict.fromkeys(connecting.FEATURES, True)
    with database.cursor() as cursor:
        cursor.execute("SELECT token FROM listening_connection")
        (stored,) = cursor.fetchone()
    assert TOKEN not in stored
    assert stored.startswith("sealed:")


def test_a_token_that_prolific_does_not_know_changes_nothing(double: Double) -> None:
    with pytest.raises(RecruitmentError, match="does not know this token"):
        connecting.connect(make_user(), "wrong")
    assert not Connection.objects.exists()


def test_what_a_workspace_does_not_allow_is_found_out_and_leaves_no_draft(double: Double) -> None:
    double.set(features={"fixed_screen_out": False, "secure_links": False})
    before = len(double.state()["studies"])
    connection = make_connection()
    assert connection.features["fixed_screen_out"] is False
    assert connection.features["secure_links"] is False
    assert len(double.state()["studies"]) == before


# --- Drafted and published -----------------------------------------------------------------------


def test_a_draft_is_what_was_planned_and_publishing_commits_the_money(double: Double) -> None:
    recruitment = make_recruitment()
    assert drafting.send_draft(recruitment) == []
    assert recruitment.state == State.DRAFT
    there = double.state()["studies"][recruitment.prolific_study]["fields"]
    assert (there["total_available_places"], there["reward"]) == (4, 180)
    assert there["estimated_completion_time"] == 12
    assert f"/r/{recruitment.study.link}/?PROLIFIC_PID=" in there["external_study_url"]
    assert {c["code"] for c in there["completion_codes"]} == {
        *CODES.values(),
        recruitment.codes["server"],
    }
    assert ledger.money_of(recruitment).committed_minor == 0
    drafting.publish(recruitment)
    double.settle()
    syncing.sync(recruitment)
    assert (recruitment.state, recruitment.status) == (State.LIVE, "ACTIVE")
    sums = ledger.money_of(recruitment)
    assert sums.committed_minor == recruitment.expected_minor > 4 * 180


def test_a_closed_door_is_not_published(double: Double) -> None:
    recruitment = make_recruitment()
    drafting.send_draft(recruitment)
    Study.objects.update(state="paused")
    with pytest.raises(RecruitmentError, match="closed door"):
        drafting.publish(recruitment)
    assert recruitment.state == State.DRAFT


def test_a_limit_stops_publishing_and_bonuses(double: Double) -> None:
    recruitment = make_recruitment()
    drafting.send_draft(recruitment)
    most = int(drafting.most_minor(recruitment))
    assert most > recruitment.expected_minor  # everybody may be screened out as well
    Recruitment.objects.update(budget_minor=most - 1)
    recruitment.refresh_from_db()
    with pytest.raises(RecruitmentError, match="its limit is"):
        drafting.publish(recruitment)
    Recruitment.objects.update(budget_minor=most + 50)
    recruitment.refresh_from_db()
    drafting.publish(recruitment)
    double.settle()
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    paying.decide_bonus(person.row(), "thanks", 100, "ada")
    with pytest.raises(RecruitmentError, match="its limit is"):
        paying.write_batch(recruitment)
    assert not BonusBatch.objects.exists()


def test_too_little_balance_is_said_and_the_draft_stays(double: Double) -> None:
    recruitment = make_recruitment()
    drafting.send_draft(recruitment)
    double.set(balance=5)
    with pytest.raises(RecruitmentError, match="did not publish"):
        drafting.publish(recruitment)
    assert recruitment.state == State.DRAFT


def test_features_that_are_refused_are_replaced_and_named(double: Double) -> None:
    recruitment = make_recruitment(secure=True)
    double.set(features={"fixed_screen_out": False, "secure_links": False})
    changes = drafting.send_draft(recruitment)
    assert len(changes) == 2
    assert recruitment.state == State.DRAFT
    assert recruitment.ways["screened_out"] == "REQUEST_RETURN"
    assert not recruitment.secure


@pytest.mark.parametrize("fault", ["drop_after", "error_500_after", "drop_before"])
def test_a_lost_reply_makes_neither_two_drafts_nor_none(double: Double, fault: str) -> None:
    recruitment = make_recruitment()
    double.fault(fault, method="POST", path="/studies/$")
    with pytest.raises(RecruitmentError, match="not known yet"):
        drafting.send_draft(recruitment)
    assert recruitment.state == State.SENDING
    drafting.send_draft(recruitment)
    assert recruitment.state == State.DRAFT
    assert recruitment.expected_minor
    name = drafting.internal_name(recruitment)
    there = [s for s in double.state()["studies"].values() if s["fields"]["internal_name"] == name]
    assert [s["id"] for s in there] == [recruitment.prolific_study]


def test_a_draft_whose_reply_was_lost_is_known_as_it_was_asked_for(double: Double) -> None:
    recruitment = make_recruitment(secure=True)
    double.set(features={"secure_links": False})
    asked, lost = Prolific.create_study, []

    def second_is_lost(self: Prolific, body: Any) -> Any:
        made = asked(self, body)  # the first is refused
        lost.append(made)
        raise NoReply("lost")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Prolific, "create_study", second_is_lost)
        with pytest.raises(RecruitmentError, match="not known yet"):
            drafting.send_draft(recruitment)
    drafting.send_draft(recruitment)
    assert (recruitment.state, recruitment.secure) == (State.DRAFT, False)
    assert [each.id for each in lost] == [recruitment.prolific_study]


@pytest.mark.parametrize("fault", ["drop_after", "drop_before", "error_500_after"])
def test_a_lost_reply_to_publishing_is_looked_up(double: Double, fault: str) -> None:
    recruitment = make_recruitment()
    drafting.send_draft(recruitment)
    double.fault(fault, method="POST", path="/transition/")
    drafting.publish(recruitment)
    double.settle()
    drafting.find_out(recruitment)
    expected = State.DRAFT if fault == "drop_before" else State.LIVE
    assert recruitment.state == expected
    assert LedgerEntry.objects.filter(kind="committed").count() == (expected == State.LIVE)


def test_a_draft_is_discarded_and_its_plan_stays(double: Double) -> None:
    recruitment = make_recruitment()
    drafting.send_draft(recruitment)
    drafting.discard_draft(recruitment)
    assert recruitment.prolific_study not in double.state()["studies"]
    fresh = recruitment.study.recruitments.first()
    assert (fresh.state, fresh.plan) == (State.PLANNED, recruitment.plan)


def test_places_are_added_and_the_study_paused_and_resumed(double: Double) -> None:
    recruitment = make_published(double)
    with pytest.raises(RecruitmentError, match="only be added"):
        drafting.more_places(recruitment, 3)
    drafting.more_places(recruitment, 6)
    assert recruitment.places == 6
    sums = ledger.money_of(recruitment)
    assert sums.committed_minor == ledger.with_fees(recruitment, Decimal(6 * 180))
    drafting.change_state(recruitment, "pause")
    assert recruitment.status == "PAUSED"
    drafting.change_state(recruitment, "resume")
    assert recruitment.status == "ACTIVE"


# --- Watched -------------------------------------------------------------------------------------


def test_a_returned_place_is_free_here_too(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work(2)
    held = person.session.blocks.filter(state=1).count()
    assert held
    double.give_back(person.submission)
    syncing.sync(recruitment)
    assert person.row().status == "RETURNED"
    assert person.session.blocks.filter(state=1).count() == 0


def test_who_timed_out_and_comes_back_goes_on(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work(2)
    double.forward(minutes=recruitment.maximum_minutes + 1)
    syncing.sync(recruitment)
    assert person.row().status == "TIMED-OUT"
    person.work()
    person.session.refresh_from_db()
    assert person.session.status == "finished"
    syncing.sync(recruitment)
    row = rows(recruitment)[person.submission]
    assert [each.kind for each in row.mismatches] == ["not_handed_in"]
    assert row.proposal.decision == "complete"


def test_sessions_and_submissions_are_compared(double: Double) -> None:
    recruitment = make_published(double, places=6)
    good = Person(double, recruitment).work().hand_in()
    nocode = Person(double, recruitment).work().hand_in(None)
    lost = Person(double, recruitment).hand_in()
    forged = sessions.start(
        recruitment.study,
        sessions.Arrival(
            prolific_id="a" * 24,
            prolific_study=recruitment.prolific_study,
            prolific_session="b" * 24,
        ),
    )
    syncing.sync(recruitment)
    found = rows(recruitment)
    assert found[good.submission].mismatches == []
    assert [m.kind for m in found[nocode.submission].mismatches] == ["wrong_code"]
    assert found[nocode.submission].proposal.decision == "approve"
    assert [m.kind for m in found[lost.submission].mismatches] == ["no_session"]
    strangers = [row for row in desk.rows_of_desk(recruitment) if row.submission is None]
    assert [row.known.session for row in strangers] == [forged.pk]
    assert strangers[0].mismatches[0].kind == "unknown_submission"


def test_a_withdrawn_rater_is_known_for_pay_alone(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work(3)
    sessions.withdraw(person.session)
    person.hand_in(None)
    syncing.sync(recruitment)
    row = rows(recruitment)[person.submission]
    assert row.known is None
    assert row.submission.withdrew
    assert row.submission.session is None
    assert "withdrew" in row.proposal.because
    person.session.refresh_from_db()
    assert person.session.prolific_session == ""


def test_prolific_away_leaves_what_was_known(double: Double) -> None:
    recruitment = make_published(double)
    Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    double.fault("error_500", count=None)
    with pytest.raises(RecruitmentError, match="known before"):
        syncing.sync(recruitment)
    assert len(rows(recruitment)) == 1


@pytest.mark.parametrize("fault", ["extra_fields", "floats", "unknown_status"])
def test_odd_replies_do_no_harm(double: Double, fault: str) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    double.fault(fault, count=None, path="/submissions/")
    syncing.sync(recruitment)
    assert person.row().participant == person.id


@pytest.mark.slow
@pytest.mark.parametrize("apart", [True, False])
def test_who_comes_by_a_child_study_is_ours_everywhere(double: Double, apart: bool) -> None:
    recruitment = make_published(double, places=8)
    double.set(children_apart=apart)
    plain = Person(double, recruitment).work().hand_in()
    child = double.ask("POST", f"/studies/{recruitment.prolific_study}/child")["child"]
    worked, nocode, left, withdrew, quiet = (Person(double, recruitment) for _ in range(5))
    assert f"STUDY_ID={child}" in worked.address
    worked.work().hand_in()
    nocode.work().hand_in(None)
    left.work(2)
    double.give_back(left.submission)
    sessions.withdraw(withdrew.work(2).session)
    withdrew.hand_in(None)
    quiet.hand_in()  # no session: only a list can name it
    syncing.sync(recruitment)

    found = rows(recruitment)
    people = (plain, worked, nocode, left, withdrew, quiet)
    assert set(found) == {each.submission for each in people}
    kinds = {name: [m.kind for m in row.mismatches] for name, row in found.items()}
    expected: dict[str, list[str]] = {each.submission: [] for each in people}
    expected |= {nocode.submission: ["wrong_code"], quiet.submission: ["no_session"]}
    assert kinds == expected
    assert [row for row in desk.rows_of_desk(recruitment) if row.submission is None] == []
    assert (plain.row().child_study, worked.row().child_study) == ("", child)
    assert left.session.blocks.filter(state=1).count() == 0
    assert withdrew.row().withdrew
    assert hooks._about(recruitment.connection, child) == [recruitment]

    assert deciding.approve_many(recruitment, "ada") == 3
    for minor, person in ((50, plain), (70, worked), (90, left)):
        paying.decide_bonus(person.row(), "thanks", minor, "ada")
    while batch := paying.write_batch(recruitment):
        paying.pay(batch)
    double.settle()
    syncing.sync(recruitment)
    assert [p.row().status for p in (plain, worked, nocode)] == ["APPROVED"] * 3
    assert [bonuses(double, p) for p in (plain, worked, left)] == [[50], [70], [90]]
    assert all(each.agrees for each in ledger.reconciled(recruitment))
    double.set(children_apart=False)


def test_a_made_up_address_is_asked_about_once_a_day(
    double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    recruitment = make_published(double)
    for letter in "ab":
        named = {"prolific_study": "c" * 24, "prolific_session": letter * 24}
        sessions.start(recruitment.study, sessions.Arrival(prolific_id=letter * 24, **named))
    asked, one = [], Prolific.submission
    monkeypatch.setattr(Prolific, "submission", lambda p, s: asked.append(s) or one(p, s))
    syncing.sync(recruitment)
    syncing.sync(recruitment)
    assert sorted(asked) == ["a" * 24, "b" * 24]
    strangers = [row for row in desk.rows_of_desk(recruitment) if row.submission is None]
    assert [row.mismatches[0].kind for row in strangers] == ["unknown_submission"] * 2


# --- Decided -------------------------------------------------------------------------------------


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


def test_all_that_is_plain_is_approved_at_once(double: Double) -> None:
    recruitment = make_published(double)
    people = [Person(double, recruitment).work().hand_in() for _ in range(2)]
    doubtful = Person(double, recruitment).hand_in()
    syncing.sync(recruitment)
    assert deciding.approve_many(recruitment, "ada") == 2
    assert {p.row().rule for p in people} == {"Who did the work is paid, whether we use it or not."}
    double.settle()
    syncing.sync(recruitment)
    assert [p.row().status for p in people] == ["APPROVED", "APPROVED"]
    assert doubtful.row().status == "AWAITING REVIEW"


def test_a_rejection_without_a_ground_is_refused(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    with pytest.raises(RecruitmentError, match="not open here"):
        deciding.decide(person.row(), "reject", by="ada", message="x" * 200)
    assert person.row().decision == ""


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


def test_who_never_came_back_with_the_code_is_completed_and_paid(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work()
    syncing.sync(recruitment)
    deciding.decide(person.row(), "complete", by="ada")
    syncing.sync(recruitment)
    assert person.row().status == "APPROVED"


def test_leaving_out_and_paying_are_apart(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    sessions.reject(person.session, "left out of the analysis")
    row = rows(recruitment)[person.submission]
    assert (row.proposal.decision, row.mismatches) == ("approve", [])
    deciding.decide(person.row(), "approve", by="ada")
    syncing.sync(recruitment)
    assert person.row().status == "APPROVED"
    person.session.refresh_from_db()
    assert person.session.status == "rejected"


# --- Paid ----------------------------------------------------------------------------------------


def owed_one(double: Double, minor: int = 150) -> tuple[Recruitment, Person]:
    recruitment = make_published(double)
    person = Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    paying.decide_bonus(person.row(), "thanks", minor, "ada")
    return recruitment, person


def bonuses(double: Double, person: Person) -> list[float]:
    return list(double.ledger()["submissions"][person.submission]["bonuses"])


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


def test_the_same_bonus_twice_is_one(double: Double) -> None:
    _, person = owed_one(double)
    paying.decide_bonus(person.row(), "thanks", 150, "ada")
    with pytest.raises(RecruitmentError, match="decided already"):
        paying.decide_bonus(person.row(), "thanks", 200, "ada")
    assert person.row().own_bonuses.count() == 1


@pytest.mark.parametrize("fault", ["drop_after", "error_500_after", "drop_before", "error_500"])
@pytest.mark.parametrize("path", ["/bonus-payments/", "/pay/"])
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


def test_a_plan_of_a_second_study_keeps_what_the_first_chose(double: Double) -> None:
    first = make_recruitment(hourly_minor=1100, devices=("desktop",))
    drafting.send_draft(first)
    other = make_study(key="other", completion_codes=CODES)
    plan = first_plan(other, first.connection)
    assert (plan.hourly_minor, plan.devices) == (1100, ("desktop",))
    assert groups_of_earlier(other, first.connection) == {first.group: "A study"}
    second = make_recruitment(other, keep_out=(first.group,))
    assert drafting.send_draft(second) == []
    (kept_out,) = double.state()["studies"][second.prolific_study]["fields"]["filters"]
    assert kept_out["selected_values"] == [first.group]
    double.fault("not_json", path="/filters/", count=None)
    third = make_recruitment(make_study(key="third", completion_codes=CODES), keep_out=("g",))
    with pytest.raises(RecruitmentError):
        drafting.send_draft(third)
    assert third.state == State.SENDING


ODD: list[Any] = [{}, [], None, "yes", {"results": [{}]}, {"results": None}, 3]


@pytest.mark.parametrize("path", ["/submissions/", "/studies/", "/cost/", "/balance/", "/filters/"])
def test_replies_that_nobody_documented_are_named_and_break_nothing(
    double: Double, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    recruitment = make_published(double)
    connection = recruitment.connection
    asked = Prolific._ask
    replies: list[Any] = []

    def odd(self: Prolific, method: str, where: str, *args: Any, **more: Any) -> httpx.Response:
        if path in where and method == "GET":
            return httpx.Response(200, json=replies[-1])
        return asked(self, method, where, *args, **more)

    monkeypatch.setattr(Prolific, "_ask", odd)
    client = Client()
    client.force_login(recruitment.study.owner)
    for reply in ODD:
        replies.append(reply)
        with contextlib.suppress(RecruitmentError, ProlificError):
            syncing.sync(recruitment)
        with contextlib.suppress(RecruitmentError, ProlificError):
            connecting.choose_workspace(connection, connection.workspace)
        assert client.get(f"/studies/{recruitment.study.key}/recruiting/").status_code == 200
        assert client.get("/prolific/").status_code == 200
