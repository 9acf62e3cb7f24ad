"""The client and its command line, against the API in the tests' own process."""

import base64
import csv
import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from django.core import signals
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction

import earnest
from analysis.models import AnalysisRun
from analysis.statistics.options import Options
from analysis.web import jobs
from analysis.web.first_runs import default_options
from earnest import Client, EarnestError, sending
from earnest.cli import main
from earnest.sending import Sender
from listening.models import Draft, Rating, Study, StudyEvent, requested_jobs
from rest.models import ApiToken
from tests.factories import answer_all, arrive, make_study
from tests.listening.folders import TOML, make_folder
from tests.own_cache import empty_cache
from tests.rest.asking import token_of

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def one_connection():
    """Requests in the process of the test use its transaction, as Django's own client does."""
    empty_cache()
    both = (signals.request_started, signals.request_finished)
    for signal in both:
        signal.disconnect(close_old_connections)
    yield
    for signal in both:
        signal.connect(close_old_connections)


@pytest.fixture
def client():
    inside = httpx.WSGITransport(app=get_wsgi_application())
    with Client("http://localhost", token_of(), transport=inside) as made:
        yield made


@pytest.mark.medium
def test_a_study_goes_from_its_folder_to_its_ratings(client, tmp_path, capsys):
    folder = make_folder(tmp_path / "study")
    wrong = make_folder(tmp_path / "wrong", toml=TOML.replace('method = "mos"', 'method = "mso"'))
    assert main(["study", "validate", str(wrong)], client) == 1
    assert "Did you mean “mos”?" in capsys.readouterr().out
    assert main(["study", "create", str(wrong)], client) == 1
    assert "study.toml, tasks" in capsys.readouterr().err
    assert not Study.objects.exists()
    assert main(["study", "create", str(folder)], client) == 0
    study = Study.objects.get(key="small")
    assert [study.state, study.owner.username] == ["draft", "researcher"]
    assert StudyEvent.objects.get(what="made").by == "researcher, token nightly"
    assert main(["study", "open", "small", "--anyway"], client) == 0
    assert f"/r/{study.link}/" in capsys.readouterr().out
    study.refresh_from_db()
    answer_all(arrive(study))
    out = tmp_path / "ratings.csv"
    append = ["ratings", "small", "--out", str(out), "--append"]
    assert main(append, client) == 0
    answer_all(arrive(study))
    assert main(append, client) == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    whole = client.ratings("small")
    assert [row["stimulus"] for row in rows] == [row["stimulus"] for row in whole]
    assert len({row["session"] for row in rows}) == 2
    assert client.ratings("small", whole.cursor).rows == []
    frame = whole.frame()
    assert str(frame["score"].dtype).lower() == "float64"
    assert str(frame["rated_at"].dtype).startswith("datetime64")
    assert main(["progress", "small"], client) == 0
    assert f"{len(whole)} of 12 places rated" in capsys.readouterr().out
    session = client.sessions("small").rows[0]
    client.reject("small", [session["session"]], "asked to")
    statuses = [row["status"] for row in client.sessions("small")]
    assert statuses == ["rejected", "finished"]
    with pytest.raises(EarnestError, match="not in this study: s1999"):
        client.reject("small", ["s1999"], "asked to")
    assert main(["study", "pause", "small"], client) == 0
    assert main(["study", "copy", "small", "--to", "second"], client) == 0
    assert {row["key"] for row in client.studies()} == {"small", "second"}
    assert client.change("second", archived=True)["archived_at"] is not None
    assert [row["key"] for row in client.studies()] == ["small"]


