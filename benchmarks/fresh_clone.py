"""What `make run` takes in a fresh clone: python benchmarks/fresh_clone.py CLONE.

Seconds, CPU seconds of all processes and GB of the environment, when the first page answers and
when all packages are there. The clone must have no .venv; packages come from the index of pip.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import psutil

PORT = "8617"
LIMIT_S = 1800.0


def cpu_s(process: psutil.Process) -> float:
    """Of a process, its descendants, and those that have ended."""
    total = 0.0
    for each in [process, *process.children(recursive=True)]:
        with suppress(psutil.Error):
            total += sum(each.cpu_times()[:4])
    return total


def answers() -> bool:
    with suppress(OSError):
        return bool(urlopen(f"http://127.0.0.1:{PORT}/", timeout=5).status == 200)
    return False


def main(clone: Path) -> None:
    with tempfile.TemporaryDirectory() as var, (Path(var) / "make.out").open("w") as output:
        environment = os.environ | {"EARNEST_VAR": var, "EARNEST_PORT": PORT}
        began = time.monotonic()
        make = subprocess.Popen(["make", "run"], cwd=clone, env=environment, stdout=output)

        def tell(what: str, is_there: Callable[[], bool]) -> None:
            while not is_there():
                if make.poll() is not None or time.monotonic() > began + LIMIT_S:
                    sys.exit(Path(output.name).read_text())
                time.sleep(0.1)
            seconds, used = time.monotonic() - began, cpu_s(psutil.Process(make.pid))
            size = subprocess.check_output(["du", "-s", "-B", "1000000", clone / ".venv"])
            gigabytes = int(size.split()[0]) / 1000
            print(f"{what}: {seconds:.0f} s, {used:.0f} CPU s, {gigabytes:.2f} GB", flush=True)

        try:
            tell("first page", answers)
            tell("all packages", (clone / ".venv" / "run.stamp").exists)
        finally:
            for child in psutil.Process(make.pid).children():
                child.send_signal(signal.SIGINT)
            make.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
