"""What every answer says to browsers, from the page to the refusal before any page."""

import asyncio
import json
import logging
import sys
from pathlib import Path

import pytest
from django.test import override_settings

from config import web
from config.operations.logs import LineFormatter
from config.responses import every_answers
from tests.config.test_settings import start

COOKIES = """
import json, os
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
from config import settings
import django; django.setup()
from types import SimpleNamespace as Some
from listening.audio import check_cookie, clip_cookie
from listening.web.rater.session_ownership import rater_cookie
from config.limits import KNOWN_BROWSER
code = Some(code="c" * 26)
names = [settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME, rater_cookie("x"), KNOWN_BROWSER]
print(json.dumps([*names, clip_cookie(code)[0], check_cookie(code)[0]]))
"""


def answered(path: str) -> dict[str, str]:
    sent = []

    async def ask() -> None:
        async def receive():
            return {"type": "http.request", "body": b""}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "headers": []}
        await web.application(scope, receive, send)

    asyncio.run(ask())
    return {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def test_answers_before_django_carry_the_headers_too():
    said = answered("/livez")
    assert said["content-type"] == "text/plain; charset=utf-8"
    assert said["x-content-type-options"] == "nosniff"
    assert said["referrer-policy"] == "same-origin"
    assert "microphone=()" in said["permissions-policy"]
    policy = said["content-security-policy"]
    for directive in ("object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"):
        assert directive in policy


def test_https_is_remembered_for_a_year():
    with override_settings(SECURE=True, SECURE_HSTS_SECONDS=31_536_000):
        assert every_answers()[b"strict-transport-security"] == b"max-age=31536000"
    with override_settings(
        SECURE=True, SECURE_HSTS_SECONDS=31_536_000, SECURE_HSTS_INCLUDE_SUBDOMAINS=True
    ):
        assert every_answers()[b"strict-transport-security"].endswith(b"; includeSubDomains")
    assert b"strict-transport-security" not in every_answers()


@pytest.mark.medium
def test_over_https_cookies_are_tied_to_the_host_by_name(tmp_path: Path):
    done = start(tmp_path, "-c", COOKIES, EARNEST_PUBLIC_URL="https://listen.example.org")
    assert done.returncode == 0, done.stderr
    names = json.loads(done.stdout)
    assert [name.partition("_" if name[2] == "X" else "-")[0] for name in names] == [
        *["__Host"] * 4,
        *["__Secure"] * 2,
    ]


def test_what_was_sent_cannot_begin_a_line_of_the_log():
    forged = "name\n2026-11-23 00:00:00 INFO config: all is well\r\x1b[2J\u2028"
    try:
        raise ValueError(forged)
    except ValueError:
        record = logging.LogRecord("x", 30, "x.py", 1, "said %s", (forged,), sys.exc_info())
    formatter = LineFormatter("{asctime} {levelname} {message}", style="{")
    lines = formatter.format(record).splitlines()
    assert sum(not line.startswith("  ") for line in lines) == 1
    assert "\\n2026" in lines[0]
    assert "\x1b" not in lines[0]
