"""Measures of agreement against numbers worked out by hand or printed in their papers."""

import json

import numpy as np
import pytest

from analysis.statistics.agreement.agreement_result import AgreementError
from analysis.statistics.agreement.answer_speed import pace_of_raters
from analysis.statistics.agreement.concordance import kendall_w
from analysis.statistics.agreement.icc import intraclass_correlations
from analysis.statistics.agreement.kappa import kappa, rounded_half_up
from analysis.statistics.agreement.krippendorff import krippendorff_alpha
from analysis.statistics.agreement.noise_ceiling import noise_ceiling
from analysis.statistics.agreement.order_effects import by_position, carry_over, trend
from analysis.statistics.agreement.rater_bias import subject_model
from analysis.statistics.agreement.scale_use import scale_use, sos_parameter
from analysis.statistics.agreement.self_consistency import self_consistency
from analysis.statistics.agreement.versus_rest import versus_rest
from tests.analysis.reference import DATA

# Krippendorff's own example (2011, "Computing Krippendorff's alpha-reliability"): four observers,
# twelve units, values missing.
OBSERVERS = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]
# Shrout and Fleiss (1979), Table 2: six targets by four judges.
TARGETS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def long(matrix):
    matrix = np.asarray(matrix, dtype=float)
    unit, rater = np.indices(matrix.shape)
    return unit.reshape(-1), rater.reshape(-1), matrix.reshape(-1)


