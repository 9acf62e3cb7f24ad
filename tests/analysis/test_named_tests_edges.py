"""Named tests by hand, and sentences instead of numbers where a test is undefined."""

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.comparisons.tests_by_name import (
    GROUP_TESTS,
    PAIR_TESTS,
    anova,
    conover,
    dunn,
    friedman,
    group_test,
    kruskal_wallis,
    nemenyi,
    pair_tests,
    rm_anova,
    within_raters,
)
from analysis.statistics.comparisons.two_sample_tests import (
    mann_whitney,
    paired_t,
    student_t,
    welch_t,
    wilcoxon,
)
from analysis.statistics.screening.screened import screen
from analysis.statistics.screening.single_ratings import Duplicate
from tests.analysis.coded import coded, expected, of_table
from tests.analysis.reference import edge


def test_the_rank_tests_by_hand():
    u = mann_whitney([3, 5, 4], [1, 2, 4])
    assert (u.statistic, u.estimate) == (8 - 0.5 + 0.0, pytest.approx(7.5 / 9))
    v = wilcoxon([3, 5, 4, 1], [1, 6, 1, 1])  # 2, -1, 3, 0
    assert (v.statistic, v.effect) == (5.0, pytest.approx((5 - 1) / 6))
    assert v.also["W, scipy's: the smaller sum"] == 1.0
    assert v.note == "1 of 4 differences are 0 and dropped"
    assert v.estimate == pytest.approx(1.0)  # of 10 Walsh averages the two in the middle are 1


def test_exact_p_is_there_for_small_samples_without_ties():
    a, b = [1.1, 2.3, 3.7, 4.2], [2.0, 5.5, 6.1, 7.3, 8.8]
    u = mann_whitney(a, b)
    assert u.also["p, exact"] == stats.mannwhitneyu(a, b, method="exact").pvalue
    v = wilcoxon(a, b[:4])
    assert v.also["p, exact"] == stats.wilcoxon(a, b[:4], method="exact").pvalue
    assert "p, exact" not in mann_whitney([1, 2], [2, 3]).also


def test_friedman_by_hand_and_its_f():
    matrix = [[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]]
    found = friedman(matrix)
    assert found.statistic == pytest.approx(12 / (4 * 3 * 4) * (5**2 + 8**2 + 11**2) - 3 * 4 * 4)
    assert found.statistic == pytest.approx(stats.friedmanchisquare(*np.array(matrix).T).statistic)
    f = 3 * found.statistic / (4 * 2 - found.statistic)
    assert found.also["F, Iman-Davenport"] == pytest.approx(f)
    assert found.effect == pytest.approx(found.statistic / 8)


def test_repeated_measures_of_two_levels_is_the_paired_t_squared():
    x = np.array([[1.0, 2.0], [2.0, 2.5], [3.0, 5.0], [4.0, 4.5]])
    (effect,) = rm_anova(x)
    t = paired_t(x[:, 0], x[:, 1])
    assert effect.f == pytest.approx(t.statistic**2)
    assert (effect.p, effect.p_gg, effect.epsilon) == pytest.approx((t.p, t.p, 1.0))


def test_the_interaction_of_two_by_two_is_a_t_test_of_the_double_difference():
    x = np.random.default_rng(2).normal(size=(9, 2, 2))
    double = x[:, 0, 0] - x[:, 0, 1] - x[:, 1, 0] + x[:, 1, 1]
    interaction = rm_anova(x, ("a", "b"))[2]
    t = stats.ttest_1samp(double, 0)
    assert (interaction.effect, interaction.f) == ("a:b", pytest.approx(t.statistic**2))
    assert interaction.p == pytest.approx(t.pvalue)


