"""32 raters against Earnest, oTree, and what storing costs at least, in turns, on this machine."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import floors
from benchmarks.bench_submissions import start_sessions
from benchmarks.client import Browser, Reply
from benchmarks.house import (
    Meter,
    family,
    machine_facts,
    own_house,
    percentile,
    postgres_of,
    print_table,
    wait_until_answers,
    web_process,
)
from benchmarks.material import demo_like_study, write_clips
from benchmarks.raters import ScriptedRater, Tally, closed_loop, run_quietly, scripted

OTREE = "6.0.15"
PACKAGES = (f"otree=={OTREE}", "psycopg2-binary==2.9.12")
RATERS = 32
PROJECT = Path(__file__).resolve().parent / "otree_project"


# --- oTree ---------------------------------------------------------------------------------------


def install_otree(folder: Path) -> Path:
    """A virtual environment of its own with oTree; kept, because nothing in it is ours."""
    binaries = folder / "bin"
    if not (binaries / "otree").exists():
        print(f"installing {', '.join(PACKAGES)} in {folder} ...", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([binaries / "pip", "install", "-qq", *PACKAGES], check=True)
    return binaries


@contextmanager
def otree_server(
    binaries: Path, folder: Path, port: int, database: str
) -> Iterator[psutil.Process]:
    """oTree's production server with a new database."""
    project = folder / "project"
    shutil.copytree(PROJECT, project)
    (project / "_static").mkdir()  # oTree insists on it
    environment = {
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "HOME": str(folder),
        "OTREE_PRODUCTION": "1",
        "OTREE_SECRET_KEY": secrets.token_hex(16),
        "OTREE_ADMIN_PASSWORD": secrets.token_hex(16),
        **({"DATABASE_URL": database} if database else {}),
    }
    log = folder / "otree.log"
    with log.open("wb") as output:
        shared: dict[str, Any] = {
            **{"cwd": project, "env": environment, "stdout": output, "stderr": output}
        }
        reset = subprocess.run([binaries / "otree", "resetdb", "--noinput"], **shared)
        if reset.returncode:
            sys.exit(f"oTree cannot make its tables:\n{log.read_text()[-3000:]}")
        server = [str(binaries / "otree"), "prodserver1of2", f"127.0.0.1:{port}"]
        child: subprocess.Popen[bytes] = subprocess.Popen(server, start_new_session=True, **shared)
    started = psutil.Process(child.pid)
    try:
        wait_until_answers(port, "/api/otree_version", child, log)
        yield started
    finally:
        for process in reversed(family(started)):
            process.terminate()
        child.wait(20)


def otree_codes(port: int, count: int) -> list[str]:
    """A new session's participants."""

    def ask(path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data)
        with urllib.request.urlopen(request, timeout=300) as reply:
            return json.load(reply)

    made = ask("/api/sessions", {"session_config_name": "rating", "num_participants": count})
    return [one["code"] for one in ask(f"/api/sessions/{made['code']}")["participants"]]


class OtreeRater:
    """A participant who reads each page and answers it."""

    def __init__(self, port: int, code: str) -> None:
        self.browser, self.port, self.code = Browser(port), port, code
        self.page = ""

    async def enter(self) -> None:
        self.page = await self._follow(
            await self.browser.request("GET", f"/InitializeParticipant/{self.code}")
        )

    async def answer(self, tally: Tally) -> None:
        """Send the form, and load the page that follows: that is one submission."""
        began = time.perf_counter()
        kind = "Content-Type: application/x-www-form-urlencoded\r\n"
        reply = await self.browser.request("POST", self.page, kind, b"score=4")
        if reply.status != 302:
            tally.errors[f"submit: {reply.status}"] += 1
            return
        page = await self._follow(reply)
        if page == self.page:
            tally.errors["the same page again"] += 1
        self.page = page
        tally.submit_ms.append(1000 * (time.perf_counter() - began))

    async def _follow(self, reply: Reply) -> str:
        where = ""
        while reply.status in (302, 303, 307):
            where = (reply.header(b"location") or b"").decode()
            where = where.removeprefix(f"http://127.0.0.1:{self.port}")
            reply = await self.browser.request("GET", where)
        if reply.status != 200 or b"score" not in reply.body:
            raise RuntimeError(f"oTree's {where} answered {reply.status} without the question")
        return where


async def otree_loop(
    raters: list[OtreeRater], seconds: float, tally: Tally, begin: Callable[[], None]
) -> float:
    for rater in raters:
        await rater.enter()
    begin()
    began = time.perf_counter()

    async def rate(rater: OtreeRater) -> None:
        while time.perf_counter() < began + seconds and not rater.page.endswith("/39"):
            await rater.answer(tally)

    await asyncio.gather(*(rate(rater) for rater in raters))
    for rater in raters:
        rater.browser.close()
    return time.perf_counter() - began


# --- Rounds --------------------------------------------------------------------------------------


