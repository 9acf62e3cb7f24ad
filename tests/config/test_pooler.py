"""A pooler before PostgreSQL is found out, and only web processes may use one that can be used."""

from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import connection

from config.run import server_checks
from config.run.server_checks import Pooler, pooler_at, pooler_problem


class Result(list[tuple[Any]]):
    def fetchall(self) -> list[tuple[Any]]:
        return self


class Servers:
    """PgBouncer: clients without a transaction share one server; each transaction has its own."""

    def __init__(self, names: str) -> None:
        self.names, self.taken = names, 0

    def connect(self, **wanted: Any) -> "Client":
        return Client(self, alone=bool(wanted.get("autocommit")))


class Client:
    def __init__(self, servers: Servers, alone: bool) -> None:
        self.servers, self.alone = servers, alone
        self.info = SimpleNamespace(backend_pid=123_456)  # a pooler makes up one

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *failed: object) -> None:
        self.servers.taken -= not self.alone

    def transaction(self) -> "Client":
        return Client(self.servers, alone=True)

    def execute(self, words: str, values: Any = None, prepare: bool | None = None) -> Result:
        if "pg_backend_pid" in words:
            self.servers.taken += not self.alone
            return Result([(700 + self.servers.taken,)])
        if prepare and self.servers.names == "clash":
            raise psycopg.errors.DuplicatePreparedStatement
        return Result([([f"{self.servers.names}0"],)])


@pytest.mark.parametrize(
    ("names", "found"),
    [("PGBOUNCER_", Pooler.PREPARES), ("_pg3_", Pooler.FORGETS), ("clash", Pooler.FORGETS)],
)
def test_a_pooler_is_known_by_its_processes_and_names(
    names: str, found: Pooler, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(psycopg, "connect", Servers(names).connect)
    assert pooler_at({}) is found


def test_a_pooler_that_keeps_connections_with_their_clients_is_none(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(psycopg, "connect", Servers("_pg3_").connect)
    monkeypatch.setattr(server_checks, "_changes", lambda session, wanted: False)
    assert pooler_at({}) is Pooler.NONE


@pytest.mark.django_db
def test_postgresql_itself_is_none():
    assert pooler_at(connection.get_connection_params()) is Pooler.NONE


def test_what_may_use_a_pooler_and_what_to_do_else(settings: Any):
    settings.EARNEST_POOLER = True
    assert pooler_problem(Pooler.NONE, pages=False) == ""
    assert pooler_problem(Pooler.PREPARES, pages=True) == ""
    assert "address of PostgreSQL itself" in pooler_problem(Pooler.PREPARES, pages=False)
    assert "PgBouncer 1.22 or newer" in pooler_problem(Pooler.FORGETS, pages=True)
    settings.EARNEST_POOLER = False
    assert "set EARNEST_POOLER=1" in pooler_problem(Pooler.PREPARES, pages=True)
