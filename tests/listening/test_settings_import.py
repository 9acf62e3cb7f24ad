"""Settings become clips at import: joined from the demo's real lines, sample by sample."""

from __future__ import annotations

import csv
import io
import shutil
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from django.contrib.auth.models import User

from listening import allocation, audio, studies
from listening.design.studyfile import Problem, StudyFile, read_folder
from listening.models import Slot, Stimulus, Study
from listening.selectors import rating_rows, stimulus_rows
from listening.studies import StudyError, create_study, export_study, open_study
from listening.studies.prelaunch import check_study
from tests.factories import answer_all, arrive
from tests.listening import test_studies
from tests.listening.test_import_command import run
from tests.listening.test_studies import stored_files

pytestmark = pytest.mark.django_db
media = test_studies.media
DEMO = Path(__file__).resolve().parents[2] / "demo"
HEAD = """
[study]
key = "long"
title = "Long form"
ends = "as_is"
[study.texts]
consent = "Yes."
contact = "ada@example.org"
"""
CONDITION = '[[conditions]]\nkey = "{}"\nrole = "{}"\n'
SETTING = """
[[settings]]
real = "human"
synthetic = ["flite-slt", "espeak-ng"]
conditions = ["Ri", "Ti", "Rp", "Tp", "R1R1", "R1T1", "T1T1", "Text1T1", "T2T1", "T1T2"]
gap_s = 0.25
context_gap_s = 0.5
"""
TASK = """
[[tasks]]
key = "{key}"
method = "{method}"
conditions = [{conditions}]
block_size = 3
ratings_per_stimulus = 2
"""
IN_CONTEXT = ["R1R1", "R1T1 (flite-slt)", "T1T1 (flite-slt)", "Text1T1 (flite-slt)"]
SYSTEMS = ("flite-slt", "espeak-ng")
CELLS = {  # of each condition, made of the three lines of p1 and the two of p2
    **{"Ri": 5, "Rp": 2, "R1R1": 3},
    **{f"Ti ({system})": 5 for system in SYSTEMS},
    **{f"Tp ({system})": 2 for system in SYSTEMS},
    **{f"{name} ({s})": 3 for name in ("R1T1", "T1T1", "Text1T1") for s in SYSTEMS},
    **{f"{name} ({s})": 1 for name in ("T2T1", "T1T2") for s in SYSTEMS},
}


def task(key: str, conditions: list[str], method: str = "mos", **more: str) -> str:
    quoted = ", ".join(f'"{c}"' for c in conditions)
    lines = "".join(f"{name} = {value}\n" for name, value in more.items())
    return TASK.format(key=key, method=method, conditions=quoted) + lines


def make_folder(folder: Path, setting: str = SETTING, *tasks: str, rows: str = "") -> Path:
    """Lines of one novel by a person and two systems, with settings and tasks of their own."""
    folder.mkdir(parents=True)
    keys = {"human": "reference", "flite-slt": "test", "espeak-ng": "test"}
    conditions = "".join(CONDITION.format(key, role) for key, role in keys.items())
    asked = "".join(tasks or [task("context", IN_CONTEXT)])
    (folder / "study.toml").write_text(HEAD + conditions + setting + asked, "utf-8")
    lines = list(csv.DictReader(io.StringIO((DEMO / "stimuli.csv").read_text("utf-8"))))
    out = io.StringIO()
    writer = csv.DictWriter(out, lines[0].keys(), lineterminator="\n")
    writer.writeheader()
    kept = [
        line for line in lines if line["condition"] in keys and line["paragraph"] in ("p1", "p2")
    ]
    writer.writerows(line for line in kept if not line["trap"])
    (folder / "stimuli.csv").write_text(out.getvalue() + rows, "utf-8")
    unused = shutil.ignore_patterns("*_long1.flac", "*_v0*.flac", "*_a000*.flac")
    shutil.copytree(DEMO / "audio", folder / "audio", ignore=unused)
    return folder


@pytest.fixture
def owner() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def study(tmp_path: Path, owner: User) -> Study:
    return create_study(make_folder(tmp_path / "study"), owner)


def cell(study: Study, condition: str, item: str) -> Stimulus:
    return study.stimuli.get(condition__key=condition, item__key=item)


def source(condition: str, line: str) -> tuple[Any, int]:
    samples, rate = soundfile.read(DEMO / "audio" / f"{condition}_{line}.flac")
    return samples, rate


def served(stimulus: Stimulus) -> tuple[Any, int]:
    samples, rate = soundfile.read(audio.local_path(stimulus.served))
    return samples, rate


def problems(folder: Path) -> list[Problem]:
    return list(read_folder(folder).problems)


