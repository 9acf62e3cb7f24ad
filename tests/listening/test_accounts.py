"""Second factors, keys, and the list of log-ins: who comes in, and what ends."""

import json
import logging
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.core import context
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import (
    TOTP,
    format_hotp_value,
    generate_totp_secret,
    hotp_value,
)
from allauth.mfa.webauthn.internal import auth as webauthn_auth
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client

from listening.access.projects import make_project
from listening.accounts.adapters import SecondFactors
from listening.accounts.logins import browser_of
from listening.accounts.security_keys import AddKey, ConfirmByKey, PasskeyLogin
from listening.jobs import forget_ended_log_ins
from listening.models import Membership, Role
from listening.web.researcher.live_monitor import StudyMonitor
from tests.factories import make_study
from tests.listening.key_maker import SoftKey
from tests.listening.test_researcher_pages import messages_of, page_of, words_of
from tests.own_cache import empty_cache

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture(autouse=True)
def _empty_cache():
    empty_cache()


@pytest.fixture
def ada():
    return User.objects.create_user("ada", password=PASSWORD)


def log_in(client: Client, onward: str = "", **headers: str):
    form = {"username": "ada", "password": PASSWORD, "next": onward}
    return client.post("/login/", form, headers=headers)


def prove(client: Client) -> None:
    assert client.post("/account/confirm/", {"password": PASSWORD}).status_code == 302


def code_of(secret: str, steps: int = 0) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


def add_app(client: Client) -> tuple[str, list[str]]:
    """The secret of an app that is added as a person does it, and the recovery codes."""
    prove(client)
    page = page_of(client, "/account/app/")
    (secret,) = re.findall(r'class="secret">(\w+)<', page)
    assert 'src="data:image/svg+xml;base64,' in page
    added = client.post("/account/app/", {"code": code_of(secret)}, follow=True)
    return secret, re.findall(r"<code>(\d{10})</code>", added.content.decode())


def give_app(user: User) -> tuple[str, list[str]]:
    """The same without the pages."""
    secret = generate_totp_secret()
    TOTP.activate(user, secret)
    return secret, RecoveryCodes.activate(user).get_unused_codes()


def is_in(client: Client) -> bool:
    return bool(client.get("/studies/").status_code == 200)


# --- Second factors ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("page", ["//[", "https://[::1", "//[gallery]/", "\\\\["])
def test_a_login_does_not_go_on_to_what_is_no_address(ada, page):
    client = Client(raise_request_exception=True)
    log_in(client)
    for way in ("/login/", "/login/passkey/"):
        assert client.get(way, {"next": page}).status_code in (200, 302)
        assert client.post(way, {"next": page}).status_code in (200, 302)


@pytest.mark.slow
def test_a_log_in_asks_for_the_code_and_goes_on_to_the_page_that_was_asked_for(ada, monkeypatch):
    client = Client()
    log_in(client)
    secret, recovery = add_app(client)
    assert len(recovery) == 10
    assert "You have 10 of 10 codes left" in words_of(
        page_of(client, "/account/codes/")
    )  # not shown again
    stored = str(Authenticator.objects.values_list("data", flat=True))
    assert secret not in stored
    assert not any(code in stored for code in recovery)
    new = Client()
    answer = log_in(new, "/gallery/")
    assert (answer.status_code, answer.url) == (302, "/login/second/")
    assert not is_in(new)
    assert "not valid" in new.post("/login/second/", {"code": "123"}).content.decode()
    clock = time.time()
    monkeypatch.setattr(time, "time", lambda: clock)
    done = new.post("/login/second/", {"code": code_of(secret)})
    assert (done.status_code, done.url) == (302, "/gallery/")
    assert is_in(new)
    again = Client()
    log_in(again)
    again.post("/login/second/", {"code": code_of(secret)})
    assert not is_in(again)  # a code is right once
    again.post("/login/second/", {"code": recovery[0]})
    assert is_in(again)
    third = Client()
    log_in(third)
    third.post("/login/second/", {"code": recovery[0]})
    assert not is_in(third)
    assert "9 left" in words_of(page_of(client, "/account/"))


