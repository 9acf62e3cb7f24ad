"""Earnest for scripts: `Client(url, token)` asks a server through its REST API."""

from earnest.client import Client
from earnest.errors import EarnestError
from earnest.tables import Table

__all__ = ["Client", "EarnestError", "Table"]
