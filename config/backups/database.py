"""The database in a backup: tables, counts and sums of one snapshot, and their rows loaded.

COPY's text is the same in every version of PostgreSQL, and the tables come from the migrations: so
a backup needs no program beside Python, and no version of PostgreSQL is another one's obstacle.

Loaded is all of it in one transaction, or nothing. The tables are made by the migrations that the
snapshot names, filled, compared with the counts and sums that were taken with it, and only then
brought up to date: as an update of Earnest does.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from graphlib import TopologicalSorter
from typing import Any

import psycopg
from django.apps import apps
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import DatabaseError, InterfaceError, OperationalError
from psycopg import sql

from config.backups import BackupError, Progress, Say

# Values are written the same way by every server, whatever its own settings are.
SAME_WORDS = (
    *("SET TimeZone = 'UTC'", "SET DateStyle = 'ISO, MDY'", "SET IntervalStyle = 'postgres'"),
    *("SET bytea_output = 'hex'", "SET extra_float_digits = 1", "SET statement_timeout = 0"),
    "SET idle_in_transaction_session_timeout = 0",
)
NAME = re.compile(r"[A-Za-z_]\w{0,62}", re.ASCII)
TABLES = """
SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
  AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
GROUP BY c.relname ORDER BY c.relname
"""
SEQUENCES = """
SELECT sequencename, last_value FROM pg_sequences
WHERE schemaname = current_schema() AND last_value IS NOT NULL ORDER BY sequencename
"""


@dataclass(frozen=True)
class Table:
    """A table with the number of its rows, and a sum over them that knows no order."""

    name: str
    columns: tuple[str, ...]
    rows: int
    digest: str


@dataclass(frozen=True)
class Contents:
    """All that a database holds at one moment, apart from the rows themselves."""

    server: str
    migrations: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    sequences: dict[str, int]

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    def count(self, table: str) -> int:
        return next((each.rows for each in self.tables if each.name == table), 0)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Contents:
        """Reads what a file says of a database; ValueError, TypeError or KeyError says what."""
        tables = [Table(**{**each, "columns": tuple(each["columns"])}) for each in data["tables"]]
        for table in tables:
            for name in (table.name, *table.columns):
                _check(_is_name(name), "name", name)
            _check(_is_count(table.rows), "number of rows", table.rows)
            _check(isinstance(table.digest, str), "sum of rows", table.digest)
        names = [table.name for table in tables]
        _check(len(set(names)) == len(names), "list of tables", "one is listed twice")
        _check("django_migrations" in names, "list of tables", "it has no table of Earnest")
        applied = tuple((app, name) for app, name in data["migrations"])
        for word in (data["server"], *(word for pair in applied for word in pair)):
            _check(isinstance(word, str), "text", word)
        sequences = dict(data["sequences"])
        for name, last in sequences.items():
            _check(_is_name(name) and _is_count(last), "sequence", f"{name}: {last}")
        return cls(data["server"], applied, tuple(tables), sequences)


def _check(fine: bool, what: str, value: object) -> None:
    if not fine:
        raise ValueError(f"a wrong {what}: {str(value)[:60]}")


def _is_name(word: Any) -> bool:
    """Quoting does not make every text a safe name; Django's and Earnest's are all of this form."""
    return isinstance(word, str) and NAME.fullmatch(word) is not None


def _is_count(number: Any) -> bool:
    return type(number) is int and 0 <= number < 2**63


@contextmanager
def snapshot() -> Iterator[psycopg.Connection[Any]]:
    """A connection that sees the database as it is now, whatever is written meanwhile."""
    with psycopg.connect(**connection.get_connection_params()) as session:
        for words in SAME_WORDS:
            session.execute(words.encode())
        session.commit()
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        session.read_only = True
        names = [row[0] for row in session.execute(TABLES.encode())]
        session.rollback()
        if names:  # no table is emptied or changed before all is read
            locked = sql.SQL(", ").join(map(sql.Identifier, names))
            session.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(locked))
        yield session
        session.rollback()


def read_contents(session: psycopg.Connection[Any]) -> Contents:
    """Describe the database; reads every table once, for its sum."""
    listed = session.execute(TABLES.encode()).fetchall()
    applied: list[tuple[str, str]] = []
    if any(name == "django_migrations" for name, _ in listed):
        query = b"SELECT app, name FROM django_migrations ORDER BY id"
        applied = [(app, name) for app, name in session.execute(query)]
    tables = [
        Table(name, tuple(columns), *table_checksum(session, name, columns))
        for name, columns in listed
    ]
    sequences = dict(session.execute(SEQUENCES.encode()).fetchall())
    version = str(session.info.parameter_status("server_version"))
    return Contents(version, tuple(applied), tuple(tables), sequences)


def table_checksum(
    session: Any, name: str, columns: list[str] | tuple[str, ...]
) -> tuple[int, str]:
    """The number of rows and the sum of a hash of each, which no order of rows changes."""
    row = sql.SQL(", ").join(map(sql.Identifier, columns))
    query = sql.SQL(
        "SELECT count(*), coalesce(sum(('x' || left(md5(ROW({})::text), 15))::bit(60)::bigint), 0)"
        " FROM {}"
    ).format(row, sql.Identifier(name))
    rows, digest = session.execute(query).fetchone()
    return rows, str(digest)


def copied_out(session: psycopg.Connection[Any], table: Table) -> Iterator[bytes]:
    """The rows of a table as COPY writes them."""
    columns = sql.SQL(", ").join(map(sql.Identifier, table.columns))
    words = sql.SQL("COPY {} ({}) TO STDOUT").format(sql.Identifier(table.name), columns)
    with session.cursor().copy(words) as copy:
        for block in copy:
            yield bytes(block)


Rows = Callable[[Table], Iterator[bytes]]
PATIENCE = "10s"  # for others who hold a table


def check_known(migrations: Iterable[tuple[str, str]]) -> None:
    """Raise BackupError unless this version has each migration (app, name) of some tables."""
    known = set(MigrationExecutor(None).loader.disk_migrations)
    strange = [f"{app}.{name}" for app, name in migrations if (app, name) not in known]
    if strange:
        raise BackupError(
            f"The tables are of a newer version of Earnest: this one does not know {strange[0]}"
            f"{f' and {len(strange) - 1} more changes' if len(strange) > 1 else ''}. "
            "Update Earnest, then try again."
        )


def list_records() -> list[str]:
    """Count what would be lost, apart from what a first start makes by itself."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        names = {name for name, _ in cursor.fetchall()}
        records = []
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
                records += [f"{count:,} {what}"] if count else []
    return records


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


