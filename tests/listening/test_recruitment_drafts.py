"""A paid study is connected, drafted and published, at a double that runs as a program."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection as database

from listening.models import BonusBatch, Connection, Recruitment, Study
from listening.recruitment import connecting, drafting, ledger, paying, syncing
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.filters import languages_unfiltered
from listening.recruitment.places import first_plan, groups_of_earlier
from listening.recruitment.prolific import NoReply, Prolific
from listening.studies.length import session_length
from tests.factories import make_study, make_user
from tests.listening.recruited import (
    CODES,
    Person,
    make_connection,
    make_published,
    make_recruitment,
    settle,
)
from tests.listening.sample_questionnaire import read
from tests.play_money import TOKEN, Double

pytestmark = pytest.mark.django_db
State = Recruitment.State


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


@pytest.mark.medium
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
    assert (
        sums.committed_minor
        == ledger.locked_by_publishing(recruitment)
        == pytest.approx(double.locked(recruitment.prolific_study), abs=Decimal("0.01"))
    )
    assert recruitment.expected_minor > 4 * 180


@pytest.mark.medium
def test_a_closed_door_is_not_published(double: Double) -> None:
    recruitment = make_recruitment()
    drafting.send_draft(recruitment)
    Study.objects.update(state="paused")
    with pytest.raises(RecruitmentError, match="closed door"):
        drafting.publish(recruitment)
    assert recruitment.state == State.DRAFT


@pytest.mark.medium
def test_a_limit_stops_publishing_and_bonuses(double: Double) -> None:
    recruitment = make_recruitment()
    drafting.send_draft(recruitment)
    most = int(ledger.locked_by_publishing(recruitment))
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


@pytest.mark.medium
def test_too_little_balance_is_said_and_the_draft_stays(double: Double) -> None:
    recruitment = make_recruitment()
    drafting.send_draft(recruitment)
    double.set(balance=5)
    with pytest.raises(RecruitmentError, match="did not publish"):
        drafting.publish(recruitment)
    assert recruitment.state == State.DRAFT


@pytest.mark.medium
def test_features_that_are_refused_are_replaced_and_named(double: Double) -> None:
    recruitment = make_recruitment(secure=True)
    double.set(features={"fixed_screen_out": False, "secure_links": False})
    changes = drafting.send_draft(recruitment)
    assert len(changes) == 2
    assert recruitment.state == State.DRAFT
    assert recruitment.ways["screened_out"] == "REQUEST_RETURN"
    assert not recruitment.secure


@pytest.mark.medium
@pytest.mark.parametrize("fault", ["drop_after", "error_500_after", "drop_before"])
def test_a_lost_reply_makes_neither_two_drafts_nor_none(double: Double, fault: str) -> None:
    recruitment = make_recruitment()
    double.fault(fault, method="POST", path="/studies/$")
    with pytest.raises(RecruitmentError, match="not known yet"):
        drafting.send_draft(recruitment)
    assert recruitment.state == State.SENDING
    if fault == "drop_before":  # it may only be slow: nothing is sent again at once
        with pytest.raises(RecruitmentError, match="not known yet"):
            drafting.send_draft(recruitment)
        settle(recruitment)
    drafting.send_draft(recruitment)
    assert recruitment.state == State.DRAFT
    assert recruitment.expected_minor
    name = drafting.internal_name(recruitment)
    there = [s for s in double.state()["studies"].values() if s["fields"]["internal_name"] == name]
    assert [s["id"] for s in there] == [recruitment.prolific_study]


@pytest.mark.medium
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
@pytest.mark.medium
def test_a_lost_reply_to_publishing_is_looked_up(double: Double, fault: str) -> None:
    recruitment = make_recruitment()
    drafting.send_draft(recruitment)
    double.fault(fault, method="POST", path="/transition/")
    drafting.publish(recruitment)
    double.settle()
    drafting.find_out(recruitment)
    expected = State.PUBLISHING if fault == "drop_before" else State.LIVE
    assert recruitment.state == expected
    assert ledger.money_of(recruitment).committed_minor == pytest.approx(
        double.locked(recruitment.prolific_study), abs=Decimal("0.01")
    )
    if expected == State.PUBLISHING:
        settle(recruitment)
        syncing.sync(recruitment)
        assert recruitment.state == State.DRAFT
        assert "did not publish it" in recruitment.problem


@pytest.mark.medium
def test_a_draft_is_discarded_and_its_plan_stays(double: Double) -> None:
    recruitment = make_recruitment()
    drafting.send_draft(recruitment)
    drafting.discard_draft(recruitment)
    assert recruitment.prolific_study not in double.state()["studies"]
    fresh = recruitment.study.recruitments.first()
    assert fresh.state == State.PLANNED
    assert fresh.plan["minutes"] == session_length(recruitment.study).minutes
    for name in ("name", "description", "places", "hourly_minor", "screened_out"):
        assert fresh.plan[name] == recruitment.plan[name]


@pytest.mark.medium
def test_places_are_added_and_the_study_paused_and_resumed(double: Double) -> None:
    recruitment = make_published(double)
    with pytest.raises(RecruitmentError, match="only be added"):
        drafting.more_places(recruitment, 3)
    drafting.more_places(recruitment, 6)
    assert recruitment.places == 6
    sums = ledger.money_of(recruitment)
    assert sums.committed_minor == ledger.with_fees(recruitment, Decimal(6 * 180 + 4 * 30))
    assert sums.committed_minor == pytest.approx(
        double.locked(recruitment.prolific_study), abs=Decimal("0.01")
    )
    drafting.change_state(recruitment, "pause")
    assert recruitment.status == "PAUSED"
    drafting.change_state(recruitment, "resume")
    assert recruitment.status == "ACTIVE"


def asking(use: str, question: str, rule: str) -> list[dict[str, Any]]:
    """The questionnaire with a ready-made set of which one question screens out."""
    toml = f'[[questionnaires]]\nkey = "q"\nuse = "{use}"\n[[questionnaires.questions]]\n'
    forms, problems = read(f'{toml}key = "{question}"\n{rule}')
    assert problems == []
    return list(forms)


@pytest.mark.medium
def test_raters_of_one_language_are_filtered_at_prolific(double: Double) -> None:
    asked = asking("fluent_languages", "fluent_languages", 'screen_out_unless = ["{language}"]')
    study = make_study(
        completion_codes=CODES, language="zh-Hans", translations={"en": {}}, questionnaires=asked
    )
    connection = make_connection()
    plan = first_plan(study, connection)
    assert plan.filters == ({"filter_id": "fluent-languages", "selected_values": ["0", "4"]},)
    assert plan.words == {"fluent-languages": "Fluent languages: English, Mandarin"}
    assert languages_unfiltered(plan, study) == []
    recruitment = make_recruitment(study, filters=plan.filters)
    assert drafting.send_draft(recruitment) == []
    there = double.state()["studies"][recruitment.prolific_study]["fields"]
    assert there["filters"] == list(plan.filters)


@pytest.mark.medium
def test_a_language_that_the_filter_lacks_is_left_to_the_researcher(double: Double) -> None:
    asked = asking("demographics", "native_speaker", 'screen_out = ["no"]')
    study = make_study(completion_codes=CODES, language="fi", questionnaires=asked)
    plan = first_plan(study, make_connection())
    assert plan.filters == ()
    assert languages_unfiltered(plan, study) == ["did not grow up with fi"]
    study.language, study.translations = "de", {"fi": {}}
    assert first_plan(study, Connection.objects.get()).filters == ()  # Finns are welcome, too
    study.translations = {}
    plan = first_plan(study, Connection.objects.get())
    assert plan.filters == ({"filter_id": "first-language", "selected_values": ["2"]},)


@pytest.mark.medium
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