@pytest.mark.medium
def test_a_large_zip_is_sent_in_pieces_and_a_draft_is_replaced(client, tmp_path, monkeypatch):
    monkeypatch.setattr(sending, "LEAST", 8_000)
    monkeypatch.setattr(sending, "AT_ONCE", 20_000)
    folder = make_folder(tmp_path / "study")
    made = client.create(folder)
    assert made["study"]["key"] == "small"
    assert not Draft.objects.exists()  # nor what was uploaded
    assert client.validate(folder)["valid"]
    wrong = make_folder(tmp_path / "wrong", toml=TOML.replace('method = "mos"', 'method = "mso"'))
    with pytest.raises(EarnestError, match="Did you mean “mos”"):
        client.create(wrong)
    assert not Draft.objects.exists()  # what was refused stays nowhere
    make_folder(folder, toml=TOML.replace("A small study", "A better study"))
    assert client.replace("small", folder)["study"]["title"] == "A better study"
    make_folder(folder, toml=TOML.replace('"small"', '"other"'))
    with pytest.raises(EarnestError, match="of the study “other”, not “small”"):
        client.replace("small", folder)
    assert Study.objects.count() == 1


@pytest.mark.medium
def test_a_study_is_made_of_json(client, tmp_path):
    folder = make_folder(tmp_path / "study")
    with (folder / "stimuli.csv").open(newline="") as file:
        stimuli = list(csv.DictReader(file))
    sounds = {
        f"audio/{path.name}": base64.b64encode(path.read_bytes()).decode()
        for path in (folder / "audio").iterdir()
    }
    body = {"study": tomllib.loads(TOML), "stimuli": stimuli, "files": sounds}
    made = client.sender.ask("POST", "studies", json=body).json()
    assert made["study"]["key"] == "small"
    with pytest.raises(EarnestError) as caught:
        client.sender.ask("POST", "studies", json=body | {"files": {"../x.wav": "AAAA"}})
    assert caught.value.mistakes[0]["field"] == "files.../x.wav"


@pytest.mark.medium
def test_the_notebook_goes_from_a_folder_to_results(client, tmp_path, monkeypatch, capsys):
    """Its cells run here one after the other; raters answer where it says that they do."""
    book = json.loads((ROOT / "docs/notebooks/a-study-by-script.ipynb").read_text("utf-8"))
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)
    make_folder(tmp_path / "my-study")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(earnest, "Client", lambda: client)
    at_once = SimpleNamespace(on_commit=lambda do: do(), atomic=transaction.atomic)
    monkeypatch.setattr(requested_jobs, "transaction", at_once)
    monkeypatch.setattr(jobs.run_analysis, "delay", jobs.run_analysis)
    names: dict[str, object] = {}
    for cell in code:
        lines = "".join(cell["source"])
        exec(lines, names)
        if "earnest.open(" in lines or "earnest.ratings(key)" in lines:
            answer_all(arrive(Study.objects.get()))
    said = capsys.readouterr().out
    each = Rating.objects.count() // 2
    assert f"{each} ratings\n" in said
    assert f"{each} new ratings\n" in said
    assert AnalysisRun.objects.get().state == "done"
    assert (tmp_path / "estimates.csv").read_bytes().startswith(b"breakdown,")
    assert Study.objects.get().state == "paused"


@pytest.mark.medium
def test_analyses_and_metrics_say_what_is_wrong_with_what_is_asked(client):
    make_study(key="voices", traps={"flawed": 1})
    with pytest.raises(EarnestError, match="no option colour"):
        client.analyse("voices", {"colour": "blue"})
    run = client.analyse("voices", {"level": 0.9}, wait_s=0)
    assert (run["state"], run["options"]["level"]) == ("queued", 0.9)
    usual = default_options("voices").parameters()
    assert run["options"]["rules"] == usual["rules"] != Options().parameters()["rules"]
    assert client.analyse("voices", {"rules": []}, wait_s=0)["options"]["rules"] == []
    assert client.results("voices")["report"] is None
    with pytest.raises(EarnestError, match="no finished analysis"):
        client.result_file("voices", "estimates.csv")
    with pytest.raises(EarnestError, match=r"Unknown metric “pesq9”\. Did you mean “pesq”"):
        client.score("voices", metrics=["pesq9"])
    scoring = client.score("voices", metrics=["length_s"])
    assert client.scoring("voices")[0]["run"] == scoring["run"]
    assert client.scores("voices").rows == []
    with pytest.raises(EarnestError) as caught:
        client.studies(state="ajar", limit="many")
    assert [each["field"] for each in caught.value.mistakes] == ["state", "limit"]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda c: c.docs("nothing"), "no page “nothing”. Without a name, you get their list."),
        (lambda c: c.docs("Methods.md"), "no page “Methods.md”. Did you mean “methods”?"),
        (lambda c: c.docs("methods?x="), "no page “methods?x=”. Did you mean “methods”?"),
        (lambda c: c.preset("nothing"), "There is no preset “nothing”."),
        (lambda c: c.study("mos?x="), "There is nothing at “studies/mos?x=”."),
        (lambda c: c.study("a b#"), "There is nothing at “studies/a b#”."),
        (lambda c: c.studies(q="\0"), "A field holds a NUL, which is no text."),
    ],
)
def test_what_is_not_there_is_named(client, ask, words):
    with pytest.raises(EarnestError, match=re.escape(words)) as caught:
        ask(client)
    assert "EARNEST_URL" not in str(caught.value)


