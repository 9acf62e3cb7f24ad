"""The part on exclusions: what each rule costs, and what the results owe to the rules."""

import json
import time
from dataclasses import replace

import pandas as pd
import pytest

from analysis.ratings.table import from_rows
from analysis.report.build import report_of
from analysis.report.part import PartInput
from analysis.report.parts.screening import ScreeningPart
from analysis.report.pipeline import plain_of
from analysis.report.writers.exports import report_json
from analysis.statistics.options import Options
from analysis.statistics.screening.rater_rules import Correlation, Variance
from analysis.statistics.screening.rule_text import rule_from
from analysis.statistics.screening.screened import screen
from analysis.statistics.screening.session_rules import FewRatings, Headphones
from analysis.statistics.screening.trap_rules import AttTraps
from analysis.statistics.sensitivity import change, orders, sensitivity
from tests.analysis.reference import rows_of, table_of
from tests.analysis.shown_by import in_keys
from tests.analysis.test_part_pairs import made as compared

PARTS = ("screening",)
pytestmark = pytest.mark.usefixtures("answer_alone")

QUICK = Options(replicates=200)


def part_of(report):
    (part,) = [each for each in report["parts"] if each["key"] == "screening"]
    assert part["problem"] == ""
    return in_keys(part)


def made(table, contrasts=(), **options):
    """The part alone, from what it reads of a report."""
    chosen = replace(QUICK, **options)
    screened = screen(table, chosen.rules)
    kept = screened.kept(chosen.rules)
    data = {
        "ratings": int((table["trap"] == "").sum()),
        "ratings_kept": len(kept),
        "trap_ratings": int((table["trap"] != "").sum()),
        "raters": table["rater"].nunique(),
        "raters_kept": kept["rater"].nunique(),
    }
    report = {
        "exclusions": screened.counts(),
        "screening": sensitivity(screened, chosen),
        "data": data,
        "contrasts": contrasts,
        "scales": {},
    }
    return plain_of(
        in_keys(ScreeningPart().make(PartInput(kept, screened, chosen, None, report))).plain()
    )


def table_named(part, key):
    return next(table for table in part["tables"] if table["key"] == key)


@pytest.fixture(scope="module")
def att():
    return made(table_of("att_s1"))


@pytest.mark.slow
def test_the_part_is_in_a_report():
    report = report_of(two_raters_apart(), options=replace(QUICK, rules=(Headphones(),)))
    part = part_of(report)
    assert part["sentences"][0].startswith("36 of 96 ratings (37.5 %) are left out: 36 by headpho")
    assert "exclude 38 % of the ratings" in part["warnings"][0]
    json.loads(report_json(report))


@pytest.mark.medium
def test_the_exclusions_of_the_reference_set_are_those_of_r(att):
    rules = {row["rule"]: row for row in table_named(att, "screening_rules")["rows"]}
    assert (rules["att_traps"]["ratings"], rules["att_traps"]["blocks"]) == (22_211 - 19_992, 317)
    assert rules["att_traps"]["text"] == "att_traps@1:flawed=1/1,human=1/2"
    reasons = table_named(att, "screening_excluded")["rows"]
    assert sum(row["ratings"] for row in reasons) == 22_211 - 19_992
    assert all(row["reason"] for row in reasons)
    assert att["sentences"][0].startswith(
        "2219 of 22211 ratings (10.0 %) are left out: 2219 by att"
    )
    assert att["sentences"][1].startswith("The order of the conditions is the same with and")


@pytest.mark.medium
def test_means_without_the_rule_stand_beside_those_in_force(att):
    rows = {
        (row["condition"], row["scheme"]): row
        for row in table_named(att, "screening_intervals")["rows"]
    }
    assert rows["GPT-4o", "no rule"]["value"] == pytest.approx(0.164, abs=0.001)
    assert rows["GPT-4o", "all rules"]["value"] == pytest.approx(0.147, abs=0.001)
    assert rows["GPT-4o", "no rule"]["change"] == pytest.approx(0.0176, abs=0.0001)
    assert rows["Seed-TTS", "all rules"]["rank"] == 1
    assert rows["Seed-TTS", "all rules"]["low"] < rows["Seed-TTS", "all rules"]["value"]
    (figure,) = att["figures"]
    assert {row["name"] for row in figure["rows"]} == {"no rule", "all rules (in force)"}


