"""Covariates that a study declares: refused where they are not known, and kept with the study."""

import tomllib
from functools import partial

import pytest

from analysis.web.first_runs import default_options
from listening.design.studyfile import read_folder, toml_text
from listening.models import Stimulus, Study
from listening.selectors import board_facts, method_facts
from tests.factories import make_study
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
