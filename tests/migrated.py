"""A database with every migration, made once: each test process copies it and migrates nothing."""

from __future__ import annotations

import fcntl
import hashlib
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.db import connection

PREFIX = "earnest_migrated_"
UNFINISHED = "earnest_migrating"


def template(var: Path) -> str:
    """The name of the database to copy; it is made unless one of these very migrations is there."""
    name = PREFIX + digest()
    with (var / "test-template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with connection.creation._nodb_cursor() as cursor:
            cursor.execute(
                "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [PREFIX]
            )
            others = [row[0] for row in cursor.fetchall()]
            if name in others:
                return name
            for other in others:
                cursor.execute(f'DROP DATABASE "{other}" WITH (FORCE)')
        migrate(UNFINISHED)
        with connection.creation._nodb_cursor() as cursor:
            cursor.execute(f'ALTER DATABASE "{UNFINISHED}" RENAME TO "{name}"')
    return name


def digest() -> str:
    """A hash that changes with every migration, and with Django's version."""
    found = hashlib.sha256(django.__version__.encode())
    for app in apps.get_app_configs():
        for path in sorted(Path(app.path, "migrations").glob("*.py")):
            found.update(f"{app.label}/{path.name}".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def migrate(name: str) -> None:
    """Makes a database of this name as Django makes one for tests; one left half-done is lost."""
    given, test = connection.settings_dict["NAME"], connection.settings_dict["TEST"]
    own = test["NAME"]
    try:
        test["NAME"] = name
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    finally:
        connection.close()
        test["NAME"] = own
        settings.DATABASES[connection.alias]["NAME"] = connection.settings_dict["NAME"] = given
