"""A right folder becomes plain objects; an error-free reading has no surprises in it."""

import subprocess
import sys
import tomllib
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from listening.design.blocks import amount_of, material_of, trials_of
from listening.design.definition import definition_of
from listening.design.studyfile import CriterionEntry, ItemEntry, read_folder, toml_text
from listening.design.studyfile.files import Shelf
from listening.design.studyfile.reader import fields_of
from tests.listening.folders import (
    CSV,
    HEADER,
    ROWS,
    STUDY,
    TASK,
    TOML,
    csv_with,
    make_folder,
    problems_of,
)

DEMO = Path(__file__).resolve().parents[2] / "demo"


def test_the_smallest_study(tmp_path: Path) -> None:
    reading = read_folder(make_folder(tmp_path))
    assert reading.problems == ()
    study = reading.study
    assert study is not None
    assert (study.key, study.title, study.language, study.seed) == (
        "small",
        "A small study",
        "en",
        0,
    )
    assert [c.key for c in study.conditions] == ["sys-a", "sys-b"]
    assert [(s.key, s.condition, s.item) for s in study.stimuli] == [
        ("a1", "sys-a", "i1"),
        ("a2", "sys-a", "i2"),
        ("b1", "sys-b", "i1"),
        ("b2", "sys-b", "i2"),
    ]
    assert study.items == (ItemEntry("i1", language="en"), ItemEntry("i2", language="en"))
    assert set(reading.audio) == {f"audio/{clip}.wav" for clip in ("a1", "a2", "b1", "b2")}
    task = study.tasks[0]
    assert (task.blocks_per_session, task.blocks_per_rater, task.traps) == (1, 1, {})
    question = "How natural does this speech sound?"
    assert task.criteria == (CriterionEntry("naturalness", question),)


def test_the_demo_is_right() -> None:
    reading = read_folder(DEMO)
    assert reading.problems == ()
    assert reading.study is not None
    assert [t.key for t in reading.study.tasks] == ["att", "mos"]
    assert sum(s.trap == "human" for s in reading.study.stimuli) == 5
    assert sum(s.trap == "flawed" for s in reading.study.stimuli) == 3
    rated = [s for s in reading.study.stimuli if not s.trap]
    voices, lines = {s.condition for s in rated}, {s.item for s in rated}
    assert (len(voices), len(lines)) == (7, 10)
    assert {(s.condition, s.item) for s in rated} == set(product(voices, lines))
    assert len(rated) == 70


