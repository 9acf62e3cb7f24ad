"""Rows of a snapshot become a database: all of it in one transaction, or none.

The tables are made by the migrations that the snapshot names, filled, compared with the counts and
sums that were taken with it, and only then brought up to date: as an update of Earnest does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from typing import Any

import psycopg
from django.apps import apps
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import DatabaseError

from config.backups import BackupError, Progress, Say
from config.backups.tables import SAME_WORDS, TABLES, Contents, Table, summed

Rows = Callable[[Table], Iterator[bytes]]
PATIENCE = "10s"  # for others who hold a table


def check_known(found: Contents) -> None:
    """This version must have every migration that the snapshot went through."""
    known = set(MigrationExecutor(None).loader.disk_migrations)
    strange = [f"{app}.{name}" for app, name in found.migrations if (app, name) not in known]
    if strange:
        raise BackupError(
            f"It was written by a newer version of Earnest: this one does not know {strange[0]}"
            f"{f' and {len(strange) - 1} more changes' if len(strange) > 1 else ''} of the tables. "
            "Update Earnest, then restore again."
        )


def who_is_there() -> list[str]:
    """What the database holds that would be lost; nothing of what a first start makes of itself."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        names = {name for name, _ in cursor.fetchall()}
        found = []
        for table, what in (
            ("listening_study", "studies"),
            ("listening_draft", "drafts"),
            ("listening_session", "sessions"),
            ("listening_rating", "ratings"),
            ("auth_user", "accounts"),
        ):
            if table in names:
                cursor.execute(f"SELECT count(*) FROM {table}")
                (count,) = cursor.fetchone()
                found += [f"{count:,} {what}"] if count else []
    return found


def check_alone() -> None:
    """Nobody else may be at work in a database that is replaced."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        (others,) = cursor.fetchone()
    if others:
        raise BackupError(
            f"{others} other connections use the database: stop Earnest, its workers on other "
            "machines, and programs like psql, then start again."
        )


def load(found: Contents, rows: Rows, say: Say) -> None:
    """Fills the database that Django uses."""
    connection.ensure_connection()
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
                for words in SAME_WORDS:
                    cursor.execute(words.replace("SET ", "SET LOCAL ", 1))
            _make_tables(found, say)
            _fill(found, rows, say)
            say("tables: brought up to date ...")
            _bring_up_to_date()
    except (DatabaseError, psycopg.Error) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise BackupError(
            f"The database refused, and nothing was changed: {reason}. If somebody uses it, stop "
            "them; if its disk is full, make space; then start again."
        ) from error


def _bring_up_to_date() -> None:
    """Migrations read what the rows hold: rows that Earnest never wrote may break them."""
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except (DatabaseError, psycopg.Error):
        raise
    except Exception as error:
        raise BackupError(
            "The rows of the backup cannot be brought up to date, and nothing was changed "
            f"({type(error).__name__}: {error}). Restore with the version of Earnest that wrote it."
        ) from error


def _make_tables(found: Contents, say: Say) -> None:
    """Tables as they were when the snapshot was taken; those that are so already are emptied."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    if applied != set(found.migrations):
        say("tables: made as they were when the backup was taken ...")
        _drop_ours(found)
        _forget_what_is_cached()
        MigrationExecutor(connection).migrate(list(found.migrations))
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        here = {name: set(columns) for name, columns in cursor.fetchall()}
        wrong = [t.name for t in found.tables if here.get(t.name) != set(t.columns)]
        if wrong:
            raise BackupError(
                f"The table {wrong[0]} has other columns here than in the backup, though the same "
                "migrations made it: one of the two was changed by hand. Nothing was changed."
            )
        ours = ", ".join(map(connection.ops.quote_name, sorted(here.keys() & _tables(found))))
        cursor.execute(f"TRUNCATE {ours}")


def _tables(found: Contents) -> set[str]:
    return {table.name for table in found.tables}


def _drop_ours(found: Contents) -> None:
    """Tables and functions of Earnest and its packages; others in the same database stay."""
    labels = {config.label for config in apps.get_app_configs()}
    labels |= {app for app, _ in found.migrations} | {"django"}
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        names = [name for name, _ in cursor.fetchall() if _is_of(name, labels)]
        if names:
            cursor.execute(f"DROP TABLE {', '.join(map(quote, names))} CASCADE")
        cursor.execute(
            "SELECT proname, oid::regprocedure::text FROM pg_proc "
            "WHERE pronamespace = current_schema()::regnamespace"
        )
        for name, signature in cursor.fetchall():
            if _is_of(name, labels):
                cursor.execute(f"DROP FUNCTION IF EXISTS {signature} CASCADE")


def _is_of(name: str, labels: set[str]) -> bool:
    return any(name.startswith(f"{label}_") for label in labels)


def _forget_what_is_cached() -> None:
    """Numbers of content types that Django remembers are those of tables that are gone."""
    with contextlib.suppress(LookupError):
        apps.get_model("contenttypes", "ContentType").objects.clear_cache()


def _fill(found: Contents, rows: Rows, say: Say) -> None:
    """Without the guards against changed ratings, which are on again before it ends."""
    quote = connection.ops.quote_name
    progress = Progress(say, "database: tables", len(found.tables))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")  # migrations of this transaction left some
        for table in _in_order(found, cursor):
            cursor.execute(f"ALTER TABLE {quote(table.name)} DISABLE TRIGGER USER")
            columns = ", ".join(map(quote, table.columns))
            with cursor.copy(f"COPY {quote(table.name)} ({columns}) FROM STDIN") as copy:
                for block in rows(table):
                    copy.write(block)
            progress.step()
        for name, last in found.sequences.items():
            cursor.execute("SELECT setval(%s::regclass, %s)", [quote(name), last])
        say("database: every reference looked up, every row summed ...")
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in found.tables:
            cursor.execute(f"ALTER TABLE {quote(table.name)} ENABLE TRIGGER USER")
            _compare(table)
    _forget_what_is_cached()


def _in_order(found: Contents, cursor: Any) -> list[Table]:
    """A table after those that it refers to by constraints that do not wait for the end."""
    cursor.execute(
        "SELECT a.relname, b.relname FROM pg_constraint c JOIN pg_class a ON a.oid = c.conrelid "
        "JOIN pg_class b ON b.oid = c.confrelid WHERE c.contype = 'f' AND NOT c.condeferrable "
        "AND a.relnamespace = current_schema()::regnamespace AND a.oid <> b.oid"
    )
    order: TopologicalSorter[str] = TopologicalSorter({table.name: () for table in found.tables})
    for table, referred in cursor.fetchall():
        order.add(table, referred)
    by_name = {table.name: table for table in found.tables}
    return [by_name[name] for name in order.static_order() if name in by_name]


def _compare(table: Table) -> None:
    raw: Any = connection.connection
    if summed(raw, table.name, table.columns) != (table.rows, table.digest):
        raise BackupError(
            f"The rows of {table.name} are not those of the backup. Nothing was changed. Restore "
            "into a database whose encoding is UTF8, or report this as a mistake of Earnest."
        )