class Contest:
    """Rounds of each server in turn, and what each of them took."""

    def __init__(self, var: Path, seconds: float) -> None:
        self.var, self.seconds = var, seconds
        self.peers: dict[str, psutil.Process] = {}
        self.floors: dict[str, tuple[psutil.Process, Any]] = {}  # with their loops
        self.rows: dict[str, list[tuple[Tally, float, float]]] = {}

    def play(self, name: str, server: psutil.Process, loop: Any, tally: Tally) -> None:
        """One round; `loop` calls what it is given when its raters are ready."""
        meter = self.meter(server)

        def begin() -> None:
            nonlocal meter
            meter = self.meter(server)

        async def timed() -> None:
            took = await loop(begin)
            self.rows.setdefault(name, []).append((tally, took, meter.read()["server"]))

        run_quietly(timed())
        rate = len(tally.submit_ms) / self.rows[name][-1][1]
        load = os.getloadavg()[0]
        print(f"{name}: {rate:.1f} submissions/s; load average {load:.1f}", flush=True)

    def meter(self, server: psutil.Process) -> Meter:
        return Meter(server=lambda: [*family(server), *postgres_of(self.var)])

    def table(self) -> list[list[object]]:
        rows: list[list[object]] = []
        for name, rounds in self.rows.items():
            times = [ms for tally, _, _ in rounds for ms in tally.submit_ms]
            rates = [len(tally.submit_ms) / took for tally, took, _ in rounds]
            errors = sum(sum(tally.errors.values()) for tally, _, _ in rounds)
            cpu_ms = 1000 * sum(used for _, _, used in rounds) / len(times)
            rates_text = ", ".join(f"{rate:.0f}" for rate in rates)
            mean = len(times) / sum(took for _, took, _ in rounds)
            ends = (percentile(times, 0.5), percentile(times, 0.99))
            rows.append([name, len(times), mean, rates_text, *ends, cpu_ms, errors])
        ours = float(str(rows[0][2]))
        return [[*row, ours / float(str(row[2]))] for row in rows]


def play_rounds(
    contest: Contest, port: int, web: psutil.Process, waiting: list[ScriptedRater], rounds: int
) -> None:
    for _ in range(rounds):
        tally = Tally()
        for rater in waiting:
            rater.tally = tally
        ours = partial(closed_loop, waiting, RATERS, contest.seconds)
        contest.play("Earnest", web, lambda begin, ours=ours: ours(), tally)
        for place, (name, server) in enumerate(contest.peers.items(), start=1):
            tally = Tally()
            raters = [OtreeRater(port + place, code) for code in otree_codes(port + place, RATERS)]
            contest.play(name, server, partial(otree_loop, raters, contest.seconds, tally), tally)
        for name, (server, loop) in contest.floors.items():
            tally = Tally()
            contest.play(name, server, partial(loop, contest.seconds, tally), tally)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two short rounds")
    parser.add_argument("--port", type=int, default=8142, help="the first of four")
    parser.add_argument("--workers", type=int, default=1, help="web processes of Earnest")
    options = parser.parse_args()
    seconds, rounds = (5.0, 2) if options.quick else (15.0, 4)
    binaries = install_otree(Path(tempfile.gettempdir()) / f"earnest-bench-otree-{OTREE}")
    with own_house(options.port, options.workers) as var, ExitStack() as stack:
        from django.conf import settings
        from django.db import connection

        from config.run.embedded_servers import socket_folder

        facts = machine_facts()
        count = int(rounds * seconds * 150)
        study = demo_like_study(write_clips(settings.MEDIA_ROOT, 5), count)
        waiting = list(scripted(options.port, start_sessions(study, count), Tally()))
        with connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE otree")
        web = stack.enter_context(web_process())
        contest = Contest(var, seconds)
        url = f"postgresql://earnest@/otree?host={socket_folder(var)}"
        for place, (name, database) in enumerate({"PostgreSQL": url, "SQLite": ""}.items(), 1):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="earnest-otree-")))
            server = otree_server(binaries, folder, options.port + place, database)
            contest.peers[f"oTree, {name}"] = stack.enter_context(server)
        with connection.cursor() as cursor:
            cursor.execute(floors.TABLES)
        own, trials, port = url.replace("/otree", "/earnest"), floors.Trials(), options.port + 3
        served = stack.enter_context(floors.floor_server(own, port, var / "floor.log"))
        contest.floors = {
            "floor: ASGI and psycopg": (served, partial(floors.floor_loop, trials, port)),
            "floor: psycopg alone": (psutil.Process(), partial(floors.psycopg_loop, trials, own)),
        }
        play_rounds(contest, options.port, web, waiting, rounds)
        print(f"\n{facts}; oTree {OTREE}; load average at the end {os.getloadavg()[0]:.1f}")
        head = ("server", "submissions", "per second", "each round", "p50 ms", "p99 ms")
        tail = ("server and database CPU ms each", "errors", "Earnest is × faster")
        print_table((*head, *tail), contest.table())


if __name__ == "__main__":
    main()
