"""What a database of Earnest holds: tables, counts and sums, read from one snapshot by COPY.

COPY's text is the same in every version of PostgreSQL, and the tables come from the migrations: so
a backup needs no program beside Python, and no version of PostgreSQL is another one's obstacle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import psycopg
from django.db import connection
from psycopg import sql

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
    def from_json(cls, found: Any) -> Contents:
        """Reads what a file says of a database; ValueError, TypeError or KeyError says what."""
        tables = [Table(**{**each, "columns": tuple(each["columns"])}) for each in found["tables"]]
        for table in tables:
            for name in (table.name, *table.columns):
                _check(_is_name(name), "name", name)
            _check(_is_count(table.rows), "number of rows", table.rows)
            _check(isinstance(table.digest, str), "sum of rows", table.digest)
        names = [table.name for table in tables]
        _check(len(set(names)) == len(names), "list of tables", "one is listed twice")
        _check("django_migrations" in names, "list of tables", "it has no table of Earnest")
        applied = tuple((app, name) for app, name in found["migrations"])
        for word in (found["server"], *(word for pair in applied for word in pair)):
            _check(isinstance(word, str), "text", word)
        sequences = dict(found["sequences"])
        for name, last in sequences.items():
            _check(_is_name(name) and _is_count(last), "sequence", f"{name}: {last}")
        return cls(found["server"], applied, tuple(tables), sequences)


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


def contents(session: psycopg.Connection[Any]) -> Contents:
    """Reads every table once, for its sum."""
    found = session.execute(TABLES.encode()).fetchall()
    applied: list[tuple[str, str]] = []
    if any(name == "django_migrations" for name, _ in found):
        query = b"SELECT app, name FROM django_migrations ORDER BY id"
        applied = [(app, name) for app, name in session.execute(query)]
    tables = [
        Table(name, tuple(columns), *summed(session, name, columns)) for name, columns in found
    ]
    sequences = dict(session.execute(SEQUENCES.encode()).fetchall())
    version = str(session.info.parameter_status("server_version"))
    return Contents(version, tuple(applied), tuple(tables), sequences)


def summed(session: Any, name: str, columns: list[str] | tuple[str, ...]) -> tuple[int, str]:
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
