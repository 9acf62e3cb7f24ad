"""Every preset is a study that runs at once, and says in its own words what each line is for."""

from __future__ import annotations

import csv
import errno
import importlib
import io
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from listening.checks import check_named
from listening.design.consent import STANDARD_SENTENCE
from listening.design.presets import Preset, PresetError, presets, study_key, write_preset
from listening.design.settings import derive
from listening.design.studyfile import CSV, TOML, StudyFile, read_folder
from listening.design.studyfile.entries import OUTCOMES
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.study_toml import read_study_toml
from listening.design.traps import TrapPlan
from listening.methods import Method
from listening.methods.rubrics import KIND, shared_rubric
from listening.models import Session, Slot, Study
from listening.sessions import lifecycle
from listening.sessions.lifecycle import Arrival
from metrics.judges.rubric import rubric
from tests.listening.test_studies import media  # noqa: F401

DEMO = Path(__file__).resolve().parents[2] / "demo"
PRESETS = presets(DEMO)
ISSUE = {"mos", "cmos", "ab", "att", "long_form", "lfs", "nvv", "mushra", "p808"}
ASSIGNED = re.compile(r"^([A-Za-z_]+) = ")
EXPLAINED = re.compile(r"#.*[^\W\d_]{2}")
LATIN_WORD = re.compile(r"[A-Za-z]{3,}")

every_preset = pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))


def run(*arguments: object) -> str:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def written(preset: Preset, folder: Path) -> Path:
    write_preset(preset, DEMO, folder)
    return folder


READ: dict[tuple[str, str], StudyFile] = {}  # a preset in a folder of this name, read once


def the_study(preset: Preset, folder: Path) -> StudyFile:
    if (preset.name, folder.name) not in READ:
        reading = read_folder(written(preset, folder))
        assert reading.study is not None, "\n".join(map(str, reading.problems))
        READ[preset.name, folder.name] = reading.study
    return READ[preset.name, folder.name]


# --- The presets ----------------------------------------------------------------------------------


def test_the_presets_of_the_founding_papers_are_there_each_with_its_purpose() -> None:
    assert set(PRESETS) >= ISSUE
    purposes = [preset.purpose for preset in PRESETS.values()]
    assert len(set(purposes)) == len(purposes)
    assert all(len(purpose) > 40 and purpose.endswith(".") for purpose in purposes)


@every_preset
def test_a_preset_reads_without_a_problem(preset: Preset, tmp_path: Path) -> None:
    study = the_study(preset, tmp_path / "mine")
    assert study.key == "mine"
    assert study.tasks


@every_preset
def test_a_preset_has_all_that_raters_read(preset: Preset, tmp_path: Path) -> None:
    study = the_study(preset, tmp_path / "mine")
    texts = ("welcome", "consent", "consent_version", "contact", "end", "debrief", "comment_prompt")
    assert all(study.texts.get(name) for name in texts)
    processed = preset.name in ("codec", "enhancement")  # recordings, whatever was done to them
    assert study.texts.get("synthetic_voices") == (None if processed else "standard")
    assert study.checks[0]["key"] == "volume"
    assert study.questionnaires
    assert not study.completion_codes  # made up at import, so that no two studies share them
    for task in study.tasks:
        assert task.title
        assert task.instructions


@every_preset
def test_every_field_is_explained_by_a_comment(preset: Preset) -> None:
    """Where a field first stands, words stand beside it, or above or below it, or name it."""
    lines = preset.toml.splitlines()
    told = " ".join(line for line in lines if line.startswith("#"))
    unexplained, seen = [], set()
    for number, line in _outside_of_texts(lines):
        found = ASSIGNED.match(line)
        if not found or found[1] in seen:
            continue
        seen.add(found[1])
        near = [line, _above(lines, number), lines[min(number + 1, len(lines) - 1)]]
        explained = any(EXPLAINED.search(_without_strings(each)) for each in near)
        if not explained and not re.search(rf"\b{found[1]}\b", told):
            unexplained.append(f"{number + 1}: {line}")
    assert len(seen) > 20
    assert unexplained == []


