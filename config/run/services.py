"""The processes of a running Earnest: how each is started, and that it is started again."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from config.installation import CODE
from config.run.embedded_servers import VALKEY, socket_folder
from config.run.on_demand_worker import RestingQueue
from config.run.processes import LogPipes, signal_group, spawn

STEADY_S = 30.0  # a process that lived this long may restart at once
LONGEST_PAUSE_S = 10.0
REST_AFTER_S = 600  # without a job: the GPU's worker gives its memory back
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
    wanted: Callable[[], bool] | None = None  # it rests while this is false

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
    from django.conf import settings

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


def services(var: Path, host: str, port: int, workers: int, pipes: LogPipes) -> list[Service]:
    """The pages and the workers; the clock is a thread of that worker which does what it sends."""
    logs = var / "logs"
    pages = web_command(host, port, workers, PAGES_OF_A_START)
    jobs = jobs_command("jobs", "default,analysis", "--clock")
    return [
        Service("web", pages, logs / "web.log", pipes),
        Service("jobs", jobs, logs / "jobs.log", pipes, signal.SIGKILL),
        _gpu_service(var, logs / "gpu.log", pipes),
    ]  # SIGKILL: else a worker waits for a dead queue


def _gpu_service(var: Path, log: Path, pipes: LogPipes) -> Service:
    queue = _embedded_queue(var, "gpu")
    if queue is None:
        return Service("gpu", _gpu_command(), log, pipes, signal.SIGKILL)
    command = _gpu_command("--rest-after", str(REST_AFTER_S))
    return Service("gpu", command, log, pipes, signal.SIGKILL, wanted=queue.has_jobs)


def _embedded_queue(var: Path, name: str) -> RestingQueue | None:
    """None where the broker is elsewhere."""
    from django.conf import settings

    prefix = settings.CELERY_BROKER_TRANSPORT_OPTIONS.get("global_keyprefix", "")
    address = socket_folder(var) / "valkey.sock"
    if VALKEY not in settings.EMBEDDED or str(address) not in settings.CELERY_BROKER_URL:
        return None
    return RestingQueue(var, name, f"{prefix}{name}", address)
