"""A file without items gets them from its names of stimuli, or says how to name them."""

from __future__ import annotations

import pytest

from analysis.ratings.table import Reading, read_csv

P808 = "hitid,workerid,assignment_id,file,vote,question_type,"


@pytest.fixture
def read(tmp_path):
    def reading(text: str, **how: object) -> Reading:
        path = tmp_path / "mine.csv"
        path.write_text(text, encoding="utf-8")
        return read_csv(path, **{"constants": {"method": "mos"}, **how})  # type: ignore[arg-type]

    return reading


def crossed(head: str, row: str) -> str:
    """A file in which three raters rated two sentences by two systems."""
    systems = (("Natural", "00"), ("vits", "01"))
    rows = [
        row.format(rater=f"W{rater}", system=system, code=code, item=item)
        for rater in range(3)
        for system, code in systems
        for item in ("s1", "s2")
    ]
    return "\n".join([head, *rows])


@pytest.mark.medium
@pytest.mark.parametrize(
    ("head", "row", "how", "items"),
    [
        (  # the P.808 toolkit
            f"{P808}condition_num",
            "H,{rater},A{rater},https://x/d/D_c{code}_M1_{item}.wav,3,MOS,{code}",
            {"condition_pattern": r"_c(\d+)_"},
            {"D_c_M1_s1", "D_c_M1_s2"},
        ),
        (  # jsPsych: the system in a column of its own
            "subject,stimulus,response,condition",
            "{rater},audio/{system}_{item}.wav,3,{system}",
            {"columns": {"rater": "subject", "score": "response"}},
            {"s1", "s2"},
        ),
        (  # SOMOS: names without an ending
            "utteranceId,choice,systemId,listenerId",
            "LJ001-000{item}_{code},3,{code},{rater}",
            {
                "columns": {
                    "rater": "listenerId",
                    "score": "choice",
                    "condition": "systemId",
                    "stimulus": "utteranceId",
                }
            },
            {"LJ001-000s1", "LJ001-000s2"},
        ),
        (  # a folder for each system
            "rater,clip,condition,score",
            "{rater},{system}/{item}.wav,{code},3",
            {"columns": {"stimulus": "clip"}},
            {"s1", "s2"},
        ),
    ],
)
def test_the_item_is_what_a_stimulus_says_beside_its_condition(read, head, row, how, items):
    reading = read(crossed(head, row), **how)
    assert set(reading.table["item"]) == items
    assert reading.table.groupby("item")["condition"].nunique().tolist() == [2, 2]
    (note,) = [note for note in reading.notes if note.startswith("No column item")]
    assert "without its condition" in note
    assert "--column item=NAME" in note


def test_a_trap_keeps_its_own_name(read):
    row = "{rater},{system}_{item}.wav,{system},3,"
    text = crossed("rater,stimulus,condition,score,trap", row) + "\nW1,vits_gold.wav,,2,trap\n"
    table = read(text).table
    assert set(table["item"][table["trap"] != ""]) == {"vits_gold.wav"}


@pytest.mark.parametrize(
    "names",
    [
        ("a1", "a2", "b1", "b2"),  # nothing in common
        ("A_x", "A", "B_x", "B"),  # nothing left of two
        ("A_x_1", "x_A_1", "B_x_1", "B_y"),  # what is left is of few conditions
        ("q/A_x", "p/A_x", "q/B_x", "p/B_x"),  # two clips of one condition and item
    ],
)
def test_where_names_do_not_tell_items_the_note_says_how_to_name_them(read, names):
    rows = [
        f"r{n},{name},{'AB'[place > 1]},3" for n in range(2) for place, name in enumerate(names)
    ]
    text = "\n".join(["rater,stimulus,condition,score", *rows])
    reading = read(text)
    assert set(reading.table["item"]) == set(names)
    (note,) = [note for note in reading.notes if note.startswith("No column item")]
    assert "taken for an item of its own" in note
    named = read(text.replace("score", "score,sentence").replace(",3", ",3,s"),
                 columns={"item": "sentence"})  # fmt: skip
    assert set(named.table["item"]) == {"s"}
    assert not [note for note in named.notes if "No column item" in note]


def test_stimuli_that_conditions_share_are_items_without_a_word(read):
    rows = [f"r{n},{name}.wav,{c},3" for n in range(2) for name in "xy" for c in "AB"]
    reading = read("\n".join(["rater,stimulus,condition,score", *rows]))
    assert set(reading.table["item"]) == {"x.wav", "y.wav"}
    assert not [note for note in reading.notes if "No column item" in note]


def test_conditions_of_one_clip_each_have_nothing_to_pair_and_no_note(read):
    rows = [f"r{n},{name}.wav,{c},3" for n in range(2) for name, c in zip("xy", "AB", strict=True)]
    reading = read("\n".join(["rater,stimulus,condition,score", *rows]))
    assert not [note for note in reading.notes if "No column item" in note]