@pytest.mark.medium
def test_codes_cannot_be_guessed_through_and_nobody_else_is_held_up(ada):
    client = Client()
    log_in(client)
    secret, _ = give_app(ada)
    thief = Client()
    log_in(thief)
    said = [thief.post("/login/second/", {"code": f"{n}"}).content.decode() for n in range(6)]
    assert ["not valid" in page for page in said] == [True] * 5 + [False]
    assert "Too many wrong attempts" in said[-1]
    thief.post("/login/second/", {"code": code_of(secret)})
    assert not is_in(thief)
    assert is_in(client)


@pytest.mark.medium
def test_there_is_one_form_of_log_in_and_records_ask_for_what_it_asks(ada):
    User.objects.update(is_staff=True, is_superuser=True)
    client = Client()
    log_in(client)
    give_app(ada)
    new = Client()
    form = {"username": "ada", "password": PASSWORD}
    for answer in (new.get("/admin/"), new.post("/admin/login/?next=/admin/", form)):
        assert answer.status_code == 302
        new.get(answer.url)
    assert not is_in(new)
    assert log_in(new, "/admin/").url == "/login/second/"
    assert new.get("/admin/").status_code == 302
    assert client.get("/admin/mfa/authenticator/").status_code == 200
    assert client.get("/admin/socialaccount/socialapp/").status_code == 404
    for path in (f"/admin/auth/user/{ada.pk}/change/", f"/admin/auth/user/{ada.pk}/password/"):
        assert client.get(path).url.startswith("/account/confirm/")
    assert client.post(f"/admin/auth/user/{ada.pk}/delete/").url.startswith("/account/confirm/")
    prove(client)
    assert client.get(f"/admin/auth/user/{ada.pk}/change/").status_code == 200
    User.objects.update(is_staff=False)
    assert client.get("/admin/login/").status_code == 403


@pytest.mark.medium
def test_without_the_password_again_nothing_changes_by_which_one_logs_in(ada):
    client = Client()
    log_in(client)
    for path in ("/account/app/", "/account/keys/add/", "/account/codes/new/"):
        assert client.get(path).url.startswith("/account/confirm/"), path
    client.post("/account/confirm/", {"password": "wrong"})
    assert client.post("/account/app/", {"code": "1"}).url.startswith("/account/confirm/")
    give_app(ada)
    assert client.post("/account/app/remove/").url.startswith("/account/confirm/")
    prove(client)
    removed = client.post("/account/app/remove/", follow=True)
    assert messages_of(removed) == ["Authenticator app removed."]
    assert not Authenticator.objects.exists()


@pytest.mark.medium
def test_a_key_is_a_second_factor_and_a_passkey_needs_no_password(ada):
    client, key = Client(), SoftKey()
    log_in(client)
    prove(client)
    page = client.get("/account/keys/add/")
    answer = key.made(page.context["js_data"])
    added = client.post("/account/keys/add/", {"name": "Blue", "credential": answer}, follow=True)
    assert "Security key added." in messages_of(added)
    assert "Blue · passkey" in words_of(page_of(client, "/account/"))
    new = Client()
    log_in(new)
    asked = new.get("/login/second/").context["js_data"]
    other = SoftKey()
    other.id = key.id
    new.post("/login/second/", {"credential": other.used(asked)})
    assert not is_in(new)
    used = key.used(new.get("/login/second/").context["js_data"])
    new.post("/login/second/", {"credential": used})
    assert is_in(new)
    for origin, comes_in in (("https://evil.example", False), ("https://testserver", True)):
        third, key.origin = Client(), origin
        options = third.get("/login/passkey/", headers={"Accept": "application/json"}).json()
        form = {"credential": key.used(options), "next": "/gallery/"}
        answer = third.post("/login/passkey/", form)
        assert is_in(third) is comes_in, origin
    assert answer.url == "/gallery/"
    third.post("/logout/")
    third.post("/login/passkey/", form)
    assert not is_in(third)  # an answer is good for one question


NO_CREDENTIALS = (
    *("", "null", "[]", '"x"', "{", "1" * 5_000, '{"id": ' + "9" * 5_000 + "}", "[" * 10_000),
    *('{"a":' * 10_000, '{"id": "\\u0000"}', '{"id": "\\ud800"}', '{"id": 1e999}', "x" * 30_000),
)
OTHER_VALUES = (None, True, -1, 2**70, 1.5, "", "x", "é", "A" * 5_000, [], [[]], {}, {"x": None})


