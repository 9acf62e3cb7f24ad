"""On a study the trap rule is the study's own, and its command line gives the same numbers."""

import json
import random
import shlex
from html import unescape

import pytest
from django.core.management import call_command
from django.db import transaction
from django.urls import reverse

from analysis.models import AnalysisRun
from analysis.report import build
from analysis.statistics.screening.single_ratings import NotCounted, SessionStatus
from analysis.statistics.screening.trap_rules import TaskTraps
from analysis.web.jobs import run_analysis
from analysis.web.study_tables import study_rules
from listening.common.command_name import PROGRAM
from listening.models import Study
from listening.selectors import trap_plans
from listening.sessions import allocation, lifecycle
from tests.factories import add_task, an_answer, arrive, current, labels_of, make_study

PARTS = ("screening",)
pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")
NO_FIGURES = ["--everything", "--figures", "none"]
QUICK = ["--replicates", "200"]
HUMANS = {
    "kinds": [{"kind": "human", "count": 2, "expected": ["Human"], "pass_at_least": 2}],
    "per": 10,
}
GOLD = {
    "kinds": [{"kind": 'the "gold" one', "count": 1, "expected": ["5"], "pass_at_least": 1}],
    "per": 10,
}
OWN = TaskTraps((("att", (("human", 2, 2),)), ("mos", (('the "gold" one', 1, 1),))))


@pytest.fixture(scope="module")
def shared_study(django_db_setup, django_db_blocker):
    """In place of that of conftest.py, for all tests of this file."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield two_tasks()
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def exported(shared_study, without_models, django_db_blocker, tmp_path_factory):
    """A folder with the study's export, which no test writes into."""
    folder = tmp_path_factory.mktemp("exported")
    with django_db_blocker.unblock():
        Study.objects.filter(pk=shared_study.pk).update(state=Study.State.CLOSED)
        call_command("export_study", shared_study.key, "--out", str(folder), *NO_FIGURES, *QUICK)
    return folder


@pytest.fixture
def rules_alone(monkeypatch):
    """Reports hold numbers and rules, without parts and without what each rule changes."""
    monkeypatch.setattr(build, "parts_to_make", lambda given: [])
    monkeypatch.setattr(build, "sensitivity", lambda *given: [])


def two_tasks():
    """With traps of their own; some raters fail those of one task, some of the other."""
    task = {"method": "att", "block_size": 10, "ratings_per_stimulus": 2, "traps": HUMANS}
    traps = {"human": 4, 'the "gold" one': 2}
    study = make_study(key="own", items=10, traps=traps, task=task, task_plan="all")
    add_task(study, block_size=10, traps=GOLD)
    allocation.plan_study(study)
    rng = random.Random(1)
    for number in range(6):
        answer(arrive(study), rng, wrong={1: "human", 2: 'the "gold" one'}.get(number, ""))
    return study


def answer(session, rng, wrong):
    while (trial := current(session)) is not None:
        label = rng.choice(labels_of(trial))
        if trial.trap:
            label = trial.expected[0]
        if trial.trap and trial.trap == wrong:
            label = "Machine" if wrong == "human" else "1"
        lifecycle.record_answer(session, an_answer(trial, label))


def report_in(folder):
    return json.loads((folder / "report.json").read_text("utf-8"))


@pytest.mark.slow
def test_the_plan_leaves_the_room_as_plain_values(study):
    human, gold = HUMANS["kinds"][0]["kind"], GOLD["kinds"][0]["kind"]
    assert trap_plans(study.key) == {
        "att": [{"kind": human, "count": 2, "pass_at_least": 2}],
        "mos": [{"kind": gold, "count": 1, "pass_at_least": 1}],
    }
    assert study_rules(study.key) == (SessionStatus(), OWN, NotCounted())


def test_a_study_without_traps_has_no_trap_rule(db):
    study = make_study()
    assert trap_plans(study.key) == {}
    assert study_rules(study.key) == (SessionStatus(), NotCounted())


