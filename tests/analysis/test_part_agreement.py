"""The part on agreement: R's numbers, designs of every kind, and what is said in words."""

import numpy as np
import pytest

from analysis.ratings.breakdowns import families
from analysis.report.part import Part
from analysis.statistics.agreement.agreement_result import AgreementError, coded
from analysis.statistics.agreement.icc import crossed_moments, icc_mixed, icc_moments, icc_of_means
from analysis.statistics.agreement.rating_units import coarse_steps, rated_units, steps_of
from analysis.statistics.options import Options
from tests.analysis.part_of import given_of, part_of, rows_of_table
from tests.analysis.reference import edge, expected, heard_on_headphones, rows_of, table_of
from tests.analysis.simulation import bounds, sizes

QUICK = Options(replicates=100)  # of intervals that no test looks at
EDGES = ["all_equal", "single_system", "separated", "missing", "disjoint_raters"]


def values(shown, about=""):
    return {row["statistic"]: row["value"] for row in rows_of_table(shown, "agreement", about)}


@pytest.fixture(scope="module")
def align():
    return part_of("agreement", table_of("align_s1"), QUICK)


@pytest.mark.medium
def test_a_complete_design_has_rs_alpha_w_and_all_six_iccs(align):
    found, told = values(align), expected("align_s1")
    for metric in ("ordinal", "interval", "nominal"):
        assert found[f"krippendorff_alpha_{metric}"] == pytest.approx(
            told["agreement"][f"krippendorff_{metric}"], rel=1e-9
        )
    for form in told["icc"]:
        assert found[form["type"]] == pytest.approx(form["ICC"], rel=1e-9)
    w = told["kendall_W_raters_over_clips"]["W_tie_corrected"]
    assert found["kendall_w_clips"] == pytest.approx(w, rel=1e-9)
    assert "icc_2_1_absolute" not in found  # six forms need no model
    assert "icc_condition_mean" not in found  # one condition only


@pytest.mark.slow
def test_an_incomplete_design_has_rs_alpha_and_icc_of_the_mixed_model():
    shown = part_of("agreement", heard_on_headphones("mos_s1"), QUICK)
    told = expected("mos_s1")
    for task in ("isolation", "context", "paragraph"):
        found = values(shown, task)
        for metric in ("ordinal", "interval"):
            wanted = told["agreement"][task][f"krippendorff_{metric}"]
            assert found[f"krippendorff_alpha_{metric}"] == pytest.approx(wanted, rel=1e-9)
    isolation = values(shown, "isolation")
    assert "krippendorff_alpha_nominal" not in isolation  # half steps: nine of them
    for name in ("icc_2_1_absolute", "icc_3_1_consistency"):
        assert isolation[name] == pytest.approx(told["icc_lmm_isolation"][name], rel=1e-6)
    rows = heard_on_headphones("mos_s1")
    rows = rows[rows["task"] == "isolation"]
    mean = icc_of_means(rows["condition"], rows["rater"], rows["item"], rows["score"])
    assert isolation["icc_condition_mean"] == pytest.approx(mean.value, rel=1e-9)
    assert mean.value > 0.95
    titles = [table["title"] for table in shown["tables"]]
    assert len(set(titles)) == 3
    assert all("MOS" in title for title in titles)
    assert any("does not make the means of conditions bad" in each for each in shown["sentences"])


@pytest.mark.slow
def test_the_turing_test_has_rs_low_alpha_and_a_good_mean():
    shown = part_of("agreement", table_of("att_s1"), QUICK)
    found, told = values(shown), expected("att_s1")["agreement"]
    for metric in ("ordinal", "interval", "nominal"):  # three labels
        wanted = told[f"krippendorff_{metric}"]
        assert found[f"krippendorff_alpha_{metric}"] == pytest.approx(wanted, rel=1e-9)
    assert found["icc_condition_mean"] > 0.98
    assert shown["warnings"] == []


@pytest.mark.medium
def test_means_that_differ_by_noise_alone_are_warned_of():
    rng = np.random.default_rng(4)
    table = rows_of(
        {
            (c, f"r{r}", f"i{i}"): float(rng.integers(1, 6))
            for c in "ABCD"
            for r in range(8)
            for i in range(6)
        }
    )
    shown = part_of("agreement", table)
    assert values(shown)["icc_condition_mean"] < 0.7
    assert len(shown["warnings"]) == 1


@pytest.mark.slow
def test_a_pair_stored_the_other_way_round_is_the_same_pair():
    table = table_of("cmos_s1")
    table = table[table["rater"].isin(sorted(set(table["rater"]))[:20])].reset_index(drop=True)
    turned = table.copy()
    half = np.arange(len(table)) % 2 == 0
    for a, b in (("condition", "versus_condition"), ("stimulus", "versus_stimulus")):
        turned[a] = np.where(half, table[b], table[a])
        turned[b] = np.where(half, table[a], table[b])
    turned["score"] = np.where(half, -table["score"], table["score"])
    one, other = values(part_of("agreement", table)), values(part_of("agreement", turned))
    for name in ("krippendorff_alpha_interval", "reliability_pearson"):
        assert one[name] == pytest.approx(other[name], abs=0.02 if "rel" in name else 1e-6)


