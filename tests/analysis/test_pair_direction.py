"""A pair that ratings name in both directions is one pair, named as most of them name it."""

import pytest

from analysis.ratings.pair_direction import in_one_direction
from analysis.ratings.table import from_rows
from tests.analysis.reference import BLANK

A, B = {"condition": "a", "versus_condition": "b"}, {"condition": "b", "versus_condition": "a"}


def rows(method, *given):
    for n, (sides, score) in enumerate(given):
        clips = {"stimulus": f"{sides['condition']}-1", "versus_stimulus": "other-1"}
        yield (
            BLANK
            | sides
            | clips
            | {
                **{"method": method, "estimand": method, "rater": f"r{n}", "session": f"r{n}"},
                **{"item": "i", "score": score, "presented_first": "rated", "position": n},
                "system": sides["condition"].upper(),
            }
        )


@pytest.mark.parametrize(
    ("method", "score", "mirrored"), [("cmos", -2.0, 2.0), ("ab", 0.0, 1.0), ("abx", 0.0, 0.0)]
)
def test_the_rarer_direction_is_turned_with_its_score_clips_and_order(method, score, mirrored):
    table = from_rows(rows(method, (A, 1.0), (A, 1.0), (B, score)))
    turned, (note,) = in_one_direction(table)
    last = turned.iloc[2]
    assert turned["condition"].tolist() == ["a", "a", "a"]
    assert turned["versus_condition"].tolist() == ["b", "b", "b"]
    assert (last["score"], last["presented_first"]) == (mirrored, "versus")
    assert (last["stimulus"], last["versus_stimulus"]) == ("other-1", "b-1")
    assert last["system"] == "A"
    assert turned.index.tolist() == table.index.tolist()
    assert note.startswith("1 rating names its pair of conditions the other way round")
    assert table["condition"].tolist() == ["a", "a", "b"], "the table that was read stays"


def test_of_as_many_in_each_direction_the_alphabetical_one_stays():
    turned, notes = in_one_direction(from_rows(rows("cmos", (B, 1.0), (A, 2.0))))
    assert sorted(turned["score"]) == [-1.0, 2.0]
    assert set(turned["condition"]) == {"a"}
    assert len(notes) == 1


@pytest.mark.parametrize("sides", [A, B])
def test_a_pair_that_is_named_in_one_direction_stays_as_it_is(sides):
    table = from_rows(rows("cmos", (sides, 1.0), (sides, 2.0)))
    turned, notes = in_one_direction(table)
    assert turned is table
    assert notes == []
