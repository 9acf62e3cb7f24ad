"""Tries the real servers that the environment names, so that a dead one is a sentence at once.

Also whether a pooler stands before PostgreSQL that gives each transaction another connection, as
PgBouncer with `pool_mode = transaction` does. Web processes may use it (EARNEST_POOLER=1): their
locks and settings end with the transaction. Jobs and commands hold locks longer, so they may not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from django.conf import settings

from config.run.embedded_servers import POSTGRES, VALKEY

if TYPE_CHECKING:
    import psycopg

PATIENCE_S = 5
MOVED = "moved-database"  # in EARNEST_VAR
RESTARTS = ("is starting up", "is shutting down", "recovery mode", "not yet accepting")
RESTART_S, DOWN_S, LOOK_EVERY_S = 60.0, 5.0, 0.25


class UnreachableError(Exception):
    """A server that the environment names cannot be used; the message says why and what to do."""

    patience_s = 0.0  # for how long it is worth asking again


def _problem(what: str, variable: str, reason: str, *, answered: bool) -> UnreachableError:
    """Names the place and the reason; never the URL, which may hold a password."""
    seen = "cannot be used" if answered else "does not answer"
    remedy = "Correct the URL" if answered else "Start it"
    reason = reason.strip().rstrip(".")
    return UnreachableError(
        f"{what} ({variable}) {seen}: {reason}. {remedy}, or unset {variable} to use the embedded "
        "one."
    )


def note_moved(var: Path, place: str) -> None:
    """Writes down that the embedded database lives elsewhere now: two would drift apart."""
    (var / MOVED).write_text(f"{place} on {datetime.now(UTC):%Y-%m-%d}\n", "utf-8")


def _stays_here(var: Path) -> None:
    note = var / MOVED
    if note.is_file():
        raise UnreachableError(
            f"The database of {var} was moved to {note.read_text('utf-8').strip()}: set "
            f"DATABASE_URL to it. To continue with the earlier data here instead, delete {note}."
        )


def try_database(*, pages: bool = False) -> None:
    """Connects to the database of DATABASE_URL; the embedded one is its keeper's business.

    Only `pages`, the web processes, may reach it through a pooler.
    """
    if POSTGRES in settings.EMBEDDED:
        return _stays_here(settings.EARNEST_VAR)
    import psycopg
    from django.db import connection

    database = connection.settings_dict
    host = database["HOST"] or "the local socket"
    place = host if host.startswith("/") else f"{host}:{database['PORT'] or 5432}"
    try:
        wanted = {**connection.get_connection_params(), "connect_timeout": PATIENCE_S}
        wanted.pop("options", None)  # a pooler that is not declared yet refuses them
        with psycopg.connect(**wanted) as session:
            encoding = session.info.parameter_status("server_encoding")
        pooler = Pooler.NONE if encoding != "UTF8" else pooler_at(wanted)
    except psycopg.Error as error:
        reason = _first_reason(str(error))
        refusal = _problem(
            f"The database at {place}",
            "DATABASE_URL",
            reason.removeprefix("FATAL:"),
            answered=reason.startswith("FATAL:") or isinstance(error, psycopg.ProgrammingError),
        )
        refusal.patience_s = _patience_s(reason)
        raise refusal from None
    if encoding != "UTF8":
        raise UnreachableError(
            f"The database “{database['NAME']}” at {place} (DATABASE_URL) keeps text as "
            f"{encoding}, and Earnest needs UTF8. Make another (createdb --encoding UTF8 "
            "--template template0 NAME) and set DATABASE_URL to it."
        )
    if problem := pooler_problem(pooler, pages=pages):
        raise UnreachableError(f"The database at {place} (DATABASE_URL) {problem}")


def wait_for_database() -> None:
    """As `try_database`, for commands: a server that is started again meanwhile is waited for."""
    began = time.monotonic()
    while True:
        try:
            return try_database()
        except UnreachableError as error:
            if time.monotonic() - began >= error.patience_s:
                raise
        time.sleep(LOOK_EVERY_S)


def _patience_s(reason: str) -> float:
    if any(words in reason for words in RESTARTS):
        return RESTART_S
    down = ("Connection refused", "No such file or directory", "server closed the connection")
    return DOWN_S if any(words in reason for words in down) else 0.0


def _first_reason(message: str) -> str:
    """Of what libpq says in several lines about several addresses: why the first one failed."""
    lines = [line for line in message.splitlines() if line.strip()] or ["no reason given"]
    reasons = [line.rpartition(" failed: ")[2] for line in lines if " failed: " in line]
    return reasons[0] if reasons else lines[0]


def try_redis() -> None:
    """Asks the server of REDIS_URL for a sign of life, in the last database that Earnest uses."""
    if VALKEY in settings.EMBEDDED:
        return
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    url = settings.CHANNEL_LAYERS["default"]["CONFIG"]["hosts"][0]
    parts = urlsplit(url)
    socket = parts.scheme == "unix"
    place = unquote(parts.path) if socket else f"{parts.hostname}:{parts.port or 6379}"
    try:
        with redis.Redis.from_url(
            url,
            socket_connect_timeout=PATIENCE_S,
            socket_timeout=PATIENCE_S,
            retry=Retry(NoBackoff(), 0),
        ) as client:
            client.ping()
    except (redis.RedisError, TypeError, ValueError) as error:  # the latter: of a wrong ?option=
        cause = error.__context__
        reason = cause.strerror if isinstance(cause, OSError) else None
        raise _problem(
            f"The Redis server at {place}",
            "REDIS_URL",
            reason or str(error),
            answered=isinstance(error, redis.AuthenticationError)
            or not isinstance(error, redis.ConnectionError | redis.TimeoutError),
        ) from None


BUCKET_REASONS = {"404": "there is no such bucket", "403": "access is denied"}


def try_media() -> None:
    """Asks for the bucket of MEDIA_STORE; a folder was looked at when the settings were read."""
    store = settings.STORAGES["default"]
    if "s3" not in store["BACKEND"]:
        return
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from django.core.files.storage import storages

    patience = Config(
        connect_timeout=PATIENCE_S, read_timeout=PATIENCE_S, retries={"max_attempts": 0}
    )
    options = {**store["OPTIONS"], "client_config": patience}
    storage: Any = storages.create_storage({**store, "OPTIONS": options})
    try:
        storage.connection.meta.client.head_bucket(Bucket=storage.bucket_name)
    except (BotoCoreError, ClientError) as error:
        raise UnreachableError(bucket_problem(error)) from None


def bucket_problem(error: BaseException) -> str:
    """One sentence on what went wrong with the bucket of MEDIA_STORE; empty for other errors."""
    if "botocore.exceptions" not in sys.modules:  # no error of what was never loaded
        return ""
    from botocore.exceptions import BotoCoreError, ClientError

    if not isinstance(error, BotoCoreError | ClientError):
        return ""
    code = error.response["Error"]["Code"] if isinstance(error, ClientError) else ""
    reason = BUCKET_REASONS.get(code, str(error).strip().rstrip("."))
    bucket = settings.STORAGES["default"]["OPTIONS"].get("bucket_name", "")
    return (
        f"The bucket “{bucket}” (MEDIA_STORE) cannot be used: {reason}. Make it, or correct its "
        "name, the keys (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or the server "
        "(AWS_ENDPOINT_URL)."
    )


TRIES = 3  # while others use the pooler, a connection may stay the same by chance


class Pooler(Enum):
    NONE = "each connection is PostgreSQL's own, or the client's for as long as it wants"
    FORGETS = "prepared statements are lost or mixed up between connections"
    PREPARES = "prepared statements go along with the client"


def pooler_at(wanted: Mapping[str, Any]) -> Pooler:
    """What stands at the address of these parameters of a connection."""
    import psycopg

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
    import psycopg

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
    from psycopg import errors

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
