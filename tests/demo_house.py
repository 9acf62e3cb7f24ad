"""The whole house for a test, with the demo study open: supervisor, servers, pages, workers."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import psycopg
from django.core import signing
from psycopg.rows import dict_row

from config.run.embedded_servers import socket_folder
from tests.config.helpers import House, processes_in
from tests.visitor import Visitor


class DemoHouse(House):
    """A supervised house; the truth is read from its database, past all of its code."""

    def __init__(self, var: Path, port: int | None = None) -> None:
        super().__init__(var, port, EARNEST_DEMO="1")
        self.visitors: list[Visitor] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        host = str(socket_folder(self.var))
        with psycopg.connect(
            host=host, dbname="earnest", user="earnest", autocommit=True, row_factory=dict_row
        ) as connection:
            return connection.execute(query, values).fetchall()

    def column(self, query: str, *values: Any) -> list[Any]:
        return [next(iter(row.values())) for row in self.rows(query, *values)]

    def simulate_token(self, study: str = "demo") -> str:
        """What only the owner of the secret key can sign."""
        key = (self.var / "secret_key").read_text().strip()
        return signing.dumps(study, key=key, salt="simulate")

    def visitor(self, study: str = "demo", **ids: str) -> Visitor:
        (link,) = self.column("SELECT link FROM listening_study WHERE key = %s", study)
        visitor = Visitor(self.url, link, self.simulate_token(study), ids)
        self.visitors.append(visitor)
        return visitor

    def close(self) -> None:
        """Close all browsers and stop the house, whatever was killed in it; no process is left."""
        for visitor in self.visitors:
            visitor.client.close()
        if self.process.poll() is None:
            assert self.stop(signal.SIGTERM) == 0, self.said
            assert processes_in(self.var) == []