def changed_places(value: Any) -> Iterator[Any]:
    """The value once for each key below it and each other value at that key, or without the key."""
    for key in value:
        for other in OTHER_VALUES:
            yield {**value, key: other}
        yield {name: kept for name, kept in value.items() if name != key}
        if isinstance(value[key], dict):
            yield from ({**value, key: inner} for inner in changed_places(value[key]))


@pytest.mark.medium
def test_a_credential_that_no_key_sends_is_refused(ada):
    """On all pages that ask for a key; a stored one is read again on each later page."""
    client, key = Client(), SoftKey()
    log_in(client)
    prove(client)
    for text in NO_CREDENTIALS:
        form = {"name": "Blue", "credential": text}
        assert client.post("/account/keys/add/", form).status_code == 200, text[:40]
    page = client.get("/account/keys/add/")
    request, adding = page.wsgi_request, json.loads(key.made(page.context["js_data"]))
    state = request.session[webauthn_auth.STATE_SESSION_KEY]
    for other in changed_places(adding):
        with transaction.atomic(), context.request_context(request):
            webauthn_auth.set_state(state)
            form = AddKey(data={"name": "Blue", "credential": json.dumps(other)}, user=ada)
            if form.is_valid():
                webauthn_auth.WebAuthn.add(ada, "Blue", form.cleaned_data["credential"])
                page_of(client, "/account/")
            transaction.set_rollback(True)
    options = client.get("/account/keys/add/").context["js_data"]
    client.post("/account/keys/add/", {"credential": key.made(options)})
    second = Client()
    log_in(second)
    for text in NO_CREDENTIALS:
        empty_cache()  # of what limits count
        assert second.post("/login/second/", {"credential": text}).status_code == 200, text[:40]
        for asking, path in ((client, "/account/confirm/key/"), (Client(), "/login/passkey/")):
            assert asking.post(path, {"credential": text}).status_code == 302, (path, text[:40])
    with context.request_context(request):
        challenge = webauthn_auth.begin_authentication(ada)
        for other in changed_places(json.loads(key.used({"request_options": challenge}))):
            PasskeyLogin(data={"credential": json.dumps(other)}).is_valid()
            ConfirmByKey(data={"credential": json.dumps(other)}, user=ada).is_valid()


def test_what_was_sealed_with_a_key_that_is_lost_fits_nothing():
    adapter = SecondFactors()
    sealed = adapter.encrypt("seed")
    assert adapter.decrypt(sealed) == "seed"
    lost = sealed[:-4] + ("AAAA" if sealed[-4:] != "AAAA" else "BBBB")
    assert adapter.decrypt(lost) != adapter.decrypt(lost)


def test_who_runs_earnest_takes_lost_factors_away(ada, capsys):
    give_app(ada)
    call_command("forget_second_factor", "ada")
    assert "TOTP Authenticator, Recovery codes" in capsys.readouterr().out
    new = Client()
    log_in(new)
    assert is_in(new)
    for name, words in {"ada": "has no second factor", "bob": "no account"}.items():
        with pytest.raises(CommandError, match=words):
            call_command("forget_second_factor", name)


# --- Required ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "superuser"), [("superusers", True), ("all", False)])
@pytest.mark.medium
def test_who_needs_a_second_factor_adds_it_before_anything_else(ada, settings, rule, superuser):
    settings.EARNEST_REQUIRE_TWO_FACTOR = rule
    User.objects.update(is_staff=superuser, is_superuser=superuser)
    make_study(key="voices")
    client = Client()
    assert log_in(client).status_code == 302
    for path in ("/studies/", "/studies/voices/", "/admin/", "/operations/", "/", "/new/"):
        assert client.get(path).url == "/account/", path
    assert client.post("/projects/", {"name": "Lab"}).url == "/account/"
    page = words_of(page_of(client, "/account/"))
    assert "Your account needs a second factor before you can open other pages." in page
    assert not watches(client)
    add_app(client)
    assert is_in(client)
    if superuser:
        assert client.get("/admin/").status_code == 200
        assert watches(client)


@pytest.mark.medium
def test_a_project_may_need_it_of_its_members(ada):
    client, member = Client(), Client()
    log_in(client)
    lab = make_project("Lab", ada)
    bob = User.objects.create_user("bob")
    Membership.objects.create(project=lab, user=bob, role=Role.VIEWER)
    member.force_login(bob)
    do, form = f"/projects/{lab.pk}/do/", {"action": "two-factor", "needed": "on"}
    assert "to your own account first" in messages_of(client.post(do, form, follow=True))[0]
    give_app(ada)
    client.post(do, form)
    assert page_of(client, f"/projects/{lab.pk}/").count("no second factor here") == 1
    assert member.get("/projects/").url == "/account/"
    assert member.post(do, form).url == "/account/"
    client.post(do, {"action": "two-factor"})
    assert member.get("/projects/").status_code == 200


