"""Scripted raters walk through the real web process, and the database agrees with what they say."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from io import StringIO

import httpx
import pytest
from django.core import signing
from django.core.management import CommandError, call_command
from django.db.models import Avg

from listening.models import Justification, Rater, Rating, Session, Study, Trial
from listening.recruitment.evidence import evidence_of
from listening.sessions import allocation
from listening.sessions.simulated_raters import Kind, Truth, send_crowd
from listening.sessions.simulated_raters.browser import Browser, Unreachable, read_page
from listening.sessions.simulated_raters.knowledge import clips_by_copy, rater_knowledge, truth_file
from tests.factories import ATT_TRAPS, add_task, make_study
from tests.listening.sounds import give_sound

WHY = {"required": True, "min_chars": 20, "prompt": "What made you think so?"}
ATT = {"method": "att", "traps": ATT_TRAPS, "justification": WHY, "ratings_per_stimulus": 20}


@pytest.fixture(scope="module")
def web(web):
    return web.url


@pytest.fixture
def study(transactional_db):
    """Three conditions, heard in the Audio Turing Test and in a comparison, after a check."""
    made = make_study(
        key="voices",
        items=5,
        traps={"flawed": 2, "human": 3},
        task=ATT,
        checks=[{"key": "volume"}],
    )
    add_task(made, method="cmos", ratings_per_stimulus=20)
    allocation.plan_study(made)
    give_sound(made)
    return made


TRUTH = Truth(3, {"cond-0": 1.0, "cond-1": 0.0, "cond-2": -1.0, "trap": 0.0})


def landing_of(study: Study, token: str | None = None) -> str:
    token = signing.dumps(study.key, salt="simulate") if token is None else token
    return f"/r/{study.link}/?simulate={token}"


def send(web: str, study: Study, kinds: list[Kind], **fields):
    arguments = {"landing": landing_of(study), "known": rater_knowledge(study), **fields}
    return asyncio.run(send_crowd(web, truth=TRUTH, kinds=kinds, concurrency=8, **arguments))


# --- Kinds of raters through the real pages ------------------------------------------------------


@pytest.mark.slow
def test_every_kind_of_rater_ends_as_it_should_and_no_acknowledged_answer_is_lost(web, study):
    summary = send(web, study, [kind for kind in Kind for _ in range(2)])
    assert not summary.trouble, summary.trouble
    assert not summary.refused, summary.refused
    assert {kind: dict(ends) for kind, ends in summary.ends.items()} == {
        Kind.CAREFUL: {"complete": 2},
        Kind.CARELESS: {"complete": 2},
        Kind.LEAVER: {"dropped out": 2},
        Kind.RETURNER: {"complete": 2},
        Kind.DOUBLE: {"complete": 2},
        Kind.WITHDRAWER: {"withdrawn": 2},
        Kind.AGENT: {"complete": 2},
    }
    answered = set(Trial.objects.filter(state="answered").values_list("code", flat=True))
    assert answered == summary.acknowledged - summary.withdrawn
    assert summary.withdrawn
    assert Rating.objects.count() == len(answered)
    assert Counter(Session.objects.values_list("status", flat=True)) == {
        "finished": 10,
        "started": 2,
        "withdrawn": 2,
    }
    signs = {each.code: each.signs for each in evidence_of(study).values()}
    for report in summary.reports:
        if report.kind is Kind.AGENT:
            said = " ".join(signs[report.session])
            for sign in ("drives", "had not moved", "no device", "typed faster", "another rater's"):
                assert sign in said
        else:  # they do what the page does
            assert signs[report.session] == [], report.kind
    assert not Session.objects.exclude(status="withdrawn").exclude(scripts_ran=True).exists()
    assert not Rater.objects.filter(simulated=False).exists()


@pytest.mark.medium
def test_a_double_clickers_second_answer_is_told_as_a_repeat(web, study):
    (report,) = send(web, study, [Kind.DOUBLE]).reports
    assert report.repeats == len(report.acknowledged) == 13  # 5 rated + 3 traps, then 5
    assert Rating.objects.count() == 13


@pytest.mark.slow
def test_returners_go_on_where_they_stopped_in_the_same_session(web, study):
    summary = send(web, study, [Kind.RETURNER] * 4)
    assert Session.objects.count() == 4
    assert [len(report.acknowledged) for report in summary.reports] == [13] * 4


@pytest.mark.soak  # the way to the report: tests/test_end_to_end.py
def test_the_means_of_careful_raters_come_out_as_the_truth_says(web, study):
    send(web, study, [Kind.CAREFUL] * 24)
    truth = truth_file(study, TRUTH, [Kind.CAREFUL] * 24)
    given = Rating.objects.filter(trial__task__key="att", trial__trap="")
    means = dict(given.values_list("stimulus__condition__key").annotate(Avg("score")))
    expected = {
        row["condition"]: row["expected_for_these_stimuli"]
        for row in truth["expected"]
        if row["task"] == "att"
    }
    assert set(means) == set(expected) == {"cond-0", "cond-1", "cond-2"}
    assert given.count() == 120
    for condition, mean in means.items():  # about 40 ratings each: standard error below 0.07
        assert mean == pytest.approx(expected[condition], abs=0.3)
    assert means["cond-0"] > means["cond-1"] > means["cond-2"]
    pairs = Rating.objects.filter(trial__task__key="cmos")
    for row in truth["expected"]:
        if row["task"] == "cmos":
            pair = pairs.filter(
                stimulus__condition__key=row["condition"],
                trial__versus__condition__key=row["versus_condition"],
            )
            mean = pair.aggregate(Avg("score"))["score__avg"]
            assert mean == pytest.approx(row["expected_for_these_stimuli"], abs=0.8)


@pytest.mark.slow
def test_careless_raters_fail_traps_and_careful_ones_pass_them(web, study):
    """18 traps each: 17 and 6 are to be expected; a correct model fails once in 50 000 runs."""

    def passed(kind: Kind) -> int:
        sessions = {report.session for report in send(web, study, [kind] * 6).reports}
        traps = Trial.objects.filter(session__code__in=sessions).exclude(trap="")
        assert traps.count() == 18
        return traps.filter(trap_passed=True).count()

    assert passed(Kind.CAREFUL) >= 12
    assert passed(Kind.CARELESS) <= 14


@pytest.mark.slow
def test_reasons_are_typed_where_they_are_asked_for(web, study):
    send(web, study, [Kind.CAREFUL] * 4)
    att = Trial.objects.filter(task__key="att", state="answered").count()
    reasons = list(Justification.objects.all())
    assert len(reasons) == att == 32
    assert len({j.text for j in reasons}) > 20
    assert all(len(j.text) >= 20 and j.keystrokes and j.typing_ms for j in reasons)


@pytest.mark.medium
def test_a_full_study_turns_raters_away_with_a_reason(web, study):
    Study.objects.update(state="paused")
    (report,) = send(web, study, [Kind.CAREFUL]).reports
    assert (report.end, bool(report.why)) == ("turned away", True)
    assert not Session.objects.exists()


@pytest.mark.medium
def test_without_a_valid_token_the_server_refuses_such_haste(web, study):
    """Long clips here: nobody hears 13 of them in a second, except whom the server lets."""
    study.stimuli.update(duration_s=30)
    forged = signing.dumps("another-study", salt="simulate")
    (report,) = send(web, study, [Kind.CAREFUL], landing=landing_of(study, forged)).reports
    assert report.end == "failed"
    assert set(report.refused) == {"422 not_heard"}
    assert not Rating.objects.exists()
    assert not Rater.objects.filter(simulated=True).exists()


@pytest.mark.medium
def test_a_clip_that_is_not_recognised_ends_the_rater_with_a_sentence(web, study):
    known = replace(rater_knowledge(study), clip_of=lambda code, url: None)
    (report,) = send(web, study, [Kind.CAREFUL], known=known).reports
    assert (report.end, report.acknowledged) == ("failed", set())
    assert "not among the study's stimuli" in report.why


@pytest.mark.medium
def test_a_link_that_the_server_does_not_know_is_a_failure(web, study):
    (report,) = send(web, study, [Kind.CAREFUL], landing="/r/23456789abcd/").reports
    assert "does not know this study's link" in report.why


# --- The command ---------------------------------------------------------------------------------


def simulate(web: str, *words: str) -> str:
    out = StringIO()
    call_command("simulate_raters", "--url", web, *words, stdout=out)
    return out.getvalue()


@pytest.mark.slow
def test_the_command_tells_what_was_acknowledged_and_what_is_stored(web, study, tmp_path):
    truth = tmp_path / "truth.json"
    told = simulate(web, "--raters", "10", "--leave", "0.2", "--truth", str(truth))
    stored = Trial.objects.filter(state="answered").count()
    assert f"{stored} due, stored {stored} ({Rating.objects.count()} ratings)" in told
    assert "leaver          2 dropped out" in told
    written = json.loads(truth.read_text())
    assert written["qualities"].keys() == {"cond-0", "cond-1", "cond-2", "trap"}
    assert {row["estimand"] for row in written["expected"]} == {"hls", "cmos"}


@pytest.mark.medium
def test_the_command_says_why_it_cannot_start(web, study, tmp_path):
    def refused(*words: str) -> str:
        with pytest.raises(CommandError) as error:
            simulate(web, *words)
        return str(error.value)

    assert "There is no study “vices”. There are: voices." in refused("--study", "vices")
    assert "must be at least 1" in refused("--raters", "0")
    assert "at most 1" in refused("--careless", "0.9", "--leave", "0.9")
    assert "No Earnest answers at http://127.0.0.1:9" in refused("--url", "http://127.0.0.1:9")
    assert "cannot be written" in refused("--truth", str(tmp_path / "no" / "such.json"))
    make_study(key="second")
    assert "choose one with --study (second, voices)" in refused()
    Study.objects.update(state="draft")
    assert "No study is open" in refused()
    assert "is draft, not open" in refused("--study", "voices")


@pytest.mark.medium
def test_the_command_fails_when_something_unexpected_happened(web, study, monkeypatch):
    monkeypatch.setattr(
        "listening.management.commands.simulate_raters.rater_knowledge",
        lambda study: replace(rater_knowledge(study), clip_of=lambda code, url: None),
    )
    with pytest.raises(CommandError) as error:
        simulate(web, "--raters", "2")
    assert error.value.returncode == 1


@pytest.mark.medium
def test_the_command_tells_an_acknowledged_answer_that_is_not_stored(web, study, monkeypatch):
    monkeypatch.setattr(
        "listening.management.commands.simulate_raters.stored_trials",
        lambda codes: set(sorted(codes)[1:]),
    )
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("simulate_raters", "--url", web, "--raters", "1", stdout=out)
    assert "LOST: 1 acknowledged answer not stored." in out.getvalue()


# --- The browser of a scripted rater -------------------------------------------------------------


def browser_over(answers: list[httpx.Response | Exception]) -> Browser:
    def answer(request: httpx.Request) -> httpx.Response:
        given = answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return given

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://x")
    return Browser(client, Counter(), tries=4, pause_s=0)


def test_a_request_that_fails_in_transit_is_sent_again_and_counted():
    answers: list[httpx.Response | Exception]
    answers = [httpx.ConnectError("refused"), httpx.Response(503), httpx.Response(200, json={})]
    browser = browser_over(answers)
    assert asyncio.run(browser.post_json("/api/", {})) == (200, {})
    assert browser.trouble == {"ConnectError": 1, "status 503": 1}


def test_a_server_that_stays_away_is_given_up():
    browser = browser_over([httpx.ConnectError("refused")] * 4)
    with pytest.raises(Unreachable, match="GET /r/x/"):
        asyncio.run(browser.page("/r/x/"))


def test_a_refusal_is_not_sent_again():
    browser = browser_over([httpx.Response(409, json={"error": "wrong_order"})])
    assert asyncio.run(browser.post_json("/api/", {})) == (409, {"error": "wrong_order"})
    assert not browser.trouble


def test_a_page_is_read_for_its_forms_scripts_and_headline():
    html = """<h1>Two <em>words</em></h1><form method="post" action="/go"><input type="hidden"
      name="token" value="a&amp;b"><input type=checkbox name=consent value=yes><input type=submit>
      </form><script id="state" type="application/json">{"text": "\\u003Cb\\u003E"}</script>
      <script>var form = "<form>";</script><form><input name="other"></form>"""
    page = read_page("http://x/r/1/", 200, html)
    assert page.headline == "Two words"
    form = page.form_with("consent")
    assert form is not None
    assert (form.action, form.method) == ("/go", "post")
    assert form.fields == {"token": "a&b", "consent": "yes"}
    assert page.data == {"state": {"text": "<b>"}}
    assert page.form_with("missing") is None


@pytest.mark.slow
def test_scripted_raters_know_neither_django_nor_the_database():
    code = (
        "import sys, listening.sessions.simulated_raters; "
        "sys.exit(any(m == 'django' or m.startswith('listening.models') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.medium
def test_a_clip_that_is_rated_and_a_trap_is_answered_as_rated(study):
    """Its bytes do not tell the rater which of the two it is."""
    rated = study.stimuli.filter(trap="").first()
    study.stimuli.filter(trap="human").update(served_sha256=rated.served_sha256)
    for stimulus in (rated, study.stimuli.filter(trap="human").first()):
        known = clips_by_copy(study)[stimulus.served]
        assert (known.stimulus, known.expected) == (rated.key, frozenset())
