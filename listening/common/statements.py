"""Statements that the server plans once, and rules written as generators that yield them.

A rule that yields its statements runs in Django's transaction, by `run_steps`, and in the event
loop, which awaits each of them: it is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import Cursor
from psycopg.rows import namedtuple_row

Step = TypeVar("Step")
T = TypeVar("T")


class Statement(NamedTuple):
    """What a rule asks of the database: it is sent the rows, in the statement's own order."""

    sql: str
    values: Mapping[str, Any]


Steps = Generator[Statement, list[Any], T]


def rows_of(statement: str, **values: Any) -> list[Any]:
    """Return the rows of a statement that the server plans once and keeps; JSON comes as text.

    Django's own cursors send every statement as text, to be parsed and planned again each time.
    """
    connection = connections[DEFAULT_DB_ALIAS]  # looked up once: it differs by thread
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        connection.connection.prepare_threshold = 0
        cursor = Cursor(connection.connection, row_factory=namedtuple_row)
        cursor.execute(statement, values, prepare=True)
        return cursor.fetchall() if cursor.description else []


def rows_of_statement(statement: Statement) -> list[Any]:
    """Return the rows of a statement that a rule yields."""
    return rows_of(statement.sql, **statement.values)


def run_steps(
    steps: Generator[Step, Any, T], perform: Callable[[Any], Any] = rows_of_statement
) -> T:
    """Perform each step that a rule yields, statements on Django's connection; what it returns."""
    try:
        step = next(steps)
        while True:
            step = steps.send(perform(step))
    except StopIteration as end:
        result: T = end.value
        return result