def watches(client: Client) -> bool:
    """Whether the live monitor opens to this log-in."""
    monitor = StudyMonitor()
    user = User.objects.get(pk=client.session["_auth_user_id"])
    monitor.scope, monitor.study = {"user": user, "session": client.session}, "voices"
    return monitor._check_right() == 0


@pytest.mark.medium
def test_others_are_asked_for_nothing(ada, settings):
    settings.EARNEST_REQUIRE_TWO_FACTOR = "superusers"
    client = Client()
    log_in(client)
    assert is_in(client)


# --- Where one is logged in ----------------------------------------------------------------------


@pytest.mark.medium
def test_a_list_shows_each_browser_and_ends_one_or_all_others(ada):
    here, there, phone = Client(), Client(), Client()
    log_in(here)
    log_in(there, **{"User-Agent": FIREFOX})
    log_in(phone, **{"User-Agent": "Mozilla/5.0 (iPhone) Version/18.4 Mobile Safari/604.1"})
    page = words_of(page_of(here, "/account/"))
    assert "(this one)" in page
    for browser in ("Firefox on Linux", "Safari on iPhone"):
        assert browser in page
    row = UserSession.objects.get(user_agent=FIREFOX)
    stranger = Client()
    stranger.force_login(User.objects.create_user("bob"))
    stranger.post("/account/do/", {"action": "end", "log_in": row.pk})
    assert is_in(there)
    form = {"action": "end", "log_in": row.pk}
    assert here.post("/account/do/", form).url.startswith("/account/confirm/")
    assert is_in(there)
    prove(here)
    ended = here.post("/account/do/", form, follow=True)
    assert messages_of(ended) == ["Browser logged out."]
    assert [is_in(each) for each in (here, there, phone)] == [True, False, True]
    log_in(there)
    all_others = here.post("/account/do/", {"action": "end-others"}, follow=True)
    assert "2 other browsers logged out." in messages_of(all_others)[0]
    assert [is_in(each) for each in (here, there, phone)] == [True, False, False]


@pytest.mark.medium
def test_a_new_password_ends_the_others_and_their_lines(ada):
    here, there = Client(), Client()
    log_in(here)
    log_in(there)
    new = dict.fromkeys(("new_password1", "new_password2"), "staple-and-paper-clip")
    here.post("/password/", {"old_password": PASSWORD, **new})
    assert [is_in(each) for each in (here, there)] == [True, False]
    assert page_of(here, "/account/").count("(this one)") == 1
    assert UserSession.objects.count() == 1
    Session.objects.update(expire_date="2020-01-01T00:00Z")
    assert forget_ended_log_ins() == 1
    assert not UserSession.objects.exists()


def test_a_log_in_of_before_and_a_strange_address_are_noted(ada, settings):
    settings.EARNEST_TRUSTED_PROXIES = 1
    client = Client()
    client.force_login(ada)
    session = client.session
    del session["seen_at"]
    session.save()
    client.get("/studies/", headers={"X-Forwarded-For": "unix:"})
    assert "unknown" in page_of(client, "/account/")


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("python-httpx/0.28", "python-httpx/0.28"),
        ("<script>", "script"),
        ("", "Unknown browser"),
    ],
)
def test_a_browser_is_named_in_two_words(agent, name):
    assert browser_of(agent) == name


@pytest.mark.medium
def test_how_somebody_logged_in_stands_in_the_log(ada, caplog, django_capture_on_commit_callbacks):
    client = Client()
    with caplog.at_level(logging.INFO), django_capture_on_commit_callbacks(execute=True):
        log_in(client)
        _, recovery = add_app(client)
        client.post("/logout/")
        log_in(client)
        client.post("/login/second/", {"code": recovery[0]})
    lines = [record.getMessage().partition(", from address")[0] for record in caplog.records]
    assert f"account {ada.pk}: second factor added (totp)" in lines
    assert f"account {ada.pk} logged in with a password and a recovery code" in lines
