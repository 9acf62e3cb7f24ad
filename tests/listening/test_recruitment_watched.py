"""What Prolific has of a paid study beside what is here, and what becomes of odd replies."""

from __future__ import annotations

import contextlib
from typing import Any

import httpx
import pytest
from django.test import Client

from listening.recruitment import connecting, deciding, ledger, paying, syncing
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.prolific import Prolific, ProlificError
from listening.sessions import lifecycle
from tests.listening.recruited import Person, bonuses, make_published, rows
from tests.play_money import Double

pytestmark = pytest.mark.django_db


@pytest.mark.medium
def test_a_returned_place_is_free_here_too(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work(2)
    held = person.session.blocks.filter(state=1).count()
    assert held
    double.give_back(person.submission)
    syncing.sync(recruitment)
    assert person.row().status == "RETURNED"
    assert person.session.blocks.filter(state=1).count() == 0


@pytest.mark.medium
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


@pytest.mark.medium
def test_sessions_and_submissions_are_compared(double: Double) -> None:
    recruitment = make_published(double, places=6)
    good = Person(double, recruitment).work().hand_in()
    nocode = Person(double, recruitment).work().hand_in(None)
    lost = Person(double, recruitment).hand_in()
    forged = lifecycle.start(
        recruitment.study,
        lifecycle.Arrival(
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
    strangers = [row for row in deciding.desk_rows(recruitment) if row.submission is None]
    assert [row.evidence.session for row in strangers] == [forged.pk]
    assert strangers[0].mismatches[0].kind == "unknown_submission"


@pytest.mark.medium
def test_a_withdrawn_rater_is_known_for_pay_alone(double: Double) -> None:
    recruitment = make_published(double)
    person = Person(double, recruitment).work(3)
    lifecycle.withdraw(person.session)
    person.hand_in(None)
    syncing.sync(recruitment)
    row = rows(recruitment)[person.submission]
    assert row.evidence is None
    assert row.submission.withdrew
    assert row.submission.session is None
    assert "withdrew" in row.proposal.because
    person.session.refresh_from_db()
    assert person.session.prolific_session == ""


@pytest.mark.medium
def test_prolific_away_leaves_what_was_known(double: Double) -> None:
    recruitment = make_published(double)
    Person(double, recruitment).work().hand_in()
    syncing.sync(recruitment)
    double.fault("error_500", count=None)
    with pytest.raises(RecruitmentError, match="last known state"):
        syncing.sync(recruitment)
    assert len(rows(recruitment)) == 1


@pytest.mark.parametrize("fault", ["extra_fields", "floats", "unknown_status"])
@pytest.mark.medium
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
    lifecycle.withdraw(withdrew.work(2).session)
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
    assert [row for row in deciding.desk_rows(recruitment) if row.submission is None] == []
    assert (plain.row().child_study, worked.row().child_study) == ("", child)
    assert left.session.blocks.filter(state=1).count() == 0
    assert withdrew.row().withdrew
    assert syncing._recruitments_named(recruitment.connection, child) == [recruitment]

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


@pytest.mark.medium
def test_a_made_up_address_is_asked_about_once_a_day(
    double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    recruitment = make_published(double)
    for letter in "ab":
        named = {"prolific_study": "c" * 24, "prolific_session": letter * 24}
        lifecycle.start(recruitment.study, lifecycle.Arrival(prolific_id=letter * 24, **named))
    asked, one = [], Prolific.submission
    monkeypatch.setattr(Prolific, "submission", lambda p, s: asked.append(s) or one(p, s))
    syncing.sync(recruitment)
    syncing.sync(recruitment)
    assert sorted(asked) == ["a" * 24, "b" * 24]
    strangers = [row for row in deciding.desk_rows(recruitment) if row.submission is None]
    assert [row.mismatches[0].kind for row in strangers] == ["unknown_submission"] * 2


ODD: list[Any] = [{}, None, "yes", {"results": [{}]}, {"results": None}]


@pytest.mark.parametrize("path", ["/submissions/", "/studies/", "/cost/", "/balance/", "/filters/"])
@pytest.mark.medium
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
