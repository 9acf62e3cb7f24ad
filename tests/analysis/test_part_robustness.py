"""Whether claims stand in other analyses: exact without each rater, and said in words."""

import numpy as np
import pandas as pd
import pytest

from analysis.ratings.breakdowns import cells, families
from analysis.ratings.grouping import Breakdown
from analysis.ratings.table import from_rows
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.intervals import clustered
from analysis.statistics.options import Options
from analysis.statistics.robustness import (
    Claim,
    Outcome,
    Variant,
    VariantDifference,
    comparison_of,
    fewest_to_turn,
    group_sums,
    outcome,
    sides_turned,
    without_each,
)
from tests.analysis.part_of import part_of, rows_of_table
from tests.analysis.reference import BLANK, table_of
from tests.analysis.test_part_pairs import made


def rated(effects, raters=8, items=6, seed=3, odd=()):
    """Each rater rates each item of each system; ``odd`` raters see the order turned, and more."""
    rng = np.random.default_rng(seed)
    rows = []
    for r in range(raters):
        for t in range(items):
            for name, effect in effects.items():
                sign = -8.0 if r in odd else 1.0
                score = 3 + sign * effect + rng.normal(0, 0.4)
                rows.append(
                    BLANK
                    | {"session": f"r{r}", "rater": f"r{r}", "item": f"i{t}", "condition": name}
                    | {"stimulus": f"{name}-{t}", "score": score, "label": f"{score:.3f}"}
                )
    return from_rows(rows)


def the_cell(table):
    (family,) = families(table)
    (cell,) = cells(family, Breakdown())
    return cell


def test_without_each_rater_and_item_the_sums_are_those_of_the_rest():
    rng = np.random.default_rng(1)
    n, conditions = 240, 4
    c, r, t = (rng.integers(0, k, n) for k in (conditions, 9, 7))
    y = rng.normal(size=n) + 100
    for own, other, turn in ((r, t, lambda means: means), (t, r, sides_turned)):
        seen = 0
        for code, means in without_each(y, c, own, other, conditions, ends=(90.0, 110.0)):
            rest = own != code
            expected = clustered(y[rest], c[rest], r[rest], t[rest], conditions, ends=(90, 110))
            for name in sorted(vars(expected).keys() - {"pool"}):
                got, want = getattr(turn(means), name), getattr(expected, name)
                assert np.allclose(got, want, atol=1e-10), (code, name)
            seen += 1
        assert seen == len(np.unique(own))


@pytest.mark.medium
def test_claims_are_those_of_the_report():
    table = rated({"a": 0.0, "b": 0.1, "c": 1.0})
    comparison = comparison_of(the_cell(table), "", 0.95)
    claimed = {claim.names for claim in comparison.claims}
    rows = [c for c in MeanScore(weightings=("ratings",)).contrasts(table) if c.claimed]
    assert {frozenset((row.condition, row.versus)) for row in rows} == {
        frozenset(names) for names in claimed
    }
    same = comparison.nearby("", "all", clustered_of(comparison.cell))
    for claim in comparison.claims:
        what, found = outcome(claim, same)
        assert what == Outcome.STANDS
        assert found.low == pytest.approx(claim.low, abs=1e-9)


def clustered_of(cell):
    codes = cell.condition, cell.rater, cell.item
    return clustered(cell.y, *codes, len(cell.names), ends=cell.ends)


def test_the_fewest_raters_to_turn_a_difference_turn_it_and_one_less_does_not():
    table = rated({"a": 0.3, "b": 0.0}, odd=(0, 1))
    cell = the_cell(table)
    high, low = np.argsort(-clustered_of(cell).value)
    pair = int(high), int(low)
    by_rater, by_item = (group_sums(cell.y, cell.condition, x) for x in (cell.rater, cell.item))
    assert fewest_to_turn(by_rater, pair) == (2, 8)
    assert fewest_to_turn(by_item, pair)[0] is None


def test_each_outcome_is_told_apart():
    claim = Claim("a", "b", 1.0, 0.5, 1.5)

    def of(found):
        return outcome(claim, Variant("", "", found))[0]

    assert of({("b", "a"): VariantDifference(-0.8, -1.2, -0.4, True)}) == Outcome.STANDS
    assert of({("a", "b"): VariantDifference(0.2, -0.1, 0.5, False)}) == Outcome.OPEN
    assert of({("b", "a"): VariantDifference(0.1, -0.1, 0.3, False)}) == Outcome.TURNED
    assert of({}) == Outcome.GONE


@pytest.mark.medium
def test_a_claim_near_its_bound_falls_in_some_analyses_which_are_named():
    shown = part_of("robustness", rated({"a": 0.32, "b": 0.0}), Options(rules=()))
    (row,) = rows_of_table(shown, "robustness_claims")
    assert (row["condition"], row["versus"]) == ("a", "b")
    falls = [r for r in rows_of_table(shown, "robustness_variants") if r["stand"] == 0]
    assert {r["kind"] for r in falls} == {"One more rule", "Without one rater", "Without one item"}
    assert all(r["open"] == "a − b" for r in falls)
    of = sum(int(v.split(" of ")[1]) for name, v in row.items() if name.startswith("kind_"))
    assert f"stands in {of - len(falls)} of {of} other analyses" in shown["sentences"][0]


@pytest.mark.medium
def test_what_stands_everywhere_and_what_was_never_claimed_are_said():
    whole = part_of("robustness", rated({"a": 2.0, "b": 0.0}), Options(rules=()))
    assert "in every one of" in whole["sentences"][0]
    assert whole["warnings"] == []
    none = part_of("robustness", rated({"a": 0.0, "b": 0.0}), Options(rules=()))
    assert "No difference is claimed" in none["sentences"][0]
    assert none["tables"] == []


@pytest.mark.slow
def test_an_audio_turing_test_is_followed_through_every_rule_rater_and_item():
    table = table_of("att_s1")
    table = table[table["rater"].isin(sorted(table["rater"].unique())[:30])]
    shown = part_of("robustness", table.reset_index(drop=True))
    kinds = {row["column"] for row in shown["figures"][0]["rows"]}
    assert {"Other rules", "Without one rater", "Without one item", "Other analyses"} <= kinds
    claims = rows_of_table(shown, "robustness_claims")
    least = min(claims, key=lambda row: row["share"])
    assert claims[0]["share"] == least["share"]
    assert all(row["lowest"] <= row["value"] <= row["highest"] for row in claims)


@pytest.mark.medium
def test_comparisons_of_pairs_are_said_to_be_left_out_and_where_they_stand():
    (told,) = part_of("robustness", made(60), Options(rules=()))["sentences"]
    assert "as one pair was compared" in told
    assert "Paired comparisons" in told
    others = made(60, condition="b", versus_condition="c")
    others["stimulus"] = "b" + others["stimulus"].str[1:]
    both = pd.concat([made(60), others], ignore_index=True)
    (told,) = part_of("robustness", both, Options(rules=()))["sentences"]
    assert "2 pairs were compared, not all with the same other" in told
    assert "strengths, which also use indirect comparisons" in told
