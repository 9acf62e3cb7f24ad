"""The first screen of an open study: what bounds that allow looking decide, in a sentence."""

from functools import partial

import numpy as np
import pytest

from analysis.name_spans import Names, resolve
from analysis.ratings.cells import COLUMNS, INTEGERS, REALS, TRUTHS
from analysis.ratings.table import from_rows
from analysis.report import build
from analysis.report.build import report_of
from analysis.report.interim import first_sessions, interim_families
from analysis.report.interim_answer import (
    OPEN,
    OPEN_FIXED,
    SHOWN_WHEN_OPEN,
    interim_report,
    interim_sentence,
    interim_words,
)
from analysis.report.part import Part
from analysis.statistics.options import Options

LEVELS = {"human": 4.6, "best": 4.2, "middle": 3.0, "near": 2.9}
KINDS = {"answer", "comparisons", "agreement"}
TWO_WAY = Options(intervals=("two_way",))
NUMBERS = INTEGERS | REALS | TRUTHS
NOTHING = {name: None if name in NUMBERS else "" for name in COLUMNS} | {"paid": False}
QUESTION = {
    "task": "mos",
    "criterion": "naturalness",
    "ends": (1.0, 5.0),
    "columns": [{"condition": c, "versus_condition": "", "ratings": 1000} for c in LEVELS],
}


def rows(raters, levels=LEVELS, items=8, seed=3, **fields):
    """Each rater hears every item once in every condition; the last rater goes on listening."""
    rng = np.random.default_rng(seed)
    own, text = rng.normal(0, 0.2, raters), rng.normal(0, 0.1, items)
    for who in range(raters + 1):
        for place, (condition, level) in enumerate(levels.items()):
            for item in range(items):
                y = level + own[who % raters] + text[item] + rng.normal(0, 0.5)
                yield {
                    **NOTHING,
                    **{"study": "s", "task": "mos", "method": "mos", "estimand": "mos"},
                    **{"criterion": "naturalness", "counts": True, "label": ""},
                    **{"rater": f"r{who:03}", "session": f"z{raters - who:03}"},
                    **{"condition": condition, "item": f"i{item}"},
                    "stimulus": f"{condition}-{item}",
                    "score": float(np.clip(np.rint(y), 1, 5)),
                    "session_status": "started" if who == raters else "finished",
                    "rated_at": f"2026-11-01T{who // 60:02}:{who % 60:02}:{place:02}Z",
                    **fields,
                }


def test_a_file_without_a_finished_rater_says_that_none_was_kept():
    """Raters may have finished whom the rules leave out: that none had would be untrue."""
    assert interim_words({"interim": []}).endswith("and no finished rater was kept.")


def looked_at(table, monkeypatch, question=QUESTION, **options):
    """The family's bounds, and the report's own differences by pair."""
    monkeypatch.setattr(Part, "asked_by", classmethod(lambda kind, options: kind.key == "answer"))
    monkeypatch.setattr(build, "sensitivity", lambda *given: [])
    options = Options(intervals=("two_way",), **options)
    looking = partial(interim_families, questions=[question] if question else [])
    report = report_of(table, None, options, looking=looking)
    (found,) = report["interim"]
    claims = {
        frozenset((row["condition"], row["versus"])): row["claimed"]
        for row in report["contrasts"]
        if row["weighting"] == "ratings" and row.get("claimed") is not None
    }
    return found, claims


@pytest.mark.medium
def test_a_claim_of_an_open_study_is_decided_by_bounds_for_looking_and_by_the_final_comparison(
    monkeypatch,
):
    """At every look the early claims are among those of a study that ends with these ratings."""
    counts = []
    for raters in (6, 12, 40):
        table = from_rows(list(rows(raters)))
        found, final = looked_at(table, monkeypatch)
        assert found["kind"] == "systems"
        assert found["raters"] == raters, "who is still listening does not count yet"
        assert len(found["pairs"]) == 6
        for pair in found["pairs"]:
            assert pair["claimed"] == (
                pair["decided"] and final[frozenset((pair["condition"], pair["versus"]))]
            )
            assert pair["decided"] == (pair["low"] > 0 or pair["high"] < 0)
        counts.append((sum(p["claimed"] for p in found["pairs"]), sum(final.values())))
    assert counts[0][0] < counts[0][1], "bounds that allow looking are wider"
    assert counts[-1][0] >= 4
    assert [mean["condition"] for mean in found["means"]][:2] == ["human", "best"]
    for mean in found["means"]:
        assert mean["low"] < mean["value"] < mean["high"]


@pytest.mark.medium
def test_a_rater_counts_once_in_the_order_of_finishing(monkeypatch):
    again = [
        row | {"session": "zz", "rated_at": "2026-12-01T00:00:00Z", "score": 1.0}
        for row in rows(6)
        if row["rater"] == "r000"
    ]
    table = from_rows([*rows(6), *again])
    assert first_sessions(table) == [f"z{n:03}" for n in (6, 5, 4, 3, 2, 1)]
    once, _ = looked_at(from_rows(list(rows(6))), monkeypatch)
    twice, _ = looked_at(table, monkeypatch)
    assert twice["means"] == once["means"]


@pytest.mark.medium
def test_twenty_systems_are_bounded_by_their_means(monkeypatch):
    levels = {f"s{n:02}": 4.8 - 0.19 * n for n in range(20)}
    columns = [{"condition": c, "versus_condition": "", "ratings": 100} for c in levels]
    table = from_rows(list(rows(20, levels, items=4)))
    found, _ = looked_at(table, monkeypatch, QUESTION | {"columns": columns})
    assert len(found["pairs"]) == 190
    told = {(p["condition"], p["versus"]): p["claimed"] for p in found["pairs"]}
    assert told["s00", "s19"]
    assert not told["s10", "s11"]


