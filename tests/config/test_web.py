"""The web process: pages through the bridge, ranged clips, sockets, all on one port."""

import asyncio
import contextlib
import grp
import http.client
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest
import websockets

from config.operations.unavailable import TOO_LARGE
from config.run.supervisor import web_command
from tests.config.helpers import BASE_DIR, PATIENCE_S, free_port, wait_for

SOUND = bytes(range(256)) * 1200
get, put, post, head, get_streamed = (
    partial(ask, timeout=PATIENCE_S)
    for ask in (httpx.get, httpx.put, httpx.post, httpx.head, partial(httpx.stream, "GET"))
)
MINE = {"Cookie": "session=mine; other=1"}


@dataclass
class Served:
    url: str
    port: int
    clips: Path
    log: Path
    process: subprocess.Popen[bytes]


def serve(folder: Path, **environment: str) -> Served:
    (folder / "secretly-human.wav").write_bytes(SOUND)
    port, log = free_port(), folder / "web.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            web_command("127.0.0.1", port, 1, "tests.config.served:application"),
            cwd=BASE_DIR,
            env=os.environ | {"TEST_CLIPS": str(folder), **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    served = Served(f"http://127.0.0.1:{port}", port, folder, log, process)

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            return get(f"{served.url}/c/unknown").status_code == 404
        except httpx.TransportError:
            return False

    wait_for(answers)
    return served


@pytest.fixture(scope="module")
def web(servers: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = serve(tmp_path_factory.mktemp("web"))
    yield served
    served.process.terminate()
    assert served.process.wait(PATIENCE_S) == 0


# --- Pages -------------------------------------------------------------------------------------


@pytest.mark.medium
def test_a_page_arrives_with_all_its_headers(web: Served):
    response = get(f"{web.url}/environ?q=%C3%A4", headers={"X-One": "1", "X_Two": "2"})
    assert response.headers.get_list("set-cookie") == ["a=1", "b=2"]
    environ = dict(line.split("=", 1) for line in response.text.splitlines())
    assert environ["QUERY_STRING"] == "q=%C3%A4"
    assert environ["HTTP_X_ONE"] == "1"
    assert environ["HTTP_HOST"] == f"127.0.0.1:{web.port}"
    assert environ["REMOTE_ADDR"] == "127.0.0.1"
    assert "HTTP_X_TWO" not in environ  # it would pass for X-Two behind a careful proxy


@pytest.mark.medium
def test_liveness_asks_no_page(web: Served):
    assert get(f"{web.url}/livez").status_code == 200


@pytest.mark.medium
def test_an_encoded_path_reaches_the_pages_as_pep_3333_says(web: Served):
    response = get(f"{web.url}/environ")
    assert "PATH_INFO=/environ" in response.text
    assert get(f"{web.url}/%C3%A4").text == "hello"


@pytest.mark.medium
def test_a_large_upload_is_read_whole_without_filling_memory(web: Served):
    def chunks() -> Iterator[bytes]:
        for _ in range(60):
            yield b"x" * 1024**2

    size = 60 * 1024**2
    assert post(f"{web.url}/echo", content=chunks()).text == f"POST {size} {size}"
    assert put(f"{web.url}/echo", content=b"y" * 70000).text == "PUT 70000 70000"


@pytest.mark.slow
def test_an_upload_above_the_limit_is_refused(web: Served):
    response = post(f"{web.url}/echo", content=b"x" * (65 * 1024**2))
    assert (response.status_code, response.text) == (413, f"{TOO_LARGE}\n")
    response = post(f"{web.url}/api/v1/studies", content=b"x" * (65 * 1024**2))
    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, response.json()["detail"]) == (413, TOO_LARGE)


@pytest.mark.medium
def test_a_head_request_gets_headers_and_no_body(web: Served):
    response = head(f"{web.url}/hello")
    assert response.headers["content-length"] == "5"
    assert response.content == b""
    assert get(f"{web.url}/hello").content == b"hello"
    assert head(f"{web.url}/endless").status_code == 200


@pytest.mark.medium
def test_a_streamed_answer_arrives_while_it_is_made(web: Served):
    with get_streamed(f"{web.url}/slow") as response:
        for number, part in enumerate(response.iter_raw()):
            assert part == f"line {number}\n".encode()
            (web.clips / f"arrived {number}").touch()  # the page waits for it
    assert number == 2


@pytest.mark.medium
def test_a_client_that_leaves_ends_the_stream(web: Served):
    with get_streamed(f"{web.url}/endless") as response:
        next(response.iter_raw())
    wait_for((web.clips / "closed").exists)


@pytest.mark.medium
def test_a_stream_that_breaks_is_not_taken_for_whole(web: Served):
    with pytest.raises(httpx.TransportError), get_streamed(f"{web.url}/breaking") as reply:
        reply.read()


@pytest.mark.medium
def test_an_error_outside_django_is_a_plain_500_and_logged(web: Served):
    response = get(f"{web.url}/fails")
    assert response.status_code == 500
    assert response.text == "Internal Server Error\n"
    wait_for(lambda: "RuntimeError: outside Django" in web.log.read_text())


@pytest.mark.medium
def test_a_client_that_leaves_in_the_middle_of_its_upload_does_no_harm(web: Served):
    client = http.client.HTTPConnection("127.0.0.1", web.port)
    client.putrequest("POST", "/echo")
    client.putheader("Content-Length", "1000000")
    client.endheaders(b"x" * 1000)
    client.close()
    assert get(f"{web.url}/hello").text == "hello"


@pytest.mark.slow
def test_two_thousand_idle_connections_keep_nobody_out(web: Served):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 6000:
        pytest.skip("this machine allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 6000), hard))
    with contextlib.ExitStack() as idle:
        for _ in range(2000):
            connection = idle.enter_context(socket.create_connection(("127.0.0.1", web.port)))
            connection.sendall(b"GET /c/unknown HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert get(f"{web.url}/hello").text == "hello"


# --- Clips -------------------------------------------------------------------------------------


IN_FILE, IN_MEMORY = "secretly-human", "short-secretly-human"  # as long and as short clips are
both = pytest.mark.parametrize("name", [IN_FILE, IN_MEMORY])


def clip(web: Served, name: str, **headers: str) -> httpx.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return get(f"{web.url}/c/{name}", headers=MINE | names)


@pytest.mark.medium
@both
def test_a_clip_tells_nothing_but_its_sound(web: Served, name: str):
    response = clip(web, name)
    assert response.status_code == 200
    assert response.content == SOUND
    assert response.headers["content-type"] == f"audio/{'wav' if name == IN_FILE else 'flac'}"
    assert response.headers["cache-control"] == "private, max-age=86400, immutable"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["accept-ranges"] == "bytes"
    assert "last-modified" not in response.headers
    assert "content-disposition" not in response.headers
    assert "human" not in str(response.headers)


@pytest.mark.medium
@both
@pytest.mark.parametrize(
    ("wanted", "first", "last"),
    [
        ("bytes=0-1", 0, 1),
        ("bytes=100-", 100, len(SOUND) - 1),
        ("bytes=-5", len(SOUND) - 5, -1),
        ("bytes=7-999999999", 7, -1),
        ("bytes=-999999999", 0, -1),
    ],
)
def test_a_range_gets_206_and_its_bytes(web: Served, name: str, wanted: str, first: int, last: int):
    last = last % len(SOUND)
    response = clip(web, name, Range=wanted)
    assert response.status_code == 206
    assert response.content == SOUND[first : last + 1]
    assert response.headers["content-range"] == f"bytes {first}-{last}/{len(SOUND)}"
    assert response.headers["content-length"] == str(last - first + 1)


@pytest.mark.medium
@both
@pytest.mark.parametrize("wanted", [f"bytes={len(SOUND)}-", "bytes=-0"])
def test_a_range_beyond_the_end_gets_416(web: Served, name: str, wanted: str):
    response = clip(web, name, Range=wanted)
    assert response.status_code == 416
    assert response.headers["content-range"] == f"bytes */{len(SOUND)}"


@pytest.mark.medium
@pytest.mark.parametrize("wanted", ["bytes=5-2", "bytes=-", "bytes=0-1,3-4", "lines=1-2", "x"])
def test_what_is_no_range_of_a_short_clip_gets_all_of_it(web: Served, wanted: str):
    response = clip(web, IN_MEMORY, Range=wanted)
    assert (response.status_code, response.content) == (200, SOUND)


@both
@pytest.mark.medium
def test_a_range_of_an_older_clip_gets_the_whole_one(web: Served, name: str):
    etag = clip(web, name).headers["etag"]
    assert clip(web, name, Range="bytes=0-1", If_Range=etag).status_code == 206
    assert clip(web, name, Range="bytes=0-1", If_Range='"other"').status_code == 200
    assert clip(web, name, If_None_Match=etag).status_code == 304


@pytest.mark.medium
@both
def test_head_and_other_methods(web: Served, name: str):
    url = f"{web.url}/c/{name}"
    response = head(url, headers=MINE)
    assert response.status_code == 200
    assert response.headers["content-length"] == str(len(SOUND))
    assert response.content == b""
    assert post(url, headers=MINE).status_code == 405


@pytest.mark.medium
def test_foreign_unknown_and_lost_clips_look_the_same(web: Served):
    foreign = get(f"{web.url}/c/secretly-human", headers={"Cookie": "session=other"})
    unknown = get(f"{web.url}/c/unknown", headers=MINE)
    lost = get(f"{web.url}/c/lost", headers=MINE)
    assert [foreign.status_code, unknown.status_code, lost.status_code] == [404] * 3
    assert foreign.content == unknown.content == lost.content
    assert foreign.headers.keys() == unknown.headers.keys() == lost.headers.keys()
    assert "lost.wav is missing" in web.log.read_text()


@pytest.mark.medium
def test_a_failing_look_up_is_a_plain_500(web: Served):
    response = get(f"{web.url}/c/broken", headers=MINE)
    assert response.status_code == 500
    assert "database away" not in response.text


@pytest.mark.medium
def test_clips_wait_while_the_database_is_away(web: Served):
    response = get(f"{web.url}/c/away", headers=MINE)
    assert (response.status_code, response.headers["retry-after"]) == (503, "5")
    assert "reset by peer" not in response.text


# --- Sockets -----------------------------------------------------------------------------------


async def echo(web: Served, origin: str, path: str = "/ws/echo") -> str:
    url = f"ws://127.0.0.1:{web.port}{path}"
    async with websockets.connect(url, origin=websockets.Origin(origin)) as socket:
        await socket.send("hello")
        return str(await asyncio.wait_for(socket.recv(), PATIENCE_S))


@pytest.mark.medium
def test_a_socket_answers_and_knows_who_is_logged_in(web: Served):
    assert asyncio.run(echo(web, web.url)) == "AnonymousUser: hello"


@pytest.mark.medium
def test_a_socket_from_another_site_is_refused(web: Served):
    with pytest.raises(websockets.InvalidStatus):
        asyncio.run(echo(web, "https://evil.example.org"))


@pytest.mark.medium
def test_a_socket_without_a_route_is_refused(web: Served):
    with pytest.raises((websockets.InvalidStatus, websockets.ConnectionClosed)):
        asyncio.run(echo(web, web.url, "/ws/nowhere"))


# --- The real clips ----------------------------------------------------------------------------


@pytest.mark.slow
def test_with_nginx_in_front_the_file_is_named_to_nginx_only(tmp_path: Path):
    code = """
import os, pathlib, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django; django.setup()
from django.conf import settings
from starlette.datastructures import Headers
from config.clips import clip_response
path = settings.MEDIA_ROOT / "ab" / "a b.flac"; path.parent.mkdir(); path.write_bytes(b"sound")
response = clip_response("token", path, Headers({}))
print(response.headers["x-accel-redirect"], response.headers["content-type"], response.body)
"""
    group = grp.getgrgid(os.getegid()).gr_name
    environment = {
        **os.environ,
        "EARNEST_VAR": str(tmp_path),
        "MEDIA_ACCEL_PREFIX": "/inside/",
        "EARNEST_FILE_GROUP": group,
    }
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=BASE_DIR, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stdout.split() == ["/inside/ab/a%20b.flac", "audio/flac", "b''"], done.stderr