def test_the_spherical_correction_is_greenhouse_and_geissers_formula():
    x = np.random.default_rng(3).normal(size=(12, 4)) @ np.diag([1, 2, 3, 4.0])
    s = np.cov(x, rowvar=False)
    k = 4
    top = (k * (np.diag(s).mean() - s.mean())) ** 2
    below = (k - 1) * ((s**2).sum() - 2 * k * (s.mean(axis=0) ** 2).sum() + (k * s.mean()) ** 2)
    assert rm_anova(x)[0].epsilon == pytest.approx(top / below)


def test_dunn_and_anova_by_hand_without_ties():
    samples = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    found = dunn(samples, "none")
    z = 2 / (6 * 7 / 12 * 1) ** 0.5
    assert [one.statistic for one in found] == pytest.approx([-z, -2 * z, -z])
    t = welch_t(samples[0], samples[2])
    assert t.effect_low < t.effect < t.effect_high < 0
    u = mann_whitney([1, 2, 3], [2, 3, 4])
    assert u.effect_low < u.effect < u.effect_high
    f = anova(samples)
    assert (f.statistic, f.df, f.df2) == pytest.approx((16.0, 2, 3))
    assert f.effect == pytest.approx((16 - 2 * 0.5) / (17.5 + 0.5))
    assert kruskal_wallis(samples).statistic == pytest.approx(stats.kruskal(*samples).statistic)


@pytest.mark.parametrize("test", PAIR_TESTS)
def test_equal_ratings_make_every_pair_test_undefined_in_words(test):
    for one in pair_tests(of_table(edge("all_equal")), test):
        assert (one.result.statistic, one.result.p, one.p_adjusted) == (None, None, None)
        assert "undefined" in one.result.note


@pytest.mark.parametrize("test", GROUP_TESTS)
def test_equal_ratings_make_every_group_test_undefined_in_words(test):
    found = group_test(of_table(edge("all_equal")), test)
    assert (found.result.statistic, found.result.p, found.post_hoc) == (None, None, ())
    assert "undefined" in found.result.note


@pytest.mark.medium
@pytest.mark.parametrize("name", ["one_rater", "missing", "disjoint_raters"])
def test_welch_on_the_edges_is_rs(name):
    table = screen(edge(name)).kept((Duplicate(),)) if name == "missing" else edge(name)
    found = {f"{one.condition} - {one.versus}": one for one in pair_tests(of_table(table), "welch")}
    for pair, row in expected("edge")[name]["welch"].items():
        mine = found[pair].result
        told = (row["diff"], row["t"], row["df"], row["p"])
        assert (mine.estimate, mine.statistic, mine.df, mine.p) == pytest.approx(told, rel=1e-9)
    if name == "missing":
        alone = found["A - D"]
        assert (alone.result.p, alone.p_adjusted) == (None, None)
        assert alone.result.note == "fewer than two values on one side: no test"


@pytest.mark.parametrize("test", ["paired_t", "wilcoxon"])
def test_raters_who_never_met_both_make_no_matched_test(test):
    (one,) = pair_tests(of_table(edge("disjoint_raters")), test, "raters")
    assert (one.result.p, one.result.n) == (None, (0,))
    assert "fewer than two units have both" in one.result.note


def test_one_rater_has_tests_over_items_and_none_over_raters():
    scores = of_table(edge("one_rater"))
    assert pair_tests(scores, "paired_t", "raters")[0].result.p is None
    assert pair_tests(scores, "paired_t", "items")[0].result.p is not None
    assert group_test(scores, "friedman", "raters").result.p is None
    assert "fewer than two units" in group_test(scores, "rm_anova").result.note


@pytest.mark.medium
def test_separated_conditions_have_no_t_test():
    for one in pair_tests(of_table(edge("separated")), "welch"):
        assert one.result.p is None
        assert one.result.estimate in (1.0, -1.0, 0.5, -0.5)
    ranks = pair_tests(of_table(edge("separated")), "mann_whitney")[0].result
    assert (ranks.effect, ranks.low) == (1.0, None)


def test_a_single_condition_has_nothing_to_compare():
    scores = of_table(edge("single_system"))
    assert pair_tests(scores, "welch") == []
    for test in GROUP_TESTS:
        result = group_test(scores, test).result
        assert result.p is None
        assert "fewer than two" in result.note


