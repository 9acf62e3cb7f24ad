"""Doubles of crowd providers: each makes a worker's address of what a researcher enters there, and
takes what comes back, as the provider's documentation describes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256
from html import unescape
from urllib.parse import parse_qs, quote, urlencode, urlsplit


def query_of(url: str) -> dict[str, str]:
    """The parameters of an address, each of which stands there once."""
    found = parse_qs(urlsplit(url).query, keep_blank_values=True, strict_parsing=True)
    assert all(len(values) == 1 for values in found.values()), url
    return {name: value for name, (value,) in found.items()}


def appended(url: str, **parameters: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


@dataclass
class Connect:
    """CloudResearch Connect: appends three parameters; completes by redirect or by a code."""

    code: str = "CONNECT-1"
    completed: list[str] = field(default_factory=list)
    redirect = "https://connect.cloudresearch.com/participant/project/A1B2/complete"

    def link(self, entered: str, worker: str) -> str:
        ids = {"participantId": worker, "assignmentId": f"as-{worker}", "projectId": "A1B2"}
        return appended(entered, **ids)

    def submit(self, worker: str, code: str) -> bool:
        if code == self.code:
            self.completed.append(worker)
        return code == self.code


@dataclass
class Sona:
    """Sona: fills %SURVEY_CODE% in; grants credit to the survey code of the completion URL."""

    granted: list[str] = field(default_factory=list)
    completion_url = (
        "https://lab.sona-systems.com/webstudy_credit.aspx"
        "?experiment_id=123&credit_token=4e48f9b638a&survey_code=XXXX"
    )

    def link(self, entered: str, survey_code: str) -> str:
        assert "%SURVEY_CODE%" in entered
        return entered.replace("%SURVEY_CODE%", survey_code)

    def open(self, url: str) -> bool:
        parts, query = urlsplit(url), query_of(url)
        known = (parts.netloc, parts.path) == ("lab.sona-systems.com", "/webstudy_credit.aspx")
        right = query["experiment_id"] == "123" and query["credit_token"] == "4e48f9b638a"
        if known and right:
            self.granted.append(query["survey_code"])
        return known and right


@dataclass
class MechanicalTurk:
    """MTurk: a frame with four parameters; takes a form at externalSubmit with the assignment."""

    site: str = "https://www.mturk.com"
    submitted: dict[str, dict[str, str]] = field(default_factory=dict)

    def preview(self, entered: str) -> str:
        return appended(entered, assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE", hitId="HIT1")

    def frame(self, entered: str, worker: str, assignment: str) -> str:
        ids = {"assignmentId": assignment, "hitId": "HIT1", "workerId": worker}
        return appended(entered, **ids, turkSubmitTo=f"{self.site}/")

    def submit(self, page: str) -> None:
        """Send the form of a page; refused as MTurk refuses it."""
        (form,) = re.findall(r'<form method="post" action="([^"]+)">(.*?)</form>', page, re.DOTALL)
        assert unescape(form[0]) == f"{self.site}/mturk/externalSubmit"
        fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form[1]))
        assignment = fields.pop("assignmentId")
        assert fields, "MTurk wants one field beside the assignment"
        self.submitted[assignment] = fields


@dataclass
class Microworkers:
    """Microworkers: fills macros in; checks that a VCODE is of this worker and campaign."""

    secret: str = "a4ba03fe34bd75d0"
    campaign: str = "e7162dd17b83"

    def link(self, entered: str, worker: str) -> str:
        macros = {"CAMP_ID": self.campaign, "MW_ID": worker, "RAND_KEY": f"key-{worker}"}
        for name, value in macros.items():
            assert "{{" + name + "}}" in entered
            entered = entered.replace("{{" + name + "}}", quote(value))
        return entered

    def accepts(self, worker: str, code: str) -> bool:
        text = self.campaign + worker + self.secret
        return code == "mw-" + sha256(text.encode()).hexdigest()


@dataclass
class Clickworker:
    """Clickworker with "Add unique ID of the Clickworker": takes one code from everybody."""

    code: str = "THANKS-42"

    def link(self, entered: str, worker: str) -> str:
        return appended(entered, user_id=worker)

    def accepts(self, code: str) -> bool:
        return code == self.code
