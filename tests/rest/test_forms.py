"""The form of an answer is what was asked for, and nothing that was asked for is passed over."""

import pytest
from rest_framework.exceptions import NotAcceptable
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from rest.table_formats import CSV, JSON, form_of

FORMS = {"json": JSON, "csv": CSV}


def asked(query: str, accept: str = "*/*") -> Request:
    return Request(APIRequestFactory().get(f"/{query}", headers={"Accept": accept}))


@pytest.mark.parametrize(
    ("query", "accept", "form"),
    [("", "*/*", "json"), ("?format=csv", "*/*", "csv"), ("", "text/csv", "csv")],
)
def test_the_form_is_that_of_the_query_or_else_of_the_header(query: str, accept: str, form: str):
    assert form_of(asked(query, accept), FORMS) == form


@pytest.mark.parametrize("query", ["?format=", "?format=xml", "?format=xml&format=csv"])
def test_a_form_that_is_none_is_refused_and_the_others_are_named(query: str):
    with pytest.raises(NotAcceptable, match=r"Unknown format '.*\. Choose one of json, csv\."):
        form_of(asked(query), FORMS)
