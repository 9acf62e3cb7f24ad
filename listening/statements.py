"""The few statements that run for every answer: prepared once per connection, rows by name."""

from __future__ import annotations

from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import Cursor
from psycopg.rows import namedtuple_row


def rows_of(statement: str, **values: Any) -> list[Any]:
    """The rows of a statement that the server plans once and keeps; JSON comes as text.

    Django's own cursors send every statement as text, to be parsed and planned again each time.
    """
    connection = connections[DEFAULT_DB_ALIAS]  # looked up once: it differs by thread
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        connection.connection.prepare_threshold = 0
        cursor = Cursor(connection.connection, row_factory=namedtuple_row)
        return cursor.execute(statement, values, prepare=True).fetchall()
