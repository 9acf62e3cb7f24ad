"""export_study and analyse give the same numbers; analyse needs no database."""

import csv
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from scipy import stats

from analysis.ratings.table import read_csv
from analysis.report.writers.paper_bundle import NAMES
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.intervals import TWO_WAY
from listening.common.command_name import PROGRAM
from listening.models import Condition, Study
from tests.analysis.rated_study import score_stimuli
from tests.analysis.reference import DATA
from tests.config.helpers import PATIENCE_S

# Models are in what a process of its own makes, on a machine without database
PARTS = ("against_people", "agreement", "participants")
pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")
ROOT = Path(__file__).resolve().parents[2]
SMALL = DATA.parent / "foreign" / "base.csv"
NO_FIGURES = ["--everything", "--figures", "none"]  # quicker
QUICK = ["--replicates", "200"]
MAPPED = [
    *("--column", "trap=is_trap"),
    *("--set", "method=mos"),
    *("--column", "condition=system"),
    *("--column", "item=text"),
    *("--column", "task=condition"),
]


def exported(folder):
    return {
        path.name: path.read_text("utf-8")
        for path in folder.iterdir()
        if path.suffix not in ("", ".pdf")
    }


OF_A_STUDY = "participants"  # a part that no CSV of ratings can have


@pytest.mark.slow
def test_analyse_of_the_exported_csv_gives_the_numbers_of_the_export(
    study, tmp_path, capsys, monkeypatch
):
    score_stimuli(study)
    Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)
    Condition.objects.filter(study=study).update(label="")  # which no CSV of ratings holds
    words = ["--out", str(tmp_path / "a"), *QUICK, *NO_FIGURES]
    call_command("export_study", study.key, *words)
    again = json.loads((tmp_path / "a" / "report.json").read_text())["provenance"]["again"]
    monkeypatch.chdir(tmp_path / "a")
    words = shlex.split(again.removeprefix(PROGRAM))
    call_command(*words, *NO_FIGURES, "--out", str(tmp_path / "b"))
    one, other = exported(tmp_path / "a"), exported(tmp_path / "b")
    for name in ("estimates.csv", "contrasts.csv", "shares.csv"):
        assert one[name] == other[name]
        assert len(one[name].splitlines()) > 3
    tables, others = (sorted((tmp_path / folder / "tables").iterdir()) for folder in "ab")
    tables = [path for path in tables if not path.name.startswith(OF_A_STUDY)]
    assert [path.name for path in tables] == [path.name for path in others]
    assert [path.read_bytes() for path in tables] == [path.read_bytes() for path in others]
    first, second = (json.loads(files["report.json"]) for files in (one, other))
    (known,) = [part for part in first["parts"] if part["key"] == OF_A_STUDY]
    first["parts"].remove(known)
    del first["conduct"]
    assert "left_out_by is not used" in second["input"]["notes"].pop()
    assert "left_out_by is not used" in second["warnings"].pop(0)
    assert first == second
    told = capsys.readouterr().out
    assert str(tmp_path / "a" / "report.html") in told
    assert (
        f"{tmp_path / 'a' / 'tables'}: {len(list((tmp_path / 'a' / 'tables').iterdir()))} files"
        in told
    )


@pytest.mark.slow
def test_an_export_is_at_most_ten_files_and_says_the_answer_before_it_lists_them(
    study, tmp_path, capsys
):
    call_command("export_study", study.key, "--out", str(tmp_path / "a"), *QUICK)
    told = capsys.readouterr().out
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names <= set(NAMES)
    assert len(NAMES) == 10
    assert {"figure.pdf", "results.tex", "results.csv", "methods.txt", "ratings.csv"} <= names
    sentence = told.index("Interim results: recruiting was still open")
    assert sentence < told.index("20 of 30 ratings kept") < told.index("  left out: ")
    assert told.index("  left out: ") < told.index(str(tmp_path / "a" / "figure.pdf"))
    with pytest.raises(CommandError, match="--quiet"):
        call_command("analyse", str(tmp_path / "a" / "ratings.csv"), "--quiet")


