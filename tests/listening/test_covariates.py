"""Covariates that a study declares: refused where they are not known, and kept with the study."""

import json
import re
import shlex
import tomllib
from functools import partial

import pytest
from django.core.management import call_command

from analysis.report import build
from analysis.web.first_runs import default_options
from listening.design.studyfile import read_folder, toml_text
from listening.models import Stimulus, Study
from listening.selectors import board_facts, method_facts
from listening.sessions import lifecycle, stages
from tests.factories import an_answer, answer_all, arrive, current, make_study
from tests.listening.folders import CSV, TOML, make_folder, problems_of
from tests.listening.sample_questionnaire import read

PAIRED = TOML.replace('method = "mos"', 'method = "ab"')


@pytest.fixture
def declared(tmp_path):
    return partial(_declared, tmp_path)


@pytest.fixture
def few_parts(monkeypatch):
    """Reports hold the parts that show covariates, and no estimates of what each rule changes."""
    every = build.parts_to_make
    shown = ("pair_covariates", "rater_answers")
    monkeypatch.setattr(
        build, "parts_to_make", lambda inputs: [part for part in every(inputs) if part.key in shown]
    )
    monkeypatch.setattr(build, "sensitivity", lambda screened, options: [])


def _declared(folder, *names, csv=CSV, toml=PAIRED):
    field = f"covariates = {list(names)}".replace("'", '"')
    return problems_of(folder, toml.replace('key = "small"', f'key = "small"\n{field}'), csv)


def with_column(name, values):
    head, *rows = CSV.strip().splitlines()
    return "\n".join([f"{head},{name}", *(f"{r},{v}" for r, v in zip(rows, values, strict=False))])


def test_unknown_names_are_refused_with_those_that_there_are(declared):
    (problem,) = declared("side", "legnth_s")
    assert (problem.file, problem.place) == ("study.toml", "study.covariates[2]")
    assert "“legnth_s” is no covariate of these clips" in problem.what
    assert "“length_s”" in problem.remedy
    (problem,) = declared("side", toml=TOML)
    assert "No task compares two clips" in problem.what
    rows = len(CSV.strip().splitlines()) - 1
    values = ["a"] * (rows - 1) + [""]
    (problem,) = declared("accent", csv=with_column("accent", values))
    assert (problem.file, problem.row) == ("stimuli.csv", rows + 1)
    assert "has no accent" in problem.what
    assert not declared("noise", csv=with_column("noise", range(rows)))


def test_they_are_written_as_they_were_read(tmp_path):
    toml = PAIRED.replace('key = "small"', 'key = "small"\ncovariates = ["side", "voice"]')
    toml = toml.replace('key = "sys-a"', 'key = "sys-a"\nvoice = "anna"')
    toml = toml.replace('key = "sys-b"', 'key = "sys-b"\nvoice = "ben"')
    study = read_folder(make_folder(tmp_path, toml)).study
    assert study.covariates == ("side", "voice")
    assert tomllib.loads(toml_text(study))["study"]["covariates"] == ["side", "voice"]


@pytest.mark.django_db
def test_a_study_keeps_them_and_analyses_and_leaderboards_take_them():
    study = make_study(key="pairs", task={"method": "ab"}, conditions=2, items=1)
    Study.objects.update(covariates=["side", "voice"])
    study.conditions.filter(key="cond-1").update(voice="anna")
    clip = Stimulus.objects.get(condition__key="cond-0")
    Stimulus.objects.filter(pk=clip.pk).update(attributes={"voice": "ben"})
    assert default_options("pairs").covariates == ("side", "voice")
    known = {"voice": {"cond-0_item-0": "ben", "cond-1_item-0": "anna"}}
    assert method_facts("pairs")["covariates"] == board_facts("pairs")["covariates"] == known


