"""Each mistake of a script is refused with where it is and what to do, and nothing is done."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import RequestFactory

from config.operations import unavailable
from listening.models import Draft, Study
from rest import studies
from tests.factories import make_study
from tests.own_cache import empty_cache
from tests.rest.asking import Script, content, token_of

pytestmark = pytest.mark.django_db
ZIP, FORM = "application/zip", "application/x-www-form-urlencoded"


@pytest.fixture
def script() -> Script:
    empty_cache()
    make_study(key="voices", items=2)
    Study.objects.update(state=Study.State.OPEN)
    return Script(token_of())


def told(answer: Any, status: int) -> dict[str, Any]:
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    problem: dict[str, Any] = answer.json()
    return problem


@pytest.mark.parametrize(
    ("path", "field", "meant"),
    [
        ("studies?stat=open", "stat", "Did you mean “state”?"),
        ("studies/voices/ratings?sinse=r1-5", "sinse", "Did you mean “since”?"),
        ("studies/voices/sessions?limit=5", "limit", "There are: “format”."),
        ("studies/voices?x=1", "x", "Unknown parameter “x”."),
    ],
)
def test_a_parameter_that_there_is_none_of_is_not_passed_over(script, path, field, meant):
    (mistake,) = told(script.get(path), 422)["mistakes"]
    assert mistake["field"] == field
    assert meant in mistake["what"]


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "meant"),
    [
        ("POST", "studies/voices/state", {"to": "paused", "anway": True}, "anway", "“anyway”"),
        ("PATCH", "studies/voices", {"key": "other"}, "key", "There are: “name”, “tags”"),
        ("POST", "studies/voices/results/runs", {"option": {}}, "option", "“options”"),
        (
            *("POST", "studies/voices/metrics/runs"),
            {"metrics": [{"metric": "srmr", "params": {}}]},
            *("metrics.0.params", "“parameters”"),
        ),
        ("POST", "studies/voices/metrics/runs", {"preset": "fats"}, "preset", "fast"),
        (
            *("POST", "studies/voices/metrics/runs"),
            {"metrics": [{"metric": "length_s"}, {"metric": "utmoss"}]},
            *("metrics.1.metric", "Did you mean “utmos”?"),
        ),
        ("POST", "studies/voices/state", {"to": "clozed"}, "to", "open, paused, closed"),
        (
            *("POST", "studies/voices/decisions"),
            {"sessions": ["s1"], "decision": "reject", "reason": "x"},
            *("decision", "rejected, restored"),
        ),
    ],
)
def test_a_field_or_word_that_is_none_is_named_with_those_that_are(
    script, method, path, body, field, meant
):
    (mistake,) = told(script.ask(method, path, body), 422)["mistakes"]
    assert mistake["field"] == field
    assert meant in mistake["what"]
    assert Study.objects.get().state == Study.State.OPEN


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "studies"), ("POST", "validations"), ("PUT", "studies/voices")]
)
def test_nothing_in_place_of_a_zip_is_no_error_of_the_server(script, method, path):
    answer = told(script.ask(method, path, CONTENT_TYPE=ZIP), 422)
    assert answer["detail"] == "The request is empty. Send the zip of a study folder."


@pytest.mark.medium
def test_one_mistake_is_one_mistake(script):
    detail = told(script.ask("POST", "studies", b"no zip", content_type=ZIP), 422)["detail"]
    assert detail == "The study has 1 mistake; nothing was stored."


def test_a_method_or_form_that_is_none_is_told_which_there_are(script):
    refused = told(script.ask("DELETE", "studies/voices"), 405)["detail"]
    assert "Allowed methods: GET, PUT, PATCH." in refused
    sent = script.ask("POST", "studies", b"a=b", content_type=FORM)
    assert "Content-Type: application/json or application/zip." in told(sent, 415)["detail"]


def test_a_cursor_that_is_none_says_how_to_begin(script):
    (mistake,) = told(script.get("studies?cursor=zzz"), 422)["mistakes"]
    assert mistake == {
        "field": "cursor",
        "what": "Invalid cursor for this list. Omit it to start from the first entry.",
    }


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("GET", "studies/voices/results?run=77", "This study has no such finished analysis."),
        ("GET", "studies/voices/results/files/x.csv?run=77", "no such finished analysis"),
        ("DELETE", "webhooks/77", "You have no such webhook."),
        ("POST", "studies", "no such draft or upload of yours"),
    ],
)
def test_what_is_not_there_is_called_by_its_own_name(script, method, path, words):
    body = {"upload": "nothing"} if method == "POST" else None
    assert words in told(script.ask(method, path, body), 404)["detail"]


def test_a_piece_that_ends_behind_its_upload_is_refused(script):
    code = script.post("uploads").json()["upload"]
    path, kind = f"uploads/{code}?size=10&offset=0", "application/octet-stream"
    (mistake,) = told(script.ask("PUT", path, b"x" * 11, content_type=kind), 422)["mistakes"]
    assert mistake["what"] == "The piece exceeds the 10 bytes given in `size`."
    whole = script.ask("PUT", path, b"x" * 10, content_type=kind).json()
    assert whole == {"upload": code, "received": 10, "whole": True}
    assert Draft.objects.count() == 1


@pytest.mark.parametrize(
    ("path", "column"), [("ratings", "score"), ("sessions", "status"), ("metrics/scores", "value")]
)
@pytest.mark.medium
def test_a_table_names_its_columns_also_where_it_has_no_row(script, path, column):
    told = b"".join(script.get(f"studies/voices/{path}").streaming_content)
    assert column in json.loads(told)["columns"]
    head = content(script.get(f"studies/voices/{path}?format=csv")).decode().splitlines()[0]
    assert head.split(",") == json.loads(told)["columns"]


def test_a_webhook_that_is_told_of_nothing_is_refused(script):
    body = {"url": "https://lab.example/hook", "events": []}
    (mistake,) = told(script.post("webhooks", body), 422)["mistakes"]
    assert mistake["field"] == "events"


def test_progress_names_the_same_link_as_the_study(script):
    answer = script.get("studies/voices/progress").json()
    assert answer["link"] == script.get("studies/voices").json()["link"]
    assert answer["link"].startswith("http")


def test_a_fault_of_the_server_is_a_problem_too(monkeypatch, script):
    def broken(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(studies, "page_progress", broken)
    script.client.raise_request_exception = False
    problem = told(script.get("studies/voices/progress"), 500)
    assert "X-Request-ID" in problem["detail"]


def test_what_is_not_installed_is_a_problem_too(rf: RequestFactory):
    lacking = ModuleNotFoundError("no scipy", name="scipy")
    middle = unavailable.Unavailable(lambda _: SimpleNamespace())  # type: ignore[arg-type, return-value]
    answer = middle.process_exception(rf.get("/api/v1/studies/x/results"), lacking)
    assert "requirements-analysis.txt" in answer.content.decode()
    assert (answer.status_code, answer["Content-Type"]) == (501, "application/problem+json")


def test_the_schema_promises_that_nothing_unknown_is_taken():
    from rest.schema import schema

    shapes = schema()["components"]["schemas"]
    closed = {name for name, each in shapes.items() if each.get("additionalProperties") is False}
    assert {f"{name}Request" for name in ("StateChange", "Score", "MetricChoice")} <= closed
    assert closed < set(shapes)  # what is answered may grow
