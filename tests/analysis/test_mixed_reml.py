"""REML of rater and rater-by-condition effects equals lme4, lmerTest and emmeans."""

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.mixed.linear_model import nested_reml
from analysis.statistics.mixed.model_contrasts import (
    means,
    pairs,
    studentized_range_tail,
)
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.sufficient_statistics import Nested, sums
from tests.analysis.mixed_data import att, column, mos, simulated, values
from tests.analysis.reference import expected
from tests.analysis.simulation import bounds, sizes

CASES = {
    "att_s1": ("att_s1", "lmm_att"),
    "att_s2": ("att_s2", "lmm_att"),
    "mos_s1": ("mos_s1", "lmm_isolation_simple"),
    "mos_s2": ("mos_s2", "lmm_isolation_simple"),
}
LARGE = pytest.param("att_s1", marks=pytest.mark.soak)  # 857 raters


def data_of(name):
    return att(name) if name.startswith("att") else mos(name)


@pytest.fixture(scope="module", params=[LARGE, "att_s2", "mos_s1", "mos_s2"])
def case(request):
    name, model = CASES[request.param]
    data = data_of(name)
    fit = nested_reml(sums(data.y, data.codes("rater"), data.codes("system")))
    return fit, expected(name)[model]


@pytest.mark.medium
def test_means_errors_and_sds_are_rs(case):
    fit, r = case
    np.testing.assert_allclose(fit.estimate, values(r["fixef"]), rtol=2e-8)
    np.testing.assert_allclose(fit.se, values(r["se"]), rtol=1e-6)
    assert fit.sds["rater"] == pytest.approx(r["sd"]["rater"], rel=2e-6)
    assert fit.sds["rater:condition"] == pytest.approx(r["sd"]["rater:system"], rel=2e-6)
    assert fit.sds["residual"] == pytest.approx(r["sd"]["Residual"], rel=1e-6)
    assert fit.log_likelihood == pytest.approx(r["logLik_REML"], abs=1e-8)
    assert fit.n == r["n"]
    assert fit.notes == ()


@pytest.mark.medium
def test_means_with_satterthwaite_degrees_are_emmeans(case):
    fit, r = case
    found = means(fit)
    np.testing.assert_allclose(found.degrees, column(r["emmeans"], "df"), rtol=2e-6)
    np.testing.assert_allclose(found.low, column(r["emmeans"], "lower.CL"), rtol=1e-6)
    np.testing.assert_allclose(found.high, column(r["emmeans"], "upper.CL"), rtol=1e-6)


@pytest.mark.medium
def test_all_pairs_plain_holm_and_tukey_are_emmeans(case):
    fit, r = case
    found = pairs(fit)
    plain, holm, tukey = (r[f"pairs_{kind}"] for kind in ("none", "holm", "tukey"))
    np.testing.assert_allclose(found.value, column(plain, "estimate"), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.se, column(plain, "SE"), rtol=1e-6)
    np.testing.assert_allclose(found.degrees, column(plain, "df"), rtol=2e-6)
    np.testing.assert_allclose(np.log(found.p), np.log(column(plain, "p.value")), rtol=2e-6)
    np.testing.assert_allclose(np.log(found.p_holm), np.log(column(holm, "p.value")), atol=2e-4)
    np.testing.assert_allclose(found.p_tukey, column(tukey, "p.value"), rtol=1e-5, atol=3e-7)
    np.testing.assert_allclose(found.low, column(plain, "lower.CL"), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.high, column(plain, "upper.CL"), rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", [LARGE, "att_s2"])
def test_cells_of_condition_and_dimension_share_the_raters_leaning(name):
    data, r = att(name), expected(name)["lmm_dimension"]
    cells = (
        data.frame[["system", "dimension"]].drop_duplicates().sort_values(["system", "dimension"])
    )
    owner = np.array([data.names().index(s) for s in cells["system"]])
    fit = nested_reml(sums(data.y, data.codes("rater"), data.codes("system", "dimension"), owner))
    np.testing.assert_allclose(fit.estimate, values(r["fixef"]), rtol=2e-8)
    np.testing.assert_allclose(fit.se, values(r["se"]), rtol=1e-6)
    assert fit.sds["rater:condition"] == pytest.approx(r["sd"]["rater:system"], rel=1e-6)
    assert fit.log_likelihood == pytest.approx(r["logLik_REML"], abs=1e-8)


def test_a_balanced_design_gives_the_anova_estimates():
    """By hand: mean squares 11/3 within (raters 3, conditions 2, repeats 2); see the numbers."""
    rng = np.random.default_rng(5)
    truth = {"means": [3, 4], "sd_rater": 2.0, "sd_both": 1.5, "sd": 0.5}
    y, rater, condition = simulated(rng, raters=30, conditions=2, repeats=4, **truth)
    cube = y.reshape(30, 2, 4)
    cell, by_rater = cube.mean(axis=2), cube.mean(axis=(1, 2))
    within = ((cube - cell[:, :, None]) ** 2).sum() / (30 * 2 * 3)
    inner = cell - by_rater[:, None] - cell.mean(axis=0) + y.mean()
    both = 4 * (inner**2).sum() / 29
    between = 8 * ((by_rater - y.mean()) ** 2).sum() / 29
    fit = nested_reml(sums(y, rater, condition))
    assert fit.sds["residual"] ** 2 == pytest.approx(within, rel=1e-6)
    assert fit.sds["rater:condition"] ** 2 == pytest.approx((both - within) / 4, rel=1e-5)
    assert fit.sds["rater"] ** 2 == pytest.approx((between - both) / 8, rel=1e-5)
    difference = pairs(fit)
    assert difference.se[0] == pytest.approx((2 * both / (30 * 4)) ** 0.5, rel=1e-6)
    assert difference.degrees[0] == pytest.approx(29, rel=1e-5)
    paired = stats.ttest_rel(cell[:, 0], cell[:, 1])
    assert difference.p[0] == pytest.approx(paired.pvalue, rel=1e-4)


def test_the_closed_form_is_the_likelihood_written_out():
    rng = np.random.default_rng(2)
    rater, condition = rng.integers(0, 6, 40), rng.integers(0, 3, 40)
    y = rng.standard_normal(40)
    u, w = 0.7, 0.3
    same_rater = rater[:, None] == rater
    v = np.eye(40) + u * same_rater + w * (same_rater & (condition[:, None] == condition))
    x = np.eye(3)[condition]
    found = sums(y, rater, condition)
    parts = Nested(found).at(np.array([[u, w]]))
    e, inverse = y - found.centre[condition], np.linalg.inv(v)
    np.testing.assert_allclose(parts.a[0], x.T @ inverse @ x, rtol=1e-12)
    np.testing.assert_allclose(parts.b[0], x.T @ inverse @ e, rtol=1e-10, atol=1e-12)
    assert parts.c[0] == pytest.approx(e @ inverse @ e, rel=1e-12)
    assert parts.logdet[0] == pytest.approx(np.linalg.slogdet(v)[1], rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "nu"), [(2, 3.0), (3, 1.5), (5, 2480.0), (12, 600.0), (25, 7.0)])
