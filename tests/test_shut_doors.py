"""Doors that stay shut: to other raters, to strangers, to other sites."""

import asyncio
import re

import httpx
import pytest
import websockets

from tests.config.helpers import PATIENCE_S, open_places
from tests.demo_house import DemoHouse

pytestmark = pytest.mark.slow


def test_a_clip_opens_for_its_own_browser_only(demo_house: DemoHouse):
    mine, other = demo_house.visitor(), demo_house.visitor()
    url = mine.pass_checks(mine.arrive())["trials"][0]["clips"][0]
    other.pass_checks(other.arrive())
    assert mine.get(url).status_code == 200
    nobody, forged = httpx.Client(base_url=demo_house.url), httpx.Client(base_url=demo_house.url)
    for name, value in mine.client.cookies.items():
        forged.cookies.set(name, value[:-1] + ("a" if value[-1] != "a" else "b"))
    tampered = [
        url[:place] + ("A" if url[place] != "A" else "B") + url[place + 1 :]
        for place in (5, 30, 74)
    ]
    refused = [nobody.get(url), forged.get(url), other.get(url), mine.get("/c/" + "A" * 72)]
    refused += [mine.get(address) for address in (*tampered, url + "A", url[:-1], url + "/")]
    assert [r.status_code for r in refused] == [404] * len(refused)
    assert len({r.content for r in refused}) == 1
    assert len({str(sorted(r.headers.keys())) for r in refused}) == 1
    nobody.close()
    forged.close()


def test_other_accounts_of_the_machine_read_nothing(demo_house: DemoHouse):
    visitor = demo_house.visitor()
    visitor.get(visitor.pass_checks(visitor.arrive())["trials"][0]["clips"][0])
    assert list((demo_house.var / "media" / "served").iterdir())
    assert open_places(demo_house.var) == []


def test_ranges_of_a_clip_are_served_as_safari_asks(demo_house: DemoHouse):
    visitor = demo_house.visitor()
    url = visitor.pass_checks(visitor.arrive())["trials"][0]["clips"][0]
    whole = visitor.get(url)
    size = len(whole.content)
    first = visitor.get(url, headers={"Range": "bytes=0-1"})
    assert (first.status_code, first.content) == (206, whole.content[:2])
    assert first.headers["content-range"] == f"bytes 0-1/{size}"
    tail = visitor.get(url, headers={"Range": "bytes=-10"})
    assert (tail.status_code, tail.content) == (206, whole.content[-10:])
    beyond = visitor.get(url, headers={"Range": f"bytes={size}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{size}")
    assert visitor.ask("HEAD", url).headers["content-length"] == str(size)


def test_a_rater_finds_no_other_rater(demo_house: DemoHouse):
    visitor = demo_house.visitor()
    visitor.arrive()
    assert visitor.get("/api/").status_code == 302  # the list of addresses is for accounts
    for url in ("/api/s/", "/api/sessions/", "/api/raters/", "/s/", "/r/", "/api/schema/"):
        assert visitor.get(url).status_code == 404
    for door in ("", "answers/", "checks/", "withdraw/"):
        options = visitor.ask("OPTIONS", f"/api/s/{visitor.code}/{door}")
        assert options.status_code in (403, 405)
        assert b"parses" not in options.content
        assert visitor.ask("HEAD", f"/api/s/{visitor.code}/{door}").content == b""


def test_researchers_pages_turn_raters_away_before_they_tell_anything(demo_house: DemoHouse):
    visitor = demo_house.visitor()
    visitor.arrive()
    real, unreal = visitor.get("/studies/demo/"), visitor.get("/studies/no-such-study/")
    assert (real.status_code, unreal.status_code) == (302, 302)
    assert real.headers["location"].startswith("/login/")
    assert unreal.headers["location"] == real.headers["location"].replace("demo", "no-such-study")
    for url in ("/studies/", "/admin/", "/admin/listening/session/", "/admin/auth/user/"):
        assert visitor.get(url).status_code == 302
    outsider = visitor.get("/admin/nothing/here/")
    assert outsider.status_code in (302, 404)


def test_the_log_in_does_not_tell_who_exists(demo_house: DemoHouse):
    answers = []
    with httpx.Client(base_url=demo_house.url) as client:
        for name in ("researcher", "nobody-here"):
            client.get("/login/")
            form = {"csrfmiddlewaretoken": client.cookies["csrftoken"], "password": "wrong"}
            page = client.post(
                "/login/", data={**form, "username": name, "next": "//evil.example/"}
            )
            text = page.text.replace(f'value="{name}"', "").replace("//evil.example/", "")
            answers.append((page.status_code, re.sub(r'(name="csrf\w+" value=)"\w+"', r"\1", text)))
    assert answers[0] == answers[1]


def test_the_monitor_refuses_strangers_and_other_sites(demo_house: DemoHouse):
    async def closed_with(origin: str) -> int:
        url = f"ws://127.0.0.1:{demo_house.port}/ws/studies/demo/"
        async with websockets.connect(url, origin=websockets.Origin(origin)) as socket:
            with pytest.raises(websockets.ConnectionClosed):
                await asyncio.wait_for(socket.recv(), PATIENCE_S)
            return int(socket.close_code or 0)

    assert asyncio.run(closed_with(demo_house.url)) == 4403
    with pytest.raises(websockets.InvalidStatus) as refused:
        asyncio.run(closed_with("https://evil.example.org"))
    assert refused.value.response.status_code == 403
