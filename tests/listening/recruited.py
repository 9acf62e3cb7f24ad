"""A study recruited at the double of Prolific: from connection to publication, and its raters."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.utils import timezone

from listening.models import Connection, Recruitment, Session, Study
from listening.recruitment import connecting, deciding, drafting, syncing
from listening.recruitment.plan import Plan
from listening.sessions import lifecycle
from listening.sessions.lifecycle import Arrival
from tests.factories import answer_all, make_study, make_user
from tests.play_money import TOKEN, Double

CODES = {
    "complete": "COMPLETE1",
    "screened_out": "SCREENED1",
    "partial": "PARTIAL11",
    "needs_review": "REVIEW111",
    "no_consent": "NOCONSENT",
}


def make_connection() -> Connection:
    return connecting.connect(make_user(), TOKEN)


def make_plan(**changes: Any) -> Plan:
    usual: dict[str, Any] = {
        "name": "Rate short clips (headphones)",
        "description": "<p>You need headphones.</p>",
        "places": 4,
        "minutes": 12,
        "hourly_minor": 900,
        "currency": "GBP",
        "screened_out": "fixed",
        "screened_out_minor": 30,
    }
    return Plan(**{**usual, **changes})


def make_recruitment(study: Study | None = None, **changes: Any) -> Recruitment:
    """Planned here only."""
    study = study or make_study(items=20, completion_codes=CODES, task={"ratings_per_stimulus": 4})
    connection = Connection.objects.filter(owner=study.owner).first() or make_connection()
    return drafting.start_plan(study, connection, make_plan(**changes))


def make_published(double: Double, **changes: Any) -> Recruitment:
    recruitment = make_recruitment(**changes)
    drafting.send_draft(recruitment)
    drafting.publish(recruitment)
    double.settle()
    syncing.sync(recruitment)
    assert recruitment.state == Recruitment.State.LIVE
    return recruitment


def settle(recruitment: Recruitment) -> None:
    """As much later as it takes until what Prolific does not show was not done."""
    asked = recruitment.asked_at or timezone.now()
    Recruitment.objects.filter(pk=recruitment.pk).update(asked_at=asked - drafting.SETTLED_AFTER)
    recruitment.refresh_from_db()


class Person:
    """A participant at the double, and their session here."""

    def __init__(self, double: Double, recruitment: Recruitment) -> None:
        self.double, self.recruitment = double, recruitment
        self.id = double.participants()[0]
        self.submission = double.reserve(recruitment.prolific_study, self.id)
        self.address = double.start(self.submission)

    def arrive(self) -> Session:
        query = {name: found[0] for name, found in parse_qs(urlsplit(self.address).query).items()}
        self.session = lifecycle.start(
            self.recruitment.study,
            Arrival(
                prolific_id=query["PROLIFIC_PID"],
                prolific_study=query["STUDY_ID"],
                prolific_session=query["SESSION_ID"],
                simulated=True,
            ),
        )
        return self.session

    def work(self, clips: int = 10**6) -> Person:
        answer_all(lifecycle.refresh(self.arrive()), stop_after=clips)
        return self

    def hand_in(self, code: str | None = CODES["complete"]) -> Person:
        self.double.submit(self.submission, code)
        return self

    def row(self) -> Any:
        return self.recruitment.submissions.get(prolific_id=self.submission)


def rows(recruitment: Recruitment) -> dict[str, deciding.Row]:
    """Submission at Prolific -> its row on the desk."""
    found = deciding.desk_rows(recruitment)
    return {row.submission.prolific_id: row for row in found if row.submission}


def bonuses(double: Double, person: Person) -> list[float]:
    """What Prolific paid beside the reward, in minor units."""
    return list(double.ledger()["submissions"][person.submission]["bonuses"])
