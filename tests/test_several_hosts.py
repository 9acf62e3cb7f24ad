"""Web hosts behind nginx: no answer is lost when one dies, and nginx reads what the guides show."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import httpx
import pytest
from django.core import signing
from django.test import Client

from benchmarks import bench_hosts
from listening.drafts.folder import begin_empty, folder_of
from tests.config.helpers import BASE_DIR, PATIENCE_S
from tests.factories import make_study, make_user
from tests.listening.sounds import give_sound
from tests.listening.web import WebProcess
from tests.visitor import Visitor

RATERS = 10_000
SOUND = (BASE_DIR / "demo" / "audio" / "word-slt_key.flac").read_bytes()


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("end", ["kill", "unplug"])
def test_10_000_raters_lose_no_answer_when_one_of_two_web_hosts_dies(end: str, tmp_path: Path):
    if reason := bench_hosts.why_not():
        pytest.skip(reason)
    out = tmp_path / "figures.json"
    script = str(BASE_DIR / "benchmarks" / "bench_hosts.py")
    options = ["--raters", str(RATERS), "--end", end, "--out", str(out)]
    subprocess.run([sys.executable, script, *options], check=True)
    found = json.loads(out.read_text())
    assert found["lost"] == found["kept_twice"] == 0
    assert found["refused"] == {}
    assert found["acknowledged"] == found["kept"] == RATERS * bench_hosts.TRIALS
    stimuli = bench_hosts.CONDITIONS * bench_hosts.ITEMS
    each = RATERS * bench_hosts.TRIALS // stimuli
    assert found["ratings_per_stimulus"] == {str(each): stimuli}


BEHIND_NGINX = re.search(
    r"```nginx\n(map .*?)```", (BASE_DIR / "docs" / "running.md").read_text(), re.DOTALL
)
assert BEHIND_NGINX
SHOWN = {
    "several hosts": bench_hosts.nginx_conf(),
    "one host": f"events {{}}\nhttp {{\n{BEHIND_NGINX[1]}}}\n",
    "containers": (BASE_DIR / "deploy" / "nginx.conf").read_text(),
}


@pytest.mark.medium
@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
@pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
def test_nginx_reads_the_configuration(shown: str, tmp_path: Path):
    """Without TLS: what it needs of files is the user's."""
    plain = re.sub(r"\n *(ssl_[^;]*|http2 on);", "", re.sub(r"(listen \d+) ssl", r"\1", shown))
    plain = re.sub(r"(?m)^(pid|error_log) .*\n", "", plain)
    file = tmp_path / "nginx.conf"
    file.write_text(f"pid {tmp_path}/nginx.pid;\nerror_log stderr;\n{plain}")
    done = subprocess.run(
        ["nginx", "-t", "-e", "stderr", "-c", str(file)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


# --- Requests that go to two hosts in turn -------------------------------------------------------


class InTurn(httpx.HTTPTransport):
    """A proxy that sends each request to the next host."""

    def __init__(self, *ports: int) -> None:
        super().__init__()
        self.ports, self.went_to = cycle(ports), Counter[int]()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(port=next(self.ports))
        self.went_to[request.url.port or 0] += 1
        return super().handle_request(request)


@pytest.fixture
def in_turn(web: WebProcess) -> Iterator[InTurn]:
    """The pages on two hosts, which share what hosts share."""
    with WebProcess() as other, InTurn(web.port, other.port) as proxy:
        yield proxy


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_session_and_an_upload_may_change_their_host_at_each_request(in_turn: InTurn):
    study = make_study(key="voices")
    give_sound(study)
    visitor = Visitor("http://127.0.0.1", study.link, signing.dumps("voices", salt="simulate"))
    visitor.client = httpx.Client(base_url=visitor.base_url, transport=in_turn, timeout=PATIENCE_S)
    state = visitor.arrive()
    state = visitor.pass_checks(state)
    for clip in state["trials"][0]["clips"]:
        assert visitor.get(clip).status_code == 200
    assert visitor.take_all(state)["stage"] == "end"
    owner = make_user("ada")
    draft = begin_empty(owner)
    client = Client()
    client.force_login(owner)
    visitor.client.cookies.set("sessionid", client.cookies["sessionid"].value)
    sound, address = SOUND, f"/drafts/{draft.code}/upload/"
    for offset in range(0, len(sound), 1000):
        piece = sound[offset : offset + 1000]
        query = {"path": "key.flac", "size": len(sound), "offset": offset}
        token = {"X-CSRFToken": visitor.client.cookies["csrftoken"]}
        reply = visitor.ask("POST", address, params=query, content=piece, headers=token)
        assert reply.status_code == 200, reply.text
    assert reply.json()["done"]
    assert (folder_of(draft) / "audio" / "key.flac").read_bytes() == sound
    assert len(in_turn.went_to) == 2
