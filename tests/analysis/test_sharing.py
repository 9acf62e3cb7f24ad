"""Read-only links: what they show, what they keep back, and how they end."""

import logging
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from analysis.models import AnalysisRun, ResultsLink
from analysis.report.catalogue import catalogue
from analysis.report.shared_report import (
    COMMENT_PARTS,
    RATER_PARTS,
    SYSTEM_PARTS,
    Private,
    held_back,
    shared_report,
)
from analysis.statistics.options import Options
from analysis.web.jobs import run_analysis
from analysis.web.sharing import hash_of
from config import limits
from listening.models import Rater, Session, Stimulus
from listening.selectors import RATER_CODE
from listening.sessions import lifecycle
from tests.factories import make_study, make_user

PARTS = ("agreement", "justifications", "participants", "raters")
pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")
WORDS = 'id="part-justifications"'  # the part that is made of reasons


MADE = {}  # what a run of this module's study gave, by the report that was asked for
STORED = ("state", "result", "brief", "ratings", "ratings_mark", "finished_at")


def analysed(study, preset=""):
    parameters = Options(replicates=200, preset=preset).parameters()
    run = AnalysisRun.objects.create(study=study, estimator="mean_score", parameters=parameters)
    if preset in MADE:
        AnalysisRun.objects.filter(pk=run.pk).update(**MADE[preset])
    else:
        run_analysis(run.pk)
    run.refresh_from_db()
    assert run.error == ""
    MADE.setdefault(preset, {name: getattr(run, name) for name in STORED})
    return run


@pytest.fixture
def owner(client, study):
    client.force_login(study.owner)
    return client


def made(owner, study, **given):
    """The path of a new link, as the page that is shown once tells it."""
    page = owner.post(f"/studies/{study.key}/results/links/", {"days": "30", **given})
    assert page.status_code == 200, page.content
    return re.search(r'value="http://testserver(/shared/[^"]+)"', page.content.decode())[1]


def read(path, **given):
    response = Client().get(path, given)
    return response.status_code, response.content.decode()


def test_every_part_of_a_report_is_decided_on():
    decided = SYSTEM_PARTS | RATER_PARTS | COMMENT_PARTS
    assert set(catalogue()) == decided, "decide in analysis/report/shared_report.py"
    assert len(decided) == len(SYSTEM_PARTS) + len(RATER_PARTS) + len(COMMENT_PARTS)


@pytest.mark.slow
def test_a_link_shows_the_results_without_codes_or_words(owner, study):
    analysed(study, preset="lfs")
    everything = owner.get(f"/studies/{study.key}/results/").content.decode()
    codes = set(Rater.objects.filter(sessions__study=study).values_list("code", flat=True))
    seen = {code for code in codes if code in everything}
    assert len(seen) > 1
    assert WORDS in everything
    status, page = read(made(owner, study))
    assert status == 200
    assert "cond-1" in page
    assert RATER_CODE.search(page) is None
    assert not any(code in page for code in codes)
    assert WORDS not in page
    assert not re.search(r'>s\d+<|<form|<input|href="/|<audio', re.sub(r"<link[^>]+>", "", page))
    assert "Raters" in page.partition("Not included in shared results")[2]
    assert WORDS in read(made(owner, study, reasons="1"))[1]


@pytest.mark.slow
def test_a_link_leads_nowhere_else_and_its_answers_are_kept_nowhere(owner, study):
    analysed(study)
    other = make_study(key="other")
    path = made(owner, study, audio="1")
    clip = Stimulus.objects.filter(study=study, trap="").first()
    trap = Stimulus.objects.filter(study=study).exclude(trap="").first()
    foreign = Stimulus.objects.filter(study=other).first()
    assert f"{path}clips/{clip.key}" in read(path)[1]
    for name in ("ratings.csv", "sessions.csv", "report.json", "state/", "run/", "../results/"):
        assert read(path + name)[0] == 404
    for key in (trap.key, foreign.key + "x", "..%2f..%2fsecret_key", "%00"):
        assert read(f"{path}clips/{key}")[0] == 404
    assert read(f"/shared/{'A' * 32}/")[0] == 404
    assert read(f"/shared/{path.split('/')[2].swapcase()}/")[0] == 404
    silent = made(owner, study)
    assert read(f"{silent}clips/{clip.key}")[0] == 404
    assert Client().post(path).status_code == 405
    answer = Client().get(path)
    assert answer["Cache-Control"] == "private, no-store"
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "noindex" in answer["X-Robots-Tag"]
    assert not answer.cookies
    stored = ResultsLink.objects.get(token_hash=hash_of(path.split("/")[2]))
    assert path.split("/")[2] not in str(vars(stored))
    assert stored.opened == 2
    assert stored.last_opened_at is not None


