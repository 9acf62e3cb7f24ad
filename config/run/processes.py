"""Child processes that die with their parent, never run as root when told so, and stop in time."""

import ctypes
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
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
        kept = _libc.capset(header, wanted) == 0
        ambient = (_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0)
        if not kept or _libc.prctl(*ambient) != 0:
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
    environment: Mapping[str, str] | None = None,
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
            env=environment,
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
