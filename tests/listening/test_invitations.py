"""People of a panel invited: their list, their links, mails sent once each, and no as an answer."""

import codecs
import csv
import io
import re
import socketserver
import threading
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.utils import timezone

from config.environment import mail_server
from listening import jobs
from listening.common import job_queues
from listening.models import Block, Invitation, Session, Study, StudyEvent
from listening.models.requested_jobs import send_lost
from listening.selectors.session_rows import session_rows
from listening.studies import invitations
from listening.studies.erasure import erase
from tests.factories import make_study

LAB = [{"key": "lab", "kind": "panel", "invited_only": True}]
WORDS = {"subject": "Come", "text": "Hello, {title}: {link}"}


class Server(socketserver.ThreadingTCPServer):
    """A mail server as far as a client can tell; it refuses who is called nobody."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        self.taken: list[str] = []
        super().__init__(("127.0.0.1", 0), Dialogue)


class Dialogue(socketserver.StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        self.say("220 here")
        for line in self.rfile:
            word = line.decode().strip().upper()
            if word == "DATA":
                self.say("354 go on")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.taken.append(b"".join(lines).decode())
                self.say("250 taken")
            elif word == "QUIT":
                return self.say("221 bye")
            else:
                self.say("550 nobody here" if "NOBODY@" in word else "250 yes")

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@pytest.fixture
def server(settings, monkeypatch) -> Iterator[Server]:
    monkeypatch.setattr(jobs.send_invitations, "delay", jobs.send_invitations)
    with Server() as found:
        threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True).start()
        url = urlsplit(f"smtp://127.0.0.1:{found.server_address[1]}")
        settings.DEFAULT_FROM_EMAIL = "lab@example.org"
        settings.EARNEST_MAIL = mail_server(url, settings.DEFAULT_FROM_EMAIL)
        yield found
        found.shutdown()


@pytest.fixture
def study(db) -> Study:
    return make_study(
        items=2, task={"block_size": 2, "ratings_per_stimulus": 9}, sources=LAB, key="panel-study"
    )


@pytest.fixture
def panel(study, client, django_capture_on_commit_callbacks):
    """Posts to the page of the panel as the study's owner; gives what the page says."""
    client.force_login(study.owner)
    path = f"/studies/{study.key}/invitations/lab/"

    def post(action: str, **fields: object) -> str:
        with django_capture_on_commit_callbacks(execute=True):
            answer = client.post(f"{path}do/", {"action": action, **fields}, follow=True)
        return answer.content.decode()

    return post


def links(study: Study) -> dict[str, str]:
    return {i.own_id: invitations.link_of(i) for i in study.invitations.all()}


@pytest.mark.medium
def test_a_list_is_taken_whole_or_not_at_all(study, panel):
    wrong = panel("invite", people="p1, ada@example.org\np1\np2, no address\n,,x\np3,,c,d")
    for line in ("Line 2: “p1” is in", "Line 3: “no address”", "Line 4: the id", "Line 5: there"):
        assert line in wrong
    assert "p1, ada@example.org" in wrong  # what was typed is still there
    assert not Invitation.objects.exists()
    assert "2 added; 0 already" in panel("invite", people="id,email\np1, ada@example.org\np2\n")
    assert "1 added; 1 already" in panel("invite", people="p2;bob@example.org\np3;")
    assert {i.own_id: i.email for i in Invitation.objects.all()} == {
        **{"p1": "ada@example.org", "p2": "bob@example.org", "p3": ""}
    }
    with connection.cursor() as cursor:
        cursor.execute("SELECT own_id, email FROM listening_invitation")
        stored = [value for row in cursor.fetchall() for value in row]
    assert not {"p1", "p2", "p3"} & set(stored)
    assert not any("@" in value or "example" in value for value in stored)