@pytest.mark.slow
def test_a_rater_who_withdraws_is_gone_from_every_link(
    owner, study, django_capture_on_commit_callbacks
):
    run = analysed(study)
    newest, pinned = made(owner, study), made(owner, study, run=str(run.pk))
    assert "cond-1" in read(pinned)[1]
    with django_capture_on_commit_callbacks(execute=True):
        lifecycle.withdraw(Session.objects.filter(study=study).first())
    for path in (newest, pinned):
        status, page = read(path)
        assert (status, "cond-1" in page) == (200, False)
        assert "rater withdrew" in page


@pytest.mark.medium
def test_a_link_ends_on_its_day_or_when_its_maker_ends_it(owner, study, caplog):
    caplog.set_level(logging.INFO)
    ended, expired = made(owner, study, name="Reviewer 2"), made(owner, study, days="1")
    ResultsLink.objects.filter(token_hash=hash_of(expired.split("/")[2])).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )
    link = ResultsLink.objects.get(name="Reviewer 2")
    assert abs(link.expires_at - timezone.now() - timedelta(days=30)) < timedelta(hours=1)
    where = f"/studies/{study.key}/results/links/{link.pk}/end/"
    stranger = Client()
    stranger.force_login(make_user("stranger"))
    assert stranger.post(where).status_code == 404
    assert stranger.post(f"/studies/{study.key}/results/links/", {"days": "1"}).status_code == 404
    assert Client().post(where).status_code == 302  # to the log-in
    assert read(ended)[0] == 200
    assert owner.post(where).status_code == 302
    for path, words in ((ended, "It was revoked"), (expired, "It expired on")):
        status, page = read(path)
        assert (status, words in page, study.title in page) == (410, True, False)
    assert f"ended results link {link.pk}" in caplog.text
    assert ended.split("/")[2] not in caplog.text


@pytest.mark.parametrize("days", ["", "0", "366", "-1", "ten", "9" * 30, "٣"])
def test_a_link_without_an_end_is_not_made(owner, study, days):
    page = owner.post(f"/studies/{study.key}/results/links/", {"days": days})
    assert page.status_code == 400
    assert b"1 to 365 days" in page.content
    assert not ResultsLink.objects.exists()


def test_a_link_is_pinned_to_analyses_of_its_own_study_alone(owner, study):
    other = make_study(key="other")
    foreign = AnalysisRun.objects.create(
        study=other, estimator="mean_score", state="done", result="{}"
    )
    page = owner.post(f"/studies/{study.key}/results/links/", {"days": "3", "run": str(foreign.pk)})
    assert page.status_code == 404


@pytest.mark.medium
def test_who_guesses_addresses_is_slowed_down(db, monkeypatch):
    counts = {}

    class Memory:
        get = staticmethod(counts.get)

        def set(self, key, value, timeout=None):
            counts[key] = value

    monkeypatch.setattr(limits._Throttle, "cache", Memory())
    assert Client().get("/shared/guess-0/").status_code == 404
    (requests,) = counts.values()
    requests *= 119  # as if all of them were guesses
    answers = [Client().get(f"/shared/guess-{n}/").status_code for n in range(119, 121)]
    assert answers == [404, 429]


def test_answers_in_words_and_all_that_is_said_of_them_go():
    words, code = ("notes", "why"), "r-abcdefghjk"

    def row(task, criterion, estimand="share of x"):
        return {"task": task, "criterion": criterion, "estimand": estimand, "condition": "A"}

    def table(about, rows, columns=("condition",)):
        columns = [{"key": key} for key in columns]
        return {"about": about, "rows": rows, "columns": columns, "note": f"see {code}"}

    part = {"key": "answer", "title": "The answer", "problem": "", "methods": [], "files": {}}
    part["sentences"] = ["MOS · mos · q: A is best.", "Answers · notes · why: Ada for A."]
    part["warnings"] = ["notes, why: few answers.", f"mos, q: {code} disagrees."]
    part["figures"] = [{"about": "Answers · notes · why", "rows": [{"name": "Ada"}], "note": ""}]
    part["tables"] = [
        table("MOS · mos · q", [{"who": code}, {"who": "A"}]),
        table("", [{"rater": "ann", "n": 1}], ("rater", "n")),
    ]
    report = {
        "estimates": [row("mos", "q")],
        "shares": [row("mos", "q"), row(*words, "share of Ada")],
        "contrasts": [],
        "screening": [],
        "warnings": [],
        "titles": ["MOS · mos · q", "Answers · notes · why"],
        "parts": [part, {**part, "key": "raters", "title": "Raters"}],
    }
    private = Private(RATER_CODE, True, frozenset({words}))
    shown = shared_report(report, private)
    assert "Ada" not in str(shown)
    assert code not in str(shown)
    assert "ann" not in str(shown)
    assert [each["sentences"] for each in shown["parts"]] == [["MOS · mos · q: A is best."]]
    assert shown["parts"][0]["tables"][0]["rows"] == [{"who": "A"}]
    assert held_back(report, private) == ["Raters"]
    assert "Ada" in str(shared_report(report, Private(RATER_CODE, False)))