LOST = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)


class UnknownOutcome(BackupError):
    """The server went away while the transaction ended: nobody knows whether it was saved."""


def load(
    contents: Contents, rows: Rows, say: Say, before_saving: Callable[[], object] = lambda: None
) -> None:
    """Fills the database that Django uses; `before_saving` is called as the last step before."""
    saving = False
    connection.ensure_connection()
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
                for words in SAME_WORDS:
                    cursor.execute(words.replace("SET ", "SET LOCAL ", 1))
            _make_tables(contents, say)
            _fill(contents, rows, say)
            say("tables: brought up to date ...")
            _bring_up_to_date()
            before_saving()
            saving = True
    except (DatabaseError, InterfaceError, psycopg.Error) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if saving and isinstance(error, LOST):
            raise UnknownOutcome(
                f"The database went away while the last step was saved ({reason}): it may hold the "
                "backup or what it held before. Run the same command again with --replace."
            ) from error
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


def _make_tables(contents: Contents, say: Say) -> None:
    """Tables as they were when the snapshot was taken; those that are so already are emptied."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    if applied != set(contents.migrations):
        say("tables: made as they were when the backup was taken ...")
        _drop_ours(contents)
        _clear_content_types()
        MigrationExecutor(connection).migrate(list(contents.migrations))
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        here = {name: set(columns) for name, columns in cursor.fetchall()}
        wrong = [t.name for t in contents.tables if here.get(t.name) != set(t.columns)]
        if wrong:
            raise BackupError(
                f"The table {wrong[0]} has other columns here than in the backup, though the same "
                "migrations made it: one of the two was changed by hand. Nothing was changed."
            )
        tables = {table.name for table in contents.tables}
        ours = ", ".join(map(connection.ops.quote_name, sorted(here.keys() & tables)))
        cursor.execute(f"TRUNCATE {ours}")


def _drop_ours(contents: Contents) -> None:
    """Tables and functions of Earnest and its packages; others in the same database stay."""
    labels = {config.label for config in apps.get_app_configs()}
    labels |= {app for app, _ in contents.migrations} | {"django"}
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


def _clear_content_types() -> None:
    """Content types that Django remembers have the numbers of deleted tables."""
    with contextlib.suppress(LookupError):
        apps.get_model("contenttypes", "ContentType").objects.clear_cache()


def _fill(contents: Contents, rows: Rows, say: Say) -> None:
    """Without the guards against changed ratings, which are on again before it ends."""
    quote = connection.ops.quote_name
    progress = Progress(say, "database: tables", len(contents.tables))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")  # migrations of this transaction left some
        for table in _in_order(contents, cursor):
            cursor.execute(f"ALTER TABLE {quote(table.name)} DISABLE TRIGGER USER")
            columns = ", ".join(map(quote, table.columns))
            with cursor.copy(f"COPY {quote(table.name)} ({columns}) FROM STDIN") as copy:
                for block in rows(table):
                    copy.write(block)
            progress.step()
        for name, last in contents.sequences.items():
            cursor.execute("SELECT setval(%s::regclass, %s)", [quote(name), last])
        say("database: every reference looked up, every row summed ...")
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in contents.tables:
            cursor.execute(f"ALTER TABLE {quote(table.name)} ENABLE TRIGGER USER")
            _compare(table)
    _clear_content_types()


def _in_order(contents: Contents, cursor: Any) -> list[Table]:
    """A table after those that it refers to by constraints that do not wait for the end."""
    cursor.execute(
        "SELECT a.relname, b.relname FROM pg_constraint c JOIN pg_class a ON a.oid = c.conrelid "
        "JOIN pg_class b ON b.oid = c.confrelid WHERE c.contype = 'f' AND NOT c.condeferrable "
        "AND a.relnamespace = current_schema()::regnamespace AND a.oid <> b.oid"
    )
    order: TopologicalSorter[str] = TopologicalSorter({table.name: () for table in contents.tables})
    for table, referred in cursor.fetchall():
        order.add(table, referred)
    by_name = {table.name: table for table in contents.tables}
    return [by_name[name] for name in order.static_order() if name in by_name]


def _compare(table: Table) -> None:
    raw: Any = connection.connection
    if table_checksum(raw, table.name, table.columns) != (table.rows, table.digest):
        raise BackupError(
            f"The rows of {table.name} are not those of the backup. Nothing was changed. Restore "
            "into a database whose encoding is UTF8, or report this as a mistake of Earnest."
        )