@pytest.mark.medium
def test_each_line_of_a_list_has_a_separator_of_its_own(study, panel):
    """A tab in one line made whole lines with commas into ids, address and all."""
    lines = ["anna, anna@example.org", "bert\tbert@example.org", "carl", "dora; dora@example.org"]
    lines += ["李雷,li@example.org", '"x;y",xy@example.org', '5" q, q@example.org', "e\t"]
    page = panel("invite", people="\r\n".join(lines))
    assert "8 added; 0 already" in page
    assert {i.own_id: i.email for i in Invitation.objects.all()} == {
        **{"anna": "anna@example.org", "bert": "bert@example.org", "carl": ""},
        **{"dora": "dora@example.org", "李雷": "li@example.org", "x;y": "xy@example.org"},
        **{'5" q': "q@example.org", "e": ""},
    }


@pytest.mark.medium
def test_a_list_with_columns_is_a_table(study, panel):
    """It was read line by line: a cell of two lines was two people, an open quote part of an id."""
    table = '\n \n\nid, email,name\nz1,z1@example.org, "Doe, \nAda ""A."""\nz2\n'
    assert "2 added; 0 already" in panel("invite", people=table)
    assert {i.own_id: i.name for i in study.invitations.all()} == {"z1": 'Doe, Ada "A."', "z2": ""}
    for people, problem in {
        'id,email\nz3,z3@example.org\n"z4,z4@example.org': "Row 3: a quote is not closed",
        "id,email\nz3,z3@example.org,Ada": "Row 2: 3 cells where the header has 2",
        "id,email\nz3,nobody": "Row 2: “nobody” is not an email address",
        "email,mail\na@example.org,b@example.org": "Row 1: email and mail hold the same",
        'z3,z3@example.org\n"z4,z4@example.org': "Line 2: a quote is not closed",
        '\nz3,z3@example.org,"Ada\nDoe"': "Line 2: a quote is not closed",
        "id,email\nz3,z3@example.org\nz4;z4@example.org": "Row 3: “z4;z4@example.org” is more than",
        "\n;;\n": "The list is empty",
    }.items():
        assert problem in panel("invite", people=people)
    assert study.invitations.count() == 2


@pytest.mark.medium
def test_addresses_as_mail_programs_write_them_are_a_person_each(study, panel):
    pasted = 'A@example.org; "Doe, Jane" <jane@example.org>;\nMax <max@example.org>, b@example.org'
    page = panel("invite", people=f"\n{pasted}\nDoe, Li <li@example.org>\n")
    assert "5 added; 0 already" in page
    assert {i.own_id: (i.email, i.name) for i in study.invitations.all()} == {
        "a@example.org": ("A@example.org", ""),
        "jane@example.org": ("jane@example.org", "Doe, Jane"),
        "max@example.org": ("max@example.org", "Max"),
        "b@example.org": ("b@example.org", ""),
        "li@example.org": ("li@example.org", "Doe, Li"),
    }


@pytest.mark.medium
def test_an_address_has_one_link(study, panel):
    wrong = panel("invite", people="x1,same@example.org\nx2,SAME@EXAMPLE.ORG")
    assert "Line 2: “SAME@EXAMPLE.ORG” is in the list twice" in wrong
    panel("invite", people="x1,same@example.org\nx2,other@example.org\nx3")
    again = panel("invite", people="x4,Same@example.org\nx3,other@example.org\nx5,new@example.org")
    assert "1 added; 2 already in the list." in again
    assert "the address has a link under another ID: x4 and x3." in again
    logged = str([vars(entry) for entry in StudyEvent.objects.all()])
    assert "2 already" in logged
    assert "x4" not in logged
    panel("invite", people="x1,other@example.org\nx2,same@example.org")  # they change hands
    assert {i.own_id: i.email for i in study.invitations.all()} == {
        **{"x1": "other@example.org", "x2": "same@example.org", "x3": ""},
        "x5": "new@example.org",
    }


