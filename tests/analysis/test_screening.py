"""Exclusion rules give a reason for every row they leave out, and count what they cost."""

import pandas as pd
import pytest

from analysis.ratings.table import from_rows
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import rule_from, rule_text
from analysis.statistics.screening.screened import DEFAULT, screen, study_rules
from analysis.statistics.screening.single_ratings import (
    AnswerTime,
    HeardFraction,
    NotCounted,
    SessionStatus,
)
from analysis.statistics.screening.trap_rules import AttTraps, TaskTraps
from tests.analysis.reference import BLANK, expected, table_of


def block(name, traps, *, session="s1", rated=2, **fields):
    """Rows of one block: rated clips, then (kind, passed) traps."""
    common = BLANK | {"method": "att", "estimand": "hls", "rater": session, "session": session}
    common |= {"block": name, "condition": "A", "score": 1.0, "label": "Human", **fields}
    rows = [common | {"item": f"{name}{n}", "position": n} for n in range(rated)]
    for n, (kind, passed) in enumerate(traps):
        trap = {"trap": kind, "trap_passed": passed, "item": f"trap{n}", "position": 50 + n}
        rows.append(common | trap)
    return rows


def kept_blocks(rows, *rules):
    return set(screen(from_rows(rows), rules).kept(rules)["block"])


PASSED = [("flawed", True), ("human", True), ("human", True)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("traps", "valid"),
    [
        (PASSED, True),
        ([("flawed", True), ("human", False), ("human", True)], True),
        ([("flawed", True), ("human", False), ("human", False)], False),
        ([("flawed", False), ("human", True), ("human", True)], False),
        ([("human", True), ("human", True)], False),
        ([("flawed", True), ("human", True)], False),
        ([], False),
    ],
)
def test_a_block_counts_if_flawed_and_one_of_two_human_traps_are_passed(traps, valid):
    rows = [*block("other", PASSED), *block("b", traps)]
    assert ("b" in kept_blocks(rows, AttTraps())) is valid


@pytest.mark.medium
def test_a_block_of_two_sets_must_pass_in_both():
    rows = block("b", [("flawed", True)] * 2 + [("human", True)] * 2 + [("human", False)] * 2)
    assert kept_blocks(rows, AttTraps()) == {"b"}
    rows = block("b", [("flawed", True), ("flawed", False)] + [("human", True)] * 4)
    assert kept_blocks(rows, AttTraps()) == set()


@pytest.mark.medium
def test_the_rule_can_be_tightened_and_other_kinds_named():
    rows = block("b", [("flawed", True), ("human", False), ("human", True)])
    assert kept_blocks(rows, AttTraps((("human", 2, 2),))) == set()
    assert kept_blocks(rows, AttTraps((("gold", 1, 1),))) == {"b"}


def test_the_same_block_taken_by_two_sessions_is_judged_for_each():
    rows = [*block("b", PASSED), *block("b", [("flawed", False)], session="s2")]
    screened = screen(from_rows(rows), [AttTraps()])
    assert set(screened.kept([AttTraps()])["session"]) == {"s1"}


def test_tasks_of_other_methods_are_not_judged_by_the_att_rule():
    rows = block("b", [("flawed", False)], method="mos", estimand="mos")
    assert kept_blocks(rows, AttTraps()) == {"b"}


def test_a_studys_plan_judges_its_tasks_whatever_their_method():
    rule = TaskTraps((("m", (("gold", 2, 2),)), ("t", (("human", 2, 2),))))
    rows = [
        *block("a", [("gold", True), ("gold", True)], task="m", method="mos", estimand="mos"),
        *block("b", [("gold", True), ("gold", False)], task="m", method="mos", estimand="mos"),
        *block("c", [("human", True), ("human", False)]),
        *block("d", [("human", True), ("human", True)]),
        *block("e", [("gold", False)], task="other"),
    ]
    assert kept_blocks(rows, rule) == {"a", "d", "e"}


@pytest.mark.medium
def test_a_block_without_any_answer_to_a_planned_trap_is_incomplete():
    rule = TaskTraps((("t", (("flawed", 1, 1),)),))
    assert kept_blocks(block("a", []), rule) == set()
    assert kept_blocks(block("a", []), AttTraps()) == {"a"}  # a bare table may have lost its traps


def test_a_study_has_the_rules_of_its_plan_or_no_trap_rule():
    plan = {"att": [{"kind": "human", "count": 3, "pass_at_least": 2}], "mos": []}
    own = TaskTraps((("att", (("human", 2, 3),)),))
    assert study_rules(plan) == (SessionStatus(), own, NotCounted())
    assert study_rules({}) == (SessionStatus(), NotCounted())


def test_the_reason_says_what_was_passed_and_needed():
    rows = block("b", [("flawed", False), ("human", True), ("human", True)])
    reasons = screen(from_rows(rows), [AttTraps()]).reasons[AttTraps()]
    assert set(reasons) == {"its block passed 0 of 1 “flawed” traps, 1 needed"}


@pytest.mark.medium
def test_withdrawn_and_rejected_sessions_are_left_out():
    rows = [
        *block("a", [], session="s1", session_status="finished"),
        *block("b", [], session="s2", session_status="withdrawn"),
        *block("c", [], session="s3", session_status="rejected"),
        *block("d", [], session="s4", session_status="started"),
    ]
    assert kept_blocks(rows, SessionStatus()) == {"a", "d"}
    assert kept_blocks(rows, SessionStatus(("started",))) == {"a", "b", "c"}
    reasons = screen(from_rows(rows), [SessionStatus()]).reasons[SessionStatus()]
    assert set(reasons) == {"", "the session was withdrawn", "the session was rejected"}


