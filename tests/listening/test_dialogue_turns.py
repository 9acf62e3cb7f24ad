"""Turns cut from two-channel conversations: sound, times, overlaps, channels and exports."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from listening import audio
from listening.common.speaker_turns import turns_of
from listening.design.settings import derive
from listening.design.studyfile import read_folder
from listening.models import Study
from listening.selectors import stimulus_rows
from listening.studies import StudyError, create_study, export_study
from tests.factories import make_user
from tests.listening.test_studies import kept_in

DEMO = Path(__file__).resolve().parents[2] / "demo"


def folder(tmp_path: Path, channels: str = "both", turns: str = "") -> Path:
    """The preset `dialogue` with its audio; ``turns`` replaces those of its first row."""
    made = tmp_path / "study"
    shutil.copytree(DEMO / "presets" / "dialogue", made)
    (made / "audio").mkdir()
    for sound in (DEMO / "audio").glob("talk-*"):
        shutil.copy(sound, made / "audio")
    toml = (made / "study.toml").read_text("utf-8")
    toml = toml.replace('channels = "both"', f'channels = "{channels}"')
    (made / "study.toml").write_text(toml, "utf-8")
    if turns:
        table = (made / "stimuli.csv").read_text("utf-8")
        first = "A 0.250-3.720; B 3.920-7.100; A 7.450-10.015; B 9.715-12.293"
        assert first in table
        (made / "stimuli.csv").write_text(table.replace(first, turns.strip()), "utf-8")
    return made


def test_every_turn_but_the_first_is_rated_after_the_turn_before_it(tmp_path: Path) -> None:
    study = read_folder(folder(tmp_path)).study
    assert study is not None
    recipes = {recipe.entry.key: recipe for recipe in derive(study).stimuli}
    assert len(recipes) == 2 * (3 + 3 * 3)
    last = recipes["T1T1_(flite-duo):d1.4"]
    assert [(line.role, line.speaker) for line in last.lines] == [("context", "A"), ("rated", "B")]
    assert last.entry.attributes["floor_transfer_offset_s"] == "-0.300"
    (excerpt,) = last.parts(lambda _: 0.0)
    assert (excerpt.start_s, excerpt.end_s) == (7.45, 12.293)  # type: ignore[union-attr]
    context, rated = last.timeline([])
    assert (context["end_s"], rated["start_s"]) == (2.565, 2.265)  # they overlap


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ("A 0-1; B nonsense", "is not “SPEAKER START-END”".replace("“", '"').replace("”", '"')),
        ('"[{""speaker"": ""A"", ""text"": ""Hello.""}]"', "has no turns with times"),
    ],
)
def test_turns_that_cannot_be_used_name_the_row(tmp_path: Path, turns: str, words: str) -> None:
    reading = read_folder(folder(tmp_path, turns=turns))
    problems = [str(problem) for problem in reading.problems]
    assert any(words in each and "2" in each for each in problems), problems


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("channels", ["both", "mono"])
def test_clips_hold_what_was_recorded(tmp_path: Path, channels: str, settings: Any) -> None:
    settings.STORAGES = kept_in(tmp_path / "media")
    made = folder(tmp_path, channels)
    study: Study = create_study(made, make_user("ada"))
    cell = study.stimuli.get(key="T1T1_(flite-duo):d1.4")
    served, rate_hz = soundfile.read(audio.local_path(cell.served), always_2d=True)
    assert cell.channels == served.shape[1] == (1 if channels == "mono" else 2)
    whole, _ = soundfile.read(made / "audio" / "talk-flite-duo_d1.flac")
    start = round((7.45 + cell.trimmed_s) * rate_hz)
    expected = whole[start : start + len(served)]
    if channels == "mono":
        expected = expected.mean(axis=1, keepdims=True)
    middle = slice(2000, len(served) - 4000)  # apart from the fades and the low cut
    for mine, theirs in zip(served[middle].T, expected[middle].T, strict=True):
        assert np.corrcoef(mine, theirs)[0, 1] > 0.99
    rows = {row["stimulus"]: row for row in stimulus_rows(study.key)}
    turn = rows["T1T1_(flite-duo):d1.4"]
    assert [t["speaker"] for t in turn["turns"]] == ["B"]
    assert turn["attributes"]["floor_transfer_offset_s"] == "-0.300"
    known = rows["Tp_(flite-duo):d1.1-4"]["turns"]
    first = turns_of("A 0.250-3.720; B 3.920-7.100; A 7.450-10.015; B 9.715-12.293")
    assert [turn["speaker"] for turn in known] == [turn.speaker for turn in first]
    starts = [turn.start_s - 0.25 for turn in first]
    assert [turn["start_s"] for turn in known] == pytest.approx(starts)
    export_study(study, tmp_path / "again")
    again, before = read_folder(tmp_path / "again").study, read_folder(made).study
    assert again is not None
    assert before is not None
    assert (again.settings, again.stimuli) == (before.settings, before.stimuli)


@pytest.mark.medium
@pytest.mark.django_db
def test_a_turn_after_the_end_of_its_recording_is_refused(tmp_path: Path, settings: Any) -> None:
    settings.STORAGES = kept_in(tmp_path / "media")
    made = folder(tmp_path, turns="A 0.250-3.720; B 12.000-19.000")
    with pytest.raises(StudyError, match="“flite-duo-d1” ends before its last turn does"):
        create_study(made, make_user("ada"))