def _outside_of_texts(lines: list[str]) -> Iterator[tuple[int, str]]:
    inside = False
    for number, line in enumerate(lines):
        if not inside:
            yield number, line
        if line.count('"""') == 1:
            inside = not inside


def _above(lines: list[str], number: int) -> str:
    """The line above, or the one above the head of the table."""
    above = lines[number - 1]
    return lines[number - 2] if above.startswith("[") else above


def _without_strings(line: str) -> str:
    return line if line.startswith("#") else re.sub(r'"[^"]*"', '""', line)


@every_preset
def test_the_odds_of_guessing_in_the_comments_are_right(preset: Preset) -> None:
    for asked in tomllib.loads(preset.toml)["study"]["checks"]:
        check = check_named(asked["key"])
        settings = check.settings(asked, language="en")
        if settings.trials:
            own = preset.toml.split(f'key = "{check.key}"', 1)[1].split("[[", 1)[0]
            assert f"{100 * check.odds(settings):.1f} %" in own, check.key


@every_preset
def test_the_tables_of_a_preset_hold_nothing_that_is_left_over(preset: Preset) -> None:
    """Every condition is rated, made into something, a trap or an example; as is every row."""
    top = tomllib.loads(preset.toml)
    lines = {key for s in top.get("settings", ()) for key in _voices(s)}
    rated = {key for task in top["tasks"] for key in task.get("conditions", ())}
    traps = {c["key"] for c in top["conditions"] if c.get("role") == "trap"}
    rows = list(csv.DictReader(io.StringIO((preset.folder / CSV).read_text(encoding="utf-8"))))
    all_rated = any("conditions" not in task for task in top["tasks"])
    for row in rows:
        known = row["condition"] in (rated | lines | traps)
        assert known or row.get("trap") or all_rated, row["stimulus"]
    named = {entry["stimulus"] for task in top["tasks"] for entry in _entries(task)}
    assert named == {row["stimulus"] for row in rows if row.get("trap") == "training"}


def _voices(setting: dict[str, Any]) -> list[str]:
    return [*setting.get("synthetic", ()), *filter(None, [setting.get("real")])]


def _entries(task: dict[str, Any]) -> list[dict[str, Any]]:
    return [*task.get("examples", ()), *task.get("training", ())]


# The others are imported and opened where they are crawled: tests/test_no_method_leaks.py.
ALWAYS = ("long_form",)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.usefixtures("media")
@pytest.mark.parametrize(
    "preset",
    [
        pytest.param(preset, id=name, marks=[] if name in ALWAYS else pytest.mark.soak)
        for name, preset in PRESETS.items()
    ],
)
def test_a_preset_is_imported_opened_and_planned(preset: Preset, tmp_path: Path) -> None:
    User.objects.create_user("ada")
    folder = tmp_path / preset.name
    run("new_study", preset.name, folder)
    said = run("import_study", folder, "--owner", "ada", "--open")
    study = Study.objects.get(key=preset.name)
    assert study.state == "open"
    assert f"Imported “{preset.name}”" in said
    assert "Problem" not in said
    for task in study.tasks.all():
        assert Slot.objects.filter(block__task=task).exists(), task.key
    for _ in range(study.tasks.count() + 1):  # where a rater gets one task, all come in turn
        planned, promised = trials_of(lifecycle.start(study, Arrival(simulated=True)))
        assert planned == promised
    assert set(study.completion_codes) == set(OUTCOMES)


@pytest.mark.parametrize("name", ["mos_zh", "att_zh"])
def test_a_chinese_preset_has_no_english_left_over(name: str, tmp_path: Path) -> None:
    study = the_study(PRESETS[name], tmp_path / "mine")
    words = [study.title, *(set(study.texts.values()) - {STANDARD_SENTENCE})]
    for task in study.tasks:
        words += [task.title, task.instructions, *task.options["names"].values()]
        words += [word for c in task.criteria for word in (c.question, c.help_text)]
    words += [item.text for item in study.items]
    words = [word.replace("{minutes}", "5") for word in words]
    assert study.language == "zh-Hans"
    assert [word for word in words if LATIN_WORD.search(word) or not word] == []
    task = study.tasks[0]
    scale = Method.registry[task.method]().scale(task.options)
    assert all(re.search(r"[一-鿿]", step.text) for step in scale.steps)