@pytest.mark.medium
def test_lists_are_read_in_unicode_and_others_are_refused(study, tmp_path):
    people, links_file = tmp_path / "people.csv", tmp_path / "links.csv"
    command = ("invite_raters", study.key, "lab", str(people), "--links", str(links_file))
    table = "id\temail\tname\r\nq1\tq1@example.org\tMüller\r\n"
    people.write_bytes(table.encode("cp1252"))
    with pytest.raises(CommandError, match=r"people\.csv” is not UTF-8"):
        call_command(*command)
    people.write_bytes(table.encode("utf-16"))  # Excel's “Unicode text”
    call_command(*command, stdout=io.StringIO())
    assert [i.name for i in study.invitations.all()] == ["Müller"]


@pytest.mark.medium
def test_a_link_is_one_person_and_one_session(study, panel):
    panel("invite", people="p1, ada@example.org\np2")
    first, other = (links(study)[name] for name in ("p1", "p2"))
    assert "Your id is missing" in (
        Client().get(f"/r/{study.link}/?source=lab&participant=p1").content.decode()
    )
    assert "This invitation is not valid" in Client().get(first + "x").content.decode()
    own_browser = Client()
    begun = own_browser.post(first, {"consent": "yes"})
    assert begun.status_code == 302
    own_browser.get(first)
    assert own_browser.get(first).url == begun.url
    other_browser = Client()  # somebody to whom the link was passed on, or another device
    asked = other_browser.get(first)
    assert asked.status_code == 403
    assert begun.url not in asked.content.decode()
    query = dict(parse_qsl(urlsplit(first).query))
    wrong = other_browser.post(f"/r/{study.link}/", {**query, "proof": "bob@example.org"})
    assert "does not belong to this invitation" in wrong.content.decode()
    right = other_browser.post(f"/r/{study.link}/", {**query, "proof": " ADA@example.org"})
    assert right.url == begun.url
    assert other_browser.get(first).url == begun.url
    assert Session.objects.count() == 1
    assert Session.objects.get().source == "lab"
    assert "cannot be removed" in panel("remove", invitation=study.invitations.first().pk)
    declined = Client().post(other, {"consent": "no"}).content.decode()
    assert "you get no reminder" in declined
    rows = invitations.as_csv(study, "lab").splitlines()
    assert [row.split(",")[-1] for row in rows] == ["state", "begun", "declined"]
    assert invitations.counts_of(study, "lab")["begun"] == 1
    Block.objects.update(state=0, session=None, lease_until=None)
    Study.objects.update(state="closed")
    erase(study)
    assert not Invitation.objects.exists()


@pytest.mark.medium
@pytest.mark.parametrize(
    "people",
    [
        "Email;Name;Course\nada@example.org;Ada, Countess of Lovelace;x\nbob@example.org;Bob;y",
        'ada@example.org, "Ada, Countess of Lovelace"\nbob@example.org, Bob',
        "\ufeffname\tmail\nAda, Countess of Lovelace\tada@example.org\nBob\tbob@example.org",
    ],
)
def test_a_mailing_list_becomes_a_mail_merge_file(study, people, tmp_path):
    (tmp_path / "people.csv").write_text(people)
    links_file = tmp_path / "links.csv"
    out = io.StringIO()
    given = (study.key, "lab", tmp_path / "people.csv", "--links", links_file)
    call_command("invite_raters", *map(str, given), stdout=out)
    assert "2 added; 0 already in the list." in out.getvalue()
    assert links_file.stat().st_mode & 0o077 == 0
    assert links_file.read_bytes().startswith(codecs.BOM_UTF8)  # else Excel shows MÃ¼ller
    rows = list(csv.DictReader(links_file.read_text("utf-8-sig").splitlines()))
    assert [(row["name"], row["email"], row["state"]) for row in rows] == [
        ("Ada, Countess of Lovelace", "ada@example.org", "not invited by email"),
        ("Bob", "bob@example.org", "not invited by email"),
    ]
    assert Client().post(rows[0]["link"], {"consent": "yes"}).status_code == 302
    call_command("invite_raters", study.key, "lab", "--links", str(links_file), stdout=out)
    assert "Wrote 2 links" in out.getvalue()
    assert "1 started" in out.getvalue()
    states = [
        row["state"] for row in csv.DictReader(links_file.read_text("utf-8-sig").splitlines())
    ]
    assert states == ["begun", "not invited by email"]
    tables = str([*session_rows(study.key)])
    assert "example.org" not in tables
    assert "Lovelace" not in tables
    with pytest.raises(CommandError, match="no source “class” of the kind panel"):
        call_command("invite_raters", study.key, "class", "--links", str(links_file))


