"""The part on raters: R's numbers for each of them, and the raters that deserve a look."""

from itertools import pairwise

import numpy as np
import pytest

from analysis.ratings.table import from_rows
from analysis.report.parts.raters import MOST_REST_DRAWN, inner_range, stretches
from analysis.statistics.agreement.versus_rest import coefficients
from analysis.statistics.correlations import correlation
from analysis.statistics.options import Options
from tests.analysis.part_of import part_of, rows_of_table
from tests.analysis.reference import BLANK, expected, heard_on_headphones, rows_of, table_of


@pytest.fixture(scope="module")
def align():
    return part_of("raters", table_of("align_s1"))


@pytest.fixture(scope="module")
def mos():
    return part_of("raters", heard_on_headphones("mos_s1"))


def test_few_raters_have_a_range_and_many_the_inner_80_percent():
    assert inner_range(np.array([0.4, 0.2])) == (0.2, pytest.approx(0.3), 0.4, "all raters")
    low, middle, high, whom = inner_range(np.arange(11.0))
    assert (low, middle, high, whom) == (1, 5, 9, "80 % of raters")


def ratings(**columns):
    """Ratings of 12 clips by 8 raters who all hear the same, in an order of their own."""
    rng = np.random.default_rng(7)
    quality = np.linspace(1.5, 4.5, 12)
    rows = []
    for r in range(8):
        for position, item in enumerate(rng.permutation(12).tolist(), start=1):
            y = float(np.clip(np.rint(quality[item] + 0.5 * rng.standard_normal()), 1, 5))
            rows.append(
                BLANK
                | {"rater": f"r{r}", "session": f"s{r}", "item": f"i{item}", "condition": "A"}
                | {"stimulus": f"c{item}", "score": y, "label": f"{y:g}", "position": position}
                | {"latency_ms": int(4000 * np.exp(0.2 * rng.standard_normal())), "counts": True}
                | columns
            )
    return rows


def test_each_rater_against_the_rest_is_as_in_r(align):
    found = {row["rater"]: row for row in rows_of_table(align, "versus-rest")}
    for wanted in expected("align_s1")["leave_one_rater_out"]:
        mine = found[wanted["rater"]]
        for measure in ("plcc", "srcc", "krcc", "qwk", "mae"):
            assert mine[measure] == pytest.approx(wanted[measure], rel=1e-9)
        assert mine["plcc_interval_low"] < mine["plcc"] < mine["plcc_interval_high"]


@pytest.mark.medium
def test_the_spread_of_opinions_is_as_in_r(align, mos):
    (a,) = rows_of_table(align, "sos")
    assert a["value"] == pytest.approx(expected("align_s1")["sos"]["a"], rel=1e-9)
    (a,) = rows_of_table(mos, "sos", "isolation")
    assert a["value"] == pytest.approx(expected("mos_s1")["sos"]["a"], rel=1e-9)
    (figure,) = [f for f in mos["figures"] if f["key"] == "sos" and "isolation" in f["about"]]
    curve = [row for row in figure["rows"] if row["group"].startswith("parabola")]
    assert max(row["y"] for row in curve) == pytest.approx(a["value"] * 4, rel=1e-6)


@pytest.mark.slow
def test_raters_of_isolated_sentences_correlate_with_the_rest_as_in_r():
    """R had those without headphones too."""
    table = table_of("mos_s1")
    shown = part_of("raters", table[table["task"] == "isolation"])
    found = {row["rater"]: row for row in rows_of_table(shown, "versus-rest")}
    for wanted in expected("mos_s1")["rater_loo_correlation_isolation"]:
        mine = found[wanted["rater"]]
        assert mine["plcc"] == pytest.approx(wanted["pearson"], rel=1e-9)
        assert mine["srcc"] == pytest.approx(wanted["spearman"], rel=1e-9)


@pytest.mark.medium
def test_figures_are_cut_to_what_can_be_read_and_tables_hold_all(mos):
    (figure,) = [
        f for f in mos["figures"] if f["key"] == "versus-rest" and "isolation" in f["about"]
    ]
    assert len(figure["rows"]) == MOST_REST_DRAWN
    assert "62 more are in the table" in figure["note"]
    assert len(rows_of_table(mos, "versus-rest", "isolation")) == 87
    drawn = [row["value"] for row in figure["rows"]]
    assert drawn == sorted(drawn)