@pytest.mark.medium
def test_pairs_count_the_same_whichever_side_a_rating_names_first(monkeypatch):
    """Half of the raters' rows say “a over b” at 0.9, half “b over a” at 0.1: both are one pair."""
    kind = {"method": "ab", "estimand": "ab", "presented_first": "rated"}
    said = []
    for place, each in enumerate(rows(40, {"a": 4.0}, items=4)):
        sides = ("a", "b") if place % 2 else ("b", "a")
        score = 1.0 if (place % 10 != 0) == (sides[0] == "a") else 0.0
        pair_of = {"condition": sides[0], "versus_condition": sides[1], "score": score}
        said.append(each | kind | pair_of | {"stimulus": f"{sides[0]}-{each['item']}"})
    columns = [{"condition": "a", "versus_condition": "b", "ratings": 160}]
    question = QUESTION | {"ends": (0.0, 1.0), "columns": columns}
    found, _ = looked_at(from_rows(said), monkeypatch, question)
    (one,) = found["pairs"]
    assert (found["kind"], found["neutral"]) == ("pairs", 0.5)
    assert (one["condition"], one["versus"], one["raters"]) == ("a", "b", 40)
    assert one["claimed"]
    assert one["value"] == pytest.approx(0.9)
    assert resolve(interim_sentence(found)) == "Interim (40 raters): a is preferred to b (0.900)."


@pytest.mark.medium
def test_nothing_is_claimed_of_what_has_no_bounds_for_looking(monkeypatch):
    table = from_rows(list(rows(6)))
    for question in (None, QUESTION | {"ends": (1.0, 3.0)}):
        found, _ = looked_at(table, monkeypatch, question)
        assert (found["kind"], found["pairs"]) == ("none", [])
        assert "nothing is claimed before the study closes" in interim_sentence(found)
    shown = interim_report(
        report_of(table, None, TWO_WAY, looking=partial(interim_families, questions=[]))
    )
    answer = shown["parts"][0]
    assert answer["headlines"][0]["caveats"][0] == answer["warnings"][0] == OPEN_FIXED


def mean(condition, value):
    return {"condition": condition, "value": value, "low": None, "high": None, "raters": 9}


def pair(condition, versus, value, claimed):
    return {"versus": versus, "decided": claimed, "claimed": claimed} | mean(condition, value)


def row(pairs, values=(("a", 4.0), ("b", 3.0), ("human", 4.5)), **fields):
    means = [mean(*value) for value in sorted(values, key=lambda each: -each[1])]
    given = {
        "kind": "systems",
        "estimand": "mos",
        "level": 0.95,
        "raters": 9,
        "neutral": 0.0,
        "reference": "",
    }
    return given | {"means": means, "pairs": pairs} | fields


TRIPLE = [("a", "human", -0.5), ("b", "human", -1.5), ("a", "b", 1.0)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (row([], raters=3), "Interim (3 raters): too early to compare anything."),
        (
            row([pair(*each, False) for each in TRIPLE], reference="human"),
            "Interim (9 raters): no difference is significant yet.",
        ),
        (
            row([pair(*each, True) for each in TRIPLE], reference="human"),
            "Interim (9 raters): Ava scores highest of the 2 systems (MOS 4.00) and significantly "
            "higher than the other. Both systems score significantly lower than Human, the "
            "reference (4.50).",
        ),
        (
            row([pair(*each, n == 1) for n, each in enumerate(TRIPLE)], reference="human"),
            "Interim (9 raters): Ava scores highest of the 2 systems (MOS 4.00), but not "
            "significantly higher than any other yet. 1 of the 2 systems scores significantly "
            "lower than Human, the reference (4.50).",
        ),
        (
            row(
                [pair("a", "human", -0.5, True)],
                values=(("a", 4.0), ("human", 4.5)),
                reference="human",
            ),
            "Interim (9 raters): Ava (MOS 4.00) scores significantly lower than Human, the "
            "reference (4.50).",
        ),
        (
            row(
                [pair("a", "b", 0.8, True), pair("a", "c", 0.4, False)],
                kind="pairs",
                estimand="ab",
                neutral=0.5,
                means=[],
            ),
            "Interim (9 raters): 1 of 2 pairs differ significantly. Clearest: Ava is preferred to "
            "b (0.800).",
        ),
    ],
)
def test_the_sentence_says_what_is_significant_so_far(given, words):
    said = resolve(interim_sentence(given), Names({"a": "Ava", "human": "Human"}))
    assert said == words


@pytest.mark.medium
def test_what_tests_conditions_waits_for_the_end_and_shown_twice_nothing_changes(monkeypatch):
    monkeypatch.setattr(Part, "asked_by", classmethod(lambda kind, options: kind.key in KINDS))
    looking = partial(interim_families, questions=[QUESTION])
    report = report_of(from_rows(list(rows(6))), None, TWO_WAY, looking=looking)
    assert {part["key"] for part in report["parts"]} == KINDS
    shown = interim_report(report)
    assert [part["key"] for part in shown["parts"]] == ["answer", "agreement", "interim"]
    waiting = "Shown when the study closes: Differences between conditions"
    assert shown["parts"][-1]["sentences"][0].startswith(waiting)
    assert interim_report(shown) == shown
    closed = {name: value for name, value in report.items() if name != "interim"}
    assert interim_report(closed) == closed
    assert {*Part.registry} >= SHOWN_WHEN_OPEN


def test_the_caveat_says_that_intervals_are_sequential_and_wider():
    assert OPEN.startswith("Recruiting is still open, so intervals are sequential")
    assert "wider than the final ones" in OPEN
