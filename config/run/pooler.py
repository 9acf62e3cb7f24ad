"""Whether a pooler stands before PostgreSQL that gives each transaction another connection.

PgBouncer with `pool_mode = transaction` is one. Web processes may use it (EARNEST_POOLER=1): their
locks and settings end with the transaction. Jobs and commands hold locks longer, so they may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import psycopg
from django.conf import settings
from psycopg import errors

TRIES = 3  # while others use the pooler, a connection may stay the same by chance


class Pooler(Enum):
    NONE = "each connection is PostgreSQL's own, or the client's for as long as it wants"
    FORGETS = "prepared statements are lost or mixed up between connections"
    PREPARES = "prepared statements go along with the client"


def pooler_at(wanted: Mapping[str, Any]) -> Pooler:
    """What stands at the address of these parameters of a connection."""
    own = {**wanted, "autocommit": True, "prepare_threshold": 1000}  # Django prepares nothing,
    own.pop("cursor_factory", None)  # and its cursors never do
    with psycopg.connect(**own) as session:
        if _process(session) == session.info.backend_pid:
            return Pooler.NONE
        if not any(_changes(session, wanted) for _ in range(TRIES)):
            return Pooler.NONE
        return Pooler.PREPARES if _prepares(session) else Pooler.FORGETS


def _changes(session: psycopg.Connection[Any], wanted: Mapping[str, Any]) -> bool:
    """Whether the session gets another process when a transaction has taken the one it had."""
    before = _process(session)
    with psycopg.connect(**wanted) as other:
        _process(other)  # its transaction is open from now on
        return _process(session) != before


def _process(session: psycopg.Connection[Any]) -> int:
    """The number of the server's process that answers."""
    (row,) = session.execute("SELECT pg_backend_pid()").fetchall()
    return int(row[0])


def _prepares(session: psycopg.Connection[Any]) -> bool:
    """Whether the pooler gives prepared statements names of its own, so that they cannot clash."""
    try:
        with session.transaction():
            session.execute("SELECT 'of Earnest'", prepare=True)
            (names,) = session.execute(
                "SELECT array_agg(name) FROM pg_prepared_statements WHERE statement = %s",
                ["SELECT 'of Earnest'"],
                prepare=False,
            ).fetchall()
            session.execute("DEALLOCATE ALL")
    except (errors.DuplicatePreparedStatement, errors.InvalidSqlStatementName):
        return False
    return not any(name.startswith("_pg3_") for name in names[0] or ())  # psycopg's own


def pooler_problem(pooler: Pooler, *, pages: bool) -> str:
    """Why a process may not use it, as the end of a sentence; empty where it may."""
    if pooler is Pooler.NONE:
        return ""
    what = "is behind a pooler that gives each transaction another connection"
    if not pages:
        return (
            f"{what}. Only web processes may use it (python -m config.run.single_process web): "
            "give this one "
            "the address of PostgreSQL itself."
        )
    if pooler is Pooler.FORGETS:
        return (
            f"{what} and does not keep prepared statements: take PgBouncer 1.22 or newer with "
            "max_prepared_statements = 200, or the address of PostgreSQL itself."
        )
    return "" if settings.EARNEST_POOLER else f"{what}: set EARNEST_POOLER=1 for this web process."
