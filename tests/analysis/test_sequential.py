"""Confidence sequences and group-sequential bounds: known numbers, and peeking that is allowed."""

import numpy as np
import pytest
from scipy import special, stats

from analysis.statistics.planning.confidence_sequences import bounded_sequence
from analysis.statistics.planning.group_sequential import efficacy_bounds, obrien_fleming_spending
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
        found = efficacy_bounds(np.arange(1, looks + 1) / looks)
        assert found == pytest.approx(bounds, abs=2e-4)


def test_one_look_at_the_end_is_the_plain_test():
    (only,) = efficacy_bounds([1.0], 0.99)
    assert only == pytest.approx(stats.norm.ppf(0.995))


def test_spending_rises_from_nothing_to_all():
    spent = [obrien_fleming_spending(t) for t in (0, 0.1, 0.5, 0.9, 1)]
    assert spent[0] == 0
    assert spent == sorted(spent)
    assert spent[-1] == pytest.approx(0.05)
    assert spent[1] < 1e-8
    for wrong in ([0.5, 0.5], [0.0, 1.0], [0.5, 1.1], []):
        with pytest.raises(PlanningError, match="ascend"):
            efficacy_bounds(wrong)


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
    certain = bounded_sequence(equal, (0, 1))
    assert certain.low[-1] < 0.7 < certain.high[-1]
    none = bounded_sequence(np.empty(0), (0, 1))
    assert none.last()["value"] is None
    assert none.note == "no raters yet"


def test_wrong_arguments_are_told_in_words():
    with pytest.raises(PlanningError, match=r"outside 0\.\.1"):
        bounded_sequence(np.array([2.0]), (0, 1))
    with pytest.raises(PlanningError, match="level 95"):
        bounded_sequence(np.array([2.0]), (0, 5), level=95)
    with pytest.raises(PlanningError, match="missing or infinite"):
        bounded_sequence(np.array([np.nan]), (0, 1))


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(200, 1000)
def test_sequences_hold_under_peeking_after_every_rater_and_the_plain_interval_does_not(runs):
    rng, truth = np.random.default_rng(20261122), true_hls()
    n = np.arange(1, RATERS + 1)
    held = np.zeros(2)
    for _ in range(runs):
        x = hls_rater_means(rng, RATERS)
        held[0] += always_held(bounded_sequence(x, (0, 1)), truth)
        mean = np.cumsum(x) / n
        variance = (np.cumsum(x**2) - n * mean**2) / np.maximum(n - 1, 1)
        half = stats.t.ppf(0.975, np.maximum(n - 1, 1)) * np.sqrt(np.maximum(variance, 0) / n)
        held[1] += bool((np.abs(mean - truth) <= half)[19:].all())
    coverage = held / runs
    assert coverage[0] >= 0.95 - 3 * (0.95 * 0.05 / runs) ** 0.5
    assert coverage[1] < 0.8


@pytest.mark.slow
def test_group_sequential_looks_keep_the_error_and_plain_ones_do_not():
    """Five looks at the mean difference of rater-level numbers with t statistics, no difference."""
    rng = np.random.default_rng(7)
    looks = np.array([60, 120, 180, 240, 300])
    bounds = np.array(efficacy_bounds(looks / 300))
    x = rng.choice([-1.0, -0.5, 0, 0.5, 1], size=(4000, 300))
    z = np.stack([x[:, :k].mean(axis=1) / x[:, :k].std(axis=1, ddof=1) * k**0.5 for k in looks], 1)
    error = float((np.abs(z) >= bounds).any(axis=1).mean())
    plain = float((np.abs(z) >= 1.96).any(axis=1).mean())
    assert error == pytest.approx(0.05, abs=3.5 * (0.05 * 0.95 / 4000) ** 0.5)
    assert plain > 0.11
