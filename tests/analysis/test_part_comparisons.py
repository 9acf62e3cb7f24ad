"""Differences in a report: the report's own p, R's effect sizes and pairings, a valid Dunnett."""

import csv
import io
import re
from functools import cache

import numpy as np
import pytest
from scipy import stats

from analysis.report.parts import comparisons
from analysis.report.parts.comparisons import Comparisons
from analysis.statistics.comparisons.effect_sizes import (
    all_effects,
    cliffs_delta,
    cohen_d,
    delta_size,
)
from analysis.statistics.comparisons.simultaneous import rope_decision
from analysis.statistics.options import Options
from tests.analysis.reference import edge, expected, heard_on_headphones, rows_of, table_of
from tests.analysis.shown_by import given_of, in_keys, in_report, made, table_named
from tests.analysis.test_part_answer import rated

PARTS = ("comparisons",)
pytestmark = pytest.mark.usefixtures("answer_alone")

CLOSE = {"rel": 1e-6, "abs": 1e-12}
QUICK = Options(replicates=100)


@pytest.fixture(scope="module")
def isolation():
    table = heard_on_headphones("mos_s1")
    return made(Comparisons, table[table["task"] == "isolation"])


@cache
def turing():
    return made(Comparisons, table_of("att_s1"))


def by_pair(rows, wanted):
    """Each row beside R's of the same pair, and the sign that turns it to R's."""
    told = {(row["a"], row["b"]): row for row in wanted}
    assert len(rows) == len(told)
    for row in rows:
        pair = row["condition"], row["versus"]
        yield row, *((told[pair], 1) if pair in told else (told[pair[::-1]], -1))


@pytest.mark.parametrize("name", ["mos_s1", "att_s1"])
@pytest.mark.medium
def test_differences_naive_tests_and_effect_sizes_are_rs(name, isolation):
    shown = isolation if name == "mos_s1" else turing()
    key = "pairs_isolation" if name == "mos_s1" else "pairs_naive"
    rows = table_named(shown, "comparisons-all-pairs").rows
    for mine, row, sign in by_pair(rows, expected(name)[key]):
        assert sign * mine["difference"] == pytest.approx(row["diff"], **CLOSE)
        assert sign * mine["d"] == pytest.approx(row["cohen_d_pooled"], **CLOSE)
        assert sign * mine["delta"] == pytest.approx(row["cliffs_delta"], **CLOSE)
        assert mine["higher"] == pytest.approx((sign * row["cliffs_delta"] + 1) / 2, **CLOSE)
        assert mine["d_low"] < mine["d"] < mine["d_high"]
        assert mine["higher_pct_low"] < 100 * mine["higher"] < mine["higher_pct_high"]
        decided = mine["p"] is not None and mine["p"] < 0.05
        assert decided == (mine["d_low"] > 0 or mine["d_high"] < 0) or abs(mine["p"] - 0.05) < 0.04
        assert mine["naive_p"] == pytest.approx(row["welch_p"], **CLOSE)
        ends = sorted(sign * mine[end] for end in ("naive_low", "naive_high"))
        assert ends == pytest.approx([row["welch_lo"], row["welch_hi"]], **CLOSE)


@pytest.mark.medium
def test_differences_within_raters_and_items_are_rs(isolation):
    rows = table_named(isolation, "comparisons-within").rows
    for mine, row, sign in by_pair(rows, expected("mos_s1")["pairs_isolation"]):
        for unit, key in (("raters", "paired_rater"), ("items", "paired_text")):
            told = row[key]
            assert mine[f"n_{unit}"] == told["n"]
            assert sign * mine[unit] == pytest.approx(told["mean_diff"], **CLOSE)
            ends = sorted(sign * mine[f"{unit}_{end}"] for end in ("low", "high"))
            assert ends == pytest.approx([told["lo"], told["hi"]], **CLOSE)


