"""A log-in ends when it is old or idle; what happens at this door stands in the log."""

import logging
import time

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.test import Client

from config.login_sessions import BEGAN, LONGEST_S, NOTED_EVERY_S, SEEN
from tests.factories import make_study

pytestmark = pytest.mark.django_db
OLD, NEW = "correct horse battery", "staple-and-paper-clip"


@pytest.fixture
def ada():
    return get_user_model().objects.create_user("lovelace", password=OLD)


def logged_in(name: str = "lovelace", password: str = OLD) -> Client:
    client = Client()
    form = {"username": name, "password": password}
    assert client.post("/login/", form).status_code == 302
    return client


def is_in(client: Client) -> bool:
    return client.get("/studies/").status_code == 200


def test_a_busy_log_in_ends_after_a_week(ada):
    client = logged_in()
    session = client.session
    session[BEGAN] = int(time.time()) - LONGEST_S - 1
    session.save()
    assert not is_in(client)
    assert Session.objects.count() == 0


@pytest.mark.medium
def test_an_idle_log_in_ends_after_a_day_and_a_request_keeps_it(ada, settings):
    assert settings.SESSION_COOKIE_AGE == 24 * 3600
    client = logged_in()
    session = client.session
    session[SEEN] = int(time.time()) - NOTED_EVERY_S - 1
    session.save()
    Session.objects.update(expire_date="2100-01-01T00:00Z")
    assert is_in(client)  # its time is written down: the end moves to a day from now
    assert Session.objects.get().expire_date.year < 2100
    Session.objects.update(expire_date="2020-01-01T00:00Z")
    assert not is_in(client)


@pytest.mark.medium
def test_log_ins_and_what_was_refused_are_logged_without_names(ada, caplog):
    other = make_study(key="not-hers")
    with caplog.at_level(logging.INFO):
        client = logged_in()
        assert client.get(f"/studies/{other.key}/").status_code == 404
        client.post("/logout/")
    lines = [record.getMessage().partition(" from address")[0] for record in caplog.records]
    assert f"account {ada.pk} logged in with a password," in lines
    assert f"study was refused with 404 to account {ada.pk}" in lines
    assert f"account {ada.pk} logged out," in lines
    # None of these words can stand in the digits of an address's number (0-9, a-f).
    assert not any(word in caplog.text for word in ("lovelace", "127.0.0.1", "not-hers"))


@pytest.mark.medium
def test_a_new_password_needs_the_old_one_and_ends_other_log_ins(ada):
    here, there = logged_in(), logged_in()
    new = {"new_password1": NEW, "new_password2": NEW}
    wrong = here.post("/password/", {"old_password": "wrong", **new})
    assert wrong.status_code == 200
    assert "old password" in wrong.content.decode()
    assert here.post("/password/", {"old_password": OLD, **new}).status_code == 302
    assert (is_in(here), is_in(there)) == (True, False)
    logged_in(password=NEW)


def test_a_log_in_gets_a_new_session_and_leaving_ends_it(ada):
    client = Client()
    client.post("/login/", {"username": "lovelace", "password": OLD})
    first = client.cookies["sessionid"].value
    client.post("/admin/login/", {"username": "lovelace", "password": OLD})
    left = client.post("/logout/")
    assert left["Clear-Site-Data"] == '"cache"'
    stolen = Client()
    stolen.cookies["sessionid"] = first
    assert not is_in(stolen)


@pytest.mark.parametrize(
    "password",
    ["short-pw", "password2024!", "Passwordpassword", "qwertyuiop1234", "earnest-researcher"],
)
def test_passwords_that_are_guessed_first_are_refused(ada, password):
    with pytest.raises(ValidationError):
        validate_password(password, ada)


@pytest.mark.parametrize("password", ["940586713204", OLD, "lowercaseonlybutlong", "長い" * 40])
def test_any_signs_make_a_password(ada, password):
    validate_password(password, ada)
