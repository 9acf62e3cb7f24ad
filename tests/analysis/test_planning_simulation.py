"""Plans against simulated studies: the formulas' standard errors, power, and coverage."""

import numpy as np
import pytest

from analysis.statistics.planning.precision import (
    half_width,
    power_of,
    standard_error_of_difference,
)
from analysis.statistics.planning.simulated_check import simulate_ratings, simulated_check
from analysis.statistics.planning.study_design import Design, PlanningError
from analysis.statistics.planning.variance_components import Components, preset
from tests.analysis.simulation import bounds, sizes

LONG = preset("long_form")


@pytest.mark.parametrize("assignment", ["within", "random", "between"])
def test_ratings_follow_the_design(assignment):
    design = Design(12, 10, 3, 4, assignment)
    rng = np.random.default_rng(1)
    y, condition, rater, item = simulate_ratings(design, LONG, [1, 2, 3, 4], rng)
    assert len(y) == design.ratings
    clip = item * 4 + condition
    assert (np.bincount(clip) == 3).all()
    assert len(np.unique(clip * 100 + rater)) == len(y)  # nobody hears a clip twice
    loads = np.bincount(rater, minlength=design.raters_in_all)
    assert np.ptp(loads) <= (4 if assignment == "within" else 1)
    if assignment == "within":
        table = np.bincount(rater * 4 + condition).reshape(-1, 4)
        assert np.ptp(table) <= 1
    if assignment == "between":
        assert len(np.unique(rater * 4 + condition)) == len(np.unique(rater))


def test_means_and_components_are_those_put_in():
    rng = np.random.default_rng(2)
    design = Design(2000, 50, 80, 2)
    parts = Components(0.5, 0, 0, 0, 0)
    y, condition, rater, _ = simulate_ratings(design, parts, [1.0, 3.0], rng)
    effect = y - np.array([1.0, 3.0])[condition]
    own = np.bincount(rater, weights=effect) / np.bincount(rater)
    assert effect == pytest.approx(own[rater])
    assert np.std(own) == pytest.approx(0.5, rel=0.06)


@pytest.mark.medium
def test_a_check_of_the_same_seed_is_the_same():
    design = Design(8, 8, 3, 2)
    one, two = (simulated_check(design, LONG, 0.3, runs=20, seed=4) for _ in range(2))
    assert one == two
    assert one.power_low <= one.power <= one.power_high
    with pytest.raises(PlanningError, match="two conditions"):
        simulated_check(Design(8, 8, 3, 1), LONG, 0.3)
    with pytest.raises(PlanningError, match="1 means for 2 conditions"):
        simulate_ratings(design, LONG, [1.0], np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(100, 1500)
@pytest.mark.parametrize("assignment", ["within", "random", "between"])
def test_power_width_and_coverage_are_as_planned(assignment, runs):
    design = Design(40, 40, 6, 2, assignment)
    se = standard_error_of_difference(design, LONG)
    difference = 2.8 * se
    found = simulated_check(design, LONG, difference, runs=runs, seed=5)
    wider = (1500 / runs) ** 0.5
    low, high = bounds(0.925, 0.98, of=1500, runs=runs)
    assert found.sd_of_difference == pytest.approx(se, rel=0.08 * wider)
    assert found.power == pytest.approx(power_of(design, LONG, difference), abs=0.05 * wider)
    assert low <= found.coverage <= high
    assert low <= found.coverage_of_mean <= high
    assert found.half_width == pytest.approx(half_width(design, LONG, of="difference"), rel=0.08)
    assert found.half_width_of_mean == pytest.approx(half_width(design, LONG), rel=0.08)
