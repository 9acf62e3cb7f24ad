"""Where the running Earnest is: its supervisor says so in its lock file, and commands read it."""

import fcntl
import os
from collections.abc import MutableMapping
from pathlib import Path

from config.environment import Environment
from config.installation import default_var

NAMES = ("EARNEST_PUBLIC_URL", "EARNEST_HOST", "EARNEST_PORT")  # the lines of the file


def lock_file(var: Path) -> Path:
    return var / "supervisor.lock"


def write_address(lock: int, public_url: str, host: str, port: int) -> None:
    os.truncate(lock, 0)
    os.pwrite(lock, f"{public_url}\n{host}\n{port}\n".encode(), 0)


def read_address(var: Path) -> dict[str, str]:
    """The variables of the supervisor that runs with this folder; empty when none runs."""
    try:
        handle = os.open(lock_file(var), os.O_RDONLY)
    except OSError:
        return {}
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(handle, 1000, 0).decode(errors="replace")
        return dict(zip(NAMES, text.splitlines(), strict=False))
    finally:
        os.close(handle)  # and with it the lock
    return {}


def follow(variables: MutableMapping[str, str]) -> None:
    """Sets the address of the running Earnest, unless the variables name an address themselves."""
    environment = Environment(variables)
    if environment.text("EARNEST_PUBLIC_URL") or environment.text("EARNEST_PORT"):
        return
    for name, value in read_address(environment.folder("EARNEST_VAR", default_var())).items():
        if not environment.text(name):
            variables[name] = value