def two_raters_apart():
    """B beats A among careful raters; the two without headphones turn it round."""
    scores = {
        (c, f"r{r}", f"i{i}"): (4 if (c == "B") == (r > 1) else 2) + (i % 2)
        for c in "AB"
        for r in range(5)
        for i in range(6)
    }
    scores |= {("B", f"x{r}", f"i{i}"): 1 for r in range(3) for i in range(6)}
    scores |= {("A", f"x{r}", f"i{i}"): 5 for r in range(3) for i in range(6)}
    table = rows_of(scores)
    table["headphones"] = ~table["rater"].str.startswith("x")
    return table


@pytest.mark.medium
def test_a_pair_that_changes_places_is_named():
    part = made(two_raters_apart(), rules=(Headphones(),))
    assert "Under no rule, the pair A and B changes places" in part["sentences"][1]
    rows = {row["scheme"]: row for row in table_named(part, "screening_orders")["rows"]}
    assert (rows["no rule"]["distance"], rows["no rule"]["swapped"]) == (1.0, "A and B")
    assert rows["no rule"]["biggest"] == pytest.approx(-1.0125)
    assert rows["no rule"]["n_ratings"] - rows["headphones"]["n_ratings"] == 36
    (means,) = [t for t in part["tables"] if t["key"] == "screening_means_1"]
    assert {row["condition"]: row["rank_1"] for row in means["rows"]} == {"A": 2, "B": 1}
    assert {row["condition"]: row["rank_0"] for row in means["rows"]} == {"A": 1, "B": 2}


@pytest.mark.slow
@pytest.mark.parametrize(("claimed", "doubted"), [(False, True), (True, False), (None, False)])
def test_a_swap_of_conditions_that_do_not_clearly_differ_is_called_so(claimed, doubted):
    row = {"breakdown": "condition:", "weighting": "ratings", "interval": "two-way", "level": 0.95}
    row |= {"estimand": "mos", "task": "t", "criterion": "naturalness", "study": ""}
    row |= {"condition": "B", "versus": "A", "claimed": claimed}
    part = made(two_raters_apart(), contrasts=[row], rules=(Headphones(),))
    assert ("(whose difference is not clear" in part["sentences"][1]) is doubted


@pytest.mark.slow
def test_rules_that_compare_raters_are_warned_of_and_those_without_their_column_too():
    rules = (Correlation(), Variance(), rule_from("review"), rule_from("mid_anchor"))
    part = made(table_of("mos_s1"), rules=rules)
    told = " ".join(part["warnings"])
    assert told.count("agreement and intervals look better") == 2
    assert "The rule review leaves out nothing: the column review is empty." in told
    assert "name it by conditions=" in told
    assert "correlation@1:minimum=0.25,shared=10" in part["methods"][0]


@pytest.mark.medium
def test_means_of_comparisons_are_said_to_hold_no_indirect_ones():
    """b meets c, and a meets b: nothing in the table is of a over c."""
    others = compared(60, condition="b", versus_condition="c")
    others["stimulus"] = "b" + others["stimulus"].str[1:]
    both = pd.concat([compared(60), others], ignore_index=True)
    fewer = both.drop(both.index[both["rater"] == "r1"][[0, 1, 5, 6]]).reset_index(drop=True)
    for table, several in ((fewer, True), (fewer[fewer["condition"] == "a"], False)):
        rules = (FewRatings(minimum=7 if several else 4),)  # r1 goes
        part = made(table.reset_index(drop=True), rules=rules)
        note = table_named(part, "screening_orders")["note"]
        assert ("Indirect comparisons, over a third condition, are in" in note) is several


