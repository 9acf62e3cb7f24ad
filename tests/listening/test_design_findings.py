"""What should make a researcher think, told by the design alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from listening.design.duration import SessionLength
from listening.design.odds import through_checks
from listening.design.studyfile import read_folder
from listening.studies.design_findings import design_findings
from tests.listening.folders import ROWS, TOML, csv_with, make_folder

TRAP = """
[tasks.traps]
per = 2
[[tasks.traps.kinds]]
kind = "flawed"
expected = ["1", "2"]
"""
MUSHRA = TOML.replace('"mos"', '"mushra"').replace("block_size = 2", "block_size = 1")
TRAPPED = [f"{row}," for row in ROWS] + ["t1,sys-a,i1,audio/a1.wav,flawed"]


def said(folder: Path, toml: str, minutes: float = 5, *rows: str) -> str:
    csv = csv_with(*rows, header="stimulus,condition,item,file,trap") if rows else csv_with(*ROWS)
    reading = read_folder(make_folder(folder, toml, csv))
    assert reading.study, reading.problems
    length = SessionLength(10, {"clips": 60 * minutes})
    return " ".join(str(finding) for finding in design_findings(reading.study, length))


def test_a_design_that_rests_on_little_is_told_so(tmp_path: Path) -> None:
    told = said(tmp_path, TOML)
    assert "has 2 sentences" in told
    assert "neither a reference nor an anchor" in told
    assert "has no traps" in told


def test_what_is_there_is_not_missed(tmp_path: Path) -> None:
    role = 'key = "sys-b"\nrole = "anchor"\n'
    told = said(tmp_path, TOML.replace('key = "sys-b"\n', role) + TRAP, 5, *TRAPPED)
    assert "nor an anchor" not in told
    assert "has no traps" not in told
    assert "in 40 of 100 blocks. Giving the same answer every time" in told


def test_a_consent_that_a_language_lacks_is_named(tmp_path: Path) -> None:
    consent = '[study.texts]\nconsent = "I agree."\n[study.translations.de]\ntitle = "Klein"\n'
    told = said(tmp_path, TOML + consent)
    assert "The consent is not translated: who reads the pages in " in told
    assert "not translated" not in said(
        tmp_path, TOML + consent + '[study.translations.de.texts]\nconsent = "Ja."\n'
    )
    assert "not translated" not in said(tmp_path, TOML)


def test_a_language_without_texts_of_earnest_is_named(tmp_path: Path) -> None:
    told = said(tmp_path, TOML.replace("[study]\n", '[study]\nlanguage = "sw"\n'))
    assert "Earnest has no texts in Kiswahili: raters read buttons" in told
    assert "no texts" not in said(tmp_path, TOML.replace("[study]\n", '[study]\nlanguage = "ar"\n'))


def test_a_study_of_one_system_is_named(tmp_path: Path) -> None:
    alone = TOML.replace('[[conditions]]\nkey = "sys-b"\n', "")
    assert "rates one system only, “sys-a”" in said(
        tmp_path, alone, 5, *(f"{r}," for r in ROWS[:2])
    )
    assert "one system only" not in said(tmp_path, TOML)


def test_mushra_wants_an_anchor_and_no_traps(tmp_path: Path) -> None:
    toml = MUSHRA.replace('key = "sys-a"\n', 'key = "sys-a"\nrole = "reference"\n')
    told = said(tmp_path, toml)
    assert "BS.1534-3 wants one" in told
    assert "traps" not in told
    assert "anchor" not in said(tmp_path / "b", toml.replace('"mushra"', '"bs1116"'))


@pytest.mark.parametrize(("check", "told"), [("", True), ("huggins", False), ("volume", True)])
def test_headphones_that_nothing_tests_for(tmp_path: Path, check: str, told: bool) -> None:
    toml = TOML + '[study.texts]\nwelcome = "You need headphones."\n'
    toml += f'[[study.checks]]\nkey = "{check}"\n' if check else ""
    assert ("no check tests for them" in said(tmp_path, toml)) is told


def test_an_hour_without_a_break(tmp_path: Path) -> None:
    assert "without a break" in said(tmp_path, TOML, 60)
    broken = TOML.replace('title = "A small study"', 'title = "x"\nbreak_every = 20')
    assert "without a break" not in said(tmp_path / "b", broken, 60)


def test_guessers_pass_all_checks_that_screen_out_together(tmp_path: Path) -> None:
    toml = TOML + "".join(f'[[study.checks]]\nkey = "{key}"\n' for key in ("volume", "huggins"))
    study = read_folder(make_folder(tmp_path, toml)).study
    assert study is not None
    once = (1 / 3) ** 6
    assert through_checks(study) == pytest.approx(1 - (1 - once) ** 2)


def test_a_plan_with_room_for_too_few_raters_is_named(tmp_path: Path) -> None:
    """The table has four clips of two systems, a block two of them: one rater hears each once."""
    asked = TOML.replace("block_size = 2", "block_size = 2\nmin_raters = {}")
    assert "raters per condition, but its plan has room for 6 at most" in said(
        tmp_path, asked.format(7)
    )
    assert "min_raters" not in said(tmp_path, asked.format(6))