def trials_of(session: Session) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """Trials by task and trap; and whole blocks with their traps and training, as promised."""
    trials = Counter(session.trials.values_list("task__key", "trap"))
    tasks = session.study.tasks.filter(key__in={key for key, _ in trials})
    promised: Counter[tuple[str, str]] = Counter()
    for task in tasks:
        rated = task.block_size * task.blocks_per_session
        promised[task.key, ""] = rated
        if task.training:
            promised[task.key, "training"] = len(task.training)
        plan = TrapPlan.from_dict(task.traps)
        for kind in plan.kinds:
            promised[task.key, kind.kind] = kind.count * plan.sets_for(rated)
    return trials, promised


# --- What the papers ask for ----------------------------------------------------------------------


def test_att_has_three_traps_beside_each_ten_and_the_rule_of_the_paper(tmp_path: Path) -> None:
    (task,) = the_study(PRESETS["att"], tmp_path / "mine").tasks
    assert task.method == "att"
    assert task.block_size == 10
    assert task.justification["required"]
    assert (task.traps["placement"], task.traps["per"]) == ("outside", 10)
    kinds = {
        k["kind"]: (k["count"], k["expected"], k["pass_at_least"]) for k in task.traps["kinds"]
    }
    assert kinds == {"flawed": (1, ["Machine"], 1), "human": (2, ["Human"], 1)}


def test_att_can_be_set_to_inside_as_its_comment_says(tmp_path: Path) -> None:
    folder = written(PRESETS["att"], tmp_path / "mine")
    toml = (folder / TOML).read_text(encoding="utf-8")
    toml = toml.replace('placement = "outside"', 'placement = "inside"')
    toml = toml.replace("block_size = 10", "block_size = 7")
    (folder / TOML).write_text(toml, encoding="utf-8")
    assert read_folder(folder).problems == ()


def test_long_form_makes_every_condition_of_the_paper(tmp_path: Path) -> None:
    study = the_study(PRESETS["long_form"], tmp_path / "mine")
    wanted = ["Ri", "Ti", "Rp", "Tp", "R1R1", "R1T1", "T1T1", "Text1T1", "T2T1", "T1T2"]
    assert study.settings[0]["conditions"] == wanted
    news = [task for task in study.tasks if not task.conditions[0].startswith("talk")]
    assert [c for task in news for c in task.conditions] == wanted
    assert {t.method for t in study.tasks} == {"mos", "context_mos"}
    assert {t.ratings_per_stimulus for t in study.tasks} == {8}
    assert {t.options["step"] for t in study.tasks} == {0.5}
    assert "huggins" in [check["key"] for check in study.checks]
    whole = derive(study).added_to(study)
    rated = {c: {s.item for s in whole.stimuli if s.condition == c} for c in wanted}
    assert rated["R1T1"] == rated["Text1T1"] == {"p1.2", "p2.2"}  # lines 1 and 2, not 2 and 3
    assert (rated["T2T1"], rated["T1T2"]) == ({"p1.3"}, {"p1.2-3"})
    turns = {s.item for s in whole.stimuli if s.condition.startswith("talk Ti")}
    assert turns == {f"d{n}.{turn}" for n in (1, 2, 3) for turn in (1, 2)}


def test_lfs_compares_coherence_and_asks_for_four_aspects_in_steps_of_their_scores(
    tmp_path: Path,
) -> None:
    pairs, *aspects = the_study(PRESETS["lfs"], tmp_path / "mine").tasks
    scale = Method.registry[pairs.method]().scale(pairs.options)
    assert scale.labels == ("-2", "-1", "0", "1", "2")
    said = [pairs.title, pairs.instructions, *(str(step.text) for step in scale.steps)]
    assert all(said)
    assert "prefer" not in " ".join(said)
    asked = {c.key: t.options.get("step", 1) for t in aspects for c in t.criteria}
    steps = {"timbre_stability": 1, "sound_fidelity": 1, "expressive_richness": 0.5}
    assert asked == steps | {"expressive_hierarchy": 0.5}
    assert {task.method for task in aspects} == {"mos"}


