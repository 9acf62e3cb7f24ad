"""The start names the study that raters enter: the newest that is open."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth import get_user_model

from config.prepare import rater_entry
from listening.models import Study

pytestmark = [pytest.mark.django_db]


def study(key: str, state: str, day: int) -> Study:
    opened = datetime(2026, 1, day, tzinfo=UTC)
    owner, _ = get_user_model().objects.get_or_create(username="ada")
    facts = {"key": key, "title": key, "state": state, "opened_at": opened}
    made: Study = Study.objects.create(owner=owner, **facts)
    return made


def test_without_an_open_study_raters_get_the_front_page():
    study("closed", Study.State.CLOSED, 1)
    assert rater_entry() == {"path": "/", "study": ""}


def test_of_several_open_studies_the_newest_is_named():
    study("older", Study.State.OPEN, 1)
    newest = study("newest", Study.State.OPEN, 3)
    study("middle", Study.State.OPEN, 2)
    study("closed", Study.State.CLOSED, 4)
    assert rater_entry() == {"path": f"/r/{newest.link}/", "study": "newest"}
