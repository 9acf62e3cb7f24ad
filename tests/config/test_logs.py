"""Logs name routes and requests, and never what opens a session."""

import json
import logging
import sys

import pytest
from django.test import Client, RequestFactory
from django.urls import resolve

from config.operations.logs import JsonFormatter, LineFormatter, RouteFilter, without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Not Found: /s/abc123/", "Not Found: /s/…/"),
        ("GET https://h.org/api/s/abc123/answers/ 500", "GET https://h.org/api/s/…/answers/ 500"),
        ("'/r/xyz/?PROLIFIC_PID=me&lang=en'", "'/r/…/?…'"),
        ("/c/AAAA-BBB_C and /k/t0ken", "/c/… and /k/…"),
        ("/shared/to_k-en/ and /shared/to_k-en/clips/a", "/shared/…/ and /shared/…/clips/a"),
        ("File /srv/studies/demo.py, is it? yes", "File /srv/studies/demo.py, is it? yes"),
    ],
)
def test_codes_and_queries_are_taken_out(text: str, shown: str):
    assert without_secrets(text) == shown


def record(path: str) -> logging.LogRecord:
    made = logging.LogRecord("django.request", 40, "", 1, "%s: %s", ("Bad", path), None)
    made.request = RequestFactory().get(path)
    made.request.resolver_match = resolve(path)
    made.status_code = 500
    return made


def test_django_s_own_lines_name_the_route():
    made = record("/s/abc123/")
    assert RouteFilter().filter(made)
    assert LineFormatter("{message}", style="{").format(made) == "Bad: session"


def test_lines_on_503_are_left_to_the_one_that_says_why():
    made = record("/s/abc123/")
    made.status_code = 503
    assert not RouteFilter().filter(made)


def test_json_is_one_object_a_line_with_a_clean_traceback():
    try:
        raise ValueError("wrong at /s/abc123/")
    except ValueError:
        made = logging.LogRecord("x", 40, "", 1, "failed\n%s", ("/r/abc/",), sys.exc_info())
    line = JsonFormatter().format(made)
    assert "\n" not in line
    assert "abc" not in line
    assert json.loads(line)["message"] == "failed\n/r/…/"
    assert "ValueError" in json.loads(line)["traceback"]


def test_an_answer_carries_the_id_of_its_request(client: Client):
    given = "0123456789abcdef0123456789abcdef"
    assert client.get("/nowhere", headers={"X-Request-ID": given})["X-Request-ID"] == given
    other = client.get("/nowhere", headers={"X-Request-ID": "a rater's name"})["X-Request-ID"]
    assert len(other) == 16


def test_refused_requests_are_one_line_a_kind_and_no_traceback(client: Client):
    lines, handler = [], logging.StreamHandler()
    handler.emit = lambda record: lines.append(LineFormatter().format(record))  # type: ignore
    handler.addFilter(RouteFilter())
    logger = logging.getLogger("django.security.DisallowedHost")
    logger.addHandler(handler)
    try:
        for number in range(20):
            assert client.get("/login/", headers={"Host": f"evil-{number}"}).status_code == 400
    finally:
        logger.removeHandler(handler)
    (line,) = lines
    assert "evil-0" in line
    assert "Traceback" not in line
