"""Tasks, conditions, stimuli and traps that do not fit each other are named."""

from pathlib import Path

import pytest

from tests.listening.folders import (
    CONDITIONS,
    HEADER,
    ROWS,
    STUDY,
    TASK,
    TOML,
    csv_with,
    problems_of,
    the_problem,
)

TRAP_CONDITION = '[[conditions]]\nkey = "bad"\nrole = "trap"\n'
TRAPS = """
[tasks.traps]
placement = "outside"
per = 2
[[tasks.traps.kinds]]
kind = "gold"
count = 1
expected = ["1", "1.5"]
"""
TRAP_TOML = STUDY + CONDITIONS + TRAP_CONDITION + TASK + "[tasks.options]\nstep = 0.5\n" + TRAPS
TRAP_CSV = csv_with(
    *[f"{row}," for row in ROWS], "t1,bad,i1,audio/a1.wav,gold", header=f"{HEADER},trap"
)


def test_a_study_with_traps_is_right(tmp_path: Path) -> None:
    assert problems_of(tmp_path, TRAP_TOML, TRAP_CSV) == []


def test_an_item_that_lacks_a_condition(tmp_path: Path) -> None:
    csv = csv_with(*ROWS[:3])
    problem = the_problem(tmp_path / "a", csv=csv)
    assert (problem.row, problem.place) == (3, "item")
    assert "The item “i2” lacks “sys-b” in task “mos”" in problem.what
    assert "allow_missing = true" in problem.remedy
    assert problems_of(tmp_path / "b", TOML + "allow_missing = true\n", csv) == []


def test_every_item_that_lacks_something_is_named(tmp_path: Path) -> None:
    rows = [f"x{n},sys-{'ab'[n % 2]},j{n},audio/a1.wav" for n in range(6)]
    found = problems_of(tmp_path, csv=csv_with(*ROWS, *rows))
    assert [p.row for p in found if "lacks" in p.what] == [6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("options", "place", "what", "remedy"),
    [
        ("step = 0.3", "options", "MOS has steps of 1 or 0.5", "Correct"),
        ('step = "half"', "options", "MOS has steps of 1 or 0.5", "Correct"),
        ('names = "good"', "options", "do not fit the method “mos”", "Correct"),
        ('names = {"6" = "Superb"}', "options.names", "no label “6”", ""),
        ("stepp = 0.5", "options.stepp", "does not use the option “stepp”", "“step”"),
    ],
)
def test_options_that_do_not_fit_the_method(
    tmp_path: Path, options: str, place: str, what: str, remedy: str
) -> None:
    problem = the_problem(tmp_path, TOML + f"[tasks.options]\n{options}\n")
    assert problem.place == f"tasks[1].{place}"
    assert what in problem.what
    assert remedy in problem.remedy


def cmos(options: str) -> str:
    toml = TOML.replace('method = "mos"', 'method = "cmos"').replace("size = 2", "size = 1")
    return toml + f"[tasks.options]\n{options}\n"


def test_a_comparison_with_a_condition_that_is_not_there(tmp_path: Path) -> None:
    assert problems_of(tmp_path / "right", cmos('versus = "sys-a"')) == []
    problem = the_problem(tmp_path / "versus", cmos('versus = "reference"'))
    assert (problem.place, problem.what) == (
        "tasks[1].options.versus",
        "“reference” is no condition.",
    )
    problem = the_problem(
        tmp_path / "pairs", cmos('pairs = [["sys-a", "sys-q"], ["sys-a", "sys-b"]]')
    )
    assert (problem.place, problem.what) == ("tasks[1].options.pairs", "“sys-q” is no condition.")
    found = problems_of(tmp_path / "one", cmos('pairs = ["sys-a"]'))
    assert any(p.place == "tasks[1].options" for p in found)


def test_att_labels_in_the_wrong_order_list(tmp_path: Path) -> None:
    toml = TOML.replace('method = "mos"', 'method = "att"') + '[tasks.options]\norder = ["Human"]\n'
    assert "Human, Unclear and Machine once each" in the_problem(tmp_path, toml).what