@pytest.mark.slow
def test_reading_needs_no_django() -> None:
    code = (
        "import sys; from pathlib import Path; from listening.design.studyfile import read_folder;"
        f"r = read_folder(Path({str(DEMO)!r})); assert r.study;"
        "assert not {'django', 'torch', 'pymc', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=DEMO.parent)


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    toml = mark + TOML.replace("\n", "\r\n").encode()
    csv = mark + CSV.replace("\n", "\r\n").encode()
    plain = read_folder(make_folder(tmp_path / "plain"))
    assert read_folder(make_folder(tmp_path / "marked", toml, csv)).study == plain.study


def test_ids_in_any_script(tmp_path: Path) -> None:
    toml = TOML.replace('"sys-a"', '"甲方案"').replace('"sys-b"', '"Système é"')
    csv = csv_with(
        "句一甲,甲方案,句一,audio/a1.wav",
        "句二甲,甲方案,句二,audio/a2.wav",
        "句一乙,Système é,句一,audio/b1.wav",
        "句二乙,Système é,句二,audio/b2.wav",
    )
    study = read_folder(make_folder(tmp_path, toml, csv)).study
    assert study is not None
    assert [c.key for c in study.conditions] == ["甲方案", "Système é"]
    assert study.stimuli[0].key == "句一甲"


def test_a_file_name_is_found_in_either_unicode_form(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, csv=CSV.replace("audio/a1.wav", "audio/caf\u00e9.wav"))
    (folder / "audio" / "a1.wav").rename(folder / "audio" / "cafe\u0301.wav")  # as macOS writes it
    reading = read_folder(folder)
    assert reading.problems == ()
    assert reading.audio["audio/café.wav"].path.exists()


def test_further_columns_become_attributes_of_the_stimulus(tmp_path: Path) -> None:
    rows = [f"{row},{n},{'x' if n else ''}" for n, row in enumerate(ROWS)]
    csv = csv_with(*rows, header=f"{HEADER},seed of synthesis,note")
    study = read_folder(make_folder(tmp_path, csv=csv)).study
    assert study is not None
    assert study.stimuli[0].attributes == {"seed of synthesis": "0"}
    assert study.stimuli[1].attributes == {"seed of synthesis": "1", "note": "x"}


def test_rows_of_one_item_complete_each_other(tmp_path: Path) -> None:
    rows = [f"{ROWS[0]},Hello there,,3", f"{ROWS[1]},,,", f"{ROWS[2]},,chat,", f"{ROWS[3]},,,"]
    csv = csv_with(*rows, header=f"{HEADER},text,dimension,position")
    study = read_folder(make_folder(tmp_path, csv=csv)).study
    assert study is not None
    assert study.items[0] == ItemEntry("i1", "Hello there", "chat", "", 3, "", "en", "")


def test_blank_rows_are_passed_over_and_still_counted(tmp_path: Path) -> None:
    csv = csv_with(ROWS[0], ROWS[1], "", ",,,", ROWS[2], "b2,sys-c,i2,audio/b2.wav")
    found = problems_of(tmp_path, csv=csv)
    assert [(p.row, p.place) for p in found if p.place == "condition"] == [(7, "condition")]


def test_an_att_task_asks_for_a_reason_unless_told_otherwise(tmp_path: Path) -> None:
    att = TOML.replace('method = "mos"', 'method = "att"')
    study = read_folder(make_folder(tmp_path / "asked", att)).study
    assert study is not None
    assert study.tasks[0].justification["required"] is True
    assert study.tasks[0].criteria[0].key == "human_likeness"
    free = att + "[tasks.justification]\nrequired = false\n"
    study = read_folder(make_folder(tmp_path / "free", free)).study
    assert study is not None
    assert study.tasks[0].justification["required"] is False


def test_material_may_be_limited_to_conditions_and_dimensions(tmp_path: Path) -> None:
    toml = TOML + 'conditions = ["sys-a"]\ndimensions = ["short"]\n'
    rows = [f"{row},{'short' if 'i1' in row else 'long'}" for row in ROWS]
    csv = csv_with(*rows, header=f"{HEADER},dimension")
    found = problems_of(tmp_path, toml.replace("block_size = 2", "block_size = 1"), csv)
    assert found == []


@pytest.mark.slow
def test_twenty_thousand_rows_are_read_in_seconds(tmp_path: Path) -> None:
    rows = [f"s{n},sys-{'ab'[n % 2]},i{n // 2},audio/a1.wav,some text" for n in range(20_000)]
    csv = csv_with(*rows, header=f"{HEADER},text")
    reading = read_folder(make_folder(tmp_path, csv=csv))
    assert reading.study is not None
    assert len(reading.study.items) == 10_000


def test_what_is_spoken_what_is_shown_and_the_caption_are_three_fields(tmp_path: Path) -> None:
    rows = [f"{row},Hi [laugh],Hi,A calm voice," for row in ROWS[:3]]
    rows += [f"{ROWS[3]},Hi [laugh],Hi,A calm voice,1", "b3,sys-b,i2,audio/b2.wav,,,,2"]
    csv = csv_with(*rows, header=f"{HEADER},text,transcript,caption,run")
    reading = read_folder(make_folder(tmp_path, csv=csv))
    study = reading.study
    assert study is not None, reading.problems
    assert (study.items[0].text, study.items[0].transcript) == ("Hi [laugh]", "Hi")
    assert study.stimuli[0].attributes == {"caption": "A calm voice"}
    assert [s.run for s in study.stimuli] == [1, 1, 1, 1, 2]
    assert (
        "Measured by metrics and not rated: 1 clip of run 2 of the synthesis"
        in (reading.remarks[-1])
    )
    assert len(material_of(study, study.tasks[0])) == 4
    wrong = csv.replace(",2\n", ",two\n")
    (found,) = problems_of(tmp_path / "wrong", csv=wrong)[:1]
    assert (found.place, found.what) == ("run", "“two” is no number of a run.")


def test_a_draw_is_the_same_with_the_same_seed_and_says_what_it_left_out(tmp_path: Path) -> None:
    def drawn(name: str, rule: str) -> tuple[list[str], str]:
        toml = TOML.replace("block_size = 2", "block_size = 1\nallow_missing = true")
        toml += f"draw = {{ {rule} }}\n"
        reading = read_folder(make_folder(tmp_path / name, toml))
        assert reading.study is not None, reading.problems
        task = reading.study.tasks[0]
        assert len(material_of(reading.study, task)) == 2
        assert tomllib.loads(toml_text(reading.study))["tasks"][0]["draw"]["seed"] == 5
        defined = definition_of(reading.study)  # as a correction of its words reads it again
        assert {path[3] for path in defined if "draw" in path} <= set(fields_of("tasks.draw"))
        return task.draw["drawn"], reading.remarks[-1]

    first = drawn("a", 'number = 1, of = "items", seed = 5')
    assert first == drawn("b", 'number = 1, of = "items", seed = 5')
    assert first[1] == (
        "Task “mos” rates 1 of 2 items, drawn at random: 1 of all, seed 5; 1 are left out."
    )
    clips, said = drawn("c", 'share = 0.5, of = "clips", per = ["condition"], seed = 5')
    assert [clip[0] for clip in clips] == ["a", "b"]  # half of the clips of each system
    assert "2 of 4 clips, drawn at random: 50 % per condition, seed 5; 2 are left out" in said


def test_single_pairs_are_drawn_among_many_systems(tmp_path: Path) -> None:
    systems = ("one", "one-bare", "two", "two-bare")
    rows = [f"{c}{n},{c},i{n},audio/a1.wav" for c in systems for n in range(9)]
    toml = STUDY + "".join(f'\n[[conditions]]\nkey = "{c}"\n' for c in systems)
    toml += (
        TASK.replace("mos", "cmos") + 'draw = { number = 4, of = "pairs", per = ["condition"] }\n'
    )
    toml += '[tasks.options]\npairs = [["one", "one-bare"], ["two", "two-bare"]]\n'
    reading = read_folder(make_folder(tmp_path, toml, csv_with(*rows)))
    study = reading.study
    assert study is not None, reading.problems
    assert reading.remarks[-1].startswith("Task “cmos” rates 8 of 18 pairs, drawn at random: 4 per")
    trials = trials_of(study, study.tasks[0])
    assert Counter(t.column for t in trials) == {"one ~ one-bare": 4, "two ~ two-bare": 4}
    assert len({t.item for t in trials}) > 4  # each system has a draw of its own
    assert amount_of(trials, study.tasks[0]).sessions == 4 * study.tasks[0].ratings_per_stimulus
    assert {study.stimuli[s.pk].condition for s in material_of(study, study.tasks[0])} == set(
        systems
    )


@pytest.mark.parametrize(
    ("rule", "place", "what"),
    [
        ("per = []", "draw", "A draw needs a number or a share, and not both."),
        ('number = 1, per = ["system"]', "draw.per", "Items cannot be drawn per “system”."),
        (
            'number = 1, of = "pairs"',
            "draw.of",
            "Pairs are drawn of comparisons of two clips, and “mos” is none.",
        ),
        ("nmber = 1", "draw.nmber", "There is no field “nmber”."),
    ],
)
def test_a_draw_that_cannot_be_made(tmp_path: Path, rule: str, place: str, what: str) -> None:
    found = problems_of(tmp_path, f"{TOML}draw = {{ {rule} }}\n")
    assert (f"tasks[1].{place}", what) in [(p.place, p.what) for p in found]


def test_files_of_a_folder_that_begins_with_a_dot_keep_its_name(tmp_path):
    for name in ("a.wav", ".takes/b.wav", "sub/.new/c.wav"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert sorted(Shelf(tmp_path).names) == [".takes/b.wav", "a.wav", "sub/.new/c.wav"]
