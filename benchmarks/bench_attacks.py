"""How long raters wait for their answers while a researcher's account or a flood of logins attacks.

Each attack runs in a process of its own, with the inputs that once stopped the web process: wrong
logins from 20 addresses, slow patterns of file names, archives, tables, and clips in bulk.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import secrets
import sys
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.house import machine_facts, own_house, percentile, print_table, web_process
from benchmarks.material import demo_like_study, write_clips
from benchmarks.raters import Tally, open_loop, run_quietly, scripted

RATERS = 60
PAUSE_S = (1.0, 2.0)
ADDRESSES = 20  # of 127.0.0.0/8
AT_ONCE = 3  # files, as the page of a draft sends them
CLIPS, CLIP_S, CLIP_HZ = 500, 10, 44_100
SLOW_PATTERN = "{system}" + "{*}" * 8 + "{sentence}X.wav"
HEAD = ("load", "answers", "p50 ms", "p99 ms", "max ms", "errors", "requests of the attack")


@dataclass(frozen=True)
class Target:
    """Where the attack goes: the web process, a researcher's session, and a draft."""

    port: int
    cookies: Mapping[str, str]
    draft: str
    study: str

    def client(self, address: str = "127.0.0.1", *, logged_in: bool = True) -> httpx.Client:
        token = secrets.token_hex(16)
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            transport=httpx.HTTPTransport(local_address=address),
            timeout=300,
            cookies={**(self.cookies if logged_in else {}), "csrftoken": token},
            headers={"X-CSRFToken": token},
        )

    def upload(self, client: httpx.Client, name: str, data: bytes) -> httpx.Response:
        query = {"path": name, "size": str(len(data)), "offset": "0"}
        return client.post(f"/drafts/{self.draft}/upload/", params=query, content=data)

    def arrange(self, client: httpx.Client, pattern: str) -> httpx.Response:
        form = {"do": "arrange", "pattern": pattern}
        return client.post(f"/drafts/{self.draft}/do/", data=form)


Attack = Callable[[Target, Event, Callable[[httpx.Response], None]], None]