def test_what_may_be_repeated_is_and_nothing_else():
    answers = []

    def answer(request):
        answers.append(request.method)
        if len(answers) == 1:
            return httpx.Response(503, headers={"Retry-After": "7"}, json={"detail": "not now"})
        if len(answers) == 2:
            raise httpx.ReadTimeout("slow")
        return httpx.Response(200, json={})

    waited = []
    http = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://x/api/v1/")
    sender = Sender(http, 3, waited.append)
    assert sender.ask("GET", "studies").status_code == 200
    assert (answers, waited[0], len(waited)) == (["GET"] * 3, 7.0, 2)
    for status in (503, 0):
        answers[:] = [] if status else ["GET"]
        with pytest.raises(EarnestError) as caught:
            sender.ask("POST", "studies", json={})
        assert caught.value.status == status
    assert str(caught.value).startswith("http://x did not answer (slow). Look whether it was done")
    with pytest.raises(EarnestError, match="EARNEST_URL"):
        Client("localhost", "t")


@pytest.mark.medium
def test_a_webhook_is_made_with_its_secret_and_removed(client, monkeypatch):
    from listening.notifications import channels

    monkeypatch.setattr(channels, "checked_address", lambda kind, url: url)
    made = client.add_webhook("https://lab.example/hook", ["study.full"], "Lab")
    assert made["secret"].startswith("whsec_")
    assert [(w["url"], w["events"]) for w in client.webhooks()] == [(made["url"], ["study.full"])]
    assert "secret" not in client.webhooks()[0]
    with pytest.raises(EarnestError, match="Unknown event party"):
        client.add_webhook("https://lab.example/hook", ["party"])
    client.remove_webhook(made["id"])
    assert client.webhooks() == []


@pytest.mark.medium
def test_tokens_are_made_shown_once_and_revoked_on_their_page():
    from django.contrib.auth.models import User
    from django.test import Client as Browser

    user = User.objects.create_user("ada", password="correct horse battery")
    browser = Browser()
    browser.post("/login/", {"username": "ada", "password": "correct horse battery"})
    browser.post("/account/confirm/", {"password": "correct horse battery"})
    form = {"action": "make", "name": "nightly", "scope": ["read", "ratings"], "days": "30"}
    shown = browser.post("/account/tokens/do/", form)
    row = ApiToken.objects.get(owner=user)
    assert shown.context["made"].startswith(row.begins)
    assert (row.scopes, row.project) == (["read", "ratings"], None)
    page = browser.get("/account/tokens/").content.decode()
    assert shown.context["made"] not in page
    assert "nightly" in page
    assert browser.post("/account/tokens/do/", form | {"scope": []}).status_code == 400
    browser.post("/account/tokens/do/", {"action": "revoke", "token": row.pk})
    assert not ApiToken.objects.get().works
    reference = browser.get("/api/").content.decode()
    assert "/api/v1/studies/{key}/ratings" in reference
    listed = json.loads(browser.get("/api/v1/openapi.json").content)["paths"]
    assert all(path in reference for path in listed)
    unknown = browser.get("/api/v1/nothing")
    assert (unknown.status_code, unknown["Content-Type"]) == (404, "application/problem+json")
