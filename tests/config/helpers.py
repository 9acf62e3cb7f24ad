"""A house of its own for a test: folder, port, supervisor, and the processes it consists of."""

import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self, TypeVar

import psutil

from config.run.embedded_servers import SERVERS, socket_folder

BASE_DIR = Path(__file__).resolve().parent.parent.parent
T = TypeVar("T")
PATIENCE_S = 240.0  # whatever works is done by then, on a starved machine too
RETRY_S = 20.0  # a request to a house whose parts are killed may get no answer: ask again


def wait_for(what: Callable[[], T | None], every_s: float = 0.05) -> T:
    """The first true value of `what`; fails when there is none in a long time."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := what()):
        assert time.monotonic() < deadline, f"waited {PATIENCE_S} s in vain"
        time.sleep(every_s)
    return value


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A short folder that every user may pass; nothing of it is left behind."""
    folder = Path(tempfile.mkdtemp(prefix="earnest-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for process in processes_in(folder):
            with contextlib.suppress(psutil.Error):
                process.kill()
        shutil.rmtree(socket_folder(folder), ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def open_places(var: Path) -> list[Path]:
    """What other accounts may read, list or enter under a house's folder, itself not counted."""
    places = [path for path in sorted(var.rglob("*")) if not path.is_symlink()]
    return [path for path in places if path.lstat().st_mode & 0o077]


def processes_in(folder: Path) -> list[psutil.Process]:
    """Every live process that works in the folder or was started for it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            words = " ".join(process.cmdline())
            inside = str(folder) in words or process.cwd().startswith(str(folder))
            if inside or process.environ().get("EARNEST_VAR") == str(folder):
                found.append(process)
    return found


class House:
    """A supervisor with its own folder and port."""

    def __init__(self, var: Path, port: int | None = None, **environment: str) -> None:
        self.var, self.port = var, port or free_port()
        self.log = var / "supervisor.out"
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("DJANGO_", "EARNEST_"))}
        self.environment = clean | {
            "EARNEST_VAR": str(var),
            "EARNEST_PORT": str(self.port),
            "EARNEST_DEMO": "0",
            **environment,
        }

    def start(self, wait: bool = True, before: Sequence[str] = ()) -> Self:
        with self.log.open("w") as output:
            self.process = subprocess.Popen(
                [*before, sys.executable, "-m", "config.run.supervisor"],
                cwd=BASE_DIR,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=0,
            )
        if wait:
            wait_for(lambda: self.process.poll() is not None or "Researcher:" in self.said)
            assert self.process.poll() is None, self.said
        return self

    @property
    def said(self) -> str:
        return self.log.read_text()

    def health(self) -> int | None:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=RETRY_S)
        try:
            client.request("GET", "/readyz")
            return client.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            client.close()

    def stop(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def part(self, name: str) -> psutil.Process | None:
        """The live process of this house that is known by this name."""
        marks = {
            "web": "-m granian",
            "jobs": "jobs@",
            "gpu": "gpu@",
            "postgres keeper": "config.run.shared_server",
            "valkey keeper": "config.run.shared_server",
        }
        if name in SERVERS:
            return self._server(name)
        for process in psutil.Process(self.process.pid).children():
            with contextlib.suppress(psutil.Error):
                words = " ".join(process.cmdline())
                ending = name.split()[0] if "keeper" in name else ""
                if marks.get(name, "-m granian") in words and words.endswith(ending):
                    if name != "web worker":
                        return process
                    return next(iter(process.children()), None)
        return None

    def _server(self, name: str) -> psutil.Process | None:
        keeper = self.part(f"{name} keeper")
        with contextlib.suppress(psutil.Error):
            for child in keeper.children() if keeper else ():
                if child.name() == SERVERS[name].process_name:
                    return child
        return None