# --- What is made ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_cell_is_made_and_nothing_else(study: Study) -> None:
    derived = study.stimuli.filter(derived=True)
    assert Counter(derived.values_list("condition__key", flat=True)) == CELLS
    assert set(study.conditions.filter(derived=True).values_list("key", flat=True)) == set(CELLS)
    items = set(study.items.filter(derived=True).values_list("key", flat=True))
    lines = {"p1.1", "p1.2", "p1.3", "p2.1", "p2.2"}
    assert items == lines | {"p1.1-3", "p2.1-2", "p1.2-3"}
    assert study.stimuli.filter(derived=False).count() == 15
    assert all(s.lines == [] for s in study.stimuli.filter(derived=False))


@pytest.mark.slow
def test_a_joined_clip_holds_the_samples_of_its_lines_and_silence_between(study: Study) -> None:
    stimulus = cell(study, "R1T1 (flite-slt)", "p1.2")
    (context, rate), (rated, _) = source("human", "s0870"), source("flite-slt", "s0880")
    samples, heard_rate = served(stimulus)
    assert (heard_rate, stimulus.sample_rate_hz, stimulus.channels) == (rate, 16_000, 1)
    gap = round(0.5 * rate)
    assert len(samples) == len(context) + gap + len(rated)
    fade = 100  # samples at each side of a joint, at most, for that it does not click
    assert (samples[: len(context) - fade] == context[:-fade]).all()
    assert not samples[len(context) : len(context) + gap].any()
    assert (samples[-len(rated) + fade :] == rated[fade:]).all()
    first, second = stimulus.lines
    assert (first["stimulus"], first["role"]) == ("human-s0870", "context")
    assert (second["stimulus"], second["role"]) == ("flite-slt-s0880", "rated")
    assert first["start_s"] == 0
    assert first["end_s"] == pytest.approx(len(context) / rate, abs=1e-6)
    assert second["start_s"] == pytest.approx((len(context) + gap) / rate, abs=1e-6)
    assert second["end_s"] == pytest.approx(len(samples) / rate, abs=1e-6)
    assert stimulus.duration_s == pytest.approx(len(samples) / rate)
    assert second["text"] == "He was not an ill-disposed young man,"


@pytest.mark.slow
def test_lines_of_different_rates_are_joined_at_the_higher_one(study: Study) -> None:
    stimulus = cell(study, "R1T1 (espeak-ng)", "p1.2")
    (context, low), (rated, high) = source("human", "s0870"), source("espeak-ng", "s0880")
    samples, rate = served(stimulus)
    assert (low, high, rate, stimulus.sample_rate_hz) == (16_000, 22_050, 22_050, 22_050)
    assert (samples[-len(rated) + 150 :] == rated[150:]).all()
    start = round(stimulus.lines[1]["start_s"] * rate)
    assert start == len(samples) - len(rated)
    assert len(samples) - len(rated) == pytest.approx(len(context) * high / low + 0.5 * rate, abs=2)


TIMELINES = [
    ("Ri", "p1.2", ["rated human-s0880"]),
    ("Tp (espeak-ng)", "p2.1-2", ["rated espeak-ng-s0920", "rated espeak-ng-s0930"]),
    ("Rp", "p1.1-3", ["rated human-s0870", "rated human-s0880", "rated human-s0890"]),
    ("R1R1", "p1.3", ["context human-s0880", "rated human-s0890"]),
    ("T1T1 (flite-slt)", "p2.2", ["context flite-slt-s0920", "rated flite-slt-s0930"]),
    ("Text1T1 (flite-slt)", "p2.2", ["context ", "rated flite-slt-s0930"]),
    (
        "T2T1 (espeak-ng)",
        "p1.3",
        ["context espeak-ng-s0870", "context espeak-ng-s0880", "rated espeak-ng-s0890"],
    ),
    (
        "T1T2 (flite-slt)",
        "p1.2-3",
        ["context flite-slt-s0870", "rated flite-slt-s0880", "rated flite-slt-s0890"],
    ),
]


@pytest.mark.slow
def test_each_line_sounds_where_the_timeline_says(study: Study) -> None:
    for condition, item, expected in TIMELINES:
        sounds_as_told(study, condition, item, expected)


