"""What one database's rows were counted as is not shown for those of another."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.db import connection


@pytest.mark.django_db
def test_two_databases_beside_one_cache_keep_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.set("plan/1/4", "here")
    monkeypatch.setitem(connection.settings_dict, "NAME", "another")
    assert cache.get("plan/1/4") is None
    cache.set("plan/1/4", "there")
    monkeypatch.undo()
    assert cache.get("plan/1/4") == "here"