@pytest.mark.slow
def test_decisions_are_those_of_the_reports_files():
    table = rated({"A": 4, "B": 3, "C": 2.9}, raters=5, items=5)
    shown, report = in_report("comparisons", table, QUICK)
    told = {
        frozenset((row["condition"], row["versus"])): row
        for row in report["contrasts"]
        if row["interval"].startswith("two-way") and row["weighting"] == "ratings"
    }
    rows = table_named(shown, "comparisons-all-pairs").rows
    for row in rows:
        theirs = told[frozenset((row["condition"], row["versus"]))]
        assert [row[k] for k in ("p", "p_adjusted", "family", "claimed")] == [
            theirs[k] for k in ("p", "p_adjusted", "family", "claimed")
        ]
        assert abs(row["difference"]) == abs(theirs["value"])
        assert row["difference_low"] < row["alone_low"] < row["difference"]
        assert row["difference"] < row["alone_high"] < row["difference_high"]
    assert table_named(shown, "comparisons-best").rows[0]["versus"] == "A"


@pytest.mark.medium
def test_each_family_is_adjusted_by_itself_and_agrees_with_its_intervals(isolation):
    rows = table_named(isolation, "comparisons-reference").rows
    assert {row["versus"] for row in rows} == {"natural"}
    assert {row["family"] for row in rows} == {"against the reference"}
    others = [r for r in table_named(isolation, "comparisons-all-pairs").rows if r not in rows]
    assert {r["family"] for r in others if "natural" not in (r["condition"], r["versus"])} == {
        "among the systems"
    }
    assert len(rows) == 11
    for row in rows:
        assert row["p"] <= row["p_adjusted"] <= min(1, 11 * row["p"]) + 1e-3
        outside = row["difference_low"] > 0 or row["difference_high"] < 0
        assert outside == (row["p_adjusted"] < 0.05) == row["claimed"]


@pytest.mark.medium
def test_the_family_of_the_reference_is_dunnetts_of_independent_ratings():
    """Every rating has a rater and an item of its own, so nothing is clustered."""
    rng = np.random.default_rng(4)
    sizes = {"ref": 400, "A": 400, "B": 400, "C": 400}
    y = {name: rng.normal(0.12 * (name != "ref"), 1, n) for name, n in sizes.items()}
    scores = {
        (name, f"{name}r{i}", f"{name}i{i}"): float(value)
        for name, values in y.items()
        for i, value in enumerate(values)
    }
    shown = made(Comparisons, rows_of(scores, estimand="choice"))
    mine = {r["condition"]: r for r in table_named(shown, "comparisons-reference").rows}
    told = stats.dunnett(y["A"], y["B"], y["C"], control=y["ref"], rng=np.random.default_rng(1))
    for name, p in zip("ABC", told.pvalue, strict=True):
        assert mine[name]["p_adjusted"] == pytest.approx(p, abs=0.02)


@pytest.mark.slow
def test_the_region_of_equivalence_is_the_default_the_one_asked_for_or_scaled(isolation):
    for row in table_named(isolation, "comparisons-all-pairs").rows:
        ends = row["difference_low"], row["difference_high"]
        assert row["rope"] == rope_decision(*ends, 0.1)
    assert "up to 0.1 do not matter (the default for MOS" in isolation.sentences[0]
    table = rated({"A": 3, "B": 3}, spread=0.2)
    asked = made(Comparisons, table, Options(rope=2.0))
    assert "up to 2 do not matter (as asked for), 0 are larger, 1 smaller" in asked.sentences[0]
    assert "2.5 % of the range of the scores" in made(Comparisons, table).sentences[0]
    assert "up to 0.02 do not matter" in turing().sentences[0]


@pytest.mark.medium
def test_the_reference_is_recognised_asked_for_or_missed(isolation):
    assert "The reference is natural, taken as the reference by its name." in isolation.sentences[0]
    best = table_named(isolation, "comparisons-best")
    assert best.title == "Against the best, sysB (natural aside)"
    table = rated({"A": 4, "B": 3, "C": 2})
    other = made(Comparisons, table, Options(reference="C"))
    assert [r["condition"] for r in table_named(other, "comparisons-reference").rows] == ["A", "B"]
    plain = made(Comparisons, table)
    assert not [t for t in plain.tables if "reference" in t.key]
    assert "reference" not in plain.sentences[0]
    absent = made(Comparisons, table, Options(reference="X"))
    assert "X, asked for as the reference, is not among" in absent.sentences[0]


