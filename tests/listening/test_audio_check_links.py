"""The links of checks' sounds: as opaque as those of clips, and dead for every other session."""

from base64 import urlsafe_b64decode

import pytest
from django.http import HttpResponse

from listening.audio import (
    check_cookie,
    check_url,
    clip_cookie,
    clip_url,
    resolve_check,
    resolve_clip,
    set_clip_cookie,
)
from listening.models import Session, Trial

MINE = Session(pk=7, code="k3v9w2m8q4x7c5n6b2p9t3r8z4")
THEIRS = Session(pk=8, code="h7d2f9g4j8k3m6n2p5q9r4s7t3")


def token(session: Session = MINE, key: str = "huggins", attempt: int = 1, place: int = 3) -> str:
    url = check_url(session, key, attempt, place)
    assert url.startswith("/k/")
    return url.removeprefix("/k/")


def cookies(*sessions: Session) -> dict[str, str]:
    return dict(check_cookie(session) for session in sessions)


@pytest.mark.parametrize(
    ("key", "attempt", "place"),
    [("huggins", 1, 3), ("volume", 0, 0), ("x" * 32, 65_535, 65_535), ("digits-in-noise", 2, 11)],
)
def test_a_browser_of_the_session_learns_the_server_what_is_wanted(
    key: str, attempt: int, place: int
) -> None:
    found = resolve_check(token(MINE, key, attempt, place), cookies(MINE))
    assert found == (MINE.code, key, attempt, place)


def test_the_same_sound_always_has_the_same_url() -> None:
    assert token() == token()


def test_session_key_attempt_and_place_all_change_the_url_and_never_its_length() -> None:
    tokens = {
        token(),
        token(THEIRS),
        token(key="antiphase"),
        token(key="a"),
        token(attempt=2),
        token(place=4),
        token(attempt=3, place=1),
    }
    assert len(tokens) == 7
    assert {len(t) for t in tokens} == {76}
    assert all(t.replace("-", "").replace("_", "").isalnum() for t in tokens)


def test_neighbouring_sounds_share_nothing_but_the_tag_of_their_session() -> None:
    raw = [urlsafe_b64decode(token(place=n)) for n in range(30)]
    assert len({r[:5] for r in raw}) == 1
    assert all(len({r[k] for r in raw}) > 1 for k in range(5, 57))
    assert all(b"huggins" not in r for r in raw)


@pytest.mark.parametrize("jar", [{}, cookies(THEIRS), {"check-0000000000": "x"}])
def test_another_session_cannot_resolve_it(jar: dict[str, str]) -> None:
    assert resolve_check(token(), jar) is None


def test_the_cookie_of_another_session_under_my_name_does_not_help() -> None:
    name, _ = check_cookie(MINE)
    assert resolve_check(token(), {name: check_cookie(THEIRS)[1]}) is None
    assert resolve_check(token(), {name: MINE.code}) is None  # not signed


def test_several_sessions_live_in_one_browser() -> None:
    jar = cookies(MINE, THEIRS)
    assert len(jar) == 2
    assert resolve_check(token(MINE), jar) == (MINE.code, "huggins", 1, 3)
    assert resolve_check(token(THEIRS), jar) == (THEIRS.code, "huggins", 1, 3)


def test_the_link_of_a_clip_is_no_link_of_a_check_and_the_other_way_round() -> None:
    jar = {**cookies(MINE), **dict([clip_cookie(MINE)])}
    clip = clip_url("served/ab/" + "ab" * 16 + ".flac", MINE, Trial(pk=1)).removeprefix("/c/")
    assert resolve_clip(clip, jar) is not None
    assert resolve_check(clip, jar) is None
    assert resolve_check(clip + clip[:4], jar) is None
    assert resolve_clip(token()[:72], jar) is None


def test_no_changed_token_resolves() -> None:
    good, jar = token(), cookies(MINE)
    for k in range(len(good)):
        for letter in "A-9z":
            changed = good[:k] + letter + good[k + 1 :]
            if changed != good:
                assert resolve_check(changed, jar) is None, (k, letter)


@pytest.mark.parametrize("wrong", ["", "x", "A" * 75, "A" * 77, "A" * 76, "ä" * 76, "../k" * 19])
def test_rubbish_is_not_found(wrong: str) -> None:
    assert resolve_check(wrong, cookies(MINE)) is None


@pytest.mark.parametrize("key", ["", "x" * 33, "ä" * 17])
def test_a_key_that_does_not_fit_is_a_mistake_of_ours(key: str) -> None:
    with pytest.raises(ValueError, match="1 to 32 bytes"):
        check_url(MINE, key, 1, 0)


def test_a_new_secret_key_ends_all_links(settings) -> None:
    old_token, old_jar = token(), cookies(MINE)
    settings.SECRET_KEY = "another key " * 5
    assert resolve_check(old_token, old_jar) is None
    assert resolve_check(token(), cookies(MINE)) == (MINE.code, "huggins", 1, 3)


def test_one_call_sets_the_cookies_of_clips_and_of_checks(settings) -> None:
    settings.SESSION_COOKIE_SECURE = True
    response = HttpResponse()
    set_clip_cookie(response, MINE)
    assert set(response.cookies) == {clip_cookie(MINE)[0], check_cookie(MINE)[0]}
    morsel = response.cookies[check_cookie(MINE)[0]]
    assert morsel["path"] == "/k/"
    assert morsel["httponly"] is True
    assert morsel["secure"] is True
    assert morsel["samesite"] == "Lax"
    assert {morsel.key: morsel.value} == cookies(MINE)