def in_threads(count: int, work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def wrong_logins(target: Target, stop: Event, note: Callable[[httpx.Response], None]) -> None:
    def try_names(number: int) -> None:
        with target.client(f"127.0.0.{number + 2}", logged_in=False) as client:
            while not stop.is_set():
                form = {"username": f"name-{secrets.token_hex(4)}", "password": "x"}
                note(client.post("/login/", data=form))

    in_threads(ADDRESSES, try_names)


def slow_patterns(target: Target, stop: Event, note: Callable[[httpx.Response], None]) -> None:
    with target.client() as client:
        for number in range(20):
            note(target.upload(client, f"{'a' * 55}{number:02d}.wav", b"RIFF"))

    def arrange(_: int) -> None:
        with target.client() as client:
            while not stop.is_set():
                note(target.arrange(client, SLOW_PATTERN))

    in_threads(AT_ONCE, arrange)


def send_archives(make: Callable[[], list[bytes]]) -> Attack:
    def attack(target: Target, stop: Event, note: Callable[[httpx.Response], None]) -> None:
        archives = make()

        def send(number: int) -> None:
            with target.client() as client:
                for archive in archives * 1000:
                    if stop.is_set():
                        break
                    note(target.upload(client, f"{number}.zip", archive))
                    note(target.arrange(client, ""))
                    note(client.get(f"/drafts/{target.draft}/review/"))

        in_threads(AT_ONCE, send)

    return attack


def large_scores(target: Target, stop: Event, note: Callable[[httpx.Response], None]) -> None:
    table = "stimulus,metric,score\n" + "".join(f"clip-{n},mos,{n % 5}\n" for n in range(300_000))

    def send(_: int) -> None:
        with target.client() as client:
            while not stop.is_set():
                file = {"file": ("scores.csv", table.encode(), "text/csv")}
                note(client.post(f"/studies/{target.study}/metrics/import/", files=file))

    in_threads(AT_ONCE, send)


def clips_in_bulk(target: Target, stop: Event, note: Callable[[httpx.Response], None]) -> None:
    """Every clip once: each of noise of its own, so that nothing is known of it."""
    import numpy as np
    import soundfile

    rng, names, lock = np.random.default_rng(1), iter(range(CLIPS)), threading.Lock()

    def send(_: int) -> None:
        with target.client() as client:
            while not stop.is_set():
                with lock:
                    number = next(names, None)
                    if number is None:
                        return
                    noise = rng.normal(0, 0.1, CLIP_S * CLIP_HZ).clip(-1, 1)
                file = io.BytesIO()
                soundfile.write(file, noise, CLIP_HZ, subtype="PCM_16", format="WAV")
                name = f"system{number % 5}/s{number // 5}.wav"
                note(target.upload(client, name, file.getvalue()))

    in_threads(AT_ONCE, send)


def zipped(files: Mapping[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file.getvalue()


def deep_and_many() -> list[bytes]:
    dotted = ".".join(["a"] * 40_000) + " = 1\n"
    entries = dict.fromkeys((f"a/{n}.wav" for n in range(60_000)), "")
    return [zipped({"study.toml": dotted}), zipped(entries)]


def long_tables() -> list[bytes]:
    rows = "".join(f"s{n},a,i{n},audio/{n}.wav\n" for n in range(300_000))
    study = '[study]\nkey = "x"\ntitle = "X"\n'
    head = "stimulus,condition,item,file\n"
    return [zipped({"study.toml": study, "stimuli.csv": head + rows})]


ATTACKS: Mapping[str, Attack | None] = {
    "quiet": None,
    f"wrong logins from {ADDRESSES} addresses": wrong_logins,
    "slow patterns": slow_patterns,
    "archives: 40,000 dotted keys; 60,000 entries": send_archives(deep_and_many),
    "study tables of 300,000 rows": send_archives(long_tables),
    "score tables of 300,000 rows": large_scores,
    f"{CLIPS} clips of {CLIP_S} s": clips_in_bulk,
    "quiet again": None,
}


def run_attack(load: str, target: Target, stop: Event, done: Any) -> None:
    """Attack until told to stop, in a process of its own: the raters' process must not wait."""
    statuses: Counter[int] = Counter()
    attack = ATTACKS[load]
    assert attack is not None
    with suppress(httpx.HTTPError):
        attack(target, stop, lambda answer: statuses.update([answer.status_code]))
    done.put(dict(sorted(statuses.items())))


def measured(load: str, target: Target, raters: list[Any], tally: Tally, s: float) -> list[object]:
    context = multiprocessing.get_context("spawn")
    stop, done = context.Event(), context.Queue()
    process = context.Process(target=run_attack, args=(load, target, stop, done))
    if ATTACKS[load] is not None:
        process.start()
        time.sleep(3)  # until it has made what it sends
    run_quietly(open_loop(raters, s, PAUSE_S))
    told: dict[int, int] = {}
    if process.pid is not None:
        stop.set()
        told = done.get()
        process.join()
    return [
        load,
        len(tally.submit_ms),
        *(percentile(tally.submit_ms, share) for share in (0.5, 0.99, 1.0)),
        ", ".join(f"{n} × {what}" for what, n in tally.errors.items()) or "0",
        ", ".join(f"{status}: {count}" for status, count in told.items()) or "–",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="of each load")
    parser.add_argument("--port", type=int, default=8790)
    parser.add_argument("--only", action="append", help="part of a load's name")
    options = parser.parse_args()
    loads = [
        load for load in ATTACKS if not options.only or any(part in load for part in options.only)
    ]
    with own_house(options.port, 1):
        from django.conf import settings
        from django.contrib.auth.models import User
        from django.test import Client

        from config.run.preparation import collect_static
        from listening.drafts import folder
        from listening.sessions import lifecycle
        from listening.sessions.lifecycle import Arrival

        settings.ALLOWED_HOSTS = ["*"]  # Django's test client asks for `testserver`
        crowd = RATERS * (len(loads) + 1)
        study = demo_like_study(write_clips(settings.MEDIA_ROOT, 20), crowd)
        sessions = [lifecycle.start(study, Arrival(simulated=True)) for _ in range(crowd)]
        collect_static()  # pages name their styles
        owner = User.objects.get(username="researcher")
        browser = Client()
        browser.force_login(owner)
        cookies = {name: morsel.value for name, morsel in browser.cookies.items()}
        print(machine_facts(), flush=True)
        rows: list[list[object]] = []
        with web_process():
            waiting = scripted(options.port, sessions, Tally())
            all_raters = list(waiting)
            run_quietly(open_loop(all_raters[:RATERS], 5, PAUSE_S))  # warm
            for number, load in enumerate(loads, 1):
                tally, draft = Tally(), folder.begin(owner, "mos")
                raters = all_raters[RATERS * number : RATERS * (number + 1)]
                for rater in raters:
                    rater.tally = tally
                target = Target(options.port, cookies, draft.code, study.key)
                rows.append(measured(load, target, raters, tally, options.seconds))
                print(rows[-1], flush=True)
        print(f"load average at the end {os.getloadavg()[0]:.1f}")
        print_table(HEAD, rows)


if __name__ == "__main__":
    main()
