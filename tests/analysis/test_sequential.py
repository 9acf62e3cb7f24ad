"""Confidence sequences and group-sequential bounds: known numbers, and peeking that is allowed."""

import numpy as np
import pytest
from scipy import optimize, special, stats

from analysis.statistics.planning.confidence_sequences import (
    asymptotic_sequence,
    bounded_sequence,
    obrien_fleming_bounds,
    obrien_fleming_spending,
    rater_differences,
    rater_means,
    repeated_intervals,
    stopped_at,
    subgaussian_sequence,
)
from analysis.statistics.planning.study_design import PlanningError
from tests.analysis.simulation import sizes

RATERS = 300


def hls_rater_means(rng, raters):
    """Means of five clips scored 0, .5 or 1 by each rater, raters differing."""
    level = rng.normal(0, 0.8, raters)
    return (np.digitize(rng.logistic(level[:, None], 1, (raters, 5)), [0.2, 1.2]) / 2).mean(axis=1)


def true_hls():
    z, w = np.polynomial.hermite_e.hermegauss(60)
    above = [special.expit(0.8 * z - cut) for cut in (0.2, 1.2)]
    return float((w * (above[0] + above[1]) / 2).sum() / w.sum())


def always_held(sequence, truth):
    known = ~np.isnan(sequence.low)
    return bool(((sequence.low <= truth) & (truth <= sequence.high))[known].all())


def test_known_bounds_of_lan_and_demets():
    """Two-sided .05, equal looks: as printed by ld98 and gsDesign (sfLDOF)."""
    printed = {
        2: [2.9626, 1.9686],
        3: [3.7103, 2.5114, 1.9930],
        4: [4.3326, 2.9631, 2.3590, 2.0141],
        5: [4.8769, 3.3569, 2.6803, 2.2898, 2.0310],
    }
    for looks, bounds in printed.items():
        found = obrien_fleming_bounds(np.arange(1, looks + 1) / looks)
        assert [look.bound for look in found] == pytest.approx(bounds, abs=2e-4)
        assert found[-1].spent == pytest.approx(0.05, abs=1e-10)


def test_one_look_at_the_end_is_the_plain_test():
    (only,) = obrien_fleming_bounds([1.0], level=0.99)
    assert only.bound == pytest.approx(stats.norm.ppf(0.995))


def test_spending_rises_from_nothing_to_all():
    spent = [obrien_fleming_spending(t) for t in (0, 0.1, 0.5, 0.9, 1)]
    assert spent[0] == 0
    assert spent == sorted(spent)
    assert spent[-1] == pytest.approx(0.05)
    assert spent[1] < 1e-8


def test_repeated_intervals_say_when_a_bound_is_crossed():
    looks = repeated_intervals([0.5, 1.0], [0.3, 0.3], [0.12, 0.1])
    assert [look.crossed for look in looks] == [False, True]
    assert looks[1].low == pytest.approx(0.3 - looks[1].bound * 0.1)
    assert looks[0].row()["interval"].startswith("repeated confidence interval")
    for wrong in ([0.5, 0.5], [0.0, 1.0], [0.5, 1.1], []):
        with pytest.raises(PlanningError, match="rise"):
            obrien_fleming_bounds(wrong)
    with pytest.raises(PlanningError, match="standard error"):
        repeated_intervals([1.0], [0.3], [0.0])
    with pytest.raises(PlanningError, match="one value"):
        repeated_intervals([1.0], [0.3, 0.2], [0.1])


def test_the_bounds_are_tightest_where_they_were_asked_to_be():
    x = np.tile([0.0, 1.0], 200)
    at = 150
    best = asymptotic_sequence(x, best_at=at)

    def width(other):
        made = asymptotic_sequence(x, best_at=int(other))
        return made.high[at - 1] - made.low[at - 1]

    found = optimize.minimize_scalar(width, bounds=(50, 400), method="bounded").x
    assert found == pytest.approx(at, abs=8)
    assert best.high[at - 1] - best.low[at - 1] <= width(100)


def test_an_asymptotic_bound_by_hand():
    # t = 100, s^2 = 25/99, rho^2 from the Lambert equation x = log((x + 1) / alpha^2), x = t rho^2
    x = optimize.brentq(lambda v: v - np.log((v + 1) / 0.05**2), 1, 50)
    half = (25 / 99) ** 0.5 * (2 * (x + 1) / (100 * x) * np.log((x + 1) ** 0.5 / 0.05)) ** 0.5
    found = asymptotic_sequence(np.tile([0.0, 1.0], 50), best_at=100)
    assert found.high[-1] - 0.5 == pytest.approx(half)
    assert np.isnan(found.low[:19]).all()
    assert not np.isnan(found.low[19:]).any()


def test_hoeffdings_scale_gives_a_wider_sequence_than_the_data_do():
    x = hls_rater_means(np.random.default_rng(1), 200)
    wide, narrow = subgaussian_sequence(x, 0.5), asymptotic_sequence(x)
    assert (wide.high - wide.low)[-1] > 1.5 * (narrow.high - narrow.low)[-1]
    assert not np.isnan(wide.low[0])


