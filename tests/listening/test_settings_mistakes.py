"""What is wrong with settings is said with its row and a remedy; what may be missing is skipped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from listening.design.settings import Mistake, derive
from listening.design.studyfile import ConditionEntry
from tests.listening.lines import CONDITIONS, at, cells, made, manifest, paragraph

THREE = paragraph("p1", 3)


def the_mistake(*args: Any, **kwargs: Any) -> Mistake:
    derived = derive(manifest(*args, **kwargs))
    assert len(derived.mistakes) == 1, derived.mistakes
    return derived.mistakes[0]


@pytest.mark.parametrize(
    ("table", "place", "what", "remedy"),
    [
        ({"conditions": ["r1t1"]}, "conditions", "“r1t1” names no condition", "mean “R1T1”?"),
        ({"conditions": ["Ri"], "real": "humen"}, "real", "“humen” is no cond", "mean “human”?"),
        ({"conditions": ["Ti"], "synthetic": ["tss"]}, "synthetic", "“tss” is no", "mean “tts”?"),
        ({"conditions": ["R1T1"], "real": ""}, "real", "need the real speech", "Add real = "),
        ({"conditions": ["Text1T1"], "synthetic": []}, "synthetic", "need the synth", "Add synth"),
        ({"conditions": ["T3T1"]}, "conditions", "the 4 lines in a row that “T3T1”", "Remove it"),
        ({"conditions": ["Ti"], "dimensions": ["talk"]}, "dimensions", "No paragraph", "all its"),
    ],
)
def test_a_setting_that_cannot_be(
    table: dict[str, Any], place: str, what: str, remedy: str
) -> None:
    mistake = the_mistake(THREE, table)
    assert mistake.place == f"settings[1].{place}"
    assert what in mistake.what
    assert remedy in mistake.remedy
    assert mistake.stimulus == ""


def test_what_no_condition_needs_may_be_left_out() -> None:
    made(THREE, {"conditions": ["Ti", "T1T1"], "real": ""})
    made(THREE, {"conditions": ["Rp", "Text1R1"], "synthetic": []})


def test_traps_speak_no_lines() -> None:
    conditions = (CONDITIONS[0], ConditionEntry("tts", role="trap"))
    mistake = the_mistake(THREE, {"conditions": ["Ti"]}, conditions)
    assert "has the role trap" in mistake.what


def test_a_study_without_paragraphs() -> None:
    lines = [replace(line, paragraph="", position=None) for line in THREE]
    mistake = the_mistake(lines, {"conditions": ["Ti"]})
    assert mistake.place == "settings[1]"
    assert "columns paragraph and position" in mistake.remedy


def test_a_name_that_a_condition_has_already() -> None:
    conditions = (*CONDITIONS[:2], ConditionEntry("R1T1"))
    mistake = the_mistake(THREE, {"conditions": ["R1T1"]}, conditions)
    assert mistake.place == "settings[1].conditions"
    assert "“R1T1” is the key of a condition" in mistake.what
    made(THREE, {"conditions": ["R1T1"], "key": "long"}, conditions)


def test_the_same_condition_in_two_settings() -> None:
    mistake = the_mistake(THREE, [{"conditions": ["R1T1"]}, {"conditions": ["R1T1"]}])
    assert mistake.place == "settings[2].conditions"
    assert "its own key" in mistake.remedy


def test_a_name_that_grows_too_long() -> None:
    conditions = (*CONDITIONS[:2], ConditionEntry("x" * 75))
    table = {"conditions": ["R1T1"], "synthetic": ["tts", "x" * 75]}
    mistake = the_mistake(THREE, table, conditions)
    assert mistake.place == "settings[1].synthetic"
    assert "80 are allowed" in mistake.what
    mistakes = derive(manifest(paragraph("q" * 79, 2), {"conditions": ["R1T1"]})).mistakes
    assert [m.stimulus for m in mistakes] == [f"human/{'q' * 79}-2"]


# --- Lines ----------------------------------------------------------------------------------------


def test_a_line_without_a_position() -> None:
    mistake = the_mistake(at(THREE, 1, position=None), {"conditions": ["Ti"]})
    assert mistake == Mistake(
        "position",
        "The item “p1-2” of paragraph “p1” has no position.",
        "Write its place in the paragraph: 1, 2, 3 …",
        "human/p1-2",
    )


def test_two_lines_at_one_place() -> None:
    mistake = the_mistake(at(THREE, 2, position=2), {"conditions": ["T1T1"]})
    assert mistake.what == "The items “p1-2” and “p1-3” both have position 2 of paragraph “p1”."
    assert mistake.stimulus == "human/p1-3"


@pytest.mark.parametrize(
    ("places", "missing", "row"),
    [
        ((1, 2, 4), "position 3", 3),
        ((1, 3, 4), "position 2", 2),
        ((2, 3, 4), "position 1", 1),
        ((1, 2, 2_000_000_000), "positions 3 to 1999999999", 3),
        ((0, 1, 3), "position 2", 3),
    ],
)
def test_a_gap_in_the_positions(places: tuple[int, ...], missing: str, row: int) -> None:
    lines = [replace(line, position=n) for line, n in zip(THREE, places, strict=True)]
    mistake = the_mistake(lines, {"conditions": ["T1T1", "Tp", "R1T1"]})
    assert f"“p1” has no line at {missing}, before “p1-{row}”." in mistake.what
    assert "allow_missing = true" in mistake.remedy
    assert mistake.stimulus == f"human/p1-{row}"


def test_every_gap_of_every_paragraph_is_named_once() -> None:
    lines = [
        *at(paragraph("p1", 4), 1, position=7),
        *at(paragraph("p2", 2), 1, position=3),
    ]
    found = derive(manifest(lines, [{"conditions": ["T1T1"]}, {"conditions": ["R1R1"]}])).mistakes
    assert [m.stimulus for m in found] == ["human/p1-3", "human/p1-2", "human/p2-2"]


def test_with_allow_missing_nothing_is_made_across_a_gap() -> None:
    lines = [line for line in paragraph("p1", 6) if line.position != 3]
    names = ["T1T1", "T2T1", "Tp", "Ti"]
    table = {"conditions": names, "allow_missing": True}
    derived = made([*lines, *paragraph("p2", 3)], table)
    items = {c: [r.entry.item for r in cells(derived, c)] for c in names}
    assert items == {
        "T1T1": ["p1.2", "p1.5", "p1.6", "p2.2", "p2.3"],
        "T2T1": ["p1.6", "p2.3"],
        "Tp": ["p2.1-3"],
        "Ti": ["p1.1", "p1.2", "p1.4", "p1.5", "p1.6", "p2.1", "p2.2", "p2.3"],
    }
    lost = [(s.condition, s.paragraph, s.why) for s in derived.skipped]
    assert lost == [(c, "p1", "missing") for c in ("T1T1", "T2T1", "Tp")]
    assert "Tp: 1 paragraph with lines missing." in derived.summary()


def test_a_line_that_a_system_did_not_speak() -> None:
    mistake = the_mistake(THREE, {"conditions": ["T1T1", "Ti"]}, without=[("tts", "p1-2")])
    assert mistake == Mistake(
        "item",
        "The line “p1-2” of paragraph “p1” has no row of “tts”.",
        "Add it, or set allow_missing = true in settings[1].",
        "human/p1-2",
    )
    names = ["R1T1", "Ti", "Tp", "Rp"]
    table = {"conditions": names, "allow_missing": True}
    derived = made([*THREE, *paragraph("p2", 2)], table, without=[("tts", "p1-2")])
    items = {c: [r.entry.item for r in cells(derived, c)] for c in names}
    assert items == {
        "R1T1": ["p1.3", "p2.2"],
        "Ti": ["p1.1", "p1.3", "p2.1", "p2.2"],
        "Tp": ["p2.1-2"],
        "Rp": ["p1.1-3", "p2.1-2"],
    }


def test_a_line_that_no_cell_needs_may_lack_a_recording() -> None:
    table = {"conditions": ["R1T1"], "windows": "first"}
    made(THREE, table, without=[("tts", "p1-1"), ("human", "p1-2"), ("tts", "p1-3")])


def test_context_to_read_needs_its_text_and_no_recording() -> None:
    made(THREE[:2], {"conditions": ["Text1T1"]}, without=[("tts", "p1-1")])
    mistake = the_mistake(at(THREE[:2], 0, text=""), {"conditions": ["Text1T1"]})
    assert "“p1-1” of paragraph “p1” is to be read as context and has no text" in mistake.what
    assert mistake.stimulus == "human/p1-1"


def test_a_trap_is_no_line() -> None:
    study = manifest(THREE, {"conditions": ["T1T1"]})
    trap_item = replace(THREE[1], key="p1-2-trap")
    trap = replace(study.stimuli[0], key="t", item="p1-2-trap", trap="gold")
    derived = derive(replace(study, items=(*THREE, trap_item), stimuli=(*study.stimuli, trap)))
    assert derived.mistakes == ()
    assert {line.stimulus for r in derived.stimuli for line in r.lines} == {
        "tts/p1-1",
        "tts/p1-2",
        "tts/p1-3",
    }


def test_when_every_cell_is_missing_the_condition_is_a_mistake() -> None:
    table = {"conditions": ["Ti"], "allow_missing": True}
    without = [("tts", line.key) for line in THREE]
    mistake = the_mistake(THREE, table, without=without)
    assert "“Ti”" in mistake.what


# --- Names that collide ---------------------------------------------------------------------------


def test_items_that_are_named_like_the_derived_ones_are_shared_when_they_are_the_same_line() -> (
    None
):
    lines = [replace(line, key=f"p1.{line.position}") for line in THREE]
    derived = made(lines, {"conditions": ["R1T1", "Tp"]})
    assert [i.key for i in derived.items] == ["p1.1-3"]
    assert [r.entry.item for r in cells(derived, "R1T1")] == ["p1.2", "p1.3"]


def test_an_item_that_only_looks_like_a_derived_one() -> None:
    lines = [*at(THREE, 0, key="p1.2"), *paragraph("p2", 2)]
    mistake = the_mistake(lines, {"conditions": ["R1T1"]})
    assert mistake.what == "The item “p1.2” has the name of lines that the settings make."
    assert mistake.stimulus == "human/p1.2"


def test_a_stimulus_that_is_named_like_a_derived_one() -> None:
    study = manifest(THREE[:2], {"conditions": ["R1T1"]})
    stimuli = (replace(study.stimuli[0], key="R1T1:p1.2"), *study.stimuli[1:])
    mistakes = derive(replace(study, stimuli=stimuli)).mistakes
    assert [m.what for m in mistakes] == [
        "“R1T1:p1.2”, made of condition and paragraph, is the id of another stimulus."
    ]
