"""The health page asks the database and the cache."""

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from redis.exceptions import ConnectionError as RedisConnectionError


@pytest.mark.django_db
def test_the_health_page_says_ok_when_both_servers_answer(client: Client):
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "missing": []}


@pytest.mark.django_db
def test_the_health_page_names_a_missing_cache(client: Client, monkeypatch: pytest.MonkeyPatch):
    def refuse(*args: object) -> None:
        raise RedisConnectionError("gone")

    monkeypatch.setattr(cache, "get", refuse)
    response = client.get("/healthz")
    assert response.status_code == 503
    assert response.json()["missing"] == ["cache"]


@pytest.mark.django_db
def test_the_database_is_durable_and_speaks_utf_8():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('fsync'), current_setting('synchronous_commit'), "
            "current_setting('server_encoding'), lower('ÄÉ')"
        )
        assert cursor.fetchone() == ("on", "on", "UTF8", "äé")


def test_every_page_has_a_strict_content_security_policy(client: Client):
    policy = client.get("/nowhere").headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
