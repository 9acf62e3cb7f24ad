"""Brings tables, demo study, static files and the log-in up to date before the pages open.

A start that finds all as the last preparation left it need not repeat it. Files, packages and
settings are compared by a fingerprint (the supervisor does, before any server runs), and the
database by what it holds. No application is loaded before there is something to prepare.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import secrets
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings

from listening.common.command_name import CODE
from listening.common.whole_files import write_private

LOOK_EVERY_S = 0.02
LOCK = 0x70726570  # of PostgreSQL's advisory locks: this module's own
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
    for folder in (*(CODE / room for room in ROOMS), *_static_folders()):
        parts += _files(str(folder))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _static_folders() -> Iterator[Path]:
    """The folders of static files, with those of plug-ins, which have a prefix."""
    for folder in settings.STATICFILES_DIRS:
        yield Path(str(folder[1] if isinstance(folder, tuple) else folder))


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
    stats = []
    for entry in os.scandir(folder):
        if entry.is_dir():
            if entry.name != "__pycache__":
                stats += _files(entry.path)
        elif not entry.name.endswith(".pyc"):
            with suppress(FileNotFoundError):  # an editor's lock leads nowhere
                status = entry.stat()
                stats.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
    return sorted(stats)


def is_as_left(now: str) -> bool:
    """Whether the fingerprint is that of the last preparation, and what it made is there."""
    is_complete = all((settings.STATIC_ROOT / name).exists() for name in MADE)
    return is_complete and _stamp().get("fingerprint") == now


def _stamp() -> dict[str, str]:
    try:
        stamp: dict[str, str] = json.loads(stamp_file().read_text())
    except (OSError, ValueError):
        return {}
    return stamp


def write_stamp(prepared_for: str, applied: list[tuple[str, str]], landing: str) -> None:
    """Notes the fingerprint that was prepared for; `landing` is the address of the link LINK."""
    stamp = {"fingerprint": prepared_for, "applied": _digest(applied), "landing": landing}
    write_private(stamp_file(), json.dumps(stamp).encode())


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


AWAY_STATUS = 75  # EX_TEMPFAIL: a server or space is away, the same may work later
REFUSED_STATUS = 78  # EX_CONFIG: the last line of the log says what to do


def login_file() -> Path:
    path: Path = settings.EARNEST_VAR / "researcher-login.txt"
    return path


def ensure_researcher() -> None:
    """Makes the first researcher with a random password, kept in a file for its owner only."""
    from django.contrib.auth import get_user_model

    users = get_user_model()._default_manager
    if users.filter(username=RESEARCHER).exists():
        return
    password = _kept_password(path := login_file())
    if not password:
        password = "-".join(secrets.token_hex(3) for _ in range(4))
        write_private(path, f"user: {RESEARCHER}\npassword: {password}\n".encode())
    users.create_superuser(username=RESEARCHER, password=password)


def _kept_password(path: Path) -> str:
    """The password of an earlier start; empty where its file is missing or was cut off."""
    try:
        return path.read_text().partition("password:")[2].strip()
    except FileNotFoundError:
        return ""


def static_fingerprint() -> str:
    """Changes when a static file, ours or an installed package's, or their making may have.

    It is the same on every host: files by content, not by when they were installed where.
    """
    parts = list(_packages())
    parts.append((CODE / "config" / "static.py").read_text())
    for folder in _static_folders():
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            parts.append(f"{path.relative_to(folder)} {content}")
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()


def collect_static() -> None:
    """Collects under hashed names, unless nothing changed since the last time."""
    stamp: Path = settings.STATIC_ROOT / ".fingerprint"
    fingerprint = static_fingerprint()
    if stamp.exists() and stamp.read_text() == fingerprint:
        return
    from django.core.management import call_command

    call_command("collectstatic", interactive=False, verbosity=0, clear=True)
    stamp.write_text(fingerprint)


def rater_entry() -> dict[str, str]:
    """Where raters enter the newest open study, and its key; the front page when there is none."""
    from django.urls import reverse

    from listening.models import Study

    study = Study.objects.filter(state=Study.State.OPEN).order_by("-opened_at").first()
    if study is None:
        return {"path": reverse("home"), "study": ""}
    return {"path": reverse("landing", args=[study.link]), "study": study.key}


def main(result: Path) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from config.backups import BackupError
    from config.run.embedded_servers import EmbeddedError

    now = start_fingerprint()
    try:
        if not confirm(result, now):
            prepare(result, now)
    except EmbeddedError as error:
        print(error, flush=True)
        return AWAY_STATUS
    except BackupError as error:
        print(error, flush=True)
        return REFUSED_STATUS
    except ModuleNotFoundError as error:
        from listening.common.command_name import START

        traceback.print_exc()
        print(
            f"The package {error.name} is missing. {START} installs the packages of this version; "
            "elsewhere, install requirements-web.txt.",
            flush=True,
        )
        return REFUSED_STATUS
    except Exception as error:
        from config.operations.unavailable import is_away

        if not is_away(error):
            raise
        print(f"{type(error).__name__}: {error}".splitlines()[0], flush=True)
        return AWAY_STATUS
    return 0


def confirm(result: Path, now: str) -> bool:
    """Whether all is as the last preparation left it, which takes a tenth of preparing."""
    if not is_as_left(now):
        return False
    import psycopg
    from django.db import connection

    from config.run.shared_server import join

    join(settings.EARNEST_VAR, settings.EMBEDDED)
    try:
        with psycopg.connect(**connection.get_connection_params()) as session:
            entry = entry_as_left(session.cursor())
    except psycopg.Error:  # whatever it is, the preparation says it
        return False
    if entry is not None:
        result.write_text(json.dumps(entry))
    return entry is not None


def prepare(result: Path, prepared_for: str) -> None:
    import django
    from django.core.management import call_command, get_commands
    from django.db import connection
    from django.db.migrations.recorder import MigrationRecorder
    from django.urls import reverse

    from config.backups.database import check_known
    from config.run.shared_server import join

    stamp_file().unlink(missing_ok=True)
    django.setup()
    gc.freeze()  # migrations make thousands of models: to look through all for garbage takes
    gc.set_threshold(150_000, 10, 100)  # a quarter of a first start
    join(settings.EARNEST_VAR, settings.EMBEDDED)
    call_command("check")  # a mistake in the code is said here, once, and not by every process
    with one_at_a_time():
        check_known(MigrationRecorder(connection).applied_migrations())
        call_command("migrate", interactive=False, verbosity=1)
        ensure_researcher()
        if settings.EARNEST_DEMO and "ensure_demo" in get_commands():
            call_command("ensure_demo")
        collect_static()
        landing = reverse("landing", args=[LINK])
        with connection.cursor() as cursor:
            write_stamp(prepared_for, applied_migrations(cursor), landing)
        result.write_text(json.dumps(rater_entry()))


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other host prepares the same database; the server frees a dead host's lock."""
    import psycopg
    from django.db import connection

    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as session:
        session.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        yield


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
