"""Clip URLs: stable in a trial, opaque, of one length, and dead for every other session."""

from base64 import urlsafe_b64decode

import pytest
from django.http import HttpResponse

from listening.audio import (
    ClipRequest,
    clip_cookie,
    clip_url,
    local_path,
    resolve_clip,
    set_clip_cookie,
)
from listening.models import Session, Trial

COPY = "served/ab/ab" + "01" * 15 + ".flac"
MINE = Session(pk=7, code="k3v9w2m8q4x7c5n6b2p9t3r8z4")
THEIRS = Session(pk=8, code="h7d2f9g4j8k3m6n2p5q9r4s7t3")
TRIAL = Trial(pk=1234)


def cookies(*sessions: Session) -> dict[str, str]:
    return dict(clip_cookie(session) for session in sessions)


def token(copy: str = COPY, session: Session = MINE, trial: Trial | None = TRIAL, place: int = 0):
    url = clip_url(copy, session, trial, place)
    assert url.startswith("/c/")
    return url.removeprefix("/c/")


def test_a_browser_of_the_session_gets_the_served_copy() -> None:
    assert resolve_clip(token(), cookies(MINE)).copy == local_path(COPY)


def test_the_same_trial_always_has_the_same_url() -> None:
    assert token() == token()


def test_trial_place_session_and_copy_all_change_the_url_and_never_its_length() -> None:
    other = COPY.replace("01", "02")
    tokens = {
        token(),
        token(trial=Trial(pk=1235)),
        token(trial=None),
        token(place=1),
        token(copy=other),
        token(session=THEIRS),
        token(trial=Trial(pk=2**62), session=Session(pk=2**62, code=MINE.code)),
    }
    assert len(tokens) == 7
    assert {len(t) for t in tokens} == {72}


def test_neighbouring_trials_share_nothing_but_the_tag_of_their_session() -> None:
    raw = [urlsafe_b64decode(token(trial=Trial(pk=n))) for n in range(1, 30)]
    assert len({r[:5] for r in raw}) == 1
    assert all(len({r[k] for r in raw}) > 1 for k in range(5, 54))


def test_a_token_does_not_hold_the_names_that_it_stands_for() -> None:
    raw = urlsafe_b64decode(token())
    assert bytes.fromhex("ab" + "01" * 15)[:4] not in raw
    assert MINE.code[:4].encode() not in raw


@pytest.mark.parametrize("jar", [{}, cookies(THEIRS), {"clip-0000000000": "x"}])
def test_another_session_cannot_resolve_it(jar: dict[str, str]) -> None:
    assert resolve_clip(token(), jar) is None


def test_the_cookie_of_another_session_under_my_name_does_not_help() -> None:
    name, _ = clip_cookie(MINE)
    _, value = clip_cookie(THEIRS)
    assert resolve_clip(token(), {name: value}) is None
    assert resolve_clip(token(), {name: MINE.code}) is None  # not signed


def test_several_sessions_live_in_one_browser() -> None:
    jar = cookies(MINE, THEIRS)
    assert len(jar) == 2
    assert resolve_clip(token(), jar).copy == resolve_clip(token(session=THEIRS), jar).copy


def test_no_changed_token_resolves() -> None:
    good, jar = token(), cookies(MINE)
    for k in range(len(good)):
        for letter in "A-9z":
            changed = good[:k] + letter + good[k + 1 :]
            if urlsafe_b64decode(changed) != urlsafe_b64decode(good):
                assert resolve_clip(changed, jar) is None, (k, letter)


@pytest.mark.parametrize(
    "wrong", ["", "x", "A" * 71, "A" * 73, "A" * 72, "ä" * 72, "../" * 24, "\0" * 72, "A\n" * 36]
)
def test_rubbish_is_not_found(wrong: str) -> None:
    assert resolve_clip(wrong, cookies(MINE)) is None


def test_a_new_secret_key_ends_all_links(settings) -> None:
    old_token, old_jar = token(), cookies(MINE)
    settings.SECRET_KEY = "another key " * 5
    assert resolve_clip(old_token, old_jar) is None
    assert resolve_clip(token(), cookies(MINE)).copy == local_path(COPY)


def test_the_cookie_goes_to_clips_only_and_scripts_cannot_read_it(settings) -> None:
    settings.SESSION_COOKIE_SECURE = True
    response = HttpResponse()
    set_clip_cookie(response, MINE)
    morsel = response.cookies[clip_cookie(MINE)[0]]
    assert morsel["path"] == "/c/"
    assert morsel["httponly"] is True
    assert morsel["secure"] is True
    assert morsel["samesite"] == "Lax"
    assert MINE.code[:6] not in morsel.key
    assert {morsel.key: morsel.value} == cookies(MINE)


def test_resolving_needs_no_database() -> None:
    assert isinstance(resolve_clip(token(), cookies(MINE)), ClipRequest)  # not marked django_db