@pytest.mark.medium
def test_mails_go_out_once_and_reminders_to_who_has_not_come(study, panel, server):
    panel("invite", people="p1,ada@example.org\np2,bob@example.org\np3,nobody@example.org\np4")
    assert "lacks {link}" in panel("send", subject="Come", text="Hello")
    assert "Sending 3 emails" in panel("send", **WORDS)
    assert len(server.taken) == 2
    assert "From: lab@example.org" in server.taken[0]
    own = re.search(r"invitation=3?D?(\w+)", server.taken[0].replace("=\n", ""))
    assert own is not None
    page = panel("send", **WORDS)  # pressed again: only who was refused is tried once more
    assert "Sending 1 email." in page
    assert "nobody here" in page
    assert len(server.taken) == 2
    assert "0 emails" in panel("remind", **WORDS)  # had one a moment ago
    study.invitations.update(begun_sending_at=timezone.now() - timedelta(days=1))
    Client().post(links(study)["p1"], {"consent": "yes"})
    panel("remind", **WORDS)
    assert len(server.taken) == 3
    assert "To: bob@example.org" in server.taken[2]
    bob = study.invitations.get(own_id="p2")
    assert (bob.mails, invitations.state_of(bob)) == (2, "reminded")
    assert not invitations.send(bob.pk, "Come", "{link}", reminder=True)  # a job that comes twice


@pytest.mark.medium
def test_mails_whose_job_was_lost_are_sent_and_the_page_says_that_they_are_under_way(
    study, panel, server, client, monkeypatch
):
    panel("invite", people="p1,ada@example.org\np2,bob@example.org")
    with monkeypatch.context() as lost:
        lost.setattr(jobs.send_invitations, "delay", lambda *given: None)
        panel("send", **WORDS)
    path = f"/studies/{study.key}/invitations/lab/"
    assert "Sending 2 emails, requested at" in client.get(path).content.decode()
    study.invitations.get(own_id="p2").delete()
    monkeypatch.setattr(job_queues, "processed_until", lambda queue: timezone.now())
    assert send_lost() == 1
    assert [("ada@" in mail, "bob@" in mail) for mail in server.taken] == [(True, False)]
    page = client.get(path).content.decode()
    assert "requested at" not in page
    panel("invite", people="p3,carl@example.org")
    with monkeypatch.context() as lost:
        lost.setattr(jobs.send_invitations, "delay", lambda *given: None)
        panel("send", **WORDS)
    page = client.get(path).content.decode()
    assert "Sending 1 email, requested at" in page


@pytest.mark.medium
def test_without_a_mail_server_links_are_downloaded(study, panel, client):
    panel("invite", people="=1+1,ada@example.org")
    assert "has no mail server" in panel("send", **WORDS)
    table = client.get(f"/studies/{study.key}/invitations/lab/links.csv").content.decode()
    assert table.startswith("\ufeffid,name,email,link,state")
    assert table.splitlines()[1].startswith("'=1+1,,ada@example.org,http")
    assert Client().get(f"/studies/{study.key}/invitations/lab/").status_code == 302


def test_a_mail_server_needs_a_sender():
    with pytest.raises(ImproperlyConfigured, match="EARNEST_MAIL_FROM"):
        mail_server(urlsplit("smtp://mail.example.org"), "")
    how = mail_server(urlsplit("smtps://u%40x:p@mail.example.org"), "a@b.org")
    assert (how["port"], how["use_ssl"], how["use_tls"], how["username"]) == (
        465,
        True,
        False,
        "u@x",
    )