def test_a_betting_sequence_never_widens_and_keeps_to_the_scale():
    x = 1 + 4 * hls_rater_means(np.random.default_rng(2), 150)
    found = bounded_sequence(x, (1, 5))
    assert (np.diff(found.low) >= 0).all()
    assert (np.diff(found.high) <= 0).all()
    assert found.low.min() >= 1
    assert found.high.max() <= 5
    turned = bounded_sequence(6 - x, (1, 5))
    assert turned.low == pytest.approx(6 - found.high, abs=1e-9)


def test_raters_who_all_agree_are_a_case_of_their_own():
    equal = np.full(50, 0.7)
    assert np.isnan(asymptotic_sequence(equal).last()["low"] or np.nan)
    assert "do not differ" in asymptotic_sequence(equal).note
    certain = bounded_sequence(equal, (0, 1))
    assert certain.low[-1] < 0.7 < certain.high[-1]
    none = asymptotic_sequence(np.empty(0))
    assert none.last()["value"] is None
    assert "no bounds before" in none.note
    assert bounded_sequence(np.empty(0), (0, 1)).note == "no raters yet"


def test_rater_means_come_in_the_order_of_arrival():
    score, rater = np.array([1, 2, 3, np.nan, 5.0]), np.array([7, 3, 7, 9, 3])
    assert rater_means(score, rater) == pytest.approx([2, 3.5])
    side = np.array([True, True, False, True, True])
    assert rater_differences(score, rater, side) == pytest.approx([-2])


def test_wrong_arguments_are_told_in_words():
    with pytest.raises(PlanningError, match=r"outside 0\.\.1"):
        bounded_sequence(np.array([2.0]), (0, 1))
    with pytest.raises(PlanningError, match="level 95"):
        asymptotic_sequence(np.array([2.0]), level=95)
    with pytest.raises(PlanningError, match="missing or infinite"):
        asymptotic_sequence(np.array([np.nan]))
    with pytest.raises(PlanningError, match="sigma"):
        subgaussian_sequence(np.array([1.0]), 0)
    with pytest.raises(PlanningError, match="first look"):
        asymptotic_sequence(np.array([1.0]), first_look=1)
    with pytest.raises(PlanningError, match="3 scores and 2 raters"):
        rater_means(np.ones(3), np.zeros(2, dtype=int))


def test_a_running_study_stops_when_its_difference_is_clear():
    rng = np.random.default_rng(3)
    condition = np.tile(["A", "B"], 600)
    rater = np.repeat(np.arange(150), 8)
    score = np.where(condition == "A", 0.7, 0.4) + rng.uniform(-0.3, 0.3, 1200)
    of_a = condition == "A"
    alone = bounded_sequence(rater_means(score[of_a], rater[of_a]), (0, 1))
    pair = bounded_sequence(rater_differences(score, rater, of_a), (-1, 1))
    assert 0 < pair.last()["low"] < 0.3 < pair.last()["high"]
    assert 2 < stopped_at(pair, half_width=0.1, away_from=0.0) < 150
    assert stopped_at(alone, half_width=0.1) < 150
    waiting = asymptotic_sequence(rater_differences(score[:80], rater[:80], of_a[:80]))
    assert waiting.last()["low"] is None
    assert "no bounds before 20 raters" in waiting.note
    assert stopped_at(asymptotic_sequence(np.ones(3))) is None


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(200, 1000)
def test_sequences_hold_under_peeking_after_every_rater_and_the_plain_interval_does_not(runs):
    rng, truth = np.random.default_rng(20261122), true_hls()
    n = np.arange(1, RATERS + 1)
    held = np.zeros(4)
    for _ in range(runs):
        x = hls_rater_means(rng, RATERS)
        held[0] += always_held(asymptotic_sequence(x), truth)
        held[1] += always_held(subgaussian_sequence(x, 0.5), truth)
        held[2] += always_held(bounded_sequence(x, (0, 1)), truth)
        mean = np.cumsum(x) / n
        variance = (np.cumsum(x**2) - n * mean**2) / np.maximum(n - 1, 1)
        half = stats.t.ppf(0.975, np.maximum(n - 1, 1)) * np.sqrt(np.maximum(variance, 0) / n)
        held[3] += bool((np.abs(mean - truth) <= half)[19:].all())
    coverage = held / runs
    assert (coverage[:3] >= 0.95 - 3 * (0.95 * 0.05 / runs) ** 0.5).all()
    assert coverage[3] < 0.8


@pytest.mark.slow
def test_group_sequential_looks_keep_the_error_and_plain_ones_do_not():
    """Five looks at the mean difference of rater-level numbers with t statistics, no difference."""
    rng = np.random.default_rng(7)
    looks = np.array([60, 120, 180, 240, 300])
    bounds = np.array([look.bound for look in obrien_fleming_bounds(looks / 300)])
    x = rng.choice([-1.0, -0.5, 0, 0.5, 1], size=(4000, 300))
    z = np.stack([x[:, :k].mean(axis=1) / x[:, :k].std(axis=1, ddof=1) * k**0.5 for k in looks], 1)
    error = float((np.abs(z) >= bounds).any(axis=1).mean())
    plain = float((np.abs(z) >= 1.96).any(axis=1).mean())
    assert error == pytest.approx(0.05, abs=3.5 * (0.05 * 0.95 / 4000) ** 0.5)
    assert plain > 0.11
