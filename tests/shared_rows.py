"""Rows that are made once for the tests of a module; what a test changes is rolled back."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction


@contextmanager
def shared_rows(django_db_blocker: Any) -> Iterator[None]:
    """All that is written in the block is gone after it; tests within have savepoints."""
    with django_db_blocker.unblock(), transaction.atomic():
        try:
            yield
        finally:
            transaction.set_rollback(True)