@pytest.mark.medium
def test_half_steps_avoided_are_told_on_a_scale_of_half_steps_alone(mos, align):
    """35 in 100 raters of mos_s1 rate in whole steps by design."""
    isolation = [text for text in mos["sentences"] if "isolation" in text]
    assert "28 of 87 raters gave 10 ratings or more and never a half step" in isolation[0]
    assert "half step" not in " ".join(align["sentences"])
    turing = part_of("raters", rows_of({("A", f"r{i}", "i"): 0.5 for i in range(4)},
                                       estimand="hls", method="att"))  # fmt: skip
    assert "half step" not in str(turing)


@pytest.mark.medium
def test_a_rater_who_turns_the_scale_round_and_one_with_one_answer_are_warned_of():
    rows = ratings()
    for row in rows:
        if row["rater"] == "r3":
            row["score"] = 6 - row["score"]
        if row["rater"] == "r5":
            row["score"] = 4.0
    told = " ".join(part_of("raters", from_rows(rows))["warnings"])
    assert "1 of 7 raters goes clearly against the others" in told
    assert ": r3. Did they take the scale the wrong way round?" in told
    assert "1 rater gave one score throughout, 10 times or more: r5." in told


@pytest.mark.medium
def test_bias_is_found_and_haste_is_warned_of():
    rows = ratings()
    for row in rows:
        if row["rater"] == "r2":
            row["latency_ms"] = 300
        if row["rater"] == "r1":
            row["score"] = min(5.0, row["score"] + 1)
    shown = part_of("raters", from_rows(rows))
    bias = {row["rater"]: row["bias"] for row in rows_of_table(shown, "versus-rest")}
    assert max(bias, key=lambda rater: bias[rater]) == "r1"
    assert sum(bias.values()) == pytest.approx(0, abs=1e-6)
    assert any("1 of 8 raters are hasty" in text and "r2" in text for text in shown["warnings"])
    pace = {row["rater"]: row for row in rows_of_table(shown, "pace")}
    assert pace["r2"]["typical_s"] == pytest.approx(0.3)
    assert pace["r2"]["quick"] == 1.0


def of_pairs(names):
    """CMOS of two pairs, a with b and c with d, by 8 raters, with these names for a to d."""
    rng = np.random.default_rng(3)
    rows = []
    for r in range(8):
        for position, place in enumerate(rng.permutation(24).tolist(), start=1):
            pair = [("a", "b"), ("c", "d")][place % 2]
            first, second = (names[name] for name in pair)
            y = float(np.clip(np.rint(0.05 * position + rng.standard_normal()), -3, 3))
            rows.append(
                BLANK
                | {"rater": f"r{r}", "session": f"s{r}", "item": f"i{place}", "score": y}
                | {"condition": first, "versus_condition": second, "label": f"{y:g}"}
                | {"stimulus": f"{first}_{place}", "versus_stimulus": f"{second}_{place}"}
                | {"estimand": "cmos", "criterion": "quality", "position": position}
                | {"method": "cmos", "counts": True}
            )
    return from_rows(rows)


@pytest.mark.medium
def test_no_number_of_raters_depends_on_the_names_of_the_pairs_sides():
    plain = part_of("raters", of_pairs({name: name for name in "abcd"}))
    turned = part_of("raters", of_pairs({"a": "z", "b": "b", "c": "c", "d": "a"}))
    rows = rows_of_table(plain, "versus-rest")
    for mine, other in zip(rows, rows_of_table(turned, "versus-rest"), strict=True):
        for bound in (
            "qwk_interval_low",
            "qwk_interval_high",
        ):  # the bootstrap draws in their order
            assert mine.pop(bound) == pytest.approx(other.pop(bound), abs=0.1)
        assert mine == pytest.approx(other, nan_ok=True)
    assert {row["bias"] for row in rows} == {None}
    assert all(row["inconsistency"] > 0 for row in rows)
    assert "No effects of order are given: no condition is in every pair" in str(plain["sentences"])
    assert "order" not in {table["key"] for table in plain["tables"]}
    assert not {"bias", "over-trials"} & {figure["key"] for figure in plain["figures"]}
    common = part_of("raters", of_pairs({"a": "a", "b": "b", "c": "c", "d": "a"}))
    assert rows_of_table(common, "versus-rest")[0]["bias"] is not None  # a is in every pair
    assert rows_of_table(common, "order")