@pytest.mark.medium
def test_every_result_says_what_it_takes_as_given():
    scores = of_table(edge("missing"))
    assert "independent" in pair_tests(scores, "mann_whitney")[0].result.warning
    assert "items as given" in pair_tests(scores, "welch", "raters")[0].result.warning
    assert "raters as given" in pair_tests(scores, "paired_t", "items")[0].result.warning
    assert "independent" in group_test(scores, "kruskal").result.warning
    assert "items as given" in group_test(scores, "friedman").result.warning


def test_units_without_every_condition_are_counted_out_aloud():
    scores = coded([1, 2, 3, 2, 3, 5, 1], list("abcabca"), list("rrrssst"), list("xyzxyzx"))
    result = group_test(scores, "friedman").result
    assert result.n == (2,)
    assert result.note.startswith("1 of 3 raters lack a condition and are left out")


def test_gaps_make_no_balanced_anova():
    scores = coded([1, 2, 3], list("aba"), list("rrs"), list("xxx"))
    with pytest.raises(Undefined, match="use a mixed model"):
        within_raters(scores)
    with pytest.raises(Undefined, match="use a mixed model"):
        rm_anova([[1.0, np.nan], [2.0, 3.0]])
    with pytest.raises(Undefined, match="one name a factor"):
        rm_anova([[1.0, 2.0]], ("a", "b"))


@pytest.mark.parametrize("after", [nemenyi, conover])
def test_what_follows_friedman_needs_units(after):
    with pytest.raises(Undefined, match="fewer than two units"):
        after([[1.0, 2.0]])


def test_unanimous_ranks_leave_conover_without_variance():
    scores = coded([1, 2, 3, 1, 2, 3], list("abcabc"), list("rrrsss"), list("xyzxyz"))
    found = group_test(scores, "friedman")
    assert found.result.effect == pytest.approx(1.0)
    assert "Conover's test has no variance" in found.result.note
    assert {one.test for one in found.post_hoc} == {"Nemenyi's test"}


def test_values_that_do_not_pair_are_refused():
    with pytest.raises(Undefined, match="3 values against 2"):
        paired_t([1, 2, 3], [1, 2])


@pytest.mark.medium
def test_unknown_names_are_told():
    scores = of_table(edge("missing"))
    with pytest.raises(Undefined, match="known are welch"):
        pair_tests(scores, "t")
    with pytest.raises(Undefined, match="known are anova"):
        group_test(scores, "welch")
    with pytest.raises(Undefined, match="raters or items"):
        pair_tests(scores, "paired_t", "ratings")


@pytest.mark.medium
def test_a_result_is_a_flat_row():
    row = pair_tests(of_table(edge("missing")), "welch")[0].row()
    assert (row["condition"], row["versus"], row["n"]) == ("A", "B", "23 + 25")
    assert row["p_holm"] >= row["p"]
    assert student_t([1, 2], [3, 5]).row()["test"] == "Student t test"
    assert welch_t([1], [2, 3]).row()["note"]


def test_no_ratings_at_all_are_a_sentence():
    scores = coded([], [], [], [])
    for test in PAIR_TESTS:
        assert pair_tests(scores, test) == []
    for test in GROUP_TESTS:
        result = group_test(scores, test).result
        assert result.p is None
        assert "fewer than two" in result.note
    with pytest.raises(Undefined, match="no ratings"):
        within_raters(scores)


@pytest.mark.parametrize("test", [paired_t, wilcoxon, welch_t, student_t])
def test_a_missing_value_is_refused(test):
    with pytest.raises(Undefined, match="missing or infinite"):
        test([1.0, np.inf, 2.0], [2.0, 3.0, 1.0])
    with pytest.raises(Undefined, match="missing or infinite"):
        kruskal_wallis([[1.0, np.nan], [2.0, 3.0]])
