"""What leaves under a log-in is kept by no cache; a request that cannot be read is refused."""

import pytest
from django.test import Client

from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.mark.medium
def test_researchers_pages_and_files_are_kept_nowhere():
    study = make_study()
    client = Client()
    client.force_login(study.owner)
    files = (f"results/{name}.csv" for name in ("ratings", "sessions", "questionnaires"))
    paths = ("", "results/", "metrics/", "planning/", "preview/", *files)
    seen = 0
    for path in ("/studies/", "/gallery/", *(f"/studies/{study.key}/{each}" for each in paths)):
        response = client.get(path)
        if response.status_code == 200:
            seen += 1
            assert "no-store" in response["Cache-Control"], path
            assert "private" in response["Cache-Control"], path
    assert seen >= 9


def test_the_log_in_page_itself_is_nobodys():
    assert "private, no-store" not in Client().get("/login/").get("Cache-Control", "")


@pytest.mark.parametrize("path", ["/nothing/here", "/login/", "/r/nothere/", "/studies/x/state/"])
def test_a_file_name_of_more_than_a_kilobyte_is_a_bad_request_or_unknown(path):
    body = (
        b'--x\r\nContent-Disposition: form-data; name="f"; filename="'
        + b"a" * 1500
        + b'"\r\n\r\nhi\r\n--x--\r\n'
    )
    for strict in (False, True):
        client = Client(raise_request_exception=False, enforce_csrf_checks=strict)
        response = client.post(path, body, content_type="multipart/form-data; boundary=x")
        assert response.status_code in (302, 400, 403, 404), (path, strict)