def sounds_as_told(study: Study, condition: str, item: str, expected: list[str]) -> None:
    stimulus = cell(study, condition, item)
    assert [f"{line['role']} {line['stimulus']}" for line in stimulus.lines] == expected
    samples, rate = served(stimulus)
    covered = 0
    for line in stimulus.lines:
        if not line["stimulus"]:
            assert (line["start_s"], line["end_s"]) == (0.0, 0.0)
            assert line["text"]
            continue
        own = study.stimuli.get(key=line["stimulus"])
        wave, _ = soundfile.read(DEMO / own.file)
        start, stop = round(line["start_s"] * rate), round(line["end_s"] * rate)
        assert stop - start == len(wave)
        assert (samples[start:stop][150:-150] == wave[150:-150]).all()
        covered += len(wave)
    gaps = 0.5 * (" ".join(expected).count("context") and condition[:4] != "Text")
    gaps += 0.25 * (max(0, sum(e.startswith("rated") for e in expected) - 1))
    gaps += 0.25 * (max(0, sum(e.startswith("context") for e in expected) - 1))
    assert len(samples) - covered == pytest.approx(gaps * rate, abs=2)


@pytest.mark.slow
def test_metrics_get_the_rated_part_alone(study: Study) -> None:
    rows = {row["stimulus"]: row for row in stimulus_rows("long")}
    one = rows["R1T1_(flite-slt):p1.2"]
    line = rows["flite-slt-s0880"]
    assert (one["path"], one["sha256"]) == (line["path"], line["sha256"])
    assert one["duration_s"] == pytest.approx(line["duration_s"], abs=1e-5)
    assert one["reference_path"] == rows["human-s0880"]["path"]
    assert (one["system"], one["role"], one["speaker"]) == ("", "test", "narrator")
    assert one["attributes"]["context_speaker"] == "same"
    two = rows["T1T2_(flite-slt):p1.2-3"]
    samples, rate = soundfile.read(two["path"])
    parts = [source("flite-slt", line)[0] for line in ("s0880", "s0890")]
    assert len(samples) == sum(map(len, parts)) + round(0.25 * rate)
    assert two["duration_s"] == pytest.approx(len(samples) / rate, abs=1e-5)
    assert (samples[:-1][: len(parts[0]) - 100] == parts[0][:-100]).all()
    assert audio.sha256_of(Path(two["path"])) == two["sha256"]
    assert two["text"].startswith("He was not an ill-disposed young man, unless to be")
    assert two["reference_sha256"] == ""
    assert one["reference_sha256"] == rows["human-s0880"]["sha256"]


@pytest.mark.slow
def test_the_turns_of_a_row_are_where_they_sound_in_the_rated_part(study: Study) -> None:
    rows = {row["stimulus"]: row for row in stimulus_rows("long")}
    assert rows["flite-slt-s0880"]["turns"] == []  # imported as it is
    two = rows["T1T2_(flite-slt):p1.2-3"]
    assert [(turn["speaker"], turn["text"][:6]) for turn in two["turns"]] == [
        ("narrator", "He was"),
        ("narrator", "unless"),
    ]
    samples, rate = soundfile.read(two["path"])
    for turn, line in zip(two["turns"], ("s0880", "s0890"), strict=True):
        start, stop = round(turn["start_s"] * rate), round(turn["end_s"] * rate)
        wave = source("flite-slt", line)[0]
        assert stop - start == len(wave)
        assert (samples[start:stop][150:-150] == wave[150:-150]).all()
    assert two["turns"][-1]["end_s"] == pytest.approx(two["duration_s"], abs=1e-5)


@pytest.mark.slow
def test_served_copies_are_each_a_file_of_their_own(study: Study, media: Path) -> None:
    names = list(study.stimuli.values_list("served", flat=True))
    assert len(set(names)) == len(names)
    originals = set(study.stimuli.values_list("original", flat=True))
    assert len(stored_files(media)) == len(names) + len(originals)
    for stimulus in study.stimuli.all():
        assert audio.sha256_of(audio.local_path(stimulus.served)) == stimulus.served_sha256


@pytest.mark.slow
def test_levelled_lines_are_joined_as_raters_hear_them(tmp_path: Path, owner: User) -> None:
    folder = make_folder(tmp_path / "study")
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
    folder = make_folder(tmp_path / "study")
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
    assert np.allclose(kept, wave[150 : 150 + len(kept)], atol=2**-23)
    assert first["start_s"] == 0


# --- Planned, rated, read ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_study_in_context_is_planned_and_rated_to_the_end(study: Study) -> None:
    assert [f for f in check_study(study) if f.level == "problem"] == []
    planned = open_study(study)
    assert planned == 4 * 3 * 2
    counts = Counter(Slot.objects.values_list("stimulus__condition__key", flat=True))
    assert counts == dict.fromkeys(IN_CONTEXT, 6)
    for _ in range(8):
        answer_all(arrive(study))
    rows = list(rating_rows("long"))
    assert len(rows) == planned
    contexts = {(row["condition"], row["item"]): row["context"] for row in rows}
    assert contexts["R1R1", "p1.3"] == "human-s0880"
    assert contexts["R1T1 (flite-slt)", "p2.2"] == "human-s0920"
    assert contexts["T1T1 (flite-slt)", "p1.2"] == "flite-slt-s0870"
    assert contexts["Text1T1 (flite-slt)", "p1.2"] == "text:s0870"
    assert {row["paragraph"] for row in rows} == {"p1", "p2"}