@pytest.mark.medium
def test_the_heatmap_has_each_pair_once_and_marks_what_differs(isolation):
    (figure,) = isolation.figures
    assert (figure.drawing, len(figure.rows)) == ("heatmap", 66)
    assert all(cell["value"] >= 0 for cell in figure.rows)
    rows = table_named(isolation, "comparisons-all-pairs").rows
    marked = sum(cell["text"].endswith("*") for cell in figure.rows)
    assert marked == sum(row["claimed"] for row in rows)
    told = [
        int(count) for count in re.findall(r"(\d+) of \d+ pairs differ", isolation.sentences[0])
    ]
    assert marked == sum(told)


@pytest.mark.slow
def test_many_conditions_are_compared_with_the_best_and_the_rest_is_in_a_file(monkeypatch):
    monkeypatch.setattr(comparisons, "MOST_CONDITIONS", 6)
    table = rated({f"c{n}": 3 + n / 20 for n in range(7)}, raters=4, items=3)
    shown = made(Comparisons, table, Options(reference="c0"))
    assert [t.key for t in shown.tables] == [
        "comparisons-best",
        "comparisons-reference",
        "comparisons-within",
    ]
    assert shown.figures == []
    rows = list(csv.DictReader(io.StringIO(shown.files["comparisons-all-pairs.csv"])))
    assert len(rows) == 7 * 6 // 2
    assert {"p_adjusted", "family", "d", "delta", "rope"} <= set(rows[0])


@pytest.mark.slow
def test_edge_data_are_refused_or_told_in_words():
    for name in ("one_rater", "one_rating"):
        with pytest.raises(ValueError, match="no two conditions have two raters and two items"):
            in_keys(Comparisons().make(given_of(edge(name))))
    for name in ("single_system", "empty"):
        assert not Comparisons().applies(given_of(edge(name)))
    flat = made(Comparisons, edge("all_equal"))
    assert flat.sentences[0].startswith("Among the systems: 0 of 3 pairs differ (adjusted p")
    assert "0 are larger, 0 smaller and 3 undecided" in flat.sentences[0]
    apart = table_named(made(Comparisons, edge("disjoint_raters")), "comparisons-within")
    assert (apart.rows[0]["n_raters"], apart.rows[0]["raters"]) == (0, None)
    pairs = given_of(table_of("cmos_s1"))
    assert not Comparisons().applies(pairs)


@pytest.mark.medium
def test_conditions_that_all_met_the_same_other_are_compared_through_it():
    table = rated({"A": 1, "B": -0.5, "C": -0.5}, estimand="ccr", method="ccr")
    table["versus_condition"] = "V"
    shown = made(Comparisons, table)
    rows = table_named(shown, "comparisons-all-pairs").rows
    assert [(row["condition"], row["claimed"]) for row in rows] == [
        ("A", True),
        ("A", True),
        (rows[2]["condition"], False),
    ]
    assert shown.tables[0].about == "CCR · t · naturalness · versus V"


def test_effects_of_all_pairs_are_those_of_one_pair():
    rng = np.random.default_rng(5)
    condition = rng.integers(0, 4, 300)
    condition[condition == 3] = 2
    y = np.round(rng.normal(condition, 1.0), 1)
    found = all_effects(y, condition, 4)
    for a in range(3):
        for b in range(3):
            x, z = y[condition == a], y[condition == b]
            if a != b:
                assert found.d[a, b] == pytest.approx(cohen_d(x, z).value)
            assert found.delta[a, b] == pytest.approx(cliffs_delta(x, z).value, abs=1e-12)
    assert np.isnan(found.d[0, 3])
    assert np.isnan(all_effects(np.full(4, 3.0), np.array([0, 0, 1, 1]), 2).d[0, 1])
    assert [delta_size(d) for d in (0, -0.146, 0.2, -0.4, 0.5)] == [
        "negligible",
        "negligible",
        "small",
        "medium",
        "large",
    ]
