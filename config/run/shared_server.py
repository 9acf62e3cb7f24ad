"""Runs an embedded server while anybody uses it: the first user starts it, the last one stops it.

Every user (a command, the test run, the supervisor) holds a shared lock on VAR/<server>.users. A
keeper process per server holds VAR/<server>.keeper, restarts its server when it dies, and stops it
as soon as no user holds the lock. The kernel frees the locks of killed processes, so nothing leaks.
"""

import atexit
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from config.run.embedded_servers import (
    SERVERS,
    EmbeddedError,
    Server,
    account,
    check_space,
    stop_leftovers,
)
from config.run.processes import LogPipes, last_lines, open_lock, spawn, stop, try_lock
from listening.common.command_name import CODE

ALREADY_KEPT = 3  # exit status of a keeper that finds another one at work
LOOK_EVERY_S = 0.1


def log_file(var: Path, server: Server) -> Path:
    return var / "logs" / f"{server.name}.log"


_keepers: list[subprocess.Popen[bytes]] = []  # started here; they may outlive their users


# --- The user's side -----------------------------------------------------------------------------


class Use:
    """One user's hold on one embedded server."""

    def __init__(self, var: Path, server: Server) -> None:
        self.var, self.server = var, server
        self._keeper: subprocess.Popen[bytes] | None = None
        self._users = open_lock(var / f"{server.name}.users")
        fcntl.flock(self._users, fcntl.LOCK_SH)  # waits while a keeper is just stopping

    def ensure_kept(self) -> None:
        """Starts a keeper if there is none; raises when ours found that the server cannot run."""
        if self._keeper is not None:
            status = self._keeper.poll()
            if status is None:
                return
            if status not in (0, ALREADY_KEPT, -signal.SIGKILL):
                raise EmbeddedError(
                    f"{self.server.name} does not start:\n"
                    f"{last_lines(log_file(self.var, self.server))}"
                )
            self._keeper = None
        if not self._is_kept():
            check_space(self.server, self.var)
            log_file(self.var, self.server).parent.mkdir(exist_ok=True)
            with log_file(self.var, self.server).open("ab") as log:
                self._keeper = subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "config.run.shared_server",
                        str(self.var),
                        self.server.name,
                    ],
                    cwd=CODE,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            _keepers.append(self._keeper)

    def _is_kept(self) -> bool:
        handle = open_lock(self.var / f"{self.server.name}.keeper")
        try:
            return not try_lock(handle)
        finally:
            os.close(handle)

    def wait_until_ready(self, limit_s: float = 600) -> None:
        deadline = time.monotonic() + limit_s
        while not self.server.answers(self.var):
            self.ensure_kept()
            if time.monotonic() > deadline:
                log = log_file(self.var, self.server)
                raise EmbeddedError(f"{self.server.name} does not answer; see {log}.")
            time.sleep(0.03)

    def leave(self) -> None:
        """Gives up the hold; the keeper stops the server soon if nobody else holds it."""
        os.close(self._users)

    def wait_until_stopped(self, limit_s: float) -> bool:
        """After `leave`: waits for the server to stop; False when others still use it."""
        time.sleep(2 * LOOK_EVERY_S)  # so that the keeper has looked
        deadline = time.monotonic() + limit_s
        while self._is_kept():
            if time.monotonic() > deadline or self._is_used():
                return False
            if self._keeper is not None:
                self._keeper.poll()
            time.sleep(0.02)
        return True

    def _is_used(self) -> bool:
        """Whether anybody holds the server; a keeper that is stopping it holds it alone."""
        handle = open_lock(self.var / f"{self.server.name}.users")
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return self._is_kept()
        except BlockingIOError:
            return False
        finally:
            os.close(handle)


_held: list[Use] = []  # until this process ends


def join(var: Path, servers: Sequence[Server]) -> list[Use]:
    """Starts the servers unless they run, and keeps them running while this process lives."""
    uses = [Use(var, server) for server in servers]
    _held.extend(uses)
    for use in uses:
        if not use.server.answers(var):
            use.ensure_kept()
    for use in uses:
        use.wait_until_ready()
    return uses


@atexit.register
def _let_keepers_go() -> None:
    """A keeper may outlive the process that started it: Python need not warn of a lost child."""
    for keeper in _keepers:
        if keeper.poll() is None:
            keeper.returncode = 0


# --- The keeper's side ---------------------------------------------------------------------------


class Keeper:
    def __init__(self, var: Path, server: Server) -> None:
        self.var, self.server = var, server
        self.stopping = False
        self.users = open_lock(var / f"{server.name}.users")
        self.pipes = LogPipes()

    def run(self) -> None:
        """Keeps the server running until nobody uses it; gives up on one that never starts."""
        owner = account(self.var)
        failures = 0
        while not self._nobody_left():
            stop_leftovers(self.server, self.var)
            self.server.prepare(self.var, owner)
            started = time.monotonic()
            child = spawn(
                self.server.command(self.var),
                log=None,
                cwd=self.server.folder(self.var),
                death_signal=self.server.stop_signal,
                account=owner,
            )
            self.pipes.attach(child, log_file(self.var, self.server))
            try:
                while child.poll() is None and not self._nobody_left():
                    self.pipes.pump(LOOK_EVERY_S)
            finally:
                stop([child], number=self.server.stop_signal, grace_s=60)
                self.pipes.drain()
            if self.stopping:
                return
            failures = failures + 1 if time.monotonic() - started < 5 else 0
            if failures >= 5:
                raise EmbeddedError(f"{self.server.name} ended {failures} times at its start.")
            print(f"{self.server.name} ended (status {child.returncode}); starting again")
            time.sleep(min(0.1 * 2**failures, 5))

    def _nobody_left(self) -> bool:
        self.stopping = self.stopping or try_lock(self.users)
        return self.stopping

    def stop(self, *_: object) -> None:
        self.stopping = True


def main(var: Path, name: str) -> int:
    lock = open_lock(var / f"{name}.keeper")
    if not try_lock(lock):
        return ALREADY_KEPT
    keeper = Keeper(var, SERVERS[name])
    signal.signal(signal.SIGTERM, keeper.stop)
    signal.signal(signal.SIGINT, keeper.stop)
    try:
        keeper.run()
    except EmbeddedError as error:
        print(error, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
