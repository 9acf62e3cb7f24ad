"""Brings tables, demo study, static files and the log-in up to date before the pages open."""

import hashlib
import json
import os
import secrets
import sys
from importlib.metadata import distributions
from pathlib import Path

from django.conf import settings

from config.installation import CODE
from config.run import preparation_stamp
from config.run.preparation_stamp import RESEARCHER

AWAY_STATUS = 75  # EX_TEMPFAIL: a server or space is away, the same may work later


def login_file() -> Path:
    path: Path = settings.EARNEST_VAR / "researcher-login.txt"
    return path


def ensure_researcher() -> None:
    """Makes the first researcher with a random password, kept in a file for its owner only."""
    from django.contrib.auth import get_user_model

    users = get_user_model()._default_manager
    if users.filter(username=RESEARCHER).exists():
        return
    path = login_file()
    if not path.exists():
        password = "-".join(secrets.token_hex(3) for _ in range(4))
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"user: {RESEARCHER}\npassword: {password}\n")
    password = path.read_text().split("password:")[1].strip()
    users.create_superuser(username=RESEARCHER, password=password)


def static_fingerprint() -> str:
    """Changes when a static file, ours or an installed package's, or their making may have."""
    parts = [f"{d.metadata['Name']} {d.version}" for d in distributions()]
    parts.append((CODE / "config" / "static.py").read_text())
    for folder in settings.STATICFILES_DIRS:
        for path in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
            stat = path.stat()
            parts.append(f"{path} {stat.st_size} {stat.st_mtime_ns}")
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
    from config.run.embedded_servers import EmbeddedError

    now = preparation_stamp.start_fingerprint()
    try:
        if not confirm(result, now):
            prepare(result, now)
    except EmbeddedError as error:
        print(error, flush=True)
        return AWAY_STATUS
    except Exception as error:
        from config.operations.unavailable import is_away

        if not is_away(error):
            raise
        print(f"{type(error).__name__}: {error}".splitlines()[0], flush=True)
        return AWAY_STATUS
    return 0


def confirm(result: Path, now: str) -> bool:
    """Whether all is as the last preparation left it, which takes a tenth of preparing."""
    if not preparation_stamp.is_as_left(now):
        return False
    import psycopg
    from django.db import connection

    from config.run.shared_server import join

    join(settings.EARNEST_VAR, settings.EMBEDDED)
    try:
        with psycopg.connect(**connection.get_connection_params()) as session:
            entry = preparation_stamp.entry_as_left(session.cursor())
    except psycopg.Error:  # whatever it is, the preparation says it
        return False
    if entry is not None:
        result.write_text(json.dumps(entry))
    return entry is not None


def prepare(result: Path, prepared_for: str) -> None:
    import django
    from django.core.management import call_command, get_commands
    from django.db import connection
    from django.urls import reverse

    from config.run.shared_server import join

    preparation_stamp.stamp_file().unlink(missing_ok=True)
    django.setup()
    join(settings.EARNEST_VAR, settings.EMBEDDED)
    call_command("check")  # a mistake in the code is said here, once, and not by every process
    call_command("migrate", interactive=False, verbosity=1)
    ensure_researcher()
    if settings.EARNEST_DEMO and "ensure_demo" in get_commands():
        call_command("ensure_demo")
    collect_static()
    landing = reverse("landing", args=[preparation_stamp.LINK])
    with connection.cursor() as cursor:
        preparation_stamp.write_stamp(
            prepared_for, preparation_stamp.applied_migrations(cursor), landing
        )
    result.write_text(json.dumps(rater_entry()))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