def test_raters_of_lfs_and_nvv_read_what_the_judges_read(tmp_path: Path) -> None:
    """One instrument: what a task says of its rubric stands in the judge's prompt as well."""
    lfs, nvv = (the_study(PRESETS[name], tmp_path / name).tasks for name in ("lfs", "nvv"))
    named = {t.key: t.options["rubric"] for t in (*lfs, *nvv) if "rubric" in t.options}
    assert named == {
        "prosody": "prosodic_coherence.lfs_figure_12",
        "richness": "expressive_richness.lfs_figure_14",
        "hierarchy": "expressive_hierarchy.lfs_figure_13",
        "tags": "nvv_tags.v2",
        "captions": "nvv_captions.v2",
    }
    for task in (*lfs, *nvv):
        if task.key not in named:
            continue
        full, shared = shared_rubric(named[task.key])
        prompt = rubric(full).user
        assert shared.lines.replace("{dimension}", "$kind") in prompt
        assert shared.instructions(scale=task.method == "mos") in task.instructions
        asked = {c.key: (c.question, c.help_text) for c in task.criteria}
        for each in shared.questions:
            assert asked[each.key] == (each.question, each.help_text)
        if shared.points and task.method == "mos":
            assert shared.scale in prompt
            assert task.options["names"] == shared.points
    accuracy = next(c for c in nvv[0].criteria if c.key == "nvv_accuracy")
    assert "and no other sound?" in accuracy.question


def test_answers_of_preferences_fit_what_is_asked(tmp_path: Path) -> None:
    tasks = the_study(PRESETS["long_form_preference"], tmp_path / "mine").tasks
    for task in tasks:
        (criterion,) = task.criteria
        word = "appropriate" if criterion.key == "appropriateness" else "natural"
        assert word in criterion.question
        texts = [str(s.text) for s in Method.registry[task.method]().scale(task.options).steps]
        assert all(word in text for text in texts)


def test_nvv_has_the_criteria_of_its_two_interfaces_and_zero_for_what_is_absent(
    tmp_path: Path,
) -> None:
    tags, captions, pairs = the_study(PRESETS["nvv"], tmp_path / "mine").tasks
    common = ["naturalness", "quality", "nvv_effect"]
    assert [c.key for c in tags.criteria] == [*common, "nvv_accuracy", "expression"]
    own = ["instruction_following", "nvv_instruction"]
    assert [c.key for c in captions.criteria] == [*common, *own]
    assert captions.show_text
    named = [c.key for t in (tags, captions) for c in t.criteria if KIND in c.question]
    assert named == ["nvv_effect", "nvv_accuracy", "nvv_effect", "nvv_instruction"]
    absent = [c.key for t in (tags, captions) for c in t.criteria if "absent" in c.options]
    assert absent == ["nvv_effect", "nvv_accuracy", "nvv_effect", "nvv_instruction"]
    assert (pairs.method, len(pairs.criteria)) == ("cmos", 3)


@pytest.mark.parametrize("remove", ["", 'ends = "as_is"'])
def test_nvv_keeps_breaths_at_the_ends_of_clips(remove: str) -> None:
    """Said in the preset, and so without the line: its questions ask whether a sound is there."""
    text = "\n".join(
        line for line in PRESETS["nvv"].toml.splitlines() if not (remove and remove in line)
    )
    notes = Notebook()
    study = read_study_toml(text.encode(), notes)
    assert study is not None
    assert study.ends == "as_is"
    assert len(notes.remarks) == bool(remove)


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("How natural is the Breath at the end?", "Breath"),
        ("Do you hear her laughing?", "laughing"),
        ("结尾的呼吸自然吗？", "呼吸"),
        ("How breathy, sober and natural is this voice?", ""),
    ],
)
def test_a_question_about_a_breath_keeps_the_ends_of_clips(question: str, word: str) -> None:
    asked = "How natural does this speech sound?"
    assert asked in PRESETS["mos"].toml
    notes = Notebook()
    study = read_study_toml(PRESETS["mos"].toml.replace(asked, question).encode(), notes)
    assert study is not None
    assert study.ends == ("as_is" if word else "alike")
    assert [f"“naturalness” mentions “{word}”" in each for each in notes.remarks] == [True] * bool(
        word
    )


