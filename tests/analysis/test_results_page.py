"""The results page and its files: for the owner only, in every state, and streamed."""

import csv
import io
import json
import re
import zipfile

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis.models import AnalysisRun
from analysis.ratings.table import from_rows, table_hash
from analysis.report import catalogue
from analysis.report.writers.paper_bundle import NAMES
from analysis.statistics.options import Options
from analysis.statistics.screening.offered import offered_rules
from analysis.web import artifacts
from analysis.web.first_runs import default_options
from analysis.web.jobs import run_analysis
from listening.models import Condition, Session
from metrics.models import MetricScore
from tests.analysis.rated_study import rated_study, score_stimuli
from tests.analysis.shown_by import in_keys
from tests.factories import answer_all, arrive, make_study, make_user

STORED = (
    *("state", "result", "brief", "ratings", "ratings_mark", "scores_mark", "table_hash"),
    *("scores_hash", "version", "code", "started_at", "finished_at", "share"),
)
PARTS = ("against_people", "agreement", "comparisons")
pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")
QUICK = Options(replicates=200).parameters()


@pytest.fixture
def owner(client, study):
    client.force_login(study.owner)
    return client


MADE = {}  # what a run of the module's study gave, by what it was asked for


def analysed(study, **fields):
    """A finished run; what was asked before of the same ratings is not computed again."""
    parameters = QUICK | fields
    run = AnalysisRun.objects.create(study=study, estimator="mean_score", parameters=parameters)
    asked = (study.key, bool(MetricScore.objects.exists()), json.dumps(parameters))
    if asked in MADE:
        AnalysisRun.objects.filter(pk=run.pk).update(**MADE[asked])
    else:
        run_analysis(run.pk)
    run.refresh_from_db()
    assert run.error == ""
    MADE.setdefault(asked, {name: getattr(run, name) for name in STORED})
    return run


def page(client, study, query=""):
    return client.get(reverse("results", args=[study.key]) + query)


def file_of(client, study, name, query=""):
    return client.get(reverse("results-file", args=[study.key, name]) + query)


