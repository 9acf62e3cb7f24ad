"""What is under EARNEST_VAR is its account's own: files 0600, folders 0700.

Two may pass its first folder, and list nothing there: embedded servers that root's Earnest runs as
another account, and the group of a proxy that sends clips (EARNEST_FILE_GROUP).
"""

from __future__ import annotations

import grp
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from config.environment import wrong

UMASK = 0o077
FILE, FOLDER = 0o600, 0o700
GROUP_FILE, GROUP_FOLDER = 0o640, 0o2750  # new files in the folder belong to its group
# The embedded servers close these themselves, and may own them.
SERVERS_FOLDERS = ("postgres", "valkey", "run")


def group_of(name: str, value: str) -> int | None:
    """The number of the group that is named, which this account must be able to give files to."""
    if not value:
        return None
    try:
        number = grp.getgrnam(value).gr_gid
    except KeyError:
        raise wrong(name, value, "there is no group of that name on this machine.") from None
    if os.geteuid() != 0 and number not in (os.getegid(), *os.getgroups()):
        raise wrong(name, value, f"this account is not in it: usermod -a -G {value} ACCOUNT.")
    return number


def close_folder(var: Path, group: int | None, *, passed_by_servers: bool) -> None:
    """Closes EARNEST_VAR itself, if it is this account's and holds nothing but Earnest."""
    if not _is_ours(var):
        return
    mode = 0o711 if passed_by_servers else FOLDER if group is None else 0o710
    _set(var, mode, group)


def close_all(var: Path, media: Path, group: int | None) -> tuple[list[Path], list[Path]]:
    """Closes what is open under EARNEST_VAR, and gives the clips to the group.

    What was closed, and what could not be: another account's.
    """
    wanted: list[tuple[Path, int, int | None]] = []
    if _is_ours(var):
        wanted += [(path, FOLDER if path.is_dir() else FILE, None) for path in _below(var, media)]
    if group is not None:
        media.mkdir(exist_ok=True)
    if media.is_dir() and (group is not None or media.is_relative_to(var)):
        folder, file = (FOLDER, FILE) if group is None else (GROUP_FOLDER, GROUP_FILE)
        media_paths = [media, *_below(media, None)]
        wanted += [(path, folder if path.is_dir() else file, group) for path in media_paths]
    closed: list[Path] = []
    left: list[Path] = []
    for path, mode, owner in wanted:
        was_open = _mode(path) & 0o077 & ~mode
        _set(path, mode if was_open or owner is not None else _mode(path), owner)
        if was_open:
            (left if _mode(path) & 0o077 & ~mode else closed).append(path)
    return closed, left


def _below(folder: Path, left_out: Path | None) -> Iterator[Path]:
    """All in it but links, the servers' own folders, and other houses (tests keep theirs there)."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = Path(entry.path)
        if entry.is_symlink() or path == left_out or entry.name in SERVERS_FOLDERS:
            continue
        if not entry.is_dir():
            yield path
        elif not (path / "secret_key").exists():
            yield path
            yield from _below(path, left_out)


def _is_ours(var: Path) -> bool:
    status = var.stat()
    everybodys = status.st_mode & stat.S_ISVTX or var in (_home(), Path("/"))
    return status.st_uid == os.geteuid() and not everybodys


def _home() -> Path | None:
    """None for an account that is a number only, as clusters make them."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except FileNotFoundError:  # a draft that has its name by now
        return 0


def _set(path: Path, mode: int, group: int | None) -> None:
    """Changes what differs; a file of another account stays as it is."""
    with suppress(PermissionError, FileNotFoundError):
        if group is not None and path.lstat().st_gid != group:
            os.chown(path, -1, group)
        if _mode(path) != mode:
            path.chmod(mode)