def test_the_studentized_range_is_scipys(k, nu):
    q = np.array([0.5, 2.0, 3.5, 4.5, 8.0])
    mine = studentized_range_tail(q, k, np.full(5, nu))
    np.testing.assert_allclose(mine, stats.studentized_range.sf(q, k, nu), atol=3e-8)


@pytest.mark.slow
def test_the_order_of_ratings_and_the_origin_of_scores_change_nothing():
    data = att("att_s2")
    rater, system = data.codes("rater"), data.codes("system")
    fit = nested_reml(sums(data.y, rater, system))
    shuffled = np.random.default_rng(1).permutation(len(rater))
    moved = nested_reml(sums(1000 + 100 * data.y[shuffled], rater[shuffled], system[shuffled]))
    np.testing.assert_allclose(moved.estimate, 1000 + 100 * fit.estimate, rtol=1e-10)
    np.testing.assert_allclose(moved.se, 100 * fit.se, rtol=1e-6)
    assert moved.sds["rater"] == pytest.approx(100 * fit.sds["rater"], rel=1e-6)


def test_an_effect_without_variance_is_zero_and_said_so():
    """Every rater's mean is the same: raters vary less than chance alone would have it."""
    y = np.array([1.0, 3.0, 3.0, 1.0] * 5)
    rater, condition = np.repeat(np.arange(5), 4), np.tile([0, 0, 1, 1], 5)
    fit = nested_reml(sums(y, rater, condition))
    assert fit.sds["rater"] == fit.sds["rater:condition"] == 0
    assert fit.notes == (
        "no variance was found for rater: it is estimated as 0",
        "no variance was found for rater:condition: it is estimated as 0",
    )
    assert means(fit).degrees == pytest.approx([18, 18])


def test_ratings_without_error_and_too_few_ratings_are_refused_in_words():
    rater, condition = np.repeat(np.arange(5), 6), np.tile([0, 0, 1, 1, 2, 2], 5)
    same = np.repeat(np.random.default_rng(0).random(15), 2)
    with pytest.raises(NotEstimable, match="do not vary at all: no error to model; keep one"):
        nested_reml(sums(same, rater, condition))
    three = np.array([0, 1, 1]), np.array([0, 0, 1])
    with pytest.raises(NotEstimable, match="so few ratings do not determine the variances"):
        nested_reml(sums(np.array([0.0, 1.0, 0.5]), *three))


@pytest.mark.medium
def test_one_rating_a_rater_leaves_the_t_test():
    y, condition = np.array([0.1, 0.7, 0.4, 0.9, 0.2, 0.8]), np.array([0, 1, 0, 1, 0, 1])
    fit = nested_reml(sums(y, np.arange(6), condition))
    found = pairs(fit)
    student = stats.ttest_ind(y[condition == 0], y[condition == 1])
    assert found.p[0] == pytest.approx(student.pvalue, rel=1e-8)
    assert found.degrees[0] == pytest.approx(4)
    assert [note.split(":")[0] for note in fit.notes] == ["rater was left out", "rater"]
    assert fit.notes[1].startswith("rater:condition was left out: no rater rated a condition twice")


def test_scores_that_do_not_fit_their_codes_are_refused_in_words():
    y, codes = np.zeros(3), np.zeros(3, dtype=np.int64)
    with pytest.raises(ValueError, match="one of each per rating"):
        sums(y, codes[:2], codes)
    with pytest.raises(ValueError, match="missing or infinite"):
        sums(np.array([1.0, np.nan, 2.0]), codes, codes)
    with pytest.raises(ValueError, match="whole numbers from 0"):
        sums(y, codes - 1, codes)
    with pytest.raises(NotEstimable, match="cell 0 has no ratings; leave it out"):
        sums(y, codes, codes + 1)


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(60, 1000)
def test_satterthwaite_intervals_of_differences_cover_as_often_as_they_say(runs):
    rng = np.random.default_rng(8)
    truth = {"means": [0.0, 0.3], "sd_rater": 1.0, "sd_both": 0.5, "sd": 1.0}
    covered = 0
    for _ in range(runs):
        fit = nested_reml(sums(*simulated(rng, raters=12, conditions=2, repeats=3, **truth)))
        found = pairs(fit)
        covered += bool(found.low[0] <= -0.3 <= found.high[0])
    low, high = bounds(0.93, 0.975, of=1000, runs=runs)
    assert low <= covered / runs <= high
