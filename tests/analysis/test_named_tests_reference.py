"""The tests that papers use equal R's; what follows them equals other libraries'."""

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.comparisons.effect_sizes import cliffs_delta, cohen_d
from analysis.statistics.comparisons.tests_by_name import (
    conover,
    dunn,
    group_test,
    means_table,
    nemenyi,
    pair_tests,
    samples_of,
    within_raters,
)
from analysis.statistics.screening.screened import DEFAULT, screen
from tests.analysis.coded import expected, isolation, mushra, of_table
from tests.analysis.reference import table_of

CLOSE = {"rel": 1e-6, "abs": 1e-12}
SETS = {
    "att_s1": (lambda: of_table(screen(table_of("att_s1")).kept(DEFAULT)), "pairs_naive"),
    "mos_s1": (lambda: isolation("mos_s1"), "pairs_isolation"),
    "mos_s2": (lambda: isolation("mos_s2"), "pairs_isolation"),
    "mushra_s1": (lambda: mushra(systems_only=True), "pairs_systems"),
}


@pytest.fixture(scope="module", params=SETS)
def both(request):
    make, key = SETS[request.param]
    return make(), {(row["a"], row["b"]): row for row in expected(request.param)[key]}


def rows(scores, wanted, test, unit=None, adjustment="holm"):
    found = pair_tests(scores, test, unit, adjustment=adjustment)
    assert [(one.condition, one.versus) for one in found] == list(wanted)
    return [(one, wanted[one.condition, one.versus]) for one in found]


@pytest.mark.slow
@pytest.mark.parametrize("test", ["welch", "student"])
def test_t_tests_are_rs(both, test):
    for one, row in rows(*both, test):
        mine = one.result
        told = (row["diff"], row[f"{test}_t"], row[f"{test}_df"], row[f"{test}_p"])
        assert (mine.estimate, mine.statistic, mine.df, mine.p) == pytest.approx(told, **CLOSE)
        assert mine.effect == pytest.approx(row["cohen_d_pooled"], **CLOSE)
        if test == "welch":
            assert (mine.low, mine.high) == pytest.approx(
                (row["welch_lo"], row["welch_hi"]), **CLOSE
            )
        assert "independent" in mine.warning


