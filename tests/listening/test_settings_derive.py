"""Long-form conditions are made of lines by their names, and every cell holds the right lines."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from listening.design.blocks import PlannedBlock, plan_blocks
from listening.design.settings import derive, form_named
from listening.design.studyfile import ConditionEntry, ItemEntry
from listening.methods import PlannedTrial, StimulusRef, method_named
from tests.listening.lines import CONDITIONS, PAPER, cells, heard, made, manifest, paragraph

THREE = paragraph("p1", 3)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Ri", {"p1.1": ([], "human 1"), "p1.2": ([], "human 2"), "p1.3": ([], "human 3")}),
        ("Ti", {"p1.1": ([], "tts 1"), "p1.2": ([], "tts 2"), "p1.3": ([], "tts 3")}),
        ("Rp", {"p1.1-3": ([], "human 1 2 3")}),
        ("Tp", {"p1.1-3": ([], "tts 1 2 3")}),
        ("R1R1", {"p1.2": ("human 1", "human 2"), "p1.3": ("human 2", "human 3")}),
        ("R1T1", {"p1.2": ("human 1", "tts 2"), "p1.3": ("human 2", "tts 3")}),
        ("T1T1", {"p1.2": ("tts 1", "tts 2"), "p1.3": ("tts 2", "tts 3")}),
        ("Text1T1", {"p1.2": ("“1”", "tts 2"), "p1.3": ("“2”", "tts 3")}),
        ("T2T1", {"p1.3": ("tts 1 2", "tts 3")}),
        ("T1T2", {"p1.2-3": ("tts 1", "tts 2 3")}),
        ("R2R1", {"p1.3": ("human 1 2", "human 3")}),
        ("T1R1", {"p1.2": ("tts 1", "human 2"), "p1.3": ("tts 2", "human 3")}),
        ("Text2R1", {"p1.3": ("“1 2”", "human 3")}),
    ],
)
def test_every_condition_of_the_paper_holds_its_lines(
    name: str, expected: dict[str, tuple[Any, str]]
) -> None:
    derived = made(THREE, {"conditions": [name]})
    assert {r.entry.item: heard(r) for r in derived.stimuli} == {
        item: tuple(_keys(part) for part in parts) for item, parts in expected.items()
    }
    assert [i.key for i in derived.items] == list(expected)
    assert [c.key for c in derived.conditions] == [name]


def _keys(part: str | list[str]) -> list[str]:
    """“human 1 2” as keys of stimuli, “1” in quotes as texts."""
    if not part:
        return []
    assert isinstance(part, str)
    if part.startswith("“"):
        return [f"“Text {n} of p1.”" for n in part.strip("“”").split()]
    condition, *numbers = part.split()
    return [f"{condition}/p1-{n}" for n in numbers]


def test_the_whole_paper_from_one_manifest() -> None:
    lines = [*paragraph("p1", 3), *paragraph("p2", 2), *paragraph("p3", 5), *paragraph("p4", 1)]
    derived = made(lines, {"conditions": PAPER, "windows": "first"})
    counts = {c.key: len(cells(derived, c.key)) for c in derived.conditions}
    pairs = dict.fromkeys(("R1R1", "R1T1", "T1T1", "Text1T1"), 3)
    assert counts == {"Ri": 11, "Ti": 11, "Rp": 3, "Tp": 3, **pairs, "T2T1": 2, "T1T2": 2}
    assert [r.entry.item for r in cells(derived, "T1T2")] == ["p1.2-3", "p3.2-3"]
    short = {(s.condition, s.paragraph): (s.there, s.needed) for s in derived.skipped}
    alone = dict.fromkeys(("Rp", "Tp", "R1R1", "R1T1", "T1T1", "Text1T1"), (1, 2))
    threes = {(c, p): (n, 3) for c in ("T2T1", "T1T2") for p, n in (("p2", 2), ("p4", 1))}
    assert short == {**{(c, "p4"): size for c, size in alone.items()}, **threes}
    assert derived.summary() == (
        "44 stimuli of 10 conditions made from 22 lines; Rp: 1 paragraph too short; "
        "Tp: 1 paragraph too short; R1R1: 1 paragraph too short; R1T1: 1 paragraph too short; "
        "T1T1: 1 paragraph too short; Text1T1: 1 paragraph too short; "
        "T2T1: 2 paragraphs too short; T1T2: 2 paragraphs too short; "
        '20 other pairs left out (windows = "first").'
    )


def test_the_same_lines_are_the_same_item_in_every_condition() -> None:
    derived = made(THREE, {"conditions": PAPER})
    on_line_2 = {r.entry.condition for r in derived.stimuli if r.entry.item == "p1.2"}
    assert on_line_2 == {"Ri", "Ti", "R1R1", "R1T1", "T1T1", "Text1T1"}
    assert len({i.key for i in derived.items}) == len(derived.items) == 5


@pytest.mark.parametrize(
    ("windows", "items"),
    [("all", ["p1.2", "p1.3", "p1.4"]), ("first", ["p1.2"]), ("last", ["p1.4"])],
)
def test_windows_choose_among_the_pairs_and_not_among_isolated_lines(
    windows: str, items: list[str]
) -> None:
    derived = made(paragraph("p1", 4), {"conditions": ["R1T1", "Ti"], "windows": windows})
    assert [r.entry.item for r in cells(derived, "R1T1")] == items
    assert len(cells(derived, "Ti")) == 4


def test_only_the_first_lines_are_used_where_a_setting_says_so() -> None:
    """Clark et al.'s dialogues: two turns alone, and the second one after the first."""
    lines = [*paragraph("d1", 4, "ab"), *paragraph("d2", 2, "ab", start=0)]
    derived = made(lines, {"conditions": ["Ti", "T1T1", "Tp"], "first_lines": 2})
    assert [r.entry.item for r in cells(derived, "Ti")] == ["d1.1", "d1.2", "d2.0", "d2.1"]
    assert [r.entry.item for r in cells(derived, "T1T1")] == ["d1.2", "d2.1"]
    assert [r.entry.item for r in cells(derived, "Tp")] == ["d1.1-2", "d2.0-1"]
    assert derived.summary().endswith("; 2 later lines left out (first_lines = 2).")


