"""What `make run` costs before anybody comes: seconds until pages answer, memory of the idle tree.

The house is started as people start it, with the demo study. Memory is PSS: what processes share is
counted once in all. Seconds are from the command to the printed addresses, which are printed when
the pages answer, with the CPU seconds of all processes by then: the better ones on a busy machine.
`at work` is when the jobs' worker and the clock have told that they live.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psutil

HERE = Path(__file__).resolve().parent.parent
READY = "Ctrl-C stops everything"
LIMIT_S = 600.0
HEARD = "SELECT string_agg(roles, ',') FROM operations_heartbeat WHERE at > to_timestamp(%s)"


class Start:
    """One start of a house, which is stopped when it has been looked at."""

    def __init__(self, code: Path, var: Path, port: int) -> None:
        self.var, self.log = var, var.with_suffix(".out")
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("DJANGO_", "EARNEST_"))}
        for name in ("DATABASE_URL", "REDIS_URL", "MEDIA_STORE"):
            clean.pop(name, None)
        self.began, self.began_at = time.monotonic(), time.time()
        with self.log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "config.run.supervisor"],
                cwd=code,
                env=clean | {"EARNEST_VAR": str(var), "EARNEST_PORT": str(port)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.seconds = self.wait(lambda: READY in self.log.read_text())
        self.cpu_s = cpu_s(psutil.Process(self.process.pid))

    def wait(self, what: Callable[[], bool]) -> float:
        while not what():
            if self.process.poll() is not None or time.monotonic() > self.began + LIMIT_S:
                sys.exit(self.log.read_text())
            time.sleep(0.01)
        return time.monotonic() - self.began

    def at_work(self) -> bool:
        """Whether the clock and the worker of pages' and raters' jobs have told that they live."""
        import psycopg

        from config.run.embedded_servers import socket_folder

        where = {"host": str(socket_folder(self.var)), "user": "earnest", "dbname": "earnest"}
        with psycopg.connect(**where) as session:  # type: ignore[arg-type]  # all are words
            row = session.execute(HEARD, [self.began_at]).fetchone()
        living = (row and row[0]) or ""
        return {"default", "analysis", "beat"} <= set(living.split(","))

    def stop(self) -> float:
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        if self.process.wait(LIMIT_S):
            sys.exit(self.log.read_text())
        return time.monotonic() - began


def cpu_s(root: psutil.Process) -> float:
    """What the tree has used, ended processes included."""
    used = 0.0
    for process in [root, *root.children(recursive=True)]:
        with suppress(psutil.Error):
            used += sum(process.cpu_times()[:4])
    return used


@contextmanager
def folder() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="earnest-bench-"))
    home.chmod(0o755)
    try:
        yield home / "var"
    finally:
        from config.run.embedded_servers import socket_folder

        shutil.rmtree(socket_folder(home / "var"), ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)


# --- Memory --------------------------------------------------------------------------------------


def role(process: psutil.Process) -> str:
    """What a process of the tree is there for."""
    name, words = process.name(), " ".join(process.cmdline())
    if name in ("postgres", "valkey-server"):
        return name
    if "config.run.shared_server" in words:
        return "keepers"
    marks = {
        "granian": "web",
        "config.run.supervisor": "supervisor",
        "gpu@": "gpu",
        "jobs@": "jobs",
    }
    marks |= {"config.clock": "clock"}
    return next((role for mark, role in marks.items() if mark in words), words[:40])


def memory_mb(root: psutil.Process) -> dict[str, tuple[int, float]]:
    """Processes and MB of each role; a process that ended meanwhile is left out."""
    found: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for process in [root, *root.children(recursive=True)]:
        with suppress(psutil.Error):
            mb = process.memory_full_info().pss / 1024**2
            count, sum_mb = found[role(process)]
            found[role(process)] = (count + 1, sum_mb + mb)
    return dict(found)


def open_pages(port: int) -> None:
    import httpx

    with httpx.Client(base_url=f"http://127.0.0.1:{port}", follow_redirects=True) as client:
        for path in ("/", "/login/", "/studies/"):
            client.get(path).raise_for_status()


def report(rows: dict[str, tuple[int, float]], after: dict[str, tuple[int, float]]) -> None:
    print(
        "| processes | number | MB, idle | MB, idle after three pages |\n| --- | --- | --- | --- |"
    )
    for name in sorted(rows, key=lambda each: -rows[each][1]):
        later = after.get(name, (0, 0.0))[1]
        print(f"| {name} | {rows[name][0]} | {rows[name][1]:.0f} | {later:.0f} |")
    sums = [sum(mb for _, mb in each.values()) for each in (rows, after)]
    count = sum(number for number, _ in rows.values())
    print(f"| all | {count} | {sums[0]:.0f} | {sums[1]:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5, help="warm starts after the first")
    parser.add_argument("--settle", type=float, default=30, help="seconds before memory is read")
    parser.add_argument("--port", type=int, default=8731)
    parser.add_argument("--code", type=Path, default=HERE, help="another checkout, to compare")
    wanted = parser.parse_args()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}; {os.cpu_count()} cores; load {load}"
    )
    with folder() as var:
        var.mkdir(mode=0o755)
        print("| start | pages answer, s | CPU s by then | at work, s | stopped in, s |")
        print("| --- | --- | --- | --- | --- |", flush=True)
        for number in range(wanted.starts + 1):
            start = Start(wanted.code, var, wanted.port)
            name = "warm" if number else "first, with the demo"
            try:
                whole_s = start.wait(start.at_work)
                if number == wanted.starts:
                    time.sleep(wanted.settle)
                    root = psutil.Process(start.process.pid)
                    idle = memory_mb(root)
                    open_pages(wanted.port)
                    time.sleep(wanted.settle / 3)
                    after = memory_mb(root)
            finally:
                stopped_s = start.stop()
            numbers = f"{start.seconds:.2f} | {start.cpu_s:.2f} | {whole_s:.2f} | {stopped_s:.2f}"
            print(f"| {name} | {numbers} |", flush=True)
        print()
        report(idle, after)


if __name__ == "__main__":
    main()
