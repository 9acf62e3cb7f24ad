"""A database with every migration, made once: each test process copies it and migrates nothing.

After a test that commits, its rows are deleted. Django would truncate every table, used or not, and
then make each content type and permission anew: a third of a second, several hundred times.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
from functools import cache
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.db import connection, transaction

PREFIX = "earnest_migrated_"
UNFINISHED = "earnest_migrating"
OF_MODELS = {"django_content_type", "auth_permission"}  # these rows are the same in every test


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
    before = gc.get_threshold()
    gc.freeze()  # as config/run/preparation.py does
    gc.set_threshold(150_000, 10, 100)
    try:
        test["NAME"] = name
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
        connection.close()
        test["NAME"] = own
        settings.DATABASES[connection.alias]["NAME"] = connection.settings_dict["NAME"] = given


def delete_rows() -> None:
    """Empty all tables, once whoever still writes into them (a web process) has ended."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_deletion())


@cache
def _deletion() -> str:
    every = set(connection.introspection.django_table_names(only_existing=True)) - OF_MODELS
    tables = [connection.ops.quote_name(name) for name in sorted(every)]
    return "; ".join(
        (
            f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE",
            "SET LOCAL session_replication_role = replica",  # in any order, and without triggers
            *(f"DELETE FROM {table}" for table in tables),
        )
    )
