"""Child processes: started, stopped in time, dying with their parent; their output; file locks.

A server never runs as root when it was told so. What children print is read from pipes and written
to files that rotate while they run. The reader is the loop of whoever watches the children: no
thread, so a fork stays safe. A child never sees a full disk: lines that cannot be written are left
out, and their number is said.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import pwd
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_PR_SET_PDEATHSIG, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 1, 28, 47, 2
_NO_SETUID_FIXUP, _CAP_DAC_OVERRIDE, _CAP_VERSION_3 = 1 << 2, 1, 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Account:
    """Whom a server runs as: `walled` when the account cannot walk into its own folders."""

    uid: int
    gid: int
    walled: bool = False


def account_for_servers(*paths: Path) -> Account | None:
    """PostgreSQL refuses to run as root, so root's servers run as `nobody`; others as they are.

    Below a folder closed to others (a clone under /root) the account keeps one privilege of root,
    to pass closed folders, because opening root's folders to everybody would be worse.
    """
    if os.geteuid() != 0:
        return None
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise SystemExit("PostgreSQL needs a user `nobody`; start as a normal user.") from None
    walls = {parent for path in paths for parent in closed_folders(path, nobody.pw_uid)}
    return Account(nobody.pw_uid, nobody.pw_gid, walled=bool(walls))


def closed_folders(path: Path, uid: int) -> list[Path]:
    """The folders on the way to `path` that this account may not pass: closed, and not its own."""
    parents = [(p, p.stat()) for p in path.resolve().parents if p.exists()]
    return [p for p, facts in parents if not facts.st_mode & 0o001 and facts.st_uid != uid]


def _become(account: Account) -> None:
    if account.walled:  # without this bit, access(2) would look without the privilege
        _libc.prctl(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP, 0, 0, 0)
    os.setgroups([])
    os.setgid(account.gid)
    os.setuid(account.uid)
    if account.walled:
        header = (ctypes.c_uint32 * 2)(_CAP_VERSION_3, 0)
        bit = 1 << _CAP_DAC_OVERRIDE
        wanted = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
        has_capability = _libc.capset(header, wanted) == 0
        ambient = (_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0)
        if not has_capability or _libc.prctl(*ambient) != 0:
            os._exit(126)


def _in_child(death_signal: int, account: Account | None, parent: int) -> Callable[[], None]:
    def prepare() -> None:
        if account:
            _become(account)
        if sys.platform == "linux":  # after setuid, which clears it
            _libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(125)

    return prepare


def spawn(
    command: Sequence[str | Path],
    *,
    log: Path | None,
    cwd: Path,
    death_signal: int = signal.SIGTERM,
    account: Account | None = None,
) -> subprocess.Popen[bytes]:
    """Starts a child in its own process group; call it from the main thread only.

    What it prints goes to the file, or without one into the child's pipe.
    """
    output: IO[bytes] | int = subprocess.PIPE
    if log:
        log.parent.mkdir(parents=True, exist_ok=True)
        output = log.open("ab")
    try:
        return subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            process_group=0,
            preexec_fn=_in_child(death_signal, account, os.getpid()),
        )
    finally:
        if not isinstance(output, int):
            output.close()


def run_as(
    account: Account | None, command: Sequence[str | Path], *, cwd: Path, text: str = ""
) -> str:
    """Runs a command to its end under `account` and returns what it printed; raises if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        input=text,
        capture_output=True,
        text=True,
        cwd=cwd,
        preexec_fn=_in_child(signal.SIGKILL, account, os.getpid()),
    )
    if done.returncode:
        raise subprocess.CalledProcessError(
            done.returncode, command, done.stdout, done.stderr or done.stdout
        )
    return done.stdout


def signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    """Signals the child and everything it started, even when the child itself is gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def stop(
    children: Iterable[subprocess.Popen[bytes]], *, number: int = signal.SIGTERM, grace_s: float
) -> None:
    """Asks all children at once, waits up to `grace_s`, then kills what is left of their groups."""
    stopping = list(children)
    for child in stopping:
        if child.poll() is None:
            child.send_signal(number)
    deadline = time.monotonic() + grace_s
    for child in stopping:
        with suppress(subprocess.TimeoutExpired):
            child.wait(max(0.0, deadline - time.monotonic()))
        signal_group(child, signal.SIGKILL)
        child.wait()


def last_lines(path: Path, count: int = 8) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-count:])
    except FileNotFoundError:
        return ""


def open_lock(path: Path) -> int:
    """Open a file to lock; the kernel frees the lock when the process ends."""
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def try_lock(handle: int) -> bool:
    """Lock the file for this process alone, unless another one holds it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


LARGEST_BYTES = 20 * 1024**2
KEPT = 3  # older files of each log
PIPE_BYTES = 1024**2  # what children may print while their reader does something else
_F_SETPIPE_SZ = 1031


class RotatingLog:
    """A file that is appended to; a full one is renamed, so that no line is lost or copied."""

    def __init__(
        self, path: Path, largest_bytes: int = LARGEST_BYTES, files_kept: int = KEPT
    ) -> None:
        self.path, self.largest_bytes, self.files_kept = path, largest_bytes, files_kept
        self.left_out = 0
        self.begins_line = True

    def write(self, data: bytes) -> None:
        """Whole lines stay in one file: it rotates only where a line begins."""
        try:
            full = self.path.exists() and self.path.stat().st_size >= self.largest_bytes
            if full and not self.begins_line:
                line, end, data = data.partition(b"\n")
                self._append(line + end)
            if full and self.begins_line:
                self._rotate()
            if data:
                self._append(data)
        except OSError:
            self.left_out += len(data)

    def _append(self, data: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if self.left_out:
                gap = b"" if self.begins_line else b"\n"
                os.write(handle, gap + b"(%d bytes could not be written here)\n" % self.left_out)
                self.left_out = 0
            written = os.write(handle, data)
        finally:
            os.close(handle)
        self.left_out = len(data) - written
        self.begins_line = data[:written].endswith(b"\n")

    def _rotate(self) -> None:
        names = [
            self.path.with_name(f"{self.path.name}.{n}") for n in range(1, self.files_kept + 1)
        ]
        for older, newer in zip(reversed(names), reversed([self.path, *names[:-1]]), strict=True):
            with suppress(FileNotFoundError):
                newer.replace(older)


class LogPipes:
    """The pipes of all children that one loop watches."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.logs: dict[Path, RotatingLog] = {}

    def attach(self, child: subprocess.Popen[bytes], path: Path) -> None:
        assert child.stdout is not None
        os.set_blocking(child.stdout.fileno(), False)
        if sys.platform == "linux":
            with suppress(OSError):  # more than the system allows
                fcntl.fcntl(child.stdout, _F_SETPIPE_SZ, PIPE_BYTES)
        log = self.logs.setdefault(path, RotatingLog(path))
        self.selector.register(child.stdout, selectors.EVENT_READ, log)

    def pump(self, wait_s: float) -> None:
        """Writes what has arrived; returns after `wait_s`, or a little later."""
        until = time.monotonic() + wait_s
        while True:
            left_s = max(0.0, until - time.monotonic())
            if not self.selector.get_map():
                time.sleep(left_s)
                return
            for key, _ in self.selector.select(left_s):
                self._read(key.fileobj, key.data)  # type: ignore[arg-type]  # what was registered
            if time.monotonic() >= until:
                return

    def _read(self, pipe: IO[bytes], log: RotatingLog) -> None:
        try:
            data = os.read(pipe.fileno(), PIPE_BYTES)
        except BlockingIOError:
            return
        if data:
            log.write(data)
        else:  # the child and all that it started have ended
            self.selector.unregister(pipe)
            pipe.close()

    def drain(self) -> None:
        """What children that have ended left in their pipes."""
        while self.selector.get_map():
            ready = self.selector.select(0)
            if not ready:
                return  # somebody else holds the pipe open and says nothing
            for key, _ in ready:
                self._read(key.fileobj, key.data)  # type: ignore[arg-type]  # what was registered
