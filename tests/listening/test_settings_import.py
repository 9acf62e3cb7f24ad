"""Settings become clips at import: joined from the demo's real lines, sample by sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User

from listening import audio
from listening.design.studyfile import Problem, read_folder
from listening.models import Study
from listening.selectors import rating_rows
from listening.sessions import allocation
from listening.studies import StudyError, create_study, open_study
from listening.studies.prelaunch import check_study
from tests.factories import answer_all, arrive
from tests.listening import test_studies
from tests.listening.long_form import (
    CELLS,
    IN_CONTEXT,
    SETTING,
    cell,
    make_folder,
    served,
    setting_of,
    task,
)
from tests.listening.test_import_command import run
from tests.listening.test_studies import stored_files

pytestmark = pytest.mark.django_db
ONE = task("context", ["R1T1 (flite-slt)"])
media = test_studies.media


@pytest.fixture
def owner() -> User:
    return User.objects.create_user("ada")


def problems(folder: Path) -> list[Problem]:
    return list(read_folder(folder).problems)


@pytest.mark.slow
def test_levelled_lines_are_joined_as_raters_hear_them(tmp_path: Path, owner: User) -> None:
    folder = make_folder(tmp_path / "study", setting_of("R1T1"), ONE)
    text = (folder / "study.toml").read_text("utf-8")
    text = text.replace('ends = "as_is"\n', 'ends = "as_is"\nloudness_lufs = -30\n')
    (folder / "study.toml").write_text(text, "utf-8")
    study = create_study(folder, owner)
    stimulus = cell(study, "R1T1 (flite-slt)", "p1.2")
    samples, rate = served(stimulus)
    for line in stimulus.lines:
        wave, _ = served(study.stimuli.get(key=line["stimulus"]))
        start, stop = round(line["start_s"] * rate), round(line["end_s"] * rate)
        assert np.allclose(samples[start:stop][150:-150], wave[150:-150], atol=2**-23)


@pytest.mark.slow
def test_only_the_ends_of_a_joined_clip_are_cut(tmp_path: Path, owner: User) -> None:
    folder = make_folder(tmp_path / "study", setting_of("R1T1"), ONE)
    text = (folder / "study.toml").read_text("utf-8")
    (folder / "study.toml").write_text(text.replace('ends = "as_is"\n', ""), "utf-8")
    study = create_study(folder, owner)
    stimulus = cell(study, "R1T1 (flite-slt)", "p1.2")
    samples, rate = served(stimulus)
    assert len(samples) == pytest.approx(stimulus.duration_s * rate, abs=2)
    assert stimulus.duration_s < stimulus.lines[-1]["end_s"]  # whose times are those of the whole
    first, last = stimulus.lines[0], stimulus.lines[-1]
    wave, _ = served(study.stimuli.get(key=last["stimulus"]))  # lines stay as they are
    start = round((last["start_s"] - stimulus.trimmed_s) * rate)
    kept = samples[start:][150:-3000]
    assert np.allclose(kept, wave[150 : 150 + len(kept)], atol=2**-13)  # low frequencies of the cut
    assert first["start_s"] == 0


@pytest.mark.slow
def test_context_of_two_lines_is_told_in_order_and_isolation_has_none(
    tmp_path: Path, owner: User
) -> None:
    asked = task("both", ["T2T1 (flite-slt)", "Ri"], block_size="1")
    asked = asked.replace("block_size = 3\n", "")
    study = create_study(make_folder(tmp_path / "study", setting_of("T2T1", "Ri"), asked), owner)
    open_study(study)
    for _ in range(12):
        answer_all(arrive(study))
    contexts = {row["condition"]: row["context"] for row in rating_rows("long")}
    assert contexts == {"T2T1 (flite-slt)": "flite-slt-s0870 flite-slt-s0880", "Ri": ""}


@pytest.mark.slow
def test_a_task_that_names_no_condition_rates_the_lines(tmp_path: Path, owner: User) -> None:
    asked = task("lines", []).replace("conditions = []\n", "")
    study = create_study(make_folder(tmp_path / "study", setting_of("Ri", "R1T1"), asked), owner)
    material = allocation.material_of(study.tasks.get())
    assert len(material) == 15
    assert {ref.condition for ref in material} == {"human", "flite-slt", "espeak-ng"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "conditions", "more"),
    [
        pytest.param("context_mos", IN_CONTEXT, {}, marks=pytest.mark.soak),
        pytest.param(
            *("cmos", ["R1T1 (flite-slt)", "R1T1 (espeak-ng)"], {}), marks=pytest.mark.soak
        ),
        ("mushra", ["R1R1", "R1T1 (flite-slt)", "R1T1 (espeak-ng)"], {}),
    ],
)
def test_every_method_works_on_conditions_in_context(
    tmp_path: Path, owner: User, method: str, conditions: list[str], more: dict[str, str]
) -> None:
    names = dict.fromkeys(name.split()[0] for name in conditions)
    folder = make_folder(
        tmp_path / "study", setting_of(*names), task("side", conditions, method, **more)
    )
    study = create_study(folder, owner)
    assert open_study(study) == 2 * 3 * (4 if method == "context_mos" else 1)


def test_items_may_lack_derived_conditions_and_no_others(tmp_path: Path) -> None:
    asked = task("mixed", ["Ti (flite-slt)", "T2T1 (flite-slt)"])  # p1.3 alone has both
    assert problems(make_folder(tmp_path / "a", SETTING, asked)) == []
    folder = make_folder(tmp_path / "b", SETTING, task("lines", ["human", "flite-slt"]))
    text = (folder / "stimuli.csv").read_text("utf-8").splitlines(keepends=True)
    (folder / "stimuli.csv").write_text("".join(r for r in text if "slt-s0930" not in r), "utf-8")
    found = [str(p) for p in problems(folder)]
    assert any("lacks “flite-slt” in task “lines”" in p for p in found)
    assert any("has no row of “flite-slt”" in p and "row" in p for p in found)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("real =", "reel =", "settings[1].reel: There is no field “reel”. Did you mean “real”?"),
        ('"R1R1", ', '"R1R2R", ', "settings[1].conditions: “R1R2R” names no condition."),
        ("gap_s = 0.25", "gap_s = -1", "settings[1].gap_s: -1 is outside 0 to 60."),
        ("gap_s = 0.25", 'windows = "some"', "settings[1].windows: “some” is none of “all”"),
        ('"human"\nsyn', '"humna"\nsyn', "settings[1].real: “humna” is no condition. Did you"),
        ("synthetic = [", "synthetic = [3, ", "settings[1].synthetic: This is a whole number"),
    ],
)
def test_mistakes_of_settings_are_named_alone(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    assert before in SETTING
    folder = make_folder(tmp_path / "study", SETTING.replace(before, after, 1))
    found = [str(p) for p in problems(folder)]
    assert any(p.startswith(f"study.toml, {said}") for p in found), found
    assert not any("tasks[1]" in p for p in found)  # what follows is not said again


def test_a_task_that_misspells_a_derived_condition(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "study", SETTING, task("c", ["R1T1 (flite-stl)", *IN_CONTEXT]))
    (problem,) = problems(folder)
    assert problem.place == "tasks[1].conditions"
    assert problem.remedy == "Did you mean “R1T1 (flite-slt)”?"


def test_a_gap_in_a_paragraph_is_named_with_its_row(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "study")
    text = (folder / "stimuli.csv").read_text("utf-8").replace(",p1,3,", ",p1,4,")
    (folder / "stimuli.csv").write_text(text, "utf-8")
    (problem,) = problems(folder)
    assert (problem.file, problem.row, problem.place) == ("stimuli.csv", 8, "position")
    assert "“p1” has no line at position 3, before “s0890”" in problem.what


def test_a_single_synthetic_condition_may_be_written_without_a_list(tmp_path: Path) -> None:
    setting = SETTING.replace('["flite-slt", "espeak-ng"]', '"flite-slt"')
    folder = make_folder(tmp_path / "study", setting, task("c", ["R1R1", "R1T1", "T1T1"]))
    reading = read_folder(folder)
    assert reading.problems == ()
    assert reading.study is not None
    assert reading.study.settings[0]["synthetic"] == ["flite-slt"]


@pytest.mark.slow
def test_a_replaced_study_leaves_no_audio_behind(
    tmp_path: Path,
    owner: User,
    media: Path,
    django_capture_on_commit_callbacks: Any,
) -> None:
    folder = make_folder(tmp_path / "study", setting_of("R1T1"), ONE)
    create_study(folder, owner)
    count = len(stored_files(media))
    with django_capture_on_commit_callbacks(execute=True):
        create_study(folder, owner, replace=True)
    assert len(stored_files(media)) == count


@pytest.mark.slow
def test_an_import_that_fails_while_joining_leaves_nothing(
    tmp_path: Path,
    owner: User,
    media: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def too_long(*_: Any, mono: bool) -> None:
        raise audio.AudioError("The joined clip is longer than 30 minutes.", "Join fewer files.")

    monkeypatch.setattr("listening.audio.join", too_long)
    with pytest.raises(StudyError, match=r"cannot be made of its lines.*longer than 30 minutes"):
        create_study(make_folder(tmp_path / "study"), owner)
    assert not Study.objects.exists()
    assert stored_files(media) == []


@pytest.mark.slow
def test_a_trap_that_is_one_line_among_joined_clips_is_known_by_its_length(
    tmp_path: Path, owner: User
) -> None:
    text = '"He was not an ill-disposed young man,"'
    row = f"t,human,s0880,audio/flawed_s0880.flac,{text},short line,p1,2,narrator,en,,gold\n"
    traps = '[tasks.traps]\nper = 3\n[[tasks.traps.kinds]]\nkind = "gold"\nexpected = ["1"]\n'
    told = {}
    for name, conditions in {"joined": IN_CONTEXT[:3], "lines": ["human", "flite-slt"]}.items():
        asked = task("rated", conditions) + traps
        folder = make_folder(tmp_path / name, setting_of("R1R1", "R1T1", "T1T1"), asked, rows=row)
        study = create_study(folder, owner, replace=True)
        told[name] = [str(f) for f in check_study(study) if "“gold” can be distinguished" in str(f)]
    assert told["lines"] == []
    assert len(told["joined"]) == 1
    assert "by their length" in told["joined"][0]


@pytest.mark.slow
def test_import_says_what_was_made_and_what_was_too_short(tmp_path: Path, owner: User) -> None:
    said = run("import_study", make_folder(tmp_path / "study"))
    assert "Imported “long”: 1 task, 3 conditions, 5 items, 15 stimuli." in said
    assert f"Settings: {sum(CELLS.values())} stimuli of 17 conditions made from 15 lines; " in said
    assert "T2T1 (flite-slt): 1 paragraph too short" in said
    assert "T1T2 (espeak-ng): 1 paragraph too short." in said
