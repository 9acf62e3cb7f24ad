"""Covariates that a study declares: refused where they are not known, and kept with the study."""

import json
import re
import shlex
import tomllib
from functools import partial

import pytest
from django.core.management import call_command

from analysis.web.first_runs import default_options
from listening.design.studyfile import read_folder, toml_text
from listening.models import Stimulus, Study
from listening.selectors import board_facts, method_facts
from tests.factories import answer_all, arrive, make_study
from tests.listening.folders import CSV, TOML, make_folder, problems_of

PAIRED = TOML.replace('method = "mos"', 'method = "ab"')


@pytest.fixture
def declared(tmp_path):
    return partial(_declared, tmp_path)


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


def part_in(folder):
    (part,) = (
        each
        for each in json.loads((folder / "report.json").read_text())["parts"]
        if each["key"] == "pair_covariates"
    )
    return part
