"""10,000 raters on two web hosts behind nginx, one of which dies: what is lost, how long it takes.

Each host is a network namespace: nginx, two web hosts, and this process with the raters,
PostgreSQL and Valkey. nginx is configured as docs/scaling.md shows. Needs Linux, root and nginx.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.house import (
    BASE_DIR,
    machine_facts,
    own_house,
    percentile,
    print_table,
    wait_until_answers,
)
from benchmarks.material import add_task, make_study, write_clips
from benchmarks.raters import Tally, open_loop, run_quietly, scripted

GUIDE = BASE_DIR / "docs" / "scaling.md"
DATA, PROXY, WEB = "10.0.0.1", "10.0.0.10", ("10.0.0.11", "10.0.0.12")  # WEB as in the guide
PORT = 8000  # of the pages, on each host
CONDITIONS, ITEMS = 5, 10
TRIALS = 5  # of each rater
SLOW_MS = 1000.0  # an answer that took longer has met the dead host
HOLD = """
import time
from django.db import connection, transaction
with transaction.atomic(), connection.cursor() as cursor:
    cursor.execute("SELECT id FROM listening_session ORDER BY id LIMIT 20 FOR NO KEY UPDATE")
    print("held", flush=True)
    time.sleep(3600)
"""  # a page that was in the middle of a transaction, with 20 raters' sessions
TOOLS = ("ip", "unshare", "nsenter", "nginx")


def why_not() -> str:
    """The reason why this machine cannot run it; empty where it can."""
    if missing := [name for name in TOOLS if shutil.which(name) is None]:
        return f"not installed: {', '.join(missing)}"
    tried = subprocess.run(
        ["unshare", "--net", "ip", "link", "add", "earnest", "type", "bridge"],
        capture_output=True,
        text=True,
    )
    return f"no network namespaces here: {tried.stderr.strip()}" if tried.returncode else ""


def sh(*words: str) -> None:
    subprocess.run(words, check=True)


class Host:
    """A network namespace with one address, on the bridge of this process's own namespace."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == own:
            time.sleep(0.01)
        sh("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", f"eth-{name}")
        sh("ip", "link", "set", f"eth-{name}", "netns", str(self.holder.pid))
        sh("ip", "link", "set", f"to-{name}", "master", "lan", "up")
        sh(*self.inside("ip", "address", "add", f"{address}/24", "dev", f"eth-{name}"))
        sh(*self.inside("ip", "link", "set", f"eth-{name}", "up"))
        sh(*self.inside("ip", "link", "set", "lo", "up"))
        self.processes: list[subprocess.Popen[bytes]] = []

    def inside(self, *words: str) -> tuple[str, ...]:
        return ("nsenter", f"--net=/proc/{self.holder.pid}/ns/net", *words)

    def start(self, *words: str, log: Path, **variables: str) -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            child = subprocess.Popen(
                self.inside(*words),
                cwd=BASE_DIR,
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.processes.append(child)
        return child

    def unplug(self) -> None:
        """Nothing comes in or goes out any more, and nobody is told; locks are held meanwhile."""
        log = Path(os.environ["EARNEST_VAR"]) / "logs" / "held.log"
        holder = self.start(sys.executable, "-c", HOLD, log=log)
        while holder.poll() is None and "held" not in log.read_text():
            time.sleep(0.05)
        sh("ip", "link", "set", f"to-{self.name}", "down")

    def kill(self) -> None:
        """Kill -9 of every process of this host."""
        mine = os.readlink(f"/proc/{self.holder.pid}/ns/net")
        for link in Path("/proc").glob("[0-9]*/ns/net"):
            pid = int(link.parts[2])
            with suppress(OSError):
                if os.readlink(link) == mine and pid != self.holder.pid:
                    os.kill(pid, signal.SIGKILL)
        for process in self.processes:
            process.wait(20)

    def close(self) -> None:
        self.kill()
        self.holder.kill()
        self.holder.wait()


@contextmanager
def servers() -> Iterator[dict[str, str]]:
    """PostgreSQL and Valkey on this host's address; the variables that name them."""
    from config.run.embedded_servers import POSTGRES, VALKEY, account, socket_folder
    from config.run.processes import spawn, stop

    var = Path(tempfile.mkdtemp(prefix="earnest-data-"))
    var.chmod(0o755)
    owner = account(var)
    listening = {
        POSTGRES: ["-c", f"listen_addresses={DATA}"],
        VALKEY: ["--port", "6379", "--bind", DATA, "--protected-mode", "no"],
    }
    children = []
    try:
        for server, more in listening.items():
            server.prepare(var, owner)
            if server is POSTGRES:
                with (server.folder(var) / "pg_hba.conf").open("a") as rules:
                    rules.write("host all all 10.0.0.0/24 trust\n")
            log = var / f"{server.name}.log"
            command = [*server.command(var), *more]
            children.append(spawn(command, log=log, cwd=server.folder(var), account=owner))
            while not server.answers(var):
                if children[-1].poll() is not None:
                    sys.exit(log.read_text()[-3000:])
                time.sleep(0.05)
        yield {
            "DATABASE_URL": f"postgresql://earnest@{DATA}/earnest",
            "REDIS_URL": f"redis://{DATA}:6379/0",
        }
    finally:
        for child in reversed(children):
            stop([child], number=signal.SIGINT, grace_s=20)
        shutil.rmtree(socket_folder(var), ignore_errors=True)
        shutil.rmtree(var, ignore_errors=True)


def nginx_conf() -> str:
    """The configuration that the guide shows."""
    found = re.search(r"```nginx\n(# nginx\.conf\n.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found, f"{GUIDE} shows no nginx.conf"
    return found[1]


def without_tls(configuration: str) -> str:
    """For the load: 10,000 handshakes would measure OpenSSL, in the raters' process as well."""
    plain = configuration.replace("listen 443 ssl;", f"listen {PORT} backlog=4096;")
    assert plain != configuration
    return re.sub(r"\n *ssl_[^;]*;", "", plain)


def short_study(clips: list[tuple[str, float]], raters: int) -> Any:
    """A MOS study in which each rater has one block; all of them fill it to the last rating."""
    from listening.sessions import allocation

    study = make_study("hosts", conditions=CONDITIONS, items=ITEMS, clips=clips)
    each = raters * TRIALS // (CONDITIONS * ITEMS)
    add_task(study, "mos", block_size=TRIALS, ratings_per_stimulus=each)
    allocation.plan_study(study)
    return study


def kept(tally: Tally, study: Any) -> dict[str, Any]:
    """What the database holds, compared with what raters were told."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT t.code, r.label, r.counts FROM listening_rating r"
            " JOIN listening_trial t ON t.id = r.trial_id"
        )
        ratings = cursor.fetchall()
        cursor.execute(
            "SELECT n, count(*) FROM (SELECT count(r.id) AS n FROM listening_stimulus s"
            " LEFT JOIN listening_trial t ON t.stimulus_id = s.id"
            " LEFT JOIN listening_rating r ON r.trial_id = t.id AND r.counts"
            " WHERE s.study_id = %s GROUP BY s.id) AS each GROUP BY n",
            [study.pk],
        )
        per_stimulus = {str(n): stimuli for n, stimuli in cursor.fetchall()}
    stored = {code: label for code, label, _ in ratings}
    lost = [t for t, labels in tally.acknowledged.items() if stored.get(t) != labels["0"]]
    return {
        "acknowledged": len(tally.acknowledged),
        "kept": len(ratings),
        "kept_twice": len(ratings) - len(stored),
        "lost": len(lost),
        "ratings_per_stimulus": per_stimulus,
    }


async def crowd(
    raters: list[Any], pause_s: tuple[float, float], victim: Host, how: str, after_s: float
) -> dict[str, float]:
    """All raters to their ends; the host dies after so many seconds."""
    at: dict[str, float] = {}

    async def end_host() -> None:
        await asyncio.sleep(after_s)
        await asyncio.to_thread(victim.unplug if how == "unplug" else victim.kill)
        at["died"] = time.perf_counter()

    killer = asyncio.create_task(end_host())
    at["seconds"] = await open_loop(raters, float("inf"), pause_s)
    await killer
    return at


def latencies(tally: Tally, died: float) -> dict[str, Any]:
    """Percentiles in milliseconds: of all, and of 30 s after the death; seconds until it is out."""
    both = list(zip(tally.submit_at, tally.submit_ms, strict=True))
    after = [ms for at, ms in both if 0 <= at - died < 30]
    slow = [at - died for at, ms in both if at > died and ms > SLOW_MS]
    return {
        "p50_ms": percentile(tally.submit_ms, 0.5),
        "p99_ms": percentile(tally.submit_ms, 0.99),
        "max_ms": max(tally.submit_ms),
        "p99_before_ms": percentile([ms for at, ms in both if at < died], 0.99),
        "p99_30_s_after_ms": percentile(after, 0.99),
        "slow": len(slow),
        "out_after_s": max(slow, default=0.0),
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    sh("ip", "link", "set", "lo", "up")
    sh("ip", "link", "add", "lan", "type", "bridge")
    sh("ip", "address", "add", f"{DATA}/24", "dev", "lan")
    sh("ip", "link", "set", "lan", "up")
    with ExitStack() as stack:
        hosts = []
        for name, address in zip(("proxy", "one", "two"), (PROXY, *WEB), strict=True):
            hosts.append(Host(name, address))
            stack.callback(hosts[-1].close)
        proxy, *web = hosts
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
        named = stack.enter_context(servers())
        named["EARNEST_PUBLIC_URL"] = f"http://{PROXY}:{PORT}"
        named["EARNEST_TRUSTED_PROXIES"] = "1"
        var = stack.enter_context(own_house(PORT, 1, **named))
        return on_two_hosts(options, var, proxy, web)


def on_two_hosts(
    options: argparse.Namespace, var: Path, proxy: Host, web: Sequence[Host]
) -> dict[str, Any]:
    from django.conf import settings

    from listening.sessions import lifecycle
    from listening.sessions.lifecycle import Arrival

    facts = machine_facts()
    study = short_study(write_clips(settings.MEDIA_ROOT, 20), options.raters)
    sessions = [lifecycle.start(study, Arrival(simulated=True)) for _ in range(options.raters)]
    single = (sys.executable, "-m", "config.run.single_process")
    logs = var / "logs"
    logs.mkdir(exist_ok=True)
    prepares = [
        host.start(*single, "prepare", log=logs / f"prepare-{host.name}.log") for host in web
    ]
    for host, child in zip(web, prepares, strict=True):
        assert child.wait(300) == 0, (logs / f"prepare-{host.name}.log").read_text()[-3000:]
    for host in web:
        log = logs / f"web-{host.name}.log"
        child = host.start(*single, "web", log=log, EARNEST_HOST=host.address)
        wait_until_answers(PORT, "/readyz", child, log, host=host.address)
    configuration = var / "nginx.conf"
    configuration.write_text(f"daemon off;\npid {var}/nginx.pid;\n" + without_tls(nginx_conf()))
    log = logs / "nginx.log"
    child = proxy.start("nginx", "-e", "stderr", "-c", str(configuration), log=log)
    wait_until_answers(PORT, "/livez", child, log, host=PROXY)
    tally = Tally()
    raters = list(scripted(PORT, sessions, tally, PROXY))
    at: dict[str, float] = {}

    async def run() -> None:
        at.update(await crowd(raters, tuple(options.pause), web[1], options.end, options.after))

    run_quietly(run())
    return {
        "machine": facts,
        "raters": options.raters,
        "end": options.end,
        "requests_per_s": (len(tally.submit_ms) + len(tally.clip_ms)) / at["seconds"],
        "answers_per_s": len(tally.submit_ms) / at["seconds"],
        **latencies(tally, at["died"]),
        "clip_p99_ms": percentile(tally.clip_ms, 0.99),
        "sent_again": dict(tally.again),
        "refused": dict(tally.errors),
        **kept(tally, study),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raters", type=int, default=10_000, help="a multiple of 10")
    parser.add_argument("--pause", type=float, nargs=2, default=(15.0, 45.0), metavar="S")
    parser.add_argument("--end", choices=("kill", "unplug"), default="kill")
    parser.add_argument("--after", type=float, default=60.0, help="seconds until a host dies")
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if reason := why_not():
        print(f"Not measured: {reason}.")
        return 0
    if not options.inside:
        own = [sys.executable, __file__, *sys.argv[1:], "--inside"]
        return subprocess.run(["unshare", "--net", *own]).returncode
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended
    found = measure(options)
    print_table(("figure", "value"), list(found.items()))
    if options.out:
        options.out.write_text(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