@pytest.mark.medium
def test_heard_fraction_and_answer_time_leave_the_unknown_in():
    rows = [
        *block("a", [], heard_fraction=0.9, latency_ms=500),
        *block("b", [], heard_fraction=None, latency_ms=None),
        *block("c", [], heard_fraction=1.0, latency_ms=2000),
    ]
    assert kept_blocks(rows, HeardFraction()) == {"b", "c"}
    assert kept_blocks(rows, AnswerTime()) == {"b", "c"}
    assert kept_blocks(rows, AnswerTime(5000)) == {"b"}


def test_counts_say_what_each_rule_costs_and_what_it_costs_alone():
    rows = [
        *block("a", PASSED),
        *block("b", [("flawed", False)], session="s2", session_status="rejected"),
        *block("c", [("flawed", False)], session="s3"),
    ]
    counts = {row["rule"]: row for row in screen(from_rows(rows), DEFAULT).counts()}
    assert counts["session_status"]["ratings"] == 2
    assert counts["session_status"]["ratings_only_here"] == 0
    assert counts["att_traps"]["ratings"] == 4
    assert counts["att_traps"]["ratings_only_here"] == 2
    assert (counts["att_traps"]["raters"], counts["att_traps"]["blocks"]) == (2, 2)
    told = [row["ratings_told"] for row in counts.values()]
    assert told == [0, 0, 0, 2, 2, 0]  # structural rules, session_status, att_traps, not_counted


@pytest.mark.medium
def test_a_rating_whose_place_went_to_another_is_left_out_and_traps_are_not_asked():
    rows = [
        *block("a", PASSED),
        *block("b", PASSED, session="s2", counts=False),
        *block("c", [("flawed", False)], session="s3", counts=False),
        *block("d", PASSED, session="s4", session_status="rejected", counts=False),
    ]
    assert kept_blocks(rows, NotCounted()) == {"a"}
    screened = screen(from_rows(rows), DEFAULT)
    traps = screened.table["trap"] != ""
    assert set(screened.reasons[NotCounted()][traps]) == {""}
    told = {row["rule"]: row["ratings_told"] for row in screened.counts()}
    assert (told["session_status"], told["att_traps"], told["not_counted"]) == (2, 2, 2)
    assert sum(told.values()) == 8 - len(screened.kept(DEFAULT))


@pytest.mark.medium
def test_the_reference_set_keeps_what_r_kept():
    told = expected("att_s1")["screening"]
    screened = screen(table_of("att_s1"), DEFAULT)
    kept = screened.kept(DEFAULT)
    assert len(screened.kept([])) == told["labels_before"]
    assert len(kept) == told["labels_after"]
    assert kept["rater"].nunique() == told["raters_with_a_valid_batch"]
    bad = screened.table[screened.reasons[AttTraps()] != ""]
    invalid = {(rater, int(batch)) for rater, batch in zip(bad["rater"], bad["block"], strict=True)}
    assert invalid == {(row["rater"], row["batch"]) for row in told["invalid"]}


def test_an_empty_table_has_nothing_to_leave_out():
    screened = screen(from_rows([]), [*DEFAULT, HeardFraction(), AnswerTime()])
    assert all(row["ratings"] == 0 for row in screened.counts())
    assert len(screened.kept(DEFAULT)) == 0


@pytest.mark.parametrize("key", sorted(Rule.registry))
def test_every_rule_is_made_again_from_its_text_and_gives_a_reason_per_row(key):
    plan = [(("att", (("flawed", 1, 1), ("a, b=c/d 100%", 1, 2))), ("mos", (("金", 2, 3),)))]
    rule: Rule = Rule.registry[key](*(plan if key == "task_traps" else []))
    assert rule_from(rule_text(rule)) == rule
    assert rule.version
    assert rule.describe()
    table = table_of("att_s1").head(200)
    assert isinstance(table, pd.DataFrame)
    reasons = rule.reasons(table)
    assert reasons.shape == (200,)
    assert all(isinstance(reason, str) for reason in reasons)


def test_rules_are_read_from_text():
    assert rule_from("answer_time:minimum_ms=800") == AnswerTime(800)
    assert rule_from("heard_fraction:minimum=0.5") == HeardFraction(0.5)
    assert rule_from("att_traps:flawed=1,human=2/3") == AttTraps(
        (("flawed", 1, 1), ("human", 2, 3))
    )
    assert rule_from("session_status:leave_out=started") == SessionStatus(("started",))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nope", "known are"),
        ("answer_time:minimum_ms=x", "takes minimum_ms=..."),
        ("answer_time:seconds=3", "takes minimum_ms=..."),
        ("att_traps:human=3/2", "passes/of"),
        ("att_traps:human=x", "passes/of"),
        ("duplicate:a=1", "no parameters"),
        ("task_traps", "needs the plan"),
        ("task_traps:flawed=1/1", "TASK/KIND"),
        ("task_traps:att/flawed=3/1", "passes/of"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(text, told):
    with pytest.raises(ValueError, match=told):
        rule_from(text)