@pytest.mark.medium
def test_mann_whitney_is_rs_with_and_without_continuity(both):
    for one, row in rows(*both, "mann_whitney"):
        mine = one.result
        told = (row["mw_U"], row["mw_p"], row["cliffs_delta"])
        assert (mine.statistic, mine.p, mine.effect) == pytest.approx(told, **CLOSE)
        assert mine.also["p, continuity corrected"] == pytest.approx(row["mw_p_cc"], **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize(("test", "p"), [("welch", "welch_p"), ("mann_whitney", "mw_p")])
@pytest.mark.parametrize(("adjustment", "name"), [("holm", "holm"), ("bh", "BH")])
def test_p_adjusted_over_all_pairs_is_rs(both, test, p, adjustment, name):
    for one, row in rows(*both, test, adjustment=adjustment):
        if f"{p}_{name}" in row and len(both[1]) > 1:
            assert one.p_adjusted == pytest.approx(p_adjusted(both[1], p, name)[row["a"], row["b"]])


def p_adjusted(wanted, p, name):
    """R's own column, but mushra_s1's, which was adjusted over one pair at a time."""
    values = {pair: row[f"{p}_{name}"] for pair, row in wanted.items()}
    if any(values[pair] != row[p] for pair, row in wanted.items()):
        return values
    ordered = stats.false_discovery_control([row[p] for row in wanted.values()])
    if name == "BH":
        return dict(zip(wanted, ordered, strict=True))
    ranked = sorted(wanted, key=lambda pair: wanted[pair][p])
    steps = [wanted[pair][p] * (len(ranked) - i) for i, pair in enumerate(ranked)]
    return dict(zip(ranked, np.minimum(1, np.maximum.accumulate(steps)), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["raters", "items"])
def test_matched_tests_are_rs_over_raters_and_items(both, unit):
    key = {"raters": "paired_rater", "items": "paired_text"}[unit]
    checked = 0
    for one, row in rows(*both, "paired_t", unit):
        if key not in row:
            continue
        told, mine, checked = row[key], one.result, checked + 1
        assert mine.n == (told["n"],)
        wanted = [told[name] for name in ("mean_diff", "t", "df", "p", "lo", "hi")]
        got = [mine.estimate, mine.statistic, mine.df, mine.p, mine.low, mine.high]
        assert got == pytest.approx(wanted, **CLOSE)
    for one, row in rows(*both, "wilcoxon", unit):
        if key in row:
            told = (row[key]["wilcoxon_V"], row[key]["wilcoxon_p"])
            assert (one.result.statistic, one.result.p) == pytest.approx(told, **CLOSE)
    assert checked == len(both[1])


@pytest.mark.medium
@pytest.mark.parametrize("name", ["mos_s1", "mos_s2"])
def test_kruskal_wallis_friedman_and_anova_are_rs(name):
    scores, told = isolation(name), expected(name)
    kruskal = group_test(scores, "kruskal").result
    row = told["kruskal_isolation"]
    assert (kruskal.statistic, kruskal.df) == pytest.approx((row["H"], row["df"]), **CLOSE)
    assert kruskal.p == pytest.approx(row["p"], rel=1e-6)
    friedman = group_test(scores, "friedman", "items").result
    row = told["friedman_text_means_isolation"]
    assert (friedman.statistic, friedman.df) == pytest.approx((row["chi2"], row["df"]), **CLOSE)
    assert (friedman.p, friedman.n) == (pytest.approx(row["p"], rel=1e-6), (row["n_text"],))
    anova = group_test(scores, "anova").result
    row = told["anova_oneway_isolation"]
    assert (anova.statistic, anova.df, anova.df2) == pytest.approx(
        (row["F"], row["df1"], row["df2"]), **CLOSE
    )
    assert anova.p == pytest.approx(row["p"], rel=1e-6)


@pytest.mark.medium
def test_kruskal_wallis_is_rs_on_twenty_thousand_labels():
    scores, _ = SETS["att_s1"]
    mine, row = group_test(scores(), "kruskal").result, expected("att_s1")["kruskal"]
    assert (mine.statistic, mine.p) == pytest.approx((row["H"], row["p"]), rel=1e-6)


def test_friedman_of_mushra_is_rs_with_kendalls_w():
    mine, row = (
        group_test(mushra(), "friedman").result,
        expected("mushra_s1")["friedman_rater_means"],
    )
    told = (row["chi2"], row["df"], row["kendall_W"])
    assert (mine.statistic, mine.df, mine.effect) == pytest.approx(told, **CLOSE)
    assert mine.p == pytest.approx(row["p"], rel=1e-6)


def test_repeated_measures_anova_is_rs():
    system, text, both_ = within_raters(mushra())
    row = expected("mushra_s1")["rm_anova"]
    for mine, key in ((system, "system"), (text, "text"), (both_, "interaction")):
        told = [row[key][name] for name in ("F", "df1", "df2", "p")]
        assert [mine.f, mine.df, mine.df2, mine.p] == pytest.approx(told, rel=1e-6, abs=0)


def test_greenhouse_geisser_and_effect_sizes_are_pingouins():
    """pingouin 0.7.0 rm_anova on the five systems; its interaction's epsilon is left out here."""
    system, text, _ = within_raters(mushra(systems_only=True))
    assert (system.epsilon, text.epsilon) == pytest.approx((0.8105820636246, 0.6545132494255))
    assert (system.p_gg, text.p_gg) == pytest.approx((7.596139425918e-19, 3.28109398525e-31))
    assert (system.generalised_eta2, text.generalised_eta2) == pytest.approx(
        (0.4647719591733, 0.1194000925874)
    )
    assert (system.partial_eta2, text.partial_eta2) == pytest.approx(
        (0.7241299398623, 0.6486833040040)
    )
    one_way = group_test(mushra(systems_only=True), "rm_anova").result
    assert (one_way.statistic, one_way.df, one_way.df2) == pytest.approx((55.12279487496, 4, 84))
    assert (one_way.p, one_way.effect) == pytest.approx((7.596139425918e-19, 0.5696573078248))
    assert one_way.also["p, uncorrected"] == pytest.approx(1.0155648482072e-22)


def test_nemenyi_and_conover_are_scikit_posthocs():
    """scikit-posthocs 0.17.1 on rater means: A against the others, p unadjusted for Conover."""
    table = means_table(mushra(), "raters")
    told = [0.9998760703278, 0.7504394377825, 0.0222026815790, 3.1842106e-05]
    told += [4.2527e-12, 4.9792209e-07, 0.4606846579887]
    assert [one.p for one in nemenyi(table)[:7]] == pytest.approx(told, rel=1e-5, abs=1e-12)
    told = [0.1133425823908, 2.219156380187e-08, 5.107213359224e-24, 6.109266099950e-39]
    told += [1.905741692002e-59, 1.091567152550e-45, 5.307269499423e-12]
    assert [one.p for one in conover(table)[:7]] == pytest.approx(told, rel=1e-6, abs=0)


def test_dunn_is_scikit_posthocs():
    """scikit-posthocs 0.17.1 posthoc_dunn on mos_s2: A against the others, plain and by Holm."""
    found = dunn(samples_of(isolation("mos_s2")))
    told = [0.1991423938135, 0.0002121913689924, 1.646931366895e-05, 1.42959001027e-15]
    assert [one.p for one in found[:4]] == pytest.approx(told, rel=1e-6, abs=0)
    told = [0.3982847876270, 0.001273148213954, 0.0001317545093516, 1.42959001027e-14]
    assert [one.p_adjusted for one in found[:4]] == pytest.approx(told, rel=1e-6, abs=0)


def test_scipys_statistics_are_there_by_name():
    a, b = samples_of(mushra(systems_only=True), "raters")[:2]
    scores = mushra(systems_only=True)
    mine = pair_tests(scores, "wilcoxon", "raters")[0].result
    assert mine.also["V, ties to 12 digits"] == pytest.approx(mine.statistic, rel=0.01)
    theirs = stats.wilcoxon(a, b, correction=True, method="asymptotic")
    assert mine.also["W, scipy's: the smaller sum"] == pytest.approx(theirs.statistic)
    assert mine.also["p, continuity corrected"] == pytest.approx(theirs.pvalue)
    exact = stats.wilcoxon(a, b, method="exact").pvalue
    assert mine.also.get("p, exact", exact) == pytest.approx(exact)


def test_effect_sizes_do_not_depend_on_the_order_of_values():
    a, b = samples_of(isolation("mos_s2"))[:2]
    assert cliffs_delta(a[::-1], b).value == pytest.approx(cliffs_delta(a, b).value)
    assert cohen_d(a, b).value == pytest.approx(-cohen_d(b, a).value)
