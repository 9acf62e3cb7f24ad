"""A database moves to another server: backup, restore and comparison in one go, without a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
import psycopg
from django.db import connection

from config.backups import BackupError, Say, database
from config.backups.database import Contents, copied_out, read_contents, snapshot
from config.backups.restore import check_empty, stopped_installation
from config.environment import Environment

OLDEST = 150_000  # PostgreSQL 15
EXAMPLE = "postgresql://user:password@host:5432/name"


def move(url: str, say: Say, *, replace: bool = False) -> Contents:
    """Copies the database that Earnest uses to the one at the URL; the first is left as it is."""
    target = target_of(url)
    with stopped_installation(), snapshot() as session:
        say("database: counting ...")
        contents = read_contents(session)
        database.check_known(contents.migrations)
        with connected_to(target):
            check_server(session)
            check_empty(replace, "set the URL")
            database.check_alone()
            database.load(contents, lambda table: copied_out(session, table), say)
    return contents


def target_of(url: str) -> dict[str, Any]:
    parts = Environment({"the URL": url}).url("the URL", ("postgres", "postgresql"), EXAMPLE)
    if parts is None or not urlsplit(url).path.strip("/"):
        raise BackupError(f"The URL names no database; it must look like {EXAMPLE}.")
    return dict(dj_database_url.parse(url))


def place_of(url: str) -> str:
    """Where a URL leads, without account and password."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.hostname or 'a local socket'}{port}{parts.path}"


@contextmanager
def connected_to(target: dict[str, Any]) -> Iterator[None]:
    """Django's own connection leads to the target: migrations know no other."""
    here = connection.settings_dict
    connection.close()
    connection.settings_dict = {**here, **target, "TEST": here["TEST"]}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = here


def check_server(source: psycopg.Connection[Any]) -> None:
    """The target answers, is new enough, writes UTF8, and is not the source itself."""
    try:
        with psycopg.connect(**connection.get_connection_params()) as session:
            number, words = session.info.server_version, session.info.parameter_status
            if number < OLDEST:
                raise BackupError(
                    f"The new server is PostgreSQL {words('server_version')}; Earnest needs 15 or "
                    "newer."
                )
            if words("server_encoding") != "UTF8":
                raise BackupError(
                    f"The new database keeps text as {words('server_encoding')}: make it with "
                    "createdb --encoding UTF8 --template template0."
                )
            if _identity(session) == _identity(source):
                raise BackupError("The URL leads to the database that Earnest uses already.")
    except psycopg.Error as error:
        raise BackupError(
            f"The new database cannot be used: {str(error).strip()}. Make it first (createdb "
            "--owner earnest earnest), and see that the URL is right."
        ) from None


def _identity(session: psycopg.Connection[Any]) -> Any:
    """The same for two connections to one database, whatever name and address they used."""
    return session.execute(
        "SELECT pg_postmaster_start_time()::text, current_database(), oid "
        "FROM pg_database WHERE datname = current_database()"
    ).fetchone()