def test_an_item_takes_over_what_its_lines_agree_on() -> None:
    derived = made(THREE, {"conditions": ["T1T2"]})
    assert derived.items == (
        ItemEntry(
            key="p1.2-3",
            text="Text 2 of p1. Text 3 of p1.",
            dimension="news",
            paragraph="p1",
            position=2,
            speaker="n",
            language="en",
            split="test",
            derived=True,
        ),
    )
    mixed = [THREE[0], THREE[1], replace(THREE[2], dimension="talk", split="", language="de")]
    (item,) = made(mixed, {"conditions": ["T1T2"]}).items
    assert (item.dimension, item.split, item.language, item.speaker) == ("", "", "", "n")


def test_chinese_sentences_are_joined_without_a_space() -> None:
    lines = [replace(line, text=f"第{n}句。", language="zh-Hans") for n, line in enumerate(THREE)]
    (item,) = made(lines, {"conditions": ["Tp"]}).items
    assert item.text == "第0句。第1句。第2句。"


def test_a_condition_inherits_from_what_is_rated() -> None:
    derived = made(THREE, {"conditions": ["R1T1", "T1R1", "Text1T1", "Ri"]})
    made_of = {c.key: c for c in derived.conditions}
    assert made_of["R1T1"] == ConditionEntry(
        "R1T1",
        "R1T1",
        "tts",
        "v1",
        "test",
        {
            "setting": "context",
            "form": "R1T1",
            "rated_condition": "tts",
            "context_condition": "human",
        },
        derived=True,
    )
    assert made_of["T1R1"].role == made_of["Ri"].role == "reference"
    assert made_of["T1R1"].attributes["studio"] == "a"
    assert made_of["Text1T1"].attributes["context_condition"] == "text"
    assert "context_condition" not in made_of["Ri"].attributes