@pytest.mark.parametrize(
    ("fields", "place", "what"),
    [
        ("block_size = 3", "block_size", "A block of 3 is larger than the number of items, 2"),
        ("block_size = 5\nrepeat_items = true", "block_size", "number of trials, 4"),
        ("block_size = 2\nblocks_per_session = 2", "blocks_per_session", "need more than the 2"),
        ("block_size = 1\nblocks_per_session = 2\nblocks_per_rater = 1", "blocks_per_rater", "1"),
        ("block_size = 2\nrepeats = 3", "repeats", "2 clips, and 3 cannot be asked again"),
        ("block_size = 2\nratings_per_stimulus = 10001", "ratings_per_stimulus", "outside"),
    ],
)
def test_sizes_that_cannot_be(tmp_path: Path, fields: str, place: str, what: str) -> None:
    toml = TOML.replace("block_size = 2", fields)
    if "ratings_per_stimulus" in fields:
        toml = toml.replace("ratings_per_stimulus = 3\n", "")
    problem = the_problem(tmp_path, toml)
    assert problem.place == f"tasks[1].{place}"
    assert what in problem.what


def test_repeated_items_allow_larger_blocks(tmp_path: Path) -> None:
    toml = TOML.replace("block_size = 2", "block_size = 4\nrepeat_items = true")
    assert problems_of(tmp_path, toml) == []


@pytest.mark.parametrize(
    ("old", "new", "place", "what", "remedy"),
    [
        ('kind = "gold"', 'kind = "god"', "traps.kinds[1].kind", "No clip", "“gold”"),
        ("count = 1", "count = 2", "traps.kinds[1].count", "there is only 1", "smaller number"),
        ("[tasks.traps]", '[tasks.traps]\nvoids = "session"', "traps.voids", "others", "= true"),
        ('["1", "1.5"]', '["1", "6"]', "traps.kinds[1].expected", "“6” is not on the scale", ""),
        ("per = 2", "per = 3", "block_size", "no whole number of sets of 3", "Choose 3"),
        ("per = 2", "per = 4", "block_size", "no whole number of sets of 4", "Choose 4"),
        ('"outside"', '"inside"', "", "", ""),
        ('"outside"\nper = 2', '"inside"\nper = 1', "traps.per", "leave no rated clip", "outside"),
        ('"outside"\nper = 2', '"inside"\nper = 4', "block_size", "sets of 3", "Choose 3"),
        ("count = 1", "count = 1\npass_at_least = 2", "traps.kinds[1].pass_at_least", "2", "1"),
    ],
)
def test_traps_that_do_not_fit(
    tmp_path: Path, old: str, new: str, place: str, what: str, remedy: str
) -> None:
    assert old in TRAP_TOML
    found = problems_of(tmp_path, TRAP_TOML.replace(old, new), TRAP_CSV)
    if not place:  # inside sets of two with one trap hold one rated clip: blocks of 2 fit
        assert found == []
        return
    match = [p for p in found if p.place == f"tasks[1].{place}"]
    assert match, "\n".join(map(str, found))
    assert what in match[0].what
    assert remedy in match[0].remedy


def test_a_trap_that_no_task_uses(tmp_path: Path) -> None:
    problem = the_problem(tmp_path, TRAP_TOML, TRAP_CSV.replace(",gold\n", ",gold\n", 1)
                          + "t2,bad,i2,audio/a1.wav,glod\n")  # fmt: skip
    assert (problem.row, problem.place) == (7, "trap")
    assert "No task has traps of the kind “glod”" in problem.what
    assert "“gold”" in problem.remedy


def test_a_trap_condition_without_a_trap_kind(tmp_path: Path) -> None:
    csv = TRAP_CSV + "t2,bad,i2,audio/a1.wav,\nt3,bad,i1,audio/a1.wav,\n"
    found = problems_of(tmp_path, TRAP_TOML, csv)
    assert [p.row for p in found if "role trap, but this row names no trap" in p.what] == [7, 8]


