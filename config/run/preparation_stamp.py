"""Whether all is as the last preparation left it: then a start need not repeat it.

Files, packages and settings are compared by a fingerprint (the supervisor does, before any server
runs), and the database by what it holds. Nothing here loads an application.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings

from config.installation import CODE

LOOK_EVERY_S = 0.02
RESEARCHER = "researcher"
ROOMS = ("config", "listening", "metrics", "analysis", "rest", "earnest")
MADE = ("staticfiles.json", ".fingerprint")  # in the folder of static files
LINK = "2" * 12  # stands for a study's link in the address that is kept
APPLIED = "SELECT app, name FROM django_migrations ORDER BY app, name"
STATE = """
SELECT EXISTS (SELECT FROM auth_user WHERE username = %s),
       EXISTS (SELECT FROM listening_study)
"""
NEWEST_OPEN = """
SELECT key, link FROM listening_study WHERE state = 'open' ORDER BY opened_at DESC LIMIT 1
"""


def stamp_file() -> Path:
    path: Path = settings.EARNEST_VAR / "prepared-for.json"
    return path


def result_file() -> Path:
    """Is there when the preparation of this start has ended well."""
    path: Path = settings.EARNEST_VAR / "prepared.json"
    return path


def wait_for(result: Path) -> None:
    """Until the preparation has left its result; who ends the start ends this process."""
    while not result.exists():
        time.sleep(LOOK_EVERY_S)


def start_fingerprint() -> str:
    """Changes when code, static files, packages or settings may have changed.

    Ask before anything of Django is used: its database adds to its settings.
    """
    parts = [sys.version, *_packages(), *_plain_settings()]
    for folder in (*(CODE / room for room in ROOMS), *map(Path, settings.STATICFILES_DIRS)):
        parts += _files(str(folder))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _packages() -> Iterator[str]:
    """The names of folders that pip leaves: they hold the versions."""
    for place in sys.path:
        if os.path.isdir(place):
            yield from sorted(name for name in os.listdir(place) if name.endswith(".dist-info"))


def _plain_settings() -> Iterator[str]:
    for name in sorted(name for name in dir(settings) if name.isupper()):
        if name != "PERSONS_UMASK":  # of the process, which its children do not share
            yield re.sub(" at 0x[0-9a-f]+", "", f"{name} {getattr(settings, name)!r}")


def _files(folder: str) -> list[str]:
    found = []
    for entry in os.scandir(folder):
        if entry.is_dir():
            if entry.name != "__pycache__":
                found += _files(entry.path)
        elif not entry.name.endswith(".pyc"):
            with suppress(FileNotFoundError):  # an editor's lock leads nowhere
                status = entry.stat()
                found.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
    return sorted(found)


def is_as_left(now: str) -> bool:
    """Whether the fingerprint is that of the last preparation, and what it made is there."""
    made = all((settings.STATIC_ROOT / name).exists() for name in MADE)
    return made and _stamp().get("fingerprint") == now


def _stamp() -> dict[str, str]:
    try:
        stamp: dict[str, str] = json.loads(stamp_file().read_text())
    except (OSError, ValueError):
        return {}
    return stamp


def write_stamp(prepared_for: str, applied: list[tuple[str, str]], landing: str) -> None:
    """Notes the fingerprint that was prepared for; `landing` is the address of the link LINK."""
    stamp = {"fingerprint": prepared_for, "applied": _digest(applied), "landing": landing}
    draft = stamp_file().with_suffix(".new")
    draft.write_text(json.dumps(stamp))
    draft.replace(stamp_file())


def _digest(applied: list[Any]) -> str:
    return hashlib.sha256(repr([tuple(row) for row in applied]).encode()).hexdigest()


def applied_migrations(cursor: Any) -> list[tuple[str, str]]:
    cursor.execute(APPLIED)
    return list(cursor.fetchall())


def entry_as_left(cursor: Any) -> dict[str, str] | None:
    """Where raters enter, of a database that needs no preparation; None of one that may need it.

    Raises what the database raises, for instance that there is no table yet.
    """
    stamp = _stamp()
    if not stamp or stamp.get("applied") != _digest(applied_migrations(cursor)):
        return None
    cursor.execute(STATE, [RESEARCHER])
    has_researcher, has_study = cursor.fetchone()
    if not has_researcher or (settings.EARNEST_DEMO and not has_study):
        return None
    cursor.execute(NEWEST_OPEN)
    study = cursor.fetchone()
    if study is None:
        return {"path": f"{settings.EARNEST_PATH}/", "study": ""}
    return {"path": stamp["landing"].replace(LINK, study[1]), "study": study[0]}
