"""manage.py plan: from a preset, typed SDs or a pilot's CSV.

Without a database: test_commands.py.
"""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.analysis.reference import DATA

ROOT = Path(__file__).resolve().parents[2]
QUICK = ("--runs", "100")
MOS = ("--pilot", str(DATA / "mos_s1.csv.gz"))
MAPPED = ("--column", "condition=system", "--column", "item=text", "--column", "task=condition")
MAPPED += ("--column", "trap=is_trap", "--set", "method=mos")


def said(capsys, *words):
    call_command("plan", *words)
    return capsys.readouterr().out


@pytest.mark.slow
def test_a_preset_gives_a_plan_in_words_and_tables(capsys):
    text = said(capsys, "--preset", "long_form", "--difference", "0.2", "--items", "80", *QUICK)
    assert "find a true difference of 0.2 between two conditions" in text
    assert "Raters whose ratings count" in text
    assert "The formula, checked by simulation" in text
    assert "Fewer and more items" in text


@pytest.mark.medium
def test_a_pilot_gives_its_conditions_items_and_components(capsys):
    text = said(capsys, *MOS, *MAPPED, "--task", "isolation", "--half-width", "0.2", "--runs", "0")
    assert "Source: pilot:" in text
    assert "checked by simulation" not in text


@pytest.mark.slow
def test_a_pilot_that_compared_is_planned_for_one_mean(capsys):
    pilot = ("--pilot", str(DATA / "cmos_s1.csv.gz"))
    columns = {
        "condition": "system_a",
        "versus_condition": "system_b",
        "item": "text",
        "stimulus": "stimulus_a",
        "versus_stimulus": "stimulus_b",
        "position": "trial",
        "trap": "is_trap",
    }
    mapped = [w for pair in columns.items() for w in ("--column", "=".join(pair))]
    fixed = [w for each in ("method", "estimand", "task") for w in ("--set", f"{each}=cmos")]
    text = said(
        capsys, *pilot, *mapped, *fixed, "--ignore-column", "first", "--difference", "0.4", *QUICK
    )
    assert "from no preference" in text
    assert "Power of one mean" in text


@pytest.mark.slow
def test_files_are_written_and_the_same_again(tmp_path, capsys):
    words = ("--sd", "rater=0.4", "--sd", "residual=0.7", "--half-width", "0.2", *QUICK)
    for folder in ("a", "b"):
        said(capsys, *words, "--out", str(tmp_path / folder))
    one, other = (
        {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}
        for folder in ("a", "b")
    )
    assert one == other
    assert set(one) == {"plan.json", "plan.txt", "precision.svg"}
    assert json.loads(one["plan.json"])["plan"]["sd_rater"] == 0.4
    assert one["precision.svg"].startswith(b"<svg")


def test_the_old_name_of_ratings_per_stimulus_is_still_accepted(capsys):
    words = ("--preset", "long_form", "--half-width", "0.3", "--runs", "0")
    now, before = (
        said(capsys, *words, f"--ratings-per-{name}", "6") for name in ("stimulus", "clip")
    )
    assert now == before
    assert "6 ratings" in str(now)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--preset", "fame", "--half-width", "0.2"), "no preset fame"),
        (("--preset", "att", "--half-width", "wide"), "no number"),
        (("--sd", "raters=0.4", "--sd", "residual=1", "--half-width", "1"), "no component raters"),
        (("--preset", "long_form", "--half-width", "0.01"), "items are the least"),
        (("--pilot", "nowhere.csv", "--half-width", "0.1"), "nowhere.csv"),
    ],
)
def test_what_is_wrong_is_told(words, told):
    with pytest.raises(CommandError, match=told):
        call_command("plan", *words)