@pytest.mark.slow
def test_each_task_is_judged_by_its_own_traps(exported):
    report = report_in(exported)
    counts = {row["rule"]: row for row in report["exclusions"]}
    assert "att_traps" not in counts
    assert (counts["task_traps"]["ratings"], counts["task_traps"]["blocks"]) == (20, 2)
    assert "in task mos" in counts["task_traps"]["what"]
    assert "in task mos" in (exported / "report.html").read_text("utf-8")


@pytest.mark.slow
def test_the_command_of_the_report_makes_its_numbers_again(exported, tmp_path, monkeypatch):
    made = report_in(exported)
    again = made["provenance"]["again"]
    assert "--rule 'task_traps:att/human=2/2,mos/the%20\"gold\"%20one=1/1'" in again
    monkeypatch.chdir(exported)
    words = shlex.split(again.removeprefix(PROGRAM))
    assert words[:2] == ["analyse", "ratings.csv"]
    call_command(*words, "--out", str(tmp_path / "b"), *NO_FIGURES)
    for name in ("estimates.csv", "contrasts.csv", "exclusions.csv", "screening.csv", "shares.csv"):
        assert (exported / name).read_text() == (tmp_path / "b" / name).read_text()
    other = report_in(tmp_path / "b")
    assert made.pop("made_at")
    assert other.pop("made_at")
    del made["conduct"]
    assert "left_out_by is not used" in other["input"]["notes"].pop()
    assert "left_out_by is not used" in other["warnings"].pop(0)
    parts = [part for part in made.pop("parts") if part["key"] != "participants"]
    assert parts == other.pop("parts")  # who took part is no column of ratings.csv
    assert made == other


@pytest.mark.slow
@pytest.mark.usefixtures("rules_alone")
def test_the_csv_alone_gives_the_numbers_of_the_study(exported, tmp_path):
    words = [str(exported / "ratings.csv"), "--out", str(tmp_path), *QUICK]
    call_command("analyse", *words, *NO_FIGURES)
    own, bare = report_in(exported), report_in(tmp_path)
    for name in ("estimates", "contrasts", "shares", "data"):
        assert bare[name] == own[name]
    left_out = [(row["rule"], row["ratings"]) for row in own["exclusions"] if row["ratings"]]
    assert left_out == [(r["rule"], r["ratings"]) for r in bare["exclusions"] if r["ratings"]]
    assert "as the column left_out_by says" in bare["warnings"][0]


@pytest.mark.slow
@pytest.mark.usefixtures("rules_alone")
def test_a_csv_without_that_column_has_the_default_rule(exported, tmp_path):
    words = [str(exported / "ratings.csv"), "--out", str(tmp_path), *QUICK]
    call_command("analyse", *words, *NO_FIGURES, "--ignore-column", "left_out_by")
    own, bare = report_in(exported), report_in(tmp_path)
    assert "att_traps:flawed=1/1,human=1/2" in bare["provenance"]["rules"]
    assert bare["data"]["ratings_kept"] > own["data"]["ratings_kept"]


@pytest.mark.slow
@pytest.mark.usefixtures("rules_alone")
def test_a_rule_that_is_asked_for_takes_the_place_of_the_plan(study, tmp_path):
    asked = ["--rule", "att_traps:human=1/2"]
    call_command("export_study", study.key, "--out", str(tmp_path), *NO_FIGURES, *QUICK, *asked)
    assert report_in(tmp_path)["provenance"]["rules"] == ["att_traps:human=1/2"]


@pytest.mark.slow
@pytest.mark.usefixtures("rules_alone")
def test_the_page_uses_and_names_the_plan(study, client, monkeypatch):
    monkeypatch.setattr(run_analysis, "delay", lambda pk: None)
    client.force_login(study.owner)
    client.post(reverse("results-run", args=[study.key]), {"level": "0.9"})
    run = AnalysisRun.objects.get()
    assert run.parameters["rules"][1].startswith("task_traps:att/human=2/2,mos/")
    run_analysis(run.pk)
    text = unescape(client.get(reverse("results", args=[study.key])).content.decode())
    assert "2 of 2 “human” traps in task att" in text
    assert "--rule 'task_traps:att/human=2/2" in text