@pytest.mark.slow
def test_the_export_holds_every_file_and_every_rating(study, tmp_path):
    score_stimuli(study)
    call_command("export_study", study.key, "--out", str(tmp_path), *QUICK, *NO_FIGURES)
    files = exported(tmp_path)
    assert {
        "ratings.csv",
        "ratings.json",
        "estimates.csv",
        "estimates.json",
        "scores.csv",
        "report.html",
        "report.json",
        "sessions.csv",
        "questionnaires.csv",
        "README.txt",
        "methods.txt",
    } <= set(files)
    assert (tmp_path / "tables" / "against-people-correlations.csv").exists()
    with (tmp_path / "ratings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    loaded = json.loads(files["ratings.json"])
    assert len(rows) == len(loaded) == 3 * 13
    assert loaded[0]["justification"] == '=it, "sounds"\nso 汉'
    assert rows[0]["justification"] == "'" + loaded[0]["justification"]
    counts = json.loads(files["report.json"])["data"]
    assert counts["ratings"] == 30
    assert counts["ratings_kept"] == 20
    assert counts["trap_ratings"] == 9


@pytest.mark.slow
def test_an_export_has_no_files_of_scores_or_raters_where_there_are_none(study, tmp_path, capsys):
    words = ["--out", str(tmp_path), "--no-ratings", "--quiet", *QUICK, *NO_FIGURES]
    call_command("export_study", study.key, *words)
    found = exported(tmp_path)
    of_raters = {"ratings.csv", "ratings.json", "sessions.csv", "questionnaires.csv"}
    assert of_raters.isdisjoint(found)
    assert "scores.csv" not in found
    assert not list((tmp_path / "tables").glob("against-people*"))
    written = {Path(line) for line in capsys.readouterr().out.splitlines()}
    assert written == {path for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.soak  # that a bundle has the same bytes again is tested in test_bundle.py
def test_a_zipped_export_is_one_file_with_the_same_bytes_again(study, tmp_path):
    for folder in "ab":
        call_command(
            "export_study", study.key, "--out", str(tmp_path / folder), "--zip", *QUICK, *NO_FIGURES
        )
    name = f"{study.key}.zip"
    assert [path.name for path in (tmp_path / "a").iterdir()] == [name]
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.slow
def test_analysing_into_the_folder_of_the_file_leaves_that_file_as_it_is(tmp_path):
    source = tmp_path / "ratings.csv"
    source.write_text("rater,text,system,score\nr1,t1,A,3\nr2,t1,A,4\nr1,t2,B,5\nr2,t2,B,2\n")
    before = source.read_bytes()
    words = ["--column", "item=text", "--column", "condition=system", "--set", "estimand=mos"]
    call_command("analyse", str(source), *words, "--out", str(tmp_path), *QUICK, *NO_FIGURES)
    assert (tmp_path / "report.html").exists()
    assert source.read_bytes() == before


def test_a_study_that_is_not_there_is_said_so(db, tmp_path):
    with pytest.raises(CommandError, match="There is no study “nowhere”"):
        call_command("export_study", "nowhere", "--out", str(tmp_path))


@pytest.mark.slow
def test_plan_and_analyse_run_on_a_machine_without_database(tmp_path):
    """In a fresh process with an empty data folder: no server may be started for it."""
    plan = ["plan", "--preset", "att", "--half-width", "0.05", "--runs", "100"]
    analyse = ["analyse", str(SMALL), "--set", "method=mos", *QUICK]
    code = "from django.core.management import execute_from_command_line as run;" + "".join(
        f"run({['manage.py', *words]});" for words in (plan, analyse)
    )
    environment = {**os.environ, "EARNEST_VAR": str(tmp_path / "var")}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Raters whose ratings count" in done.stdout
    assert "144 of 144 ratings kept" in done.stdout
    table = read_csv(SMALL, {}, {"method": "mos"}).table
    (mean,) = [
        each
        for each in MeanScore(intervals=("two_way",), weightings=("ratings",)).fit(table)
        if (each.condition, each.interval) == ("alpha", TWO_WAY)
    ]
    scores = table.loc[table["condition"] == "alpha", "score"]
    half = stats.t.ppf(0.975, len(scores) - 1) * scores.sem()
    naive = f"naive [{scores.mean() - half:.2f}, {scores.mean() + half:.2f}]"
    assert f"3.96 [{mean.low:.2f}, {mean.high:.2f}]  {naive}" in done.stdout
    assert not (tmp_path / "var" / "postgres").exists()


@pytest.mark.slow
def test_analyse_takes_breakdowns_rules_and_level(tmp_path, capsys):
    words = ["--set", "method=context_mos", "--column", "split=item", "--by", "split"]
    words += ["--level", "0.9", "--rule", "duplicate", "--out", str(tmp_path)]
    call_command("analyse", str(SMALL), *words, *QUICK, *NO_FIGURES)
    assert "90 % intervals" in capsys.readouterr().out
    origin = json.loads((tmp_path / "report.json").read_text())["provenance"]
    assert origin["breakdowns"] == ["condition:", "condition:split"]
    assert origin["rules"] == ["duplicate"]
    call_command("analyse", str(SMALL), "--set", "method=mos", "--no-screening", *QUICK)
    assert "144 of 144 ratings kept" in capsys.readouterr().out


@pytest.mark.medium
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere.csv"], "no such file"),
        ([str(DATA / "mos_s2.csv.gz"), "--by", "rater"], "no results by rater"),
        ([str(DATA / "mos_s2.csv.gz"), "--column", "item"], "NAME=VALUE"),
        ([str(DATA / "mos_s2.csv.gz"), "--column", "item=nope"], "no column nope"),
        ([str(DATA / "mos_s2.csv.gz"), *MAPPED, "--estimator", "nope"], "known are mean_score"),
        ([str(DATA / "mos_s2.csv.gz"), *MAPPED, "--scores", "nowhere.csv"], "no such file"),
        ([str(DATA / "mos_s2.csv.gz"), "--rule", "nope"], "no rule 'nope'"),
        ([str(DATA / "mos_s2.csv.gz"), "--level", "95"], "level is 95"),
    ],
)
def test_analyse_says_what_is_wrong(words, told):
    with pytest.raises(CommandError, match=told):
        call_command("analyse", *words)


def test_a_reference_that_is_no_condition_is_refused_with_the_nearest_one(tmp_path):
    cells = [(r, c, i) for r in (1, 2) for c in ("human", "vits") for i in (1, 2)]
    rows = [f"r{r},{c},i{i},{1 + (r + i) % 5}" for r, c, i in cells]
    file = tmp_path / "ratings.csv"
    file.write_text("\n".join(["rater,condition,item,score", *rows]) + "\n")
    with pytest.raises(CommandError, match=r"--reference humn: .*; did you mean human\?"):
        call_command("analyse", str(file), "--reference", "humn")
    with pytest.raises(CommandError, match="there is no such condition; there are human, vits"):
        call_command("analyse", str(file), "--reference", "zzz")
