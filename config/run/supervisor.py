"""The supervisor: start servers, pages and workers in order, restart what ends, stop them all."""

from __future__ import annotations

import errno
import json
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.environment import full_disk
from config.operations.shared_parts import refuse_strangers
from config.run.background_installation import COMMAND as INSTALL
from config.run.background_installation import BackgroundInstallation
from config.run.embedded_servers import VALKEY, EmbeddedError, socket_folder
from config.run.interrupted_restore import check_restored, forget_staged
from config.run.on_demand_worker import RestingQueue
from config.run.preparation import (
    AWAY_STATUS,
    REFUSED_STATUS,
    is_as_left,
    result_file,
    start_fingerprint,
)
from config.run.private_files import close_all
from config.run.processes import (
    LogPipes,
    last_lines,
    open_lock,
    signal_group,
    spawn,
    stop,
    try_lock,
)
from config.run.running_instance import lock_file, write_address
from config.run.server_checks import UnreachableError, try_database, try_media, try_redis
from config.run.shared_server import Use, join
from listening.common.command_name import CODE, IN_A_CLONE, OF_THE_DOCUMENTATION, START
from listening.common.counted import counted

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
CLEAR_LINE = "\r\x1b[K"
LOOK_EVERY_S = 0.1
GRACE_S = 4.0
STEADY_S = 30.0  # a process that lived this long may restart at once
LONGEST_PAUSE_S = 10.0
REST_AFTER_S = 600  # without a job: the GPU's worker gives its memory back
RESEARCHER_PATH = "/studies/"
PAGES = "config.web:application"
PAGES_OF_A_START = "config.run.gated_app:application"
MOST_CONNECTIONS = 16_384  # per web worker; each rater keeps one open, who comes beyond them waits


@dataclass
class Service:
    """One supervised process."""

    name: str
    command: list[str]
    log: Path
    pipes: LogPipes
    death_signal: int = signal.SIGTERM
    child: subprocess.Popen[bytes] | None = None
    failures: int = 0
    started_at: float = 0.0
    wait_until: float = field(default=0.0)
    wanted: Callable[[], bool] | None = None  # it is not started while this is false

    def start(self) -> None:
        self.child = spawn(self.command, log=None, cwd=CODE, death_signal=self.death_signal)
        self.pipes.attach(self.child, self.log)
        self.started_at = time.monotonic()

    def heal(self) -> str | None:
        """Starts the process again when it ended and its pause is over; says what it saw."""
        if self.child is None:
            if time.monotonic() >= self.wait_until and (self.wanted is None or self.wanted()):
                self.start()
            return None
        status = self.child.poll()
        if status is None:
            return None
        if status == 0 and self.wanted is not None:  # it had nothing to do
            self.child, self.failures = None, 0
            return None
        signal_group(self.child, signal.SIGKILL)  # what it left behind would keep its port
        lived_s = time.monotonic() - self.started_at
        self.failures = 0 if lived_s > STEADY_S else self.failures + 1
        pause_s = min(0.1 * 2**self.failures, LONGEST_PAUSE_S)
        self.child, self.wait_until = None, time.monotonic() + pause_s
        reason = f"signal {-status}" if status < 0 else f"status {status}"
        return f"{self.name} ended ({reason}); starting again in {pause_s:.1f} s, see {self.log}"


def web_command(host: str, port: int, workers: int, target: str) -> list[str]:
    """Granian starts killed workers again and ends those that do not stop in time."""
    options = {
        "--interface": "asginl",
        "--host": host,
        "--port": str(port),
        "--workers": str(workers),
        "--workers-kill-timeout": "5",
        "--respawn-interval": "0.5",
        "--backlog": "4096",
        "--backpressure": str(MOST_CONNECTIONS),
        "--loop": "asyncio",
        "--task-impl": "asyncio",
        "--log-level": "warning",
        "--http": "1",
    }
    words = [word for option in options.items() for word in option]
    return [sys.executable, "-m", "granian", *words, "--respawn-failed-workers", "--ws", target]