@pytest.mark.medium
def test_choices_without_scores_have_an_alpha_of_their_labels():
    table = rows_of(
        {("A", f"r{r}", f"i{i}"): 1.0 for r in range(4) for i in range(6)},
        method="free_choice",
        estimand="choice",
    )
    table["label"] = [f"l{int(item[1:]) % 3}" for item in table["item"]]
    table["score"] = np.nan
    assert values(part_of("agreement", table)) == {"krippendorff_alpha_nominal": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize("key", ["agreement", "raters", "justifications"])
@pytest.mark.parametrize("name", EDGES)
def test_no_edge_file_stops_a_part(name, key):
    table = edge(name)
    if Part.registry[key]().applies(given_of(table)):
        shown = part_of(key, table)
        words = [*shown["sentences"], *shown["warnings"]]
        assert "nan" not in " ".join(words).lower()
        assert shown["sentences"]


def simulated(rng, raters=20, items=15, conditions=6, spread=0.5):
    """Complete ratings with known variances: (condition, rater, item, y)."""
    c, r, i = (x.reshape(-1) for x in np.indices((conditions, raters, items)))
    y = spread * rng.standard_normal(conditions)[c] + rng.standard_normal(raters)[r]
    y += 0.4 * rng.standard_normal((conditions, raters))[c, r]
    y += 0.6 * rng.standard_normal((conditions, items))[c, i]
    return c, r, i, y + rng.standard_normal(len(y))


@pytest.mark.slow
def test_the_icc_of_a_mean_is_the_share_of_the_spread_that_is_true():
    rng = np.random.default_rng(0)
    error = 0.4**2 / 20 + 0.6**2 / 15 + 1 / 300
    found = [icc_of_means(*simulated(rng, conditions=40)) for _ in range(20)]
    assert np.mean([each.value for each in found]) == pytest.approx(0.25 / (0.25 + error), abs=0.02)


@pytest.mark.slow
@sizes(60, 300)
def test_the_interval_of_the_icc_of_a_mean_covers_the_truth(runs):
    rng = np.random.default_rng(1)
    truth = 0.25 / (0.25 + 0.4**2 / 20 + 0.6**2 / 15 + 1 / 300)
    found = [icc_of_means(*simulated(rng)) for _ in range(runs)]
    least, _ = bounds(0.92, 1, of=300, runs=runs)
    assert least < np.mean([each.low <= truth <= each.high for each in found]) <= 1


def test_the_icc_of_a_mean_says_why_it_has_none():
    one = icc_of_means(["A"] * 4, list("aabb"), list("xyxy"), [1, 2, 3, 4])
    assert (one.value, "one condition only" in one.note) == (None, True)
    alone = icc_of_means(list("ABAB"), list("aaaa"), list("xyxy"), [1, 2, 3, 4])
    assert "one rater or one item" in alone.note
    same = icc_of_means(list("AABB"), list("abab"), list("xyyx"), [1, 2, 1, 2])
    assert same.value is None
    assert same.note


@pytest.mark.medium
def test_moments_find_the_variances_of_a_crossed_design_and_agree_with_reml():
    rng = np.random.default_rng(2)
    found = []
    for _ in range(30):
        u, r = rng.integers(0, 60, 900), rng.integers(0, 30, 900)
        y = 0.7 * rng.standard_normal(60)[u] + 0.5 * rng.standard_normal(30)[r]
        each = crossed_moments(coded(u, r, y + rng.standard_normal(900)))
        found.append((each.unit, each.rater, each.residual))
    assert np.mean(found, axis=0) == pytest.approx([0.49, 0.25, 1.0], abs=0.06)
    table = heard_on_headphones("mos_s1")
    table = table[table["task"] == "isolation"]
    three = table["stimulus"], table["rater"], table["score"]
    for fast, slow in zip(icc_moments(*three), icc_mixed(*three), strict=True):
        assert fast.value == pytest.approx(slow.value, abs=0.02)
        assert fast.low < slow.value < fast.high
    with pytest.raises(AgreementError, match="give 1 or more"):
        icc_moments(*three, raters_per_unit=0)
    assert icc_moments(["a"], ["b"], [1.0])[0].value is None


@pytest.mark.parametrize(
    ("scores", "estimand", "wanted"),
    [
        ([1, 2, 5], "mos", (1, 2, 3, 4, 5)),
        ([1.5, 3, 5], "mos", tuple(np.arange(1, 5.1, 0.5))),
        ([-1, 2], "cmos", (-2, -1, 0, 1, 2)),
        ([0, 1], "hls", (0, 1)),
        ([0, 0.5], "hls", (0, 0.5, 1)),
        ([0, 33, 87], "mushra", ()),
        ([3, 3], "rank", ()),
        ([], "mos", ()),
        ([0, 5], "mos", (0, 1, 2, 3, 4, 5)),
    ],
)
def test_the_steps_of_a_scale(scores, estimand, wanted):
    assert steps_of(np.array(scores, dtype=float), estimand) == pytest.approx(wanted)


def test_a_slider_is_cut_into_eleven_steps():
    assert coarse_steps(np.array([3.0, 97.0]), "mushra") == tuple(range(0, 101, 10))
    assert coarse_steps(np.array([3.0, 3.0]), "rank") == ()


def test_a_clip_after_another_context_is_another_unit():
    table = rows_of({("A", "r1", "i1"): 1.0, ("A", "r2", "i1"): 2.0})
    table["context"] = ["", "c1"]
    (family,) = families(table)
    assert sorted(rated_units(family).unit.tolist()) == ["A_i1", "A_i1 after c1"]
