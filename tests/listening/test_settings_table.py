"""[[settings]] tables are read with their defaults, written without them, and read again equal."""

import tomllib
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.study_toml import read_settings, setting_table

keys = st.sampled_from(["human", "flite", "flite slt", "声音", "β"])
gaps = st.integers(0, 60) | st.floats(0, 60, allow_nan=False)
tables = st.fixed_dictionaries(
    {"conditions": st.lists(st.sampled_from(["Ri", "T1T1", "Text2T3"]), min_size=1, unique=True)},
    optional={
        "key": st.sampled_from(["news", "talk-2"]),
        "real": keys,
        "synthetic": keys | st.lists(keys, min_size=1, unique=True),
        "windows": st.sampled_from(["all", "first", "last"]),
        "gap_s": gaps,
        "context_gap_s": gaps,
        "dimensions": st.lists(keys, unique=True),
        "allow_missing": st.booleans(),
    },
)


def read(*given_tables: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    notes = Notebook()
    found = read_settings(given_tables, notes)
    assert notes.in_order() == []
    return found


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(tables, max_size=3))
def test_settings_written_and_read_again_are_equal(given_tables: list[dict[str, Any]]) -> None:
    found = read(*given_tables)
    text = tomli_w.dumps({"settings": [setting_table(setting) for setting in found]})
    assert read(*tomllib.loads(text)["settings"]) == found


def test_what_is_left_out_has_its_default() -> None:
    assert read({"conditions": ["Ti"], "synthetic": "flite"}) == (
        {
            "key": "",
            "real": "",
            "synthetic": ["flite"],
            "conditions": ["Ti"],
            "lines": "rows",
            "channels": "both",
            "windows": "all",
            "first_lines": None,
            "gap_s": 0.3,
            "context_gap_s": None,
            "dimensions": [],
            "allow_missing": False,
        },
    )


def test_no_gap_is_not_the_default_gap() -> None:
    (setting,) = read({"conditions": ["Ti"], "gap_s": 0, "context_gap_s": 0})
    assert setting_table(setting)["gap_s"] == setting_table(setting)["context_gap_s"] == 0


@pytest.mark.parametrize(
    ("table", "place", "what"),
    [
        ({}, "conditions", "This field is missing."),
        ({"conditions": []}, "conditions", "The list is empty."),
        ({"conditions": "Ti"}, "conditions", "This is a text and no list."),
        ({"conditions": ["Ti", "Ti"]}, "conditions", "“Ti” stands in the list twice."),
        ({"conditions": ["Ti"], "synthetic": ["a", "a"]}, "synthetic", "“a” stands in the list"),
        ({"conditions": ["Ti"], "key": "two words"}, "key", "“two words” may hold only letters"),
        ({"conditions": ["Ti"], "gap_s": 61}, "gap_s", "61 is outside 0 to 60."),
        ({"conditions": ["Ti"], "windows": "any"}, "windows", "“any” is none of"),
        ({"conditions": ["Ti"], "allow_missing": 1}, "allow_missing", "This is a whole number."),
        ({"conditions": ["Ti"], "context_gap": 1}, "context_gap", "There is no field"),
    ],
)
def test_a_table_that_is_wrong(table: dict[str, Any], place: str, what: str) -> None:
    notes = Notebook()
    read_settings([{"conditions": ["Ri"]}, table], notes)
    (problem,) = notes.in_order()
    assert problem.place == f"settings[2].{place}"
    assert what in problem.what