def _celery(app: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "celery", "-A", app, *words]


def _worker(name: str, *words: str) -> list[str]:
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    named = ("-n", f"{name}@%h", "--loglevel", "info")
    return _celery("config.celery", "worker", *named, *quiet, *words)


def jobs_command(name: str = "jobs", queues: str = "default,analysis", *more: str) -> list[str]:
    """The worker of everything but the GPU's queue."""
    return _worker(name, "-Q", queues, "--pool", "threads", "--concurrency", "4", *more)


def _gpu_command(*more: str) -> list[str]:
    return _worker("gpu", "-Q", "gpu", "--pool", "solo", *more)


def _beat_command() -> list[str]:
    return _celery(
        "config.clock", "beat", "--scheduler", "config.beat_scheduler:Scheduler", "--pidfile", ""
    )


def _pages_command() -> list[str]:
    workers = settings.EARNEST_WEB_WORKERS
    return web_command(settings.EARNEST_HOST, settings.EARNEST_PORT, workers, PAGES)


# What containers run, one each (single_process.py). `prepare` ends: tables, login, static files.
LONE_COMMANDS: dict[str, Callable[[], list[str]]] = {
    "web": _pages_command,
    "default": lambda: jobs_command("default", "default"),
    "analysis": lambda: jobs_command("analysis", "analysis"),
    "gpu": _gpu_command,
    "beat": _beat_command,
    "prepare": lambda: [sys.executable, "-m", "config.run.preparation", "/dev/null"],
}


def services(
    var: Path, host: str, port: int, workers: int, pipes: LogPipes, rest: BackgroundInstallation
) -> list[Service]:
    """The pages and the workers; the clock is a thread of that worker which does what it sends."""
    logs = var / "logs"
    pages = web_command(host, port, workers, PAGES_OF_A_START)
    jobs = jobs_command("jobs", "default,analysis", "--clock")
    return [
        Service("web", pages, logs / "web.log", pipes),
        Service("jobs", jobs, logs / "jobs.log", pipes, signal.SIGKILL),
        _gpu_service(var, logs / "gpu.log", pipes, rest),
        Service("installation", INSTALL, logs / "installation.log", pipes, wanted=rest.is_wanted),
    ]  # SIGKILL: else a worker waits for a dead queue


def _gpu_service(var: Path, log: Path, pipes: LogPipes, rest: BackgroundInstallation) -> Service:
    """The worker of the GPU's queue: on demand where the broker is the embedded one.

    It waits for its packages: jobs stay in their queue meanwhile.
    """
    address = socket_folder(var) / "valkey.sock"
    if VALKEY not in settings.EMBEDDED or str(address) not in settings.CELERY_BROKER_URL:
        wanted = rest.is_done if rest.due else None
        return Service("gpu", _gpu_command(), log, pipes, signal.SIGKILL, wanted=wanted)
    prefix = settings.CELERY_BROKER_TRANSPORT_OPTIONS.get("global_keyprefix", "")
    queue = RestingQueue(var, "gpu", f"{prefix}gpu", address)
    command = _gpu_command("--rest-after", str(REST_AFTER_S))
    return Service(
        "gpu",
        command,
        log,
        pipes,
        signal.SIGKILL,
        wanted=queue.has_jobs if not rest.due else lambda: queue.has_jobs() and rest.is_done(),
    )