def test_several_systems_have_a_condition_each_and_real_speech_one_for_all() -> None:
    names = ["Ri", "Ti", "R1R1", "R1T1", "T1R1", "Text1R1", "Text1T1"]
    derived = made(THREE, {"conditions": names, "synthetic": ["tts", "old"]}, CONDITIONS)
    assert [c.key for c in derived.conditions] == [
        *("Ri", "Ti (tts)", "Ti (old)", "R1R1", "R1T1 (tts)", "R1T1 (old)"),
        *("T1R1 (tts)", "T1R1 (old)", "Text1R1", "Text1T1 (tts)", "Text1T1 (old)"),
    ]
    made_of = {c.key: c for c in derived.conditions}
    assert made_of["R1T1 (old)"].label == "R1T1 (The old voice)"
    assert (made_of["R1T1 (old)"].system, made_of["R1T1 (old)"].role) == ("old", "anchor")
    assert made_of["T1R1 (old)"].system == "human"
    assert heard(cells(derived, "T1R1 (old)")[0]) == (["old/p1-1"], ["human/p1-2"])
    assert [r.entry.key for r in cells(derived, "R1T1 (old)")] == [
        "R1T1_(old):p1.2",
        "R1T1_(old):p1.3",
    ]


def test_two_settings_with_keys_of_their_own_share_items() -> None:
    tables = [
        {"conditions": ["R1T1"], "key": "near", "context_gap_s": 0.0},
        {"conditions": ["R1T1"], "key": "far", "context_gap_s": 2.0},
    ]
    derived = made(THREE, tables)
    assert [c.key for c in derived.conditions] == ["near R1T1", "far R1T1"]
    assert [i.key for i in derived.items] == ["p1.2", "p1.3"]
    assert [r.context_gap_s for r in derived.stimuli] == [0.0, 0.0, 2.0, 2.0]


def test_settings_take_the_paragraphs_of_their_dimensions() -> None:
    talk = [replace(line, dimension="talk") for line in paragraph("t1", 2)]
    mixed = paragraph("m1", 2)
    mixed[1] = replace(mixed[1], dimension="talk")
    lines = [*THREE, *talk, *mixed]
    derived = made(lines, {"conditions": ["R1T1"], "dimensions": ["talk"]})
    assert [r.entry.item for r in derived.stimuli] == ["t1.2"]
    both = made(lines, {"conditions": ["R1T1"], "dimensions": ["talk", "news"]})
    assert [r.entry.item for r in both.stimuli] == ["p1.2", "p1.3", "t1.2", "m1.2"]


# --- Dialogues ------------------------------------------------------------------------------------


def test_in_a_dialogue_the_context_is_by_another_speaker_and_all_else_is_the_same() -> None:
    names = ["Ti", "Tp", "R1T1", "T1T1", "T2T1"]
    lines = [*paragraph("talk", 3, "ab"), *paragraph("news", 3, "n")]
    derived = made(lines, {"conditions": names})
    by_item = {(r.entry.condition, r.entry.item): r.entry.attributes for r in derived.stimuli}
    for name in ("R1T1", "T1T1", "T2T1"):
        assert by_item[name, "talk.3"]["context_speaker"] == "other"
        assert by_item[name, "news.3"]["context_speaker"] == "same"
    assert "context_speaker" not in by_item["Ti", "talk.1"]
    items = {i.key: i for i in derived.items}
    assert [items[f"talk.{n}"].speaker for n in (1, 2, 3)] == ["a", "b", "a"]
    assert items["talk.1-3"].speaker == ""
    assert items["talk.1-3"].text == "Text 1 of talk.\nText 2 of talk.\nText 3 of talk."
    assert items["news.1-3"].text == "Text 1 of news. Text 2 of news. Text 3 of news."


def test_cells_say_what_an_analysis_may_ask() -> None:
    derived = made(THREE, {"conditions": ["Ti", "Tp", "T2T1", "T1T2"]})
    told = {(r.entry.condition, r.entry.item): r.entry.attributes for r in derived.stimuli}
    assert told["Tp", "p1.1-3"] == {
        "setting": "paragraph",
        "lines": "3",
        "position": "1",
        "paragraph": "p1",
    }
    assert told["T1T2", "p1.2-3"] == {
        "setting": "context",
        "lines": "2",
        "position": "2",
        "paragraph": "p1",
        "context_lines": "1",
        "context_speaker": "same",
    }
    assert told["Ti", "p1.3"]["position"] == "3"
    assert told["T2T1", "p1.3"]["context_lines"] == "2"


