"""Prolific's ids are sealed in the database, and forgotten when a study says so."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from listening import erasure, sessions
from listening.models import Rater, Rating, Session, Study
from listening.models.sealed import MARK, UNREADABLE, seal, unseal
from tests.factories import answer_all, arrive, make_study
from tests.listening.test_rater_doors import enter

pytestmark = pytest.mark.django_db
IDS = {"PROLIFIC_PID": "a1" * 12, "STUDY_ID": "b2" * 12, "SESSION_ID": "c3" * 12}


def everything_stored() -> str:
    """Every column of every table, as text."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        text = []
        for table in tables:
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            text += [row[0] for row in cursor.fetchall()]
    return "\n".join(text)


def test_no_table_holds_an_id_of_prolific_in_clear():
    study = make_study()
    session = enter(Client(), study, **IDS)
    assert session.rater.prolific_id == IDS["PROLIFIC_PID"]
    assert session.prolific_session == IDS["SESSION_ID"]
    stored = everything_stored()
    assert session.code in stored
    assert not any(value in stored for value in IDS.values())


def test_a_seal_is_the_same_for_the_same_id_and_opens_with_the_same_key(settings):
    one, other = seal("a1" * 12), seal("a2" * 12)
    assert one == seal("a1" * 12) != other
    assert one.startswith(MARK)
    assert len(one) <= 160
    assert len(seal("x" * 64)) <= 160
    assert unseal(one) == "a1" * 12
    assert unseal("in clear") == "in clear"
    settings.SECRET_KEY = "another key"
    assert unseal(one) == UNREADABLE
    assert unseal(MARK + "no base64!") == UNREADABLE


def test_ids_of_before_are_sealed_and_can_be_opened_again():
    session = arrive(make_study(), prolific_id="a1" * 12, prolific_session="c3" * 12)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE listening_rater SET prolific_id = %s", ["a1" * 12])
        cursor.execute("UPDATE listening_session SET prolific_session = %s", ["c3" * 12])
    migration = import_module("listening.migrations.0008_sealed_ids_and_erasure")
    with connection.schema_editor() as editor:
        migration.seal_all(None, editor)
        migration.seal_all(None, editor)
    assert "c3" * 12 not in everything_stored()
    session.refresh_from_db()
    assert session.prolific_session == "c3" * 12
    assert Rater.objects.get(prolific_id="a1" * 12) == session.rater
    with connection.schema_editor() as editor:
        migration.unseal_all(None, editor)
    assert "c3" * 12 in everything_stored()


def test_who_withdraws_leaves_no_submission_behind_and_may_not_come_again():
    study = make_study()
    session = arrive(study, prolific_id="a1" * 12, prolific_session="c3" * 12, origin="0" * 24)
    answer_all(session, stop_after=2)
    sessions.withdraw(session)
    session.refresh_from_db()
    assert (session.prolific_session, session.prolific_study, session.origin) == ("", "", "")
    assert arrive(study, prolific_id="a1" * 12) == session


def closed(study: Study, days_ago: float) -> Study:
    study.state, study.closed_at = "closed", timezone.now() - timedelta(days=days_ago)
    study.save()
    return study


def test_on_its_date_a_study_forgets_who_took_part_and_keeps_the_ratings():
    study = make_study(erase_after_days=30)
    session = arrive(
        study, prolific_id="a1" * 12, prolific_session="c3" * 12, origin="0" * 24, device="phone"
    )
    answer_all(session)
    ratings = Rating.objects.count()
    closed(study, 29.9)
    assert erasure.erase_due() == []
    closed(study, 30.1)
    assert [str(each) for each in erasure.erase_due()] == [
        f"{study.key}: 1 sessions, 1 participant ids"
    ]
    session = Session.objects.get()
    kept = (session.prolific_session, session.origin, session.device, session.rater.prolific_id)
    assert kept == ("", "", "", None)
    assert Rating.objects.count() == ratings > 0
    assert erasure.erase_due() == []  # once


def test_a_rater_of_another_study_is_still_known_there():
    study, other = make_study(erase_after_days=0), make_study(key="other")
    for each in (study, other):
        arrive(each, prolific_id="a1" * 12)
    closed(study, 1)
    (erased,) = erasure.erase_due()
    assert erased.raters == 0
    assert Rater.objects.get().prolific_id == "a1" * 12
    erasure.erase(closed(other, 1))
    assert Rater.objects.get().prolific_id is None


def test_studies_without_a_date_are_never_erased():
    arrive(closed_study := make_study(), prolific_id="a1" * 12)
    closed(closed_study, 10_000)
    assert erasure.erase_due() == []


def test_the_command_says_what_it_would_do_and_does_it(capsys):
    study = make_study()
    arrive(study, prolific_id="a1" * 12)
    with pytest.raises(CommandError, match="Close it first"):
        call_command("erase_raters", study.key)
    with pytest.raises(CommandError, match="There is no study “x”"):
        call_command("erase_raters", "x")
    closed(study, 0)
    call_command("erase_raters", study.key, "--dry-run")
    assert Rater.objects.get().prolific_id
    call_command("erase_raters", study.key)
    assert Rater.objects.get().prolific_id is None
    said = capsys.readouterr().out.splitlines()
    assert said == [
        f"{study.key}: 0 sessions, 1 participant ids, would be erased",
        f"{study.key}: 0 sessions, 1 participant ids, erased",
    ]
