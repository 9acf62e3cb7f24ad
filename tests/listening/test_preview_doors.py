"""The doors of previews: who may look, what does not exist, and long clips piece by piece."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest
from django.core import signing
from django.test import Client

from listening.models import Membership, Project, Study
from listening.web.researcher.preview import LINK_S, preview_link
from tests.factories import make_study, make_user
from tests.listening.test_gallery import content_of, gallery_url

pytestmark = pytest.mark.django_db


@pytest.fixture
def researcher(client: Client) -> Client:
    client.force_login(make_user("ada"))
    return client


# --- Who may look --------------------------------------------------------------------------------

URLS = [
    "/gallery/",
    "/preview/examples/att/",
    "/preview/examples/gallery/clips/human-s0880",
    f"/preview/examples/gallery/checks/huggins/{'0' * 32}/0",
    "/studies/voices/preview/",
    "/preview/studies/voices/clips/cond-0_item-0",
    f"/preview/studies/voices/checks/volume/{'0' * 32}/0",
]


@pytest.mark.parametrize("url", URLS)
def test_who_is_not_logged_in_is_sent_to_the_log_in(client: Client, url: str) -> None:
    make_study(key="voices")
    answer = client.get(url)
    assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/login/")


@pytest.mark.parametrize("url", [url for url in URLS if "voices" in url])
def test_another_researchers_study_is_not_there(researcher: Client, url: str) -> None:
    make_study(key="voices")
    assert researcher.get(url).status_code == 404


def test_a_link_shows_a_preview_until_it_or_its_makers_right_ends(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_study(key="voices")
    member = Membership.objects.create(
        project=Project.objects.create(name="Lab"), user=make_user("ada"), role="viewer"
    )
    Study.objects.update(project=member.project)
    link = urlsplit(preview_link(study, member.user)).path
    begun = client.get(f"{link}?task=mos")
    assert begun.status_code == 200
    assert f"{link}clips/" in begun.content.decode()
    assert client.get(f"{link[:-3]}x/").status_code == 404
    later = time.time() + LINK_S + 1
    with monkeypatch.context() as patch:
        patch.setattr(signing.time, "time", lambda: later)
        assert client.get(link).status_code == 404
    assert client.get(link).status_code == 200
    member.delete()
    assert client.get(link).status_code == 404


@pytest.mark.parametrize("url", URLS)
def test_nothing_can_be_sent_to_a_preview(researcher: Client, url: str) -> None:
    make_study(key="voices")
    assert researcher.post(url, {"answers": "x"}).status_code == 405


@pytest.mark.slow
@pytest.mark.parametrize(
    "url",
    [
        "/preview/examples/nothing/",
        "/preview/examples/../",
        gallery_url(task="nothing"),
        gallery_url(check="nothing"),
        gallery_url(questionnaire="nothing"),
        "/preview/examples/gallery/clips/nothing",
        "/preview/examples/gallery/clips/../../../study.toml",
        "/preview/studies/own/clips/%00",
        "/preview/examples/gallery/checks/huggins/short/0",
        f"/preview/examples/gallery/checks/huggins/{'0' * 32}/99",
        f"/preview/examples/gallery/checks/nothing/{'0' * 32}/0",
        f"/preview/examples/mos_zh/checks/huggins/{'0' * 32}/0",
    ],
)
def test_what_does_not_exist_is_not_found(researcher: Client, url: str) -> None:
    Study.objects.filter(pk=make_study(key="own").pk).update(owner=make_user("ada"))
    assert researcher.get(url).status_code == 404


# --- Long clips ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "status", "span"),
    [
        ("bytes=0-99", 206, (0, 99)),
        ("bytes=100-", 206, (100, -1)),
        ("bytes=0-999999999", 206, (0, -1)),
        ("bytes=999999999-", 416, None),
        ("nonsense", 200, (0, -1)),
    ],
)
def test_a_long_clip_is_given_piece_by_piece(
    researcher: Client, wanted: str, status: int, span: tuple[int, int] | None
) -> None:
    url = "/preview/examples/gallery/clips/human-s0880"
    whole = content_of(researcher.get(url))
    answer = researcher.get(url, headers={"Range": wanted})
    assert answer.status_code == status
    if span is None:
        assert answer["Content-Range"] == f"bytes */{len(whole)}"
        return
    first, last = span[0], span[1] if span[1] >= 0 else len(whole) - 1
    assert content_of(answer) == whole[first : last + 1]
    if status == 206:
        assert answer["Content-Range"] == f"bytes {first}-{last}/{len(whole)}"