# --- What is joined, and when it is heard ---------------------------------------------------------


def test_silence_stands_between_lines_and_never_at_the_ends() -> None:
    table = {"conditions": ["T2T1", "T1T2", "Ti", "Text1T1"], "gap_s": 0.2, "context_gap_s": 0.9}
    derived = made(THREE, table)
    parts = {r.entry.condition: r.parts(str) for r in derived.stimuli}
    assert parts["T2T1"] == ["tts/p1-1", 0.2, "tts/p1-2", 0.9, "tts/p1-3"]
    assert parts["T1T2"] == ["tts/p1-1", 0.9, "tts/p1-2", 0.2, "tts/p1-3"]
    assert parts["Ti"] == ["tts/p1-3"]
    assert parts["Text1T1"] == ["tts/p1-3"]
    (cell,) = cells(derived, "T1T2")
    assert cell.rated_parts(str) == ["tts/p1-2", 0.2, "tts/p1-3"]


def test_without_a_gap_no_silence_is_put_in_and_the_context_gap_is_that_of_the_lines() -> None:
    (cell,) = made(THREE, {"conditions": ["T2T1"], "gap_s": 0}).stimuli
    assert cell.parts(str) == ["tts/p1-1", "tts/p1-2", "tts/p1-3"]
    (cell,) = made(THREE, {"conditions": ["T2T1"], "gap_s": 0.4, "context_gap_s": None}).stimuli
    assert cell.parts(str) == ["tts/p1-1", 0.4, "tts/p1-2", 0.4, "tts/p1-3"]


def test_the_timeline_says_when_each_line_is_heard_and_that_text_is_not() -> None:
    (cell,) = made(THREE, {"conditions": ["Text1T2"]}).stimuli
    common = {"role": "rated"}
    assert cell.timeline([(0.0, 1.5), (1.8, 2.25)]) == [
        {
            "stimulus": "",
            "item": "p1-1",
            "role": "context",
            "start_s": 0.0,
            "end_s": 0.0,
            "text": "Text 1 of p1.",
        },
        {
            "stimulus": "tts/p1-2",
            "item": "p1-2",
            **common,
            "start_s": 0.0,
            "end_s": 1.5,
            "text": "Text 2 of p1.",
        },
        {
            "stimulus": "tts/p1-3",
            "item": "p1-3",
            **common,
            "start_s": 1.8,
            "end_s": 2.25,
            "text": "Text 3 of p1.",
        },
    ]
    with pytest.raises(StopIteration):
        cell.timeline([(0.0, 1.5)])
    with pytest.raises(ValueError, match="more times than lines"):
        cell.timeline([(0.0, 1.5), (1.8, 2.2), (2.5, 3.0)])


sides = st.tuples(st.sampled_from(["R", "T", "Text"]), st.integers(1, 3))
rated_sides = st.tuples(st.sampled_from(["R", "T"]), st.integers(1, 3))
pair_names = st.tuples(sides, rated_sides).map(lambda s: f"{s[0][0]}{s[0][1]}{s[1][0]}{s[1][1]}")
all_names = st.sampled_from(["Ri", "Ti", "Rp", "Tp"]) | pair_names


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    names=st.lists(all_names, min_size=1, max_size=6, unique=True),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    speakers=st.sampled_from(["n", "ab", "abc"]),
    windows=st.sampled_from(["all", "first", "last"]),
    order=st.randoms(use_true_random=False),
)
def test_every_timeline_refers_to_the_right_lines_in_order(
    names: list[str], lengths: list[int], speakers: str, windows: str, order
) -> None:
    lines = [
        line for k, n in enumerate(lengths) for line in paragraph(f"p{k}", n, speakers, start=k % 2)
    ]
    order.shuffle(lines)  # the order of the rows tells nothing
    study = manifest(lines, {"conditions": names, "windows": windows})
    derived = derive(study)
    recordings = {s.key: s for s in study.stimuli}
    placed = {i.key: i for i in lines}
    own_items = {i.key: i for i in derived.items}
    for recipe in derived.stimuli:
        form = form_named(recipe.entry.condition)
        inside = [placed[line.item] for line in recipe.lines]
        assert len({i.paragraph for i in inside}) == 1
        assert all((b.position or 0) == (a.position or 0) + 1 for a, b in pairwise(inside))
        roles = [line.role for line in recipe.lines]
        rated = form.rated_lines or lengths[int(inside[0].paragraph[1:])]
        assert roles == ["context"] * form.context_lines + ["rated"] * rated
        for line, item in zip(recipe.lines, inside, strict=True):
            voice = form.rated_voice if line.role == "rated" else form.context_voice
            whose = {"R": "human", "T": "tts", "Text": ""}[voice or "Text"]
            assert line.text == item.text
            assert (line.stimulus == "") == (whose == "")
            if line.stimulus:
                recording = recordings[line.stimulus]
                assert (recording.condition, recording.item) == (whose, item.key)
        times = [(float(n), n + 0.5) for n in range(len(recipe.heard_lines))]
        timeline = recipe.timeline(times)
        assert [line["stimulus"] for line in timeline] == [r.stimulus for r in recipe.lines]
        assert [(x["start_s"], x["end_s"]) for x in timeline if x["stimulus"]] == times
        item = own_items[recipe.entry.item]
        first = inside[form.context_lines]
        assert (item.paragraph, item.position) == (first.paragraph, first.position)
        assert item.text.split() == " ".join(i.text for i in inside[form.context_lines :]).split()
    _every_cell_is_made_or_skipped(derived, names, lengths, windows)


