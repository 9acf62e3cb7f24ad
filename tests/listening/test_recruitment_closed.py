"""A study that is closed, by hand or by its stop rule, recruits nobody at Prolific any more."""

from __future__ import annotations

from unittest import mock

import pytest
from django.test import Client
from django.urls import reverse

from listening.models import Study, StudyEvent
from listening.recruitment import closing, deciding, drafting, syncing
from listening.recruitment.errors import RecruitmentError
from listening.sessions import lifecycle
from listening.studies.states import close_study
from tests.factories import answer_all
from tests.listening.recruited import Person, make_published
from tests.play_money import Double

pytestmark = [pytest.mark.django_db, pytest.mark.medium]


def page_of(study: Study, client: Client) -> str:
    client.force_login(study.owner)
    return client.get(reverse("study", args=[study.key])).content.decode()


def test_a_closed_study_is_paused_and_stopped_when_all_is_decided(
    double: Double, client: Client, django_capture_on_commit_callbacks
) -> None:
    recruitment = make_published(double)
    waiting = Person(double, recruitment).work().hand_in()
    at_work = Person(double, recruitment).work(2)
    with (
        mock.patch("celery.current_app.send_task") as asked,
        django_capture_on_commit_callbacks(execute=True),
    ):
        close_study(recruitment.study, by="ada")
    asked.assert_any_call(closing.SYNC, [recruitment.pk])
    assert "Prolific still recruits for this study." in page_of(recruitment.study, client)

    locked = double.locked(recruitment.prolific_study)
    syncing.sync(recruitment)
    assert double.study(recruitment.prolific_study)["status"] == recruitment.status == "PAUSED"
    assert double.locked(recruitment.prolific_study) == locked  # no place was given up
    assert "2 submissions are in progress or awaiting a decision" in page_of(
        recruitment.study, client
    )
    with pytest.raises(RecruitmentError, match="The study is closed"):
        drafting.change_state(recruitment, "resume")
    with pytest.raises(RecruitmentError, match="The study is closed"):
        drafting.more_places(recruitment, 9)

    answer_all(lifecycle.refresh(at_work.session))
    at_work.hand_in()
    syncing.sync(recruitment)
    assert recruitment.status == "PAUSED"
    for person in (waiting, at_work):
        assert deciding.decide(person.row(), "approve", by="ada") == "Approved."
    syncing.sync(recruitment)
    assert double.study(recruitment.prolific_study)["status"] == recruitment.status == "COMPLETED"
    assert {person.row().status for person in (waiting, at_work)} == {"APPROVED"}
    assert "Prolific has ended recruiting: completed." in page_of(recruitment.study, client)
    said = StudyEvent.objects.filter(study_id=recruitment.study_id, what="recruiting", by="Earnest")
    assert [event.details["said"] for event in said.order_by("pk")] == [
        "The study is closed: paused at Prolific",
        "The study is closed: completed at Prolific",
    ]


@pytest.mark.parametrize("fault", ["error_500", "drop_after", "error_message"])
def test_prolific_that_fails_keeps_no_study_open(
    double: Double, client: Client, fault: str
) -> None:
    recruitment = make_published(double)
    double.fault(fault, count=None, path="/transition/")
    close_study(recruitment.study)
    syncing.sync(recruitment)
    recruitment.study.refresh_from_db()
    assert recruitment.study.state == "closed"
    if fault == "drop_after":  # it was done, though no reply came
        assert (recruitment.status, recruitment.problem) == ("COMPLETED", "")
        return
    if fault == "error_500":
        assert recruitment.problem.startswith("Prolific did not pause the closed study.")
        assert closing.REMEDY in page_of(recruitment.study, client)
    double.heal()
    syncing.sync(recruitment)
    assert (recruitment.status, recruitment.problem) == ("COMPLETED", "")


def test_an_open_study_is_left_alone(double: Double) -> None:
    recruitment = make_published(double)
    syncing.sync(recruitment)
    assert recruitment.status == "ACTIVE"
    assert closing.closings_of(recruitment.study) == []