LIVENESS_EVERY_S = 5.0
LIVENESS_PATIENCE_S = 10.0
LIVENESS_FAILURES = 6  # in a row; a count and no time, as the loop itself may have been stopped
# Not /readyz: pages that run and say that the disk is full are better than none.
REQUEST = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Liveness:
    """Ask the pages whether they live, one question at a time and without waiting.

    Pages that start are asked all the time, others every few seconds. Many questions in a row
    without an answer mean that they hang.
    """

    def __init__(self, host: str, port: int) -> None:
        self.address = (host, port)
        self.asking: socket.socket | None = None
        self.deadline = self.next_at = 0.0
        self.sent = False
        self.failures = 0
        self.answered = False  # since the pages were started: a slow start is not a hang

    def forget(self) -> None:
        """The pages start anew: so does the count."""
        self._end()
        self.failures, self.answered = 0, False

    def is_dead(self, now: float) -> bool:
        """Take one step; return whether too many questions in a row got no answer."""
        self.step(now)
        return self.failures >= LIVENESS_FAILURES

    def step(self, now: float) -> None:
        """Ask, or look for the answer."""
        if self.asking is not None:
            self._go_on(now)
        elif now >= self.next_at or not self.answered:
            self._ask(now)

    def _ask(self, now: float) -> None:
        family = socket.AF_INET6 if ":" in self.address[0] else socket.AF_INET
        self.asking = socket.socket(family)
        self.asking.setblocking(False)
        self.asking.connect_ex(self.address)
        self.sent = False
        self.deadline, self.next_at = now + LIVENESS_PATIENCE_S, now + LIVENESS_EVERY_S

    def _go_on(self, now: float) -> None:
        assert self.asking is not None
        try:
            if not self.sent:
                with suppress(BlockingIOError):
                    self.asking.sendall(REQUEST)
                    self.sent = True
            elif select.select([self.asking], [], [], 0)[0]:
                self._count(b" 200 " in self.asking.recv(64))
                return
        except OSError:
            self._count(False)
            return
        if now > self.deadline:
            self._count(False)

    def _count(self, alive: bool) -> None:
        self.answered = self.answered or alive
        self.failures = self.failures + 1 if self.answered and not alive else 0
        self._end()

    def _end(self) -> None:
        if self.asking is not None:
            self.asking.close()
            self.asking = None


class StartError(Exception):
    """Earnest cannot start; the message says why and what to do."""


def say(text: str, *, passing: bool = False) -> None:
    """Print a line; on a terminal, the next one takes the place of a passing one."""
    if not sys.stdout.isatty():
        print(text, flush=True)
    elif passing:
        columns = shutil.get_terminal_size().columns - 1
        print(f"{CLEAR_LINE}{text[:columns]}", end="", flush=True)
    else:
        print(f"{CLEAR_LINE}{text}", flush=True)