@pytest.mark.medium
def test_a_trial_of_several_criteria_has_one_answer_time():
    twice = from_rows([*ratings(criterion="quality"), *ratings(criterion="noise")])
    shown = part_of("raters", twice)
    assert {row["n_ratings"] for row in rows_of_table(shown, "pace")} == {12}


@pytest.mark.medium
def test_ratings_that_rise_over_the_session_are_told_per_ten_trials():
    rows = ratings()
    for row in rows:
        row["score"] = row["score"] + 0.2 * row["position"]
    shown = part_of("raters", from_rows(rows))
    slope = rows_of_table(shown, "order")[0]
    assert slope["value"] == pytest.approx(2.0, abs=0.5)
    assert slope["low"] < 2.0 < slope["high"]
    assert "ratings rise over the session" in shown["sentences"][0]
    assert any("from the first to the last trial" in text for text in shown["warnings"])
    (line,) = [f for f in shown["figures"] if f["key"] == "over-trials"]
    assert line["rows"][0]["y"] < 0 < line["rows"][-1]["y"]


@pytest.mark.medium
def test_repeats_are_compared_though_they_enter_no_estimate():
    rows = ratings()
    again = [
        row | {"position": 20 + place, "counts": False, "score": row["score"] - 1}
        for place, row in enumerate(rows)
        if row["item"] in ("i3", "i7")
    ]
    shown = part_of("raters", from_rows([*rows, *again]))
    every, *each = rows_of_table(shown, "repeats")
    assert (every["rater"], every["n_pairs"], len(each)) == ("all raters", 16, 8)
    assert every["shift"] == pytest.approx(-1.0)
    assert every["agreement"] == 1.0  # within one step of the scale
    assert {row["n_units"] for row in rows_of_table(shown, "versus-rest")} == {12}


@pytest.mark.medium
def test_repeats_of_a_session_that_is_left_out_do_not_count():
    rows = ratings()
    for row in rows:
        if row["session"] == "s0":
            row["session_status"] = "withdrawn"
    again = [row | {"position": 30, "counts": False} for row in rows if row["item"] == "i3"]
    shown = part_of("raters", from_rows([*rows, *again]))
    assert rows_of_table(shown, "repeats")[0]["n_pairs"] == 7


@pytest.mark.medium
def test_traps_are_told_over_the_session():
    rows = ratings()
    for row in rows:
        if row["item"] in ("i0", "i1", "i2"):
            row |= {"trap": "gold", "trap_passed": row["position"] < 7, "counts": False}
    found = rows_of_table(part_of("raters", from_rows(rows), Options(rules=())), "traps")
    assert found[0]["value"] == 1.0
    assert found[-1]["value"] == 0.0
    assert sum(row["n_ratings"] for row in found) == 24


def test_stretches_of_a_session_hold_about_as_many_ratings():
    position = np.repeat(np.arange(1, 21), np.arange(20, 0, -1)).astype(float)
    stretch, ends = stretches(position, 5)
    assert np.bincount(stretch).min() > 25
    assert (ends[0][0], ends[-1][1]) == (1, 20)
    assert all(a[1] < b[0] for a, b in pairwise(ends))
    assert stretches(np.ones(3), 5)[1] == [(1, 1)]


@pytest.mark.medium
def test_raters_without_a_clip_in_common_are_told_so():
    table = rows_of({("A", f"r{r}", f"i{r}{k}"): 1.0 + k for r in range(4) for k in range(4)})
    shown = part_of("raters", table)
    assert "No rater can be compared with the rest" in shown["sentences"][0]


@pytest.mark.parametrize("n", [3, 17, 120, 301])
def test_the_quick_coefficients_are_scipys(n):
    rng = np.random.default_rng(n)
    x = rng.integers(1, 6, n).astype(float)
    y = np.round(0.3 * x + rng.standard_normal(n), 1)
    wanted = [correlation(name, x, y) for name in ("pearson", "spearman", "kendall")]
    assert coefficients(x, y) == pytest.approx(tuple(wanted), rel=1e-12)
    assert coefficients(x, np.ones(n)) == coefficients(x[:2], y[:2]) == (None, None, None)


def test_nothing_but_raters_codes_names_a_rater(align):
    codes = set(table_of("align_s1")["rater"])
    assert {row["rater"] for row in rows_of_table(align, "use")} == codes