def test_a_size_is_not_judged_where_nothing_is_there_to_rate(tmp_path: Path) -> None:
    apart = csv_with("a1,sys-a,i1,audio/a1.wav", "b2,sys-b,i2,audio/b2.wav")
    found = problems_of(tmp_path, cmos('pairs = [["sys-a", "sys-b"]]'), apart)
    assert any("No trial can be made" in p.what for p in found)
    assert not any(p.place.endswith("block_size") for p in found)


def test_a_condition_without_stimuli(tmp_path: Path) -> None:
    toml = STUDY + CONDITIONS + '[[conditions]]\nkey = "sys-c"\n' + TASK
    problem = the_problem(tmp_path, toml)
    assert problem.place == "conditions[3].key"
    assert "No stimulus belongs to the condition “sys-c”" in problem.what


def test_a_dimension_that_no_item_has(tmp_path: Path) -> None:
    rows = [f"{row},short" for row in ROWS]
    toml = TOML + 'dimensions = ["shrot"]\n'
    found = problems_of(tmp_path, toml, csv_with(*rows, header=f"{HEADER},dimension"))
    assert found[0].place == "tasks[1].dimensions"
    assert "“short”" in found[0].remedy
    assert "no stimulus to rate" in found[1].what


@pytest.mark.slow
def test_twenty_million_presentations_are_the_limit(tmp_path: Path) -> None:
    rows = [f"s{n},sys-{'ab'[n % 2]},i{n // 2},audio/a1.wav" for n in range(4_000)]
    toml = TOML.replace("ratings_per_stimulus = 3", "ratings_per_stimulus = 10000")
    problem = the_problem(tmp_path, toml, csv_with(*rows))
    assert "40,000,000" in problem.what
    assert problem.remedy


def test_a_trap_without_a_known_answer_is_a_mistake_of_its_row(tmp_path: Path) -> None:
    (found,) = problems_of(tmp_path, TRAP_TOML.replace('["1", "1.5"]', "[]"), TRAP_CSV)
    assert (found.file, found.row, found.place) == ("stimuli.csv", 6, "expected")
    assert "has no expected answer" in found.what
    assert "column expected" in found.remedy


def test_a_written_instruction_that_is_not_written_is_a_mistake_of_its_row(tmp_path: Path) -> None:
    toml = TRAP_TOML.replace("count = 1", "count = 1\ntext = true")
    (found,) = problems_of(tmp_path / "without", toml, TRAP_CSV)
    assert (found.file, found.row, found.place) == ("stimuli.csv", 6, "text")
    assert "instruction of the trap “t1” is not written" in found.what
    assert "column text" in found.remedy
    rows = [f"{row},,Please choose 1." for row in ROWS if ",i1," in row]
    rows += [f"{row},,Two" for row in ROWS if ",i2," in row]
    csv = csv_with(
        *rows, "t1,bad,i1,audio/a1.wav,gold,Please choose 1.", header=f"{HEADER},trap,text"
    )
    assert problems_of(tmp_path / "with", toml, csv) == []


@pytest.mark.parametrize(
    ("toml", "place", "remedy"),
    [
        (TOML.replace("[[tasks]]", "[tasks]"), "tasks", "Write it as [[tasks]]."),
        (TOML.replace("[study]", '[study]\nconsent = "Yes?"'), "study.consent", "[study.texts]"),
        (TOML.replace("[study]", "[study]\npayment = 9"), "study.payment", "[study.payment]"),
        (TOML + "[tasks.options]\nscale = 7\n", "tasks[1].options.scale", "“points”"),
        (
            TOML + '[[study.checks]]\nkey = "headphones"\n',
            "study.checks[1].key",
            "“huggins”, or by “antiphase”",
        ),
    ],
)
def test_what_newcomers_write_is_answered_with_what_they_meant(
    tmp_path: Path, toml: str, place: str, remedy: str
) -> None:
    found = {p.place: p for p in problems_of(tmp_path, toml)}
    assert remedy in found[place].remedy, found
