"""The processes of a running Earnest: how each is started, and that it is started again."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from config.log_pipes import LogPipes
from config.places import CODE
from config.processes import signal_group, spawn

STEADY_S = 30.0  # a process that lived this long may restart at once
LONGEST_PAUSE_S = 10.0
PAGES = "config.web:application"
MOST_CONNECTIONS = 8192  # per web worker; every rater's browser keeps one or a few open


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

    def start(self) -> None:
        self.child = spawn(self.command, log=None, cwd=CODE, death_signal=self.death_signal)
        self.pipes.attach(self.child, self.log)
        self.started_at = time.monotonic()

    def heal(self) -> str | None:
        """Starts the process again when it ended and its pause is over; says what it saw."""
        if self.child is None:
            if time.monotonic() >= self.wait_until:
                self.start()
            return None
        status = self.child.poll()
        if status is None:
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


def jobs_command(name: str = "jobs", queues: str = "default,analysis") -> list[str]:
    """The worker of everything but the GPU's queue."""
    return _worker(name, "-Q", queues, "--pool", "threads", "--concurrency", "4")


def _gpu_command() -> list[str]:
    return _worker("gpu", "-Q", "gpu", "--pool", "solo")


def _beat_command() -> list[str]:
    return _celery("config.clock", "beat", "--scheduler", "celery.beat:Scheduler", "--pidfile", "")


def _pages_command() -> list[str]:
    from django.conf import settings

    workers = settings.EARNEST_WEB_WORKERS
    return web_command(settings.EARNEST_HOST, settings.EARNEST_PORT, workers, PAGES)


# What containers run, one each (config/alone.py). `prepare` ends: tables, log-in, static files.
LONE_COMMANDS: dict[str, Callable[[], list[str]]] = {
    "web": _pages_command,
    "default": lambda: jobs_command("default", "default"),
    "analysis": lambda: jobs_command("analysis", "analysis"),
    "gpu": _gpu_command,
    "beat": _beat_command,
    "prepare": lambda: [sys.executable, "-m", "config.prepare", "/dev/null"],
}


def services(var: Path, host: str, port: int, workers: int, pipes: LogPipes) -> list[Service]:
    logs = var / "logs"
    pages = web_command(host, port, workers, PAGES)
    return [
        Service("web", pages, logs / "web.log", pipes),
        Service(
            "jobs", jobs_command(), logs / "jobs.log", pipes, signal.SIGKILL
        ),  # else it waits for a dead queue
        Service("gpu", _gpu_command(), logs / "gpu.log", pipes, signal.SIGKILL),
        Service("beat", _beat_command(), logs / "beat.log", pipes),
    ]