@pytest.mark.slow
def test_context_of_two_lines_is_told_in_order_and_isolation_has_none(
    tmp_path: Path, owner: User
) -> None:
    asked = task("both", ["T2T1 (flite-slt)", "Ri"], block_size="1")
    asked = asked.replace("block_size = 3\n", "")
    study = create_study(make_folder(tmp_path / "study", SETTING, asked), owner)
    open_study(study)
    for _ in range(12):
        answer_all(arrive(study))
    contexts = {row["condition"]: row["context"] for row in rating_rows("long")}
    assert contexts == {"T2T1 (flite-slt)": "flite-slt-s0870 flite-slt-s0880", "Ri": ""}


@pytest.mark.slow
def test_a_task_that_names_no_condition_rates_the_lines(tmp_path: Path, owner: User) -> None:
    asked = task("lines", []).replace("conditions = []\n", "")
    study = create_study(make_folder(tmp_path / "study", SETTING, asked), owner)
    material = allocation.material_of(study.tasks.get())
    assert len(material) == 15
    assert {ref.condition for ref in material} == {"human", "flite-slt", "espeak-ng"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "conditions", "more"),
    [
        ("context_mos", IN_CONTEXT, {}),
        ("cmos", ["R1T1 (flite-slt)", "R1T1 (espeak-ng)"], {}),
        ("preference", ["T1T1 (flite-slt)", "T1T1 (espeak-ng)"], {}),
        ("mushra", ["R1R1", "R1T1 (flite-slt)", "R1T1 (espeak-ng)"], {}),
    ],
)
def test_every_method_works_on_conditions_in_context(
    tmp_path: Path, owner: User, method: str, conditions: list[str], more: dict[str, str]
) -> None:
    folder = make_folder(tmp_path / "study", SETTING, task("side", conditions, method, **more))
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


# --- Mistakes, export, replacement ----------------------------------------------------------------


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
def test_export_leaves_out_what_is_made_and_its_import_makes_it_again(
    tmp_path: Path, study: Study
) -> None:
    before = list(study.stimuli.values_list("key", "lines", "sha256").order_by("key"))
    assert export_study(study, tmp_path / "out") == 15
    again: StudyFile | None = read_folder(tmp_path / "out").study
    assert again == studies.study_as_file(study)
    table = (tmp_path / "out" / "stimuli.csv").read_text("utf-8")
    assert len(table.splitlines()) == 16
    toml = tomllib.loads((tmp_path / "out" / "study.toml").read_text("utf-8"))
    assert len(toml["settings"]) == 1
    assert [c["key"] for c in toml["conditions"]] == ["human", "flite-slt", "espeak-ng"]
    new = create_study(tmp_path / "out", study.owner, replace=True)
    assert list(new.stimuli.values_list("key", "lines", "sha256").order_by("key")) == before


@pytest.mark.slow
def test_a_replaced_study_leaves_no_audio_behind(
    tmp_path: Path,
    owner: User,
    media: Path,
    django_capture_on_commit_callbacks: Any,
) -> None:
    folder = make_folder(tmp_path / "study")
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
    def too_long(*_: Any) -> None:
        raise audio.AudioError("The joined clip is longer than 30 minutes.", "Join fewer files.")

    monkeypatch.setattr("listening.audio.join", too_long)
    with pytest.raises(StudyError, match=r"cannot be made of its lines.*longer than 30 minutes"):
        create_study(make_folder(tmp_path / "study"), owner)
    assert not Study.objects.exists()
    assert stored_files(media) == []


@pytest.mark.slow
def test_prelaunch_finds_a_changed_joined_clip_and_says_nothing_twice(study: Study) -> None:
    said = [str(f) for f in check_study(study)]
    assert not any("The same file stands behind" in line for line in said)
    assert not any("R1T1" in line for line in said)
    path = audio.local_path(cell(study, "Rp", "p1.1-3").served)
    path.write_bytes(path.read_bytes()[:-1])
    changed = [f for f in check_study(study) if f.level == "problem"]
    assert ["Rp:p1.1-3" in f.what for f in changed] == [True]


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
        folder = make_folder(tmp_path / name, SETTING, asked, rows=row)
        study = create_study(folder, owner, replace=True)
        told[name] = [str(f) for f in check_study(study) if "“gold” can be told" in str(f)]
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