def _every_cell_is_made_or_skipped(derived, names, lengths, windows) -> None:
    for name in names:
        form = form_named(name)
        expected = 0
        for n in lengths:
            fits = n - form.needed_lines + 1
            if form.setting == "paragraph" or (windows != "all" and form.setting == "context"):
                fits = min(fits, 1)
            expected += max(fits, 0)
        assert len(cells(derived, name)) == expected
        too_short = [s for s in derived.skipped if s.condition == name]
        assert len(too_short) == sum(n < form.needed_lines for n in lengths)
        if not expected:  # nothing of a condition can be made: that is a mistake
            assert any(f"“{name}”" in m.what for m in derived.mistakes)
    keys = [r.entry.key for r in derived.stimuli]
    assert len(set(keys)) == len(keys)


# --- Every method takes them ----------------------------------------------------------------------


def planned(
    method: str, options: dict[str, str], conditions: list[str]
) -> tuple[list[PlannedTrial], list[PlannedBlock]]:
    """Trials of one replicate and the blocks of eight, over the cells of some conditions."""
    lines = [line for k in range(8) for line in paragraph(f"p{k}", 2)]
    names = ["R1R1", "R1T1", "T1T1", "Text1T1"]
    derived = made(lines, {"conditions": names, "synthetic": ["tts", "old"]}, CONDITIONS)
    roles = {c.key: c.role for c in derived.conditions}
    items = {i.key: n for n, i in enumerate(derived.items)}
    refs = [
        StimulusRef(n, items[r.entry.item], r.entry.condition, roles[r.entry.condition])
        for n, r in enumerate(derived.stimuli)
        if r.entry.condition in conditions
    ]
    trials = list(method_named(method).trials(refs, options))
    return trials, list(plan_blocks(trials, block_size=4, ratings_per_stimulus=8, seed=3))


def test_blocks_over_context_conditions_are_balanced_and_exact() -> None:
    conditions = ["R1R1", "R1T1 (tts)", "T1T1 (tts)", "Text1T1 (tts)"]
    trials, blocks = planned("mos", {}, conditions)
    assert len(trials) == 8 * 4
    played = [slot.trial for block in blocks for slot in block.slots]
    assert all(played.count(trial) == 8 for trial in trials)
    for block in blocks:
        assert len({slot.trial.item for slot in block.slots}) == 4
        assert {slot.trial.column for slot in block.slots} == set(conditions)


def test_systems_are_compared_side_by_side_after_the_same_context() -> None:
    trials, blocks = planned("cmos", {"versus": "R1T1 (old)"}, ["R1T1 (tts)", "R1T1 (old)", "R1R1"])
    assert {t.column for t in trials} == {"R1T1 (tts) ~ R1T1 (old)", "R1R1 ~ R1T1 (old)"}
    assert len(trials) == 16
    assert sum(len(b.slots) for b in blocks) == 16 * 8