@pytest.mark.django_db
@pytest.mark.usefixtures("few_parts")
@pytest.mark.parametrize("everything", [True, False])
def test_the_exported_ratings_give_the_same_effects_again(tmp_path, monkeypatch, everything):
    study = make_study(key="pairs", task={"method": "ab"}, conditions=3, items=4)
    names = ["side", "noise", "accent", "constant", "absent"]
    Study.objects.update(covariates=names)
    for n, clip in enumerate(Stimulus.objects.order_by("pk")):
        own = {"noise": f"{n * n % 7 / 2}", "accent": "xyyxyxx"[n % 7], "constant": "nan"}
        Stimulus.objects.filter(pk=clip.pk).update(attributes=own)
    for _ in range(6):
        answer_all(arrive(study))
    out, options = tmp_path / "out", ["--everything", "--quiet"]
    files = options if everything else options[1:]
    call_command("export_study", "pairs", "--out", out, *files, "--figures", "none")
    monkeypatch.chdir(out)
    head = (out / "ratings.csv").read_text().splitlines()[0].split(",")
    assert {"covariate_noise", "versus_covariate_noise", "covariate_constant"} < set(head)
    (line,) = re.findall(r"^Again: .* analyse (.*)$", (out / "README.txt").read_text(), re.M)
    quick = [*options, "--figures", "none"]
    call_command("analyse", *shlex.split(line), "--out", tmp_path / "again", *quick)
    again = part_in(tmp_path / "again")
    assert not again["problem"]
    warned = " ".join(again["warnings"])
    assert "constant: no variation beyond systems" in warned
    assert "No covariate absent" in warned
    if everything:
        assert again["tables"] == part_in(out)["tables"]
        assert len(again["tables"][0]["rows"]) == 3
        first, second = (
            (folder / "ratings.csv").read_text() for folder in (out, tmp_path / "again")
        )
        assert first == second


ABOUT = """
[[questionnaires]]
key = "about"

[[questionnaires.questions]]
key = "aid"
question = "Do you wear a hearing aid?"
kind = "one"
options = ["Yes", "No"]
covariate = true

[[questionnaires.questions]]
key = "training"
question = "How are you trained?"
kind = "one"
options = [{ value = "1", text = "Not" }, { value = "2", text = "Engineer" }]
covariate = true

[[questionnaires.questions]]
key = "years"
question = "How old are you?"
kind = "number"
covariate = true
"""


@pytest.mark.django_db
@pytest.mark.usefixtures("few_parts")
def test_answers_of_raters_are_compared_in_the_report_and_again_from_its_ratings(
    tmp_path, monkeypatch
):
    forms, problems = read(ABOUT)
    assert not problems
    task = {"ratings_per_stimulus": 12}
    study = make_study(key="asked", task=task, conditions=2, items=4, questionnaires=forms)
    for n in range(12):
        session = arrive(study)
        given = {"aid": ["Yes", "No"][n % 2], "training": "12"[n % 2], "years": 20 + n}
        stages.record_questionnaire(session, "about", given)
        while (trial := current(session)) is not None:
            label = trial.task.criteria.get().scale["steps"][n * n % 3]["label"]
            lifecycle.record_answer(session, an_answer(trial, label))
            session.refresh_from_db()
    out, quick = tmp_path / "out", ["--everything", "--quiet", "--figures", "none"]
    call_command("export_study", "asked", "--out", out, *quick)
    monkeypatch.chdir(out)
    part = part_in(out, "rater_answers")
    answers, numbers = part["tables"]
    said = [(row["question"], row["answer"], row["raters"]) for row in answers["rows"]]
    assert said == [
        *(("Do you wear a hearing aid?", each, 6) for each in ("No", "Yes")),
        *(("How are you trained?", each, 6) for each in ("Engineer", "Not")),
    ]
    assert [(row["question"], row["raters"]) for row in numbers["rows"]] == [
        ("How old are you?", 12)
    ]
    (line,) = re.findall(r"^Again: .* analyse (.*)$", (out / "README.txt").read_text(), re.M)
    call_command("analyse", *shlex.split(line), "--out", tmp_path / "again", *quick)
    again = part_in(tmp_path / "again", "rater_answers")
    columns = [row.pop("question") for table in again["tables"] for row in table["rows"]]
    words = ["question_about_aid"] * 2 + ["question_about_training"] * 2
    assert columns == [*words, "question_about_years"]
    for table in part["tables"]:
        for row in table["rows"]:
            del row["question"]
    assert again["tables"] == part["tables"]


def part_in(folder, key="pair_covariates"):
    (part,) = (
        each
        for each in json.loads((folder / "report.json").read_text())["parts"]
        if each["key"] == key
    )
    return part