@pytest.mark.parametrize(
    ("metric", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_krippendorffs_own_example(metric, printed):
    rows = [[np.nan if v == "." else float(v) for v in line.split()] for line in OBSERVERS]
    found = krippendorff_alpha(*long(np.transpose(rows)), metric)
    assert found.value == pytest.approx(printed, abs=5e-4)


def test_the_example_of_shrout_and_fleiss():
    found = [form.value for form in intraclass_correlations(*long(TARGETS))]
    assert found == pytest.approx([0.17, 0.29, 0.71, 0.44, 0.62, 0.91], abs=5e-3)


def test_kendalls_w_of_three_untied_rankings():
    # rank sums 4, 5, 9, 12 around 7.5: S = 41; W = 12 * 41 / (3^2 * (4^3 - 4))
    ranks = np.transpose([[1, 2, 3, 4], [2, 1, 3, 4], [1, 2, 3, 4]])
    found = kendall_w(*long(ranks))
    assert found.value == pytest.approx(12 * 41 / (9 * 60))
    assert found.chi2 == pytest.approx(3 * 3 * found.value)


def test_cohens_kappa_of_a_small_table():
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: p_o = .7, p_e = .5, kappa = .4
    first = [1] * 25 + [0] * 25
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    for weights in ("none", "linear", "quadratic"):  # two categories: all the same
        value, (low, high) = kappa(first, second, weights, categories=(0, 1))
        assert value == pytest.approx(0.4)
    assert low < 0.4 < high


def test_weights_count_far_disagreement_more():
    near, far = [1, 2, 3, 4, 5, 1, 2, 3], [2, 1, 3, 4, 5, 1, 2, 3]
    away = [5, 2, 3, 4, 1, 1, 2, 3]
    assert kappa(near, far)[0] > kappa(near, far, "linear")[0]
    assert kappa(near, away)[0] < kappa(near, away, "linear")[0]


def test_rounding_is_half_up_and_keeps_to_the_scale():
    assert list(rounded_half_up([0.2, 1.5, 2.5, 2.49, 4.5, 7])) == [0, 1, 2, 1, 4, 4]
    halves = np.arange(1, 5.1, 0.5)
    assert list(rounded_half_up([1.25, 1.24, 4.75], halves)) == [1, 0, 8]
    with pytest.raises(AgreementError, match="evenly spaced"):
        rounded_half_up([1], (1, 2, 4))


def test_a_rater_against_the_mean_of_two_others():
    # rater c gives 1, 2, 4; the others' means are 1.5, 2, 4.5: |.5| + 0 + |.5| over three
    scores = [[1, 2, 1], [2, 2, 2], [4, 5, 4]]
    found = {(m.rater, m.measure): m for m in versus_rest(*long(scores))}
    assert found["2", "mae"].value == pytest.approx(1 / 3)
    assert found["2", "plcc"].value == pytest.approx(np.corrcoef([1, 2, 4], [1.5, 2, 4.5])[0, 1])
    assert found["2", "srcc"].value == pytest.approx(1)
    assert "no interval" in found["2", "srcc"].note


def test_sos_of_two_units():
    # means 3 and 2 on 1..5: g = 4, 3; variances 2, .5: a = (8 + 1.5) / 25
    found = sos_parameter(["a", "a", "b", "b"], [0, 1, 0, 1], [2, 4, 1.5, 2.5])
    assert found.a.value == pytest.approx(9.5 / 25)


def test_sos_of_few_ratings_stays_in_its_range():
    # Two ratings at both ends: g = 4 and variance 8, so that the fit is 2; the third unit pulls.
    few = sos_parameter(["a", "a", "b", "b"], [0, 1, 0, 1], [1, 5, 1, 5]).a
    assert (few.value, few.low, few.high) == (1, 1, 1)
    assert "the fit is 2.000" in few.note
    mixed = sos_parameter(["a", "a", "b", "b", "c", "c"], [0, 1] * 3, [1, 5, 3, 3, 3, 4]).a
    assert mixed.value < 1 == mixed.high
    assert mixed.note == ""


def test_a_rater_without_half_steps_is_told_by_chance():
    steps = np.arange(1, 5.1, 0.5)
    rater = ["whole"] * 20 + ["half"] * 40
    score = [1, 2, 3, 4, 5] * 4 + [1.5, 2, 2.5, 3] * 10
    half, whole = scale_use(rater, score, steps)
    assert (whole.half_steps, half.half_steps) == (0, 0.5)
    assert whole.half_steps_p == pytest.approx(0.5**20)
    assert half.half_steps_p == pytest.approx(1)
    assert whole.ends == pytest.approx(0.4)
    assert sum(whole.shares) == pytest.approx(1)
    assert whole.n_steps_used == 5


def test_values_off_the_scale_are_counted_apart():
    (one,) = scale_use(["a"] * 4, [1, 2, 2.2, 7], (1, 2, 3))
    assert one.off_scale == pytest.approx(0.5)
    assert one.shares == (0.25, 0.25, 0.0)


def test_pace_is_a_geometric_mean_and_speeding_up_a_ratio_of_thirds():
    times = [4000, 4000, 2000, 2000, 1000, 1000]
    found = {
        p.rater: p
        for p in pace_of_raters(["a"] * 6 + ["b"] * 6, times + [2000] * 6, [*range(6)] * 2)
    }
    assert found["a"].typical_ms == pytest.approx(2000)
    assert found["a"].speeding_up == pytest.approx(0.25)
    assert found["b"].speeding_up == pytest.approx(1)
    assert found["a"].quick == 0
    assert found["a"].low_ms < 2000 < found["a"].high_ms
    assert "do not differ in pace" in found["a"].note


def test_means_by_position_keep_the_order_of_numbers():
    rows = by_position(["10", "9", "10", "9"], ["a", "a", "b", "b"], [1, 0, 0, 0])
    assert [row.place for row in rows] == ["9", "10"]
    assert rows[1].value == 0.5
    assert rows[1].low < 0.5 < rows[1].high


def a_session_each(rng, noise):
    """20 raters hear 30 clips in an order of their own; each trial costs 0.02."""
    unit, rater = np.tile(np.arange(30), 20), np.repeat(np.arange(20), 30)
    position = np.concatenate([rng.permutation(30) for _ in range(20)])
    level = rng.normal(0, 1, 30)[unit] + rng.normal(0, 1, 20)[rater]
    return unit, rater, level - 0.02 * position + rng.normal(0, noise, 600), position


def test_a_trend_put_in_is_found_whoever_hears_what():
    rng = np.random.default_rng(3)
    assert trend(*a_session_each(rng, 0)).value == pytest.approx(-0.02)
    found = [trend(*a_session_each(rng, 0.5)) for _ in range(100)]
    assert 0.88 <= np.mean([f.low < -0.02 < f.high for f in found]) <= 1
    assert np.mean([f.high < 0 for f in found]) > 0.95


def test_contrast_with_the_trial_before_is_found():
    rng = np.random.default_rng(4)
    n_units, n_raters = 25, 40
    quality = rng.normal(3, 1, n_units)
    unit = np.concatenate([rng.permutation(n_units) for _ in range(n_raters)])
    rater = np.repeat(np.arange(n_raters), n_units)
    position = np.tile(np.arange(n_units), n_raters)
    before = np.where(position > 0, quality[np.roll(unit, 1)], 3.0)
    score = quality[unit] - 0.3 * (before - 3) + rng.normal(0, 0.3, len(unit))
    found = carry_over(unit, rater, rater, score, position)
    assert found.low < -0.3 < found.high < 0
    assert found.n_ratings == n_raters * (n_units - 1)


def test_self_consistency_of_four_pairs():
    # differences 0, 1, 0, -1: SD sqrt(2/3), noise SD sqrt(1/3); three of four within .5? two
    found = self_consistency(["a"] * 4, [1, 2, 3, 4], [1, 3, 3, 3])[0]
    assert found.agreement == pytest.approx(0.5)
    assert found.noise_sd == pytest.approx((1 / 3) ** 0.5)
    assert found.shift == 0
    assert found.noise_sd_low < found.noise_sd < found.noise_sd_high
    wide = self_consistency(["a"] * 4, [1, 2, 3, 4], [1, 3, 3, 3], tolerance=1)[0]
    assert wide.agreement == 1
    assert wide.agreement_low < 1


def test_bias_and_inconsistency_put_in_are_found():
    rng = np.random.default_rng(8)
    bias, noise = np.linspace(-0.6, 0.6, 12), np.linspace(0.3, 1.2, 12)
    unit, rater = np.repeat(np.arange(300), 12), np.tile(np.arange(12), 300)
    quality = rng.normal(3, 1, 300)
    y = quality[unit] + bias[rater] + noise[rater] * rng.normal(0, 1, len(unit))
    model = subject_model(unit, [f"{r:02}" for r in rater], y, unbiased=True)
    found = model.raters
    assert model.converged
    assert not model.note
    for mine, b, s in zip(found, bias, noise, strict=True):
        assert mine.bias == pytest.approx(b, abs=4 * mine.bias_se + 0.05)
        assert mine.inconsistency == pytest.approx(s, rel=0.2)
    order = np.argsort(np.array(model.units, dtype=int))
    plain = y.reshape(300, 12).mean(axis=1)
    better = np.std(model.quality[order] - quality)
    assert better < 0.9 * np.std(plain - quality)
    assert better == pytest.approx(float(model.quality_se.mean()), rel=0.15)
    assert np.mean([m.weight for m in found]) == pytest.approx(1)
    published = subject_model(unit, [f"{r:02}" for r in rater], y)
    assert published.raters[0].inconsistency < 0.5 * noise[0]  # why mean squares are corrected
    assert "1 rater stands at the floor of inconsistency" in published.note
    assert "all weight" in published.raters[0].note
    assert not published.raters[5].note


@pytest.mark.parametrize("design", ["full", "sparse"])
def test_the_subject_model_is_that_of_sureal(design):
    """10 raters and 30 clips, all rated by all; 10 raters and 40 clips, 7 ratings each."""
    told = json.loads((DATA / "p910.sureal.json").read_text("utf-8"))[design]
    model = subject_model(*zip(*told["ratings"], strict=True))
    assert model.units == tuple(told["units"])
    assert [each.rater for each in model.raters] == told["raters"]
    assert model.quality == pytest.approx(told["quality"], abs=2e-6)
    assert model.quality_se == pytest.approx(told["quality_se"], abs=2e-6)
    assert [each.bias for each in model.raters] == pytest.approx(told["bias"], abs=2e-6)
    found = [each.inconsistency for each in model.raters]
    assert found == pytest.approx(told["inconsistency"], abs=2e-6)
    unbiased = subject_model(*zip(*told["ratings"], strict=True), unbiased=True)
    assert all(
        other.inconsistency > each.inconsistency
        for each, other in zip(model.raters, unbiased.raters, strict=True)
    )


@pytest.mark.slow
def test_the_noise_ceiling_is_the_reliability_that_was_put_in():
    rng = np.random.default_rng(9)
    unit, rater = np.repeat(np.arange(800), 8), np.tile(np.arange(8), 800)
    y = rng.normal(0, 1, 800)[unit] + rng.normal(0, 2, len(unit))
    true = 1 / (1 + 4 / 8)
    half, whole, ceiling = noise_ceiling(unit, rater, y)
    assert half.value == pytest.approx(1 / (1 + 4 / 4), abs=0.04)
    assert whole.value == pytest.approx(true, abs=0.04)
    assert ceiling.value == pytest.approx(true**0.5, abs=0.03)
    assert whole.low < true < whole.high
    thin = rng.random(len(y)) < 0.999  # incomplete: halves of ratings within units
    again = noise_ceiling(unit[thin], rater[thin], y[thin])[1]
    assert again.value == pytest.approx(whole.value, abs=0.03)


def test_names_of_any_kind_and_order_of_rows_do_not_matter():
    unit, rater, score = long(TARGETS)
    turned = np.random.default_rng(1).permutation(len(score))
    named = [f"系统 {u}" for u in unit]
    for measure in (krippendorff_alpha, sos_like, kendall_w):
        first = measure(unit, rater, score).value
        second = measure(np.array(named)[turned], rater[turned], score[turned]).value
        assert first == pytest.approx(second, rel=1e-12)


def sos_like(unit, rater, score):
    return sos_parameter(unit, rater, score, ends=(0, 12)).a