def test_mushra_has_a_reference_and_two_anchors_on_every_screen(tmp_path: Path) -> None:
    study = the_study(PRESETS["mushra"], tmp_path / "mine")
    roles = {c.key: c.role for c in study.conditions}
    for item in {s.item for s in study.stimuli}:
        there = [roles[s.condition] for s in study.stimuli if s.item == item and not s.trap]
        assert there.count("reference") == 1
        assert there.count("anchor") == 2


def test_p808_has_ten_clips_and_a_trap_of_each_kind(tmp_path: Path) -> None:
    study = the_study(PRESETS["p808"], tmp_path / "mine")
    assert [t.method for t in study.tasks] == ["mos", "p835", "dcr", "ccr"]
    acr = study.tasks[0]
    assert acr.block_size == acr.traps["per"] == 10
    assert [(k["kind"], k["count"]) for k in acr.traps["kinds"]] == [("instructed", 1), ("gold", 1)]
    assert acr.traps["kinds"][1]["tolerance"] == 1
    assert any("wrong" in entry for entry in acr.training)
    assert {"digits_in_noise", "environment"} <= {check["key"] for check in study.checks}


# --- The folder that is written -------------------------------------------------------------------


def test_a_folder_holds_its_tables_and_the_sounds_that_they_name(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "study one"
    said = run("new_study", "mushra", folder)
    sounds = {f"audio/{path.name}" for path in (folder / "audio").iterdir()}
    assert sounds == set(PRESETS["mushra"].sounds)
    assert f"{len(sounds)} sound files" in said
    assert f"manage.py import_study '{folder}' --open" in said
    assert tomllib.loads((folder / TOML).read_text())["study"]["key"] == "study-one"


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / ".DS_Store").touch()  # which some machines put everywhere
    run("new_study", "att", tmp_path)
    assert read_folder(tmp_path).problems == ()


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CommandError, match="is not empty, and nothing in it was touched"):
        run("new_study", "att", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "study").write_text("a file")
    with pytest.raises(PresetError, match="is a file"):
        write_preset(PRESETS["att"], DEMO, tmp_path / "study")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(PresetError, match="leads nowhere"):
        write_preset(PRESETS["att"], DEMO, tmp_path / "link")
    with pytest.raises(PresetError, match="cannot be written: Not a directory"):
        write_preset(PRESETS["att"], DEMO, tmp_path / "study" / "inside")


@pytest.mark.parametrize("is_new", [True, False])
def test_a_full_disk_leaves_no_part_of_a_study_folder(tmp_path, monkeypatch, is_new):
    target = tmp_path / "study"
    if not is_new:
        target.mkdir()
    copied = []

    def copy_until_full(source, place):
        copied.append(place)
        place.write_bytes(b"half")
        if len(copied) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("listening.design.presets.shutil.copyfile", copy_until_full)
    with pytest.raises(PresetError, match="No space left on device"):
        write_preset(PRESETS["att"], DEMO, target)
    assert len(copied) == 2
    assert list(tmp_path.rglob("*")) == ([] if is_new else [target])


@pytest.mark.parametrize(
    ("name", "key"), [("my study", "my-study"), ("研究", "att"), ("a.b", "a-b"), ("x" * 99, "att")]
)
def test_the_key_is_the_folders_name_as_far_as_a_key_may_hold_it(name: str, key: str) -> None:
    assert study_key(PRESETS["att"], Path(name)) == key


def test_the_presets_are_listed() -> None:
    said = run("new_study", "--list").splitlines()
    assert [line.split()[0] for line in said] == list(PRESETS)
    assert said[0].endswith(PRESETS[said[0].split()[0]].purpose)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["musra", "x"], "There is no preset “musra”. Did you mean “mushra”?"),
        (["zzz", "x"], "There is no preset “zzz”."),
        (["att"], "Say which preset and where"),
        ([], "Say which preset and where"),
    ],
)
def test_a_wrong_call_is_answered_with_a_sentence(arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=re.escape(words)):
        run("new_study", *arguments)


# --- The demo's audio -----------------------------------------------------------------------------