URLS = [
    "",
    "ratings.csv",
    "scores.csv",
    "ratings.json",
    "estimates.csv",
    "report.html",
    "report.json",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", URLS)
def test_only_the_owner_and_superusers_see_results(client, study, name):
    analysed(study)
    url = f"/studies/{study.key}/results/{name}"
    assert client.get(url)["Location"].startswith("/login/")
    client.force_login(User.objects.create(username="somebody"))
    assert client.get(url).status_code == 404
    client.force_login(User.objects.create(username="root", is_superuser=True))
    assert client.get(url).status_code == 200
    client.force_login(study.owner)
    assert client.get(url).status_code == 200


@pytest.mark.slow
def test_the_paper_files_come_at_once_where_there_are_not_too_many_ratings(
    owner, study, monkeypatch
):
    run = analysed(study)
    assert f"/results/paper.zip?run={run.pk}" in page(owner, study).content.decode()
    with zipfile.ZipFile(io.BytesIO(file_of(owner, study, "paper.zip").content)) as archive:
        assert set(archive.namelist()) <= set(NAMES)
        files = {name: archive.read(name) for name in archive.namelist()}
    ratings = owner.get(reverse("results-ratings", args=[study.key, "csv"]))
    assert files["ratings.csv"] == b"".join(ratings.streaming_content)
    for name in ("figure.pdf", "figure.svg", "results.tex", "differences.csv", "methods.txt"):
        assert file_of(owner, study, name).content == files[name]
    assert file_of(owner, study, "results.tex")["Content-Type"].startswith("application/x-tex")
    monkeypatch.setattr(artifacts, "QUICK_RATINGS", 1)
    assert file_of(owner, study, "paper.zip")["Location"].endswith(f"?run={run.pk}#files-title")
    assert f"/{run.pk}/make/paper.zip/" in page(owner, study).content.decode()


@pytest.mark.slow
def test_the_scores_of_single_clips_are_among_the_files(owner, study):
    run = analysed(study, parts=["clip_scores"])
    text = page(owner, study).content.decode()
    for name in ("clips.csv", "clips.json"):
        assert f"/results/{name}?run={run.pk}" in text
    rows = list(csv.DictReader(io.StringIO(file_of(owner, study, "clips.csv").content.decode())))
    found = file_of(owner, study, "clips.json")
    assert found["Content-Type"].startswith("application/json")
    told = json.loads(found.content)["rows"]
    assert [row["stimulus"] for row in told] == [row["stimulus"] for row in rows]
    assert {row["table_hash"] for row in rows} == {run.table_hash}
    assert file_of(owner, study, "items.csv").status_code == 404


def test_somebody_else_cannot_start_an_analysis(client, study):
    client.force_login(User.objects.create(username="somebody"))
    assert client.post(reverse("results-run", args=[study.key])).status_code == 404
    assert not AnalysisRun.objects.exists()


@pytest.mark.medium
def test_who_opens_the_page_first_gets_an_analysis_by_itself_and_one_only(
    owner, study, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr(run_analysis, "delay", sent.append)
    with django_capture_on_commit_callbacks(execute=True):
        texts = [page(owner, study).content.decode() for _ in range(2)]
    run = AnalysisRun.objects.get()
    assert sent == [run.pk]
    assert run.parameters == default_options(study.key).parameters()
    for text in texts:
        assert "Waiting for the analysis to start" in text
        assert "Choose what to analyse" not in text
        assert 'id="run-title"' not in text
    assert file_of(owner, study, "estimates.csv").status_code == 404


@pytest.mark.medium
def test_a_page_is_analysed_again_when_a_tenth_more_is_rated_or_all_is_there(
    owner, study, monkeypatch
):
    monkeypatch.setattr(run_analysis, "delay", lambda pk: None)
    run = analysed(study)
    automatic = default_options(study.key).parameters()
    AnalysisRun.objects.filter(pk=run.pk).update(parameters=automatic)
    there = run.ratings
    for before, is_open, due in ((there, True, 0), (int(there / 1.2), True, 1), (there, False, 1)):
        AnalysisRun.objects.filter(pk=run.pk).update(ratings=before, ratings_mark="before")
        monkeypatch.setattr("listening.selectors.still_open", lambda key, is_open=is_open: is_open)
        page(owner, study, f"?run={run.pk}")
        assert AnalysisRun.objects.exclude(pk=run.pk).count() == 0
        page(owner, study)
        assert AnalysisRun.objects.exclude(pk=run.pk).count() == due
        AnalysisRun.objects.exclude(pk=run.pk).delete()
    AnalysisRun.objects.filter(pk=run.pk).update(parameters=QUICK)
    page(owner, study)
    assert AnalysisRun.objects.count() == 1, "what somebody chose is not replaced by itself"


@pytest.mark.medium
def test_the_answer_is_shown_before_the_rest_is_made(owner, study):
    run = analysed(study)
    report = run.page_report()
    early = {**report, "parts": report["parts"][:1], "pending": ["Raters"]}
    assert early["parts"][0]["key"] == "answer"
    AnalysisRun.objects.filter(pk=run.pk).update(
        state="running", result="", brief=json.dumps(early), finished_at=None
    )
    text = page(owner, study).content.decode()
    assert "data-growing" in text
    assert "The main result is ready" in text
    assert text.index('class="headline"') < text.index('id="run-title"')
    assert f"estimates.csv?run={run.pk}" not in text
    state = owner.get(reverse("results-state", args=[study.key])).content.decode()
    assert int(re.search(r'data-grown="(\d+)"', state)[1]) > 1000
    assert file_of(owner, study, "estimates.csv").status_code == 404
    owner.post(reverse("results-cancel", args=[study.key, run.pk]))
    run.refresh_from_db()
    assert (run.state, run.brief) == ("cancelled", "")


@pytest.mark.slow
def test_a_page_begins_with_the_answer_and_what_it_rests_on(owner, study):
    score_stimuli(study)
    run = analysed(study)
    text = page(owner, study).content.decode()
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", text)
    (headline,) = re.findall(r'<h2 id="answer-1" class="headline">(.*?)</h2>', text)
    assert 3 < len(headline.split()) <= 30
    assert titles[-4:] == ["Data and methods", "Files", "Read-only links", "Re-run analysis"]
    first = text[text.index('id="answer-1"') : text.index('id="differences-1"')]
    for told in ["<svg", "Limitations", "raters are simulated", "Copy table"]:
        assert told in first
    (listed,) = re.findall(r"Limitations</h3><ul>(.*?)</ul>", first, re.DOTALL)
    assert 1 <= listed.count("<li>") <= 3
    assert "excluded 10 ratings" in text
    for told in ["95 % interval", "Naive", run.table_hash, "Metrics against people"]:
        assert told in text
    assert "http-equiv" not in text
    assert " style=" not in text


@pytest.mark.medium
def test_the_contents_lead_to_every_part(owner, study):
    analysed(study)
    text = page(owner, study).content.decode()
    ids = re.findall(r' id="([\w-]+)"', text)
    assert len(ids) == len(set(ids))
    beside, above = text.split('class="contents ')[1:3]
    links = re.findall(r'href="#([\w-]+)"', beside.split("</ul>")[0])
    assert links == re.findall(r'href="#([\w-]+)"', above.split("</ul>")[0])
    assert set(links) >= {"answer-1", "in-full-1", "section-agreement", "behind", "options"}
    assert set(links) <= set(ids)


@pytest.mark.medium
def test_the_page_can_be_narrowed_without_a_script(owner, study):
    analysed(study)
    text = page(owner, study).content.decode()
    options = re.findall(r'<option value="(condition:[^"]+)">(\w+)</option>', text)
    assert options == [(f"condition:dimension={d}", d) for d in ("emotion", "poetry")]
    narrowed = page(owner, study, "?in=condition:dimension%3Dpoetry").content.decode()
    assert "This is about dimension: poetry only" in narrowed
    assert '<option value="condition:dimension=poetry" selected>' in narrowed
    assert 'class="headline"' not in narrowed
    unknown = page(owner, study, "?in=condition:moon%3Dfull&about=nothing")
    assert unknown.status_code == 200
    assert 'class="headline"' in unknown.content.decode()


@pytest.mark.slow
def test_labels_stand_with_the_keys_of_conditions(owner, study):
    Condition.objects.filter(study=study, key="cond-1").update(label="A <slow> reader")
    run = AnalysisRun.objects.create(study=study, estimator="mean_score", parameters=QUICK)
    run_analysis(run.pk)
    text = page(owner, study).content.decode()
    assert "A &lt;slow&gt; reader" in text
    assert "<slow>" not in text
    text = file_of(owner, study, "estimates.csv").content.decode()
    assert "slow" not in text


@pytest.mark.slow
def test_too_few_ratings_are_told_near_the_answer(client, db):
    study = make_study(key="small")
    answer_all(arrive(study), stop_after=4)
    client.force_login(study.owner)
    analysed(study)
    text = page(client, study).content.decode()
    assert "Only 4 ratings and 1 rater so far: too little to compare anything." in text


@pytest.mark.medium
def test_a_study_without_ratings_says_so(client, db):
    study = make_study(key="empty")
    client.force_login(study.owner)
    analysed(study)
    text = page(client, study).content.decode()
    assert "No ratings yet" in text
    assert "<svg" not in text


@pytest.mark.medium
def test_a_waiting_run_looks_again_and_keeps_the_earlier_results(owner, study):
    analysed(study)
    AnalysisRun.objects.create(study=study, estimator="mean_score", parameters=QUICK)
    text = page(owner, study).content.decode()
    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in text
    assert "Waiting for the analysis to start" in text
    assert "<svg" in text


@pytest.mark.medium
def test_a_running_analysis_says_how_far_it_is_and_can_be_cancelled(owner, study):
    run = AnalysisRun.objects.create(
        study=study,
        estimator="mean_score",
        parameters=QUICK,
        state="running",
        share=0.426,
        doing="Agreement",
    )
    state = owner.get(reverse("results-state", args=[study.key])).content.decode()
    assert "Agreement" in state
    assert 'value="42"' in state
    owner.post(reverse("results-cancel", args=[study.key, run.pk]))
    text = page(owner, study).content.decode()
    assert "The last analysis was cancelled" in text
    assert "It was 42% complete" in text
    assert "http-equiv" not in text
    run.refresh_from_db()
    assert run.state == "cancelled"


@pytest.mark.medium
def test_ratings_that_arrived_since_are_counted_and_can_be_analysed(
    owner, study, monkeypatch, django_capture_on_commit_callbacks
):
    run = analysed(study)
    assert "out of date" not in page(owner, study).content.decode()
    AnalysisRun.objects.filter(pk=run.pk).update(ratings=run.ratings - 7, ratings_mark="before")
    text = page(owner, study).content.decode()
    assert "7 ratings arrived since this analysis finished" in text
    monkeypatch.setattr(run_analysis, "delay", lambda pk: None)
    with django_capture_on_commit_callbacks(execute=True):
        owner.post(reverse("results-again", args=[study.key, run.pk]))
    newest = AnalysisRun.objects.first()
    assert (newest.state, newest.parameters) == ("queued", run.parameters)


@pytest.mark.medium
def test_a_session_that_was_rejected_since_is_told(owner, study):
    analysed(study)
    Session.objects.filter(pk=Session.objects.earliest("pk").pk).update(status="rejected")
    assert "sessions or the study’s material changed" in page(owner, study).content.decode()


@pytest.mark.medium
def test_nobody_else_cancels_repeats_or_makes_files(client, study):
    run = analysed(study)
    client.force_login(User.objects.create(username="somebody"))
    for name, more in (("cancel", []), ("again", []), ("make", ["bundle.zip"])):
        url = reverse(f"results-{name}", args=[study.key, run.pk, *more])
        assert client.post(url).status_code == 404
        client.force_login(study.owner)
        assert client.get(url).status_code == 405
        client.force_login(User.objects.get(username="somebody"))
    assert AnalysisRun.objects.count() == 1


@pytest.mark.medium
def test_a_failed_run_tells_its_reason_escaped(owner, study):
    AnalysisRun.objects.create(
        study=study,
        estimator="mean_score",
        parameters=QUICK,
        state="failed",
        error="row 3 <script>",
    )
    text = page(owner, study).content.decode()
    assert "The last analysis failed" in text
    assert "row 3 &lt;script&gt;" in text
    assert "Re-run analysis" in text


@pytest.mark.medium
def test_the_form_queues_a_run_with_its_options(
    owner, study, monkeypatch, django_capture_on_commit_callbacks
):
    sent, earlier = [], analysed(study)
    monkeypatch.setattr(run_analysis, "delay", sent.append)
    form = {"by": ["dimension", "voice"], "crossed": "1", "level": "0.9", "seed": "5"}
    with django_capture_on_commit_callbacks(execute=True):
        answer = owner.post(reverse("results-run", args=[study.key]), form)
    assert answer["Location"] == reverse("results", args=[study.key])
    run = AnalysisRun.objects.exclude(pk=earlier.pk).get()
    assert sent == [run.pk]
    assert run.parameters["by"] == ["condition:dimension,voice"]
    assert (run.parameters["level"], run.parameters["seed"]) == (0.9, 5)
    assert run.parameters["rules"]
    owner.post(reverse("results-run", args=[study.key]), {"screening": "none", "by": ["split"]})
    newest = AnalysisRun.objects.first()
    assert (newest.parameters["rules"], newest.parameters["by"]) == ([], ["condition:split"])
    text = page(owner, study).content.decode()
    assert 'value="split" checked' in text


@pytest.mark.slow
def test_what_is_stored_is_shown_at_once_and_told(owner, study, monkeypatch):
    monkeypatch.setattr(run_analysis, "delay", lambda pk: None)
    owner.post(reverse("results-run", args=[study.key]), {})
    first, done = AnalysisRun.objects.get(), analysed(study)
    AnalysisRun.objects.filter(pk=first.pk).update(**{name: getattr(done, name) for name in STORED})
    done.delete()
    answer = owner.post(reverse("results-run", args=[study.key]), {}, follow=True)
    assert AnalysisRun.objects.get() == first
    assert "Nothing has changed since" in answer.content.decode()
    AnalysisRun.objects.create(study=study, estimator="mean_score", parameters=QUICK)
    answer = owner.post(reverse("results-run", args=[study.key]), {})
    assert answer["Location"].endswith(f"?run={first.pk}")


@pytest.mark.medium
def test_the_form_offers_reports_parts_rules_and_references(owner, study, monkeypatch):
    monkeypatch.setattr(run_analysis, "delay", lambda pk: None)
    analysed(study)
    text = page(owner, study).content.decode()
    assert re.findall(r'name="part" value="(\w+)"', text) == [
        e.key for e in catalogue.optional_parts()
    ]
    assert '<option value="cond-1">cond-1</option>' in text
    assert '<option value="att">' in text
    rules = [text for text, _ in offered_rules(kinds={"flawed", "human"})]
    assert re.findall(r'name="rule" value="([^"]+)"', text) == rules
    assert not any("attention" in text for text in rules)  # no trap of this study is of that kind
    part = catalogue.optional_parts()[0].key
    form = {"preset": "att", "reference": "cond-1", "rope": "0,05", "part": [part]}
    form |= {"rule": rules[:1], "interval": ["two_way"]}
    owner.post(reverse("results-run", args=[study.key]), form)
    asked = AnalysisRun.objects.first().parameters
    assert (asked["preset"], asked["reference"], asked["rope"]) == ("att", "cond-1", 0.05)
    assert (asked["parts"], asked["intervals"]) == ([part], ["two_way"])
    assert asked["rules"][-1] == rules[0]
    assert len(asked["rules"]) > 1
    text = page(owner, study).content.decode()
    assert '<option value="cond-1" selected>' in text
    assert f'name="part" value="{part}" checked' in text


@pytest.mark.parametrize(
    "form", [{"part": ["answer"]}, {"rule": ["x"]}, {"preset": "x"}, {"rope": "-1"}]
)
@pytest.mark.medium
def test_what_the_form_does_not_offer_is_refused(owner, study, form):
    answer = owner.post(reverse("results-run", args=[study.key]), form)
    assert answer.status_code == 400
    assert not AnalysisRun.objects.exists()


@pytest.mark.parametrize(
    "form", [{"level": "7"}, {"seed": "x"}, {"by": ["rater"]}, {"level": "nan"}, {"seed": "-1"}]
)
@pytest.mark.medium
def test_a_form_that_makes_no_sense_is_answered_with_the_reason(owner, study, form):
    answer = owner.post(reverse("results-run", args=[study.key]), form)
    assert answer.status_code == 400
    assert "Analysis not possible" in answer.content.decode()
    assert not AnalysisRun.objects.exists()


def test_starting_needs_a_post_with_a_csrf_token(study):
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(study.owner)
    url = reverse("results-run", args=[study.key])
    assert client.get(url).status_code == 405
    assert client.post(url).status_code == 403


@pytest.mark.medium
def test_ratings_are_streamed_and_hash_as_the_analysis_did(owner, study):
    run = analysed(study)
    answer = owner.get(reverse("results-ratings", args=[study.key, "json"]))
    assert answer.streaming
    rows = json.loads(b"".join(answer.streaming_content))
    assert len(rows) == 39
    assert table_hash(from_rows(rows)) == run.table_hash
    answer = owner.get(reverse("results-ratings", args=[study.key, "csv"]))
    text = b"".join(answer.streaming_content).decode()
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [line["stimulus"] for line in lines] == [row["stimulus"] for row in rows]
    assert "attachment" in answer["Content-Disposition"]


@pytest.mark.slow
def test_every_file_of_an_analysis_can_be_taken(owner, study):
    score_stimuli(study)
    run = analysed(study)
    report = run.report()
    for name in ("estimates", "contrasts", "shares", "exclusions", "screening"):
        answer = file_of(owner, study, f"{name}.csv")
        assert len(answer.content.decode().splitlines()) == len(report[name]) + 1
    scores = owner.get(reverse("results-scores", args=[study.key])).content.decode()
    assert len(scores.splitlines()) == 37
    head = "sha256,stimulus,metric,version,value,higher_is_better,reason,low,high"
    assert scores.splitlines()[0].startswith(head)
    assert json.loads(file_of(owner, study, "report.json").content) == in_keys(report)
    estimates = json.loads(file_of(owner, study, "estimates.json").content)
    assert estimates["estimates"] == in_keys(report["estimates"])
    assert file_of(owner, study, "report.html").content.startswith(b"<!doctype html>")
    text = page(owner, study).content.decode()
    links = set(re.findall(r'href="([^"]+\.(?:svg|csv)\?run=\d+)"', text))
    assert len([link for link in links if ".svg?" in link]) >= 2
    for link in links:
        answer = owner.get(link)
        assert answer.status_code == 200, link
        assert answer.content.startswith(b"<svg") == (".svg?" in link)
    for name in ("nope.csv", "nope.svg", "nope", "ratings.xml"):
        assert file_of(owner, study, name).status_code == 404


@pytest.mark.slow
def test_an_earlier_analysis_can_be_looked_at_again(owner, study):
    first = analysed(study)
    analysed(study, level=0.9)
    assert "90 % interval" in page(owner, study).content.decode()
    text = page(owner, study, f"?run={first.pk}").content.decode()
    assert "95 % interval" in text
    assert "This is an earlier analysis" in text
    answer = file_of(owner, study, "report.json", f"?run={first.pk}")
    assert json.loads(answer.content)["provenance"]["level"] == 0.95


@pytest.mark.parametrize("asked", ["x", "0", "9" * 30, "-1", "１"])
def test_a_run_that_is_not_there_is_a_404(owner, study, asked):
    assert page(owner, study, f"?run={asked}").status_code == 404


@pytest.mark.medium
def test_a_run_of_another_study_is_not_shown(owner, study):
    other = make_study(key="other")
    other.owner = make_user("other-owner")
    other.save()
    run = analysed(other)
    assert page(owner, study, f"?run={run.pk}").status_code == 404
    assert file_of(owner, study, "report.json", f"?run={run.pk}").status_code == 404


@pytest.mark.medium
def test_clips_stand_with_their_answers_those_of_most_disagreement_first(client, db):
    study, owner = rated_study(key="heard", raters=6), client  # two ratings of many clips
    owner.force_login(study.owner)
    text = owner.get(f"/studies/{study.key}/results/clips/").content.decode()
    spreads = [float(sd) for sd in re.findall(r"standard deviation ([\d.]+)", text)]
    assert spreads
    assert spreads == sorted(spreads, reverse=True)
    assert "Screening rules are not applied" in text
    first = text.split('card clip-row"')[1]
    shares = [int(share) for share in re.findall(r"(\d+) %</span>", first)]
    assert 98 <= sum(shares) <= 102
    (count,) = re.findall(r"(\d+) ratings? ·", first)
    given = re.findall(r"</meter> (\d+) ", first)
    assert sum(map(int, given)) == int(count)
    query = "?condition=cond-1&page=9999"
    assert owner.get(f"/studies/{study.key}/results/clips/{query}").status_code == 200
    one = owner.get(f"/studies/{study.key}/results/clips/?condition=cond-1").content.decode()
    assert len(one.split('card clip-row"')) < len(text.split('card clip-row"'))
    (clip, *_) = re.findall(r"/clips/([\w-]+)\"", text)
    alone = owner.get(f"/studies/{study.key}/results/clips/?stimulus={clip}").content.decode()
    assert alone.count('card clip-row"') == 1
    nothing = owner.get(f"/studies/{study.key}/results/clips/?condition=nobody").content.decode()
    assert "No ratings match this selection" in nothing
    client.logout()
    assert client.get(f"/studies/{study.key}/results/clips/").status_code == 302