class Supervisor:
    def __init__(self, install: bool = False) -> None:
        self.var: Path = settings.EARNEST_VAR
        self.host: str = settings.EARNEST_HOST
        self.port: int = settings.EARNEST_PORT
        self.stopping = False
        self.after_a_kill = False
        self.uses: list[Use] = []
        self.services: list[Service] = []
        self.pipes = LogPipes()
        self.rest = BackgroundInstallation(install)
        self.liveness = Liveness(loopback(self.host), self.port)

    def run(self) -> int:
        self.take_lock()
        try:
            check_restored(self.var)
            self.check_port()
            self.catch_signals()
            allow_open_files(2 * MOST_CONNECTIONS)
            say(f"Earnest starts; its data and logs are in {self.var} ...")
            if words := forget_staged(self.var):
                say(words)
            self.close_files()
            as_left = is_as_left(start_fingerprint())
            try_database()
            try_redis()
            try_media()
            refuse_strangers("")
            self.import_pages(early=as_left)
            self.uses = join(self.var, settings.EMBEDDED)
            entry = self.prepare()
            if not self.stopping:
                self.open_pages()
                self.announce(entry)
            self.watch()
        finally:
            self.stop()
        return 0

    # --- Starting ------------------------------------------------------------------------------

    def take_lock(self) -> None:
        """One supervisor per EARNEST_VAR; the kernel frees the lock of a killed one."""
        self.lock = open_lock(lock_file(self.var))
        where = os.pread(self.lock, 200, 0).decode(errors="replace").partition("\n")[0]
        deadline = time.monotonic() + 0.3  # a command that looks for us holds it for an instant
        while not try_lock(self.lock):
            if time.monotonic() > deadline:
                raise StartError(
                    f"It already runs with the data in {self.var} (at {where or 'another address'})"
                    ". Stop that one with Ctrl-C first, or set EARNEST_VAR to another folder."
                )
            time.sleep(LOOK_EVERY_S)
        self.after_a_kill = bool(where)  # a clean stop empties the file
        write_address(self.lock, settings.EARNEST_PUBLIC_URL, self.host, self.port)

    def check_port(self) -> None:
        """A killed predecessor's pages get time to go; another program's port is an error."""
        deadline = time.monotonic() + (8.0 if self.after_a_kill else 0.0)
        while error := self.bind_error():
            taken = error.errno == errno.EADDRINUSE
            if not taken or time.monotonic() > deadline:
                os.truncate(self.lock, 0)
                if not taken:
                    raise StartError(
                        f"EARNEST_HOST={self.host} with EARNEST_PORT={self.port} cannot be used: "
                        f"{error.strerror}. Choose an address of this machine, such as 127.0.0.1, "
                        "and a port that this account may use."
                    )
                raise StartError(
                    f"Port {self.port} on {self.host} is taken by another program. Stop that "
                    "program, or choose another port, for instance: "
                    f"EARNEST_PORT={self.port + 1} {START}"
                )
            time.sleep(LOOK_EVERY_S)

    def bind_error(self) -> OSError | None:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
            except OSError as error:
                return error
        return None

    def close_files(self) -> None:
        """What an earlier version left open to other accounts."""
        media = Path(settings.MEDIA_ROOT)
        closed, left = close_all(self.var, media, settings.EARNEST_FILE_GROUP)
        if closed:
            files = counted(len(closed), "file or folder", "files and folders")
            say(f"Closed what was open to other accounts: {files}.")
        for path in left[:5]:
            say(f"{path} is open to other accounts and belongs to one of them: close it by hand.")

    def import_pages(self, *, early: bool) -> None:
        """Now, where nothing has changed; else when static files and tables are made."""
        workers = settings.EARNEST_WEB_WORKERS
        result_file().unlink(missing_ok=True)
        self.services = services(self.var, self.host, self.port, workers, self.pipes, self.rest)
        if early:
            self.services[0].start()

    def prepare(self) -> dict[str, str]:
        """Tables, demo study, static files and log-in; returns where raters enter which study.

        A database that dies meanwhile, or a full disk, is waited for; a mistake is not.
        """
        result, log = result_file(), self.var / "logs" / "prepare.log"
        tries = 0
        while not self.stopping:
            status = self.prepare_once(result, log)
            if self.stopping:
                break
            if status == 0:
                entry: dict[str, str] = json.loads(result.read_text())
                return entry
            if status == REFUSED_STATUS:
                raise StartError(last_lines(log, 1))
            if status != AWAY_STATUS:
                raise StartError(f"The preparation failed; see {log}. Its end:\n{last_lines(log)}")
            tries += 1
            pause_s = min(0.5 * 2**tries, LONGEST_PAUSE_S)
            say(f"The preparation waits for a server or for space: {last_lines(log, 1)}")
            self.wait(pause_s)
        return {}

    def prepare_once(self, result: Path, log: Path) -> int:
        result.unlink(missing_ok=True)
        command = [sys.executable, "-m", "config.run.preparation", str(result)]
        child = spawn(command, log=log, cwd=CODE)
        while child.poll() is None and not self.stopping:
            self.heal()
            self.pipes.pump(LOOK_EVERY_S / 4)
        stop([child], grace_s=GRACE_S)
        return child.returncode

    def wait(self, seconds: float) -> None:
        """Heals what runs meanwhile, and ends early when all is to stop."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.stopping:
            self.heal()
            self.pipes.pump(LOOK_EVERY_S)

    def open_pages(self, limit_s: float = 60.0) -> None:
        web, *workers = self.services
        deadline = time.monotonic() + limit_s
        if web.child is None:
            web.start()
        while not self.liveness.answered and not self.stopping:
            self.heal(web)
            self.liveness.step(time.monotonic())
            if time.monotonic() > deadline:
                raise StartError(
                    f"The pages do not answer; see {web.log}. Its end:\n{last_lines(web.log)}"
                )
            self.pipes.pump(LOOK_EVERY_S / 4)
        self.heal(*workers)

    def announce(self, entry: dict[str, str]) -> None:
        if self.stopping:
            return
        url: str = settings.EARNEST_PUBLIC_URL
        study = f"study “{entry['study']}”" if entry["study"] else "no study is open yet"
        raters = urlsplit(url)._replace(path=entry["path"]).geturl()
        say(f"\n  Raters:      {raters}   ({study})")
        say(f"  Researcher:  {url}{RESEARCHER_PATH}")
        login = self.var / "researcher-login.txt"
        if login.exists():
            say(f"               {shown_login(login)}")
        if not IN_A_CLONE:
            say(f"\n{OF_THE_DOCUMENTATION}")
        say("\nCtrl-C stops everything; the data stays.")

    # --- Running -------------------------------------------------------------------------------

    def catch_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.on_signal)

    def on_signal(self, number: int, frame: object) -> None:
        if self.stopping:  # asked twice: at once
            for service in self.services:
                if service.child:
                    signal_group(service.child, signal.SIGKILL)
        self.stopping = True

    def watch(self) -> None:
        while not self.stopping:
            self.heal(*self.services)
            self.end_hung_pages()
            news, passing = self.rest.news()
            if news:
                say(news, passing=passing)
            self.pipes.pump(LOOK_EVERY_S)

    def end_hung_pages(self) -> None:
        """Pages that run and answer nothing for long are killed; `heal` starts them again."""
        web = self.services[0]
        if web.child is None:
            self.liveness.forget()
        elif self.liveness.is_dead(time.monotonic()):
            say("web does not answer; killing it")
            signal_group(web.child, signal.SIGKILL)
            self.liveness.forget()

    def heal(self, *started: Service) -> None:
        for service in started:
            seen = service.heal()
            if seen:
                say(seen)
        for use in self.uses:
            try:
                use.ensure_kept()
            except EmbeddedError as error:
                say(f"{error}\nTrying again.")
                self.pipes.pump(1)

    # --- Stopping ------------------------------------------------------------------------------

    def stop(self) -> None:
        began = time.monotonic()
        children = [service.child for service in self.services if service.child]
        ask(children, signal.SIGTERM, GRACE_S * 0.75, self.pipes)  # jobs may end
        ask(children, signal.SIGQUIT, GRACE_S * 0.25, self.pipes)  # jobs go back to their queue
        stop(children, grace_s=0)
        self.pipes.drain()
        for use in self.uses:
            use.leave()
        for use in self.uses:
            use.wait_until_stopped(10)
        os.truncate(self.lock, 0)
        if self.uses or children:
            say(f"Earnest stopped in {time.monotonic() - began:.1f} s.")


def shown_login(file: Path) -> str:
    """Return the first login on a terminal; elsewhere only the file that holds it."""
    if not sys.stdout.isatty():
        return f"user and first password are kept in {file}"
    return f"{', '.join(file.read_text().split(chr(10))).strip(', ')}   (kept in {file})"


def allow_open_files(wanted: int) -> None:
    """Each connection is an open file, and the usual limit is 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


def loopback(host: str) -> str:
    """Where the supervisor reaches pages that listen on every address."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def ask(
    children: list[subprocess.Popen[bytes]], number: int, patience_s: float, pipes: LogPipes
) -> None:
    """Signals all that still run, and waits until they ended or the patience did."""
    for child in children:
        if child.poll() is None:
            child.send_signal(number)
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline and any(child.poll() is None for child in children):
        pipes.pump(0.02)


def main() -> int:
    try:
        return Supervisor(install="--install" in sys.argv).run()
    except (ImproperlyConfigured, EmbeddedError, UnreachableError, StartError) as error:
        print(f"Earnest cannot start. {error}", file=sys.stderr, flush=True)
        return 1
    except OSError as error:
        if not (words := full_disk(error, settings.EARNEST_VAR)):
            raise
        print(f"Earnest cannot start. {words}", file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