def test_the_demo_stays_small_and_holds_no_sound_that_nobody_uses() -> None:
    files = [path for path in DEMO.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 22 * 1000**2
    used = {sound for preset in PRESETS.values() for sound in preset.sounds}
    with (DEMO / CSV).open(encoding="utf-8", newline="") as table:
        used |= {row["file"] for row in csv.DictReader(table)}
    with (DEMO / "audio" / "made.csv").open(encoding="utf-8", newline="") as table:
        used |= {
            f"audio/{x}.flac" for row in csv.DictReader(table) for x in row["made from"].split()
        }
    there = {f"audio/{path.name}" for path in (DEMO / "audio").glob("*.[fo]*")}
    assert there == used


def test_every_line_and_derived_sound_says_how_it_was_made(monkeypatch) -> None:
    with (DEMO / "audio" / "made.csv").open(encoding="utf-8", newline="") as table:
        made = list(csv.DictReader(table))
    with (DEMO / CSV).open(encoding="utf-8", newline="") as table:
        lines = {Path(row["file"]).name for row in csv.DictReader(table) if row["trap"] != "flawed"}
    derived = {p.name for p in (DEMO / "audio").iterdir() if p.name.startswith(DERIVED)}
    assert {row["file"] for row in made} == lines | derived
    monkeypatch.syspath_prepend(DEMO)
    recipes = list(importlib.import_module("make_audio").recipes())
    told = [(row["file"], row["made from"], row["how"]) for row in made]
    assert told == [(one.file.name, one.sources, one.how) for one in recipes]
    for row in made:
        assert row["how"]
        assert all((DEMO / "audio" / f"{name}.flac").exists() for name in row["made from"].split())


def test_a_line_that_cannot_be_made_here_says_what_it_takes(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(DEMO)
    lines = importlib.import_module("spoken_lines")
    lacks = importlib.import_module("recipes").LacksError
    monkeypatch.setenv("PATH", str(tmp_path))  # no program is there
    with pytest.raises(lacks, match="Debian's festival and festvox-us-slt-hts"):
        lines.spoken("Hello.", lines.VOICES["festival-hts"])
    with pytest.raises(lacks, match=r"PyPI's pysptk 1\.0\.1, unpacked in the folder"):
        lines.cut_out(lines.READINGS["a0007"], tmp_path)


DERIVED = (
    *("anchor", "begun", "masked", "noisy", "denoised", "mp3", "nvv", "opus", "spoken"),
    *("stripped", "noise", "mnru", "flawed-zh", "effect", "word", "excited", "tired", "talk"),
    "stuttered",
)


@pytest.mark.parametrize(("anchor", "cut_hz"), [("anchor35", 3500), ("anchor70", 7000)])
@pytest.mark.parametrize("item", ["s0880", "s0890", "s0920", "s0930"])
def test_an_anchor_is_the_reference_without_its_high_notes(
    anchor: str, cut_hz: int, item: str
) -> None:
    power, hz = _spectrum(f"{anchor}_{item}")
    reference, _ = _spectrum(f"human_{item}")
    passed, stopped = hz < cut_hz - 400, hz > cut_hz + 400
    assert 10 * np.log10(power[stopped].sum() / reference[stopped].sum()) < -20
    assert 10 * np.log10(power[passed].sum() / reference[passed].sum()) == pytest.approx(0, abs=0.1)


def _spectrum(name: str) -> tuple[np.ndarray, np.ndarray]:
    wave, rate_hz = soundfile.read(DEMO / "audio" / f"{name}.flac")
    return np.abs(np.fft.rfft(wave)) ** 2, np.fft.rfftfreq(len(wave), 1 / rate_hz)


def test_raters_of_the_turing_test_are_told_what_those_of_the_paper_were(tmp_path: Path) -> None:
    (task,) = the_study(PRESETS["att"], tmp_path / "att").tasks
    told = task.instructions
    assert "hidden test clips" in told
    assert "make the whole set void" in told
    assert "Write each reason yourself" in told
    assert "AI tool" in told
    assert "Experts go by the reason" in told
    examples = (task.justification["good"], task.justification["poor"])
    assert list(map(len, examples)) == [4, 4]