@pytest.mark.medium
def test_rules_that_are_not_in_force_are_tried_and_called_so():
    part = made(two_raters_apart(), rules=())
    rows = {row["scheme"]: row for row in table_named(part, "screening_orders")["rows"]}
    assert rows["with headphones"]["distance"] == 1.0
    assert "not in force" in table_named(part, "screening_orders")["note"]
    assert part["sentences"] == ["No rule leaves out any of the 96 ratings."]
    assert part["methods"] == [
        "No rating was excluded except missing scores, duplicates and repeats."
    ]


@pytest.mark.medium
def test_rules_that_leave_nothing_are_told():
    table = two_raters_apart()
    table["session_status"] = "rejected"
    part = made(table)
    assert "96 of 96 ratings (100.0 %) are left out" in part["sentences"][0]
    assert any("the rules leave no rating of A, B" in text for text in part["warnings"])
    assert table_named(part, "screening_rules")["rows"]


@pytest.mark.medium
def test_two_rules_of_one_key_stay_apart():
    rules = (rule_from("answer_time"), rule_from("answer_time:minimum_ms=5000"))
    table = table_of("att_s1")
    rows = sensitivity(screen(table, rules), replace(QUICK, rules=rules))
    names = {row["screening"] for row in rows}
    assert names == {
        "no rule",
        "answer_time:minimum_ms=1000,maximum_ms=0",
        "answer_time:minimum_ms=5000,maximum_ms=0",
        "all rules",
    }


def test_distances_by_hand():
    def rows(name, values):
        return [
            {
                "screening": name, "estimand": "mos", "task": "t", "criterion": "c",
                "condition": c, "value": v, "interval": "x", "n_ratings": 1,
            }
            for c, v in values.items()
        ]  # fmt: skip

    found = orders(
        rows("a", {"A": 3.0, "B": 2.0, "C": 1.0})
        + rows("b", {"A": 2.0, "B": 2.0, "C": 3.0})
        + rows("c", {"A": 3.0})
    )["MOS · t · c"]
    assert dict(found["b"].ranks) == {("A", ""): 2, ("B", ""): 2, ("C", ""): 1}
    moved = change(found["a"], found["b"])
    assert moved.distance == pytest.approx(2.5 / 3)  # A-B tied: half; A-C and B-C turned
    assert moved.swapped == [(("A", ""), ("C", "")), (("B", ""), ("C", ""))]
    assert (moved.biggest, moved.where) == (2.0, ("C", ""))
    assert change(found["a"], found["c"]).distance is None


def test_places_are_best_when_low():
    rows = rows_of(
        {("A", "r1", "i1"): 1, ("B", "r1", "i1"): 2, ("A", "r2", "i1"): 1, ("B", "r2", "i1"): 2},
        method="rank",
        estimand="rank",
    )
    (each,) = orders(sensitivity(screen(rows, []), replace(QUICK, rules=()))).values()
    assert each["no rule"].ranks == {("A", ""): 1, ("B", ""): 2}


@pytest.mark.slow
def test_the_part_is_quick_on_twenty_thousand_ratings_and_the_same_again(att):
    table = table_of("att_s1")
    started = time.process_time()
    again = made(table)
    assert time.process_time() - started < 4  # about 1 s on the machine it was written on
    assert again == att


@pytest.mark.medium
def test_where_no_rule_changes_anything_there_is_nothing_to_compare():
    part = made(rows_of({(c, f"r{r}", "i"): r for c in "AB" for r in range(12)}))
    assert [table["key"] for table in part["tables"]] == ["screening_rules"]
    assert part["figures"] == []


@pytest.mark.medium
def test_nothing_breaks_without_ratings():
    report = report_of(from_rows([]), options=QUICK)
    assert "screening" not in {part["key"] for part in report["parts"]}
    assert AttTraps() in screen(from_rows([])).reasons
    report_json(report)
