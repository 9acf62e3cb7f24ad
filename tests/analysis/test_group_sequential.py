"""Planned looks: published designs, simulated studies with a known truth, and the decisions."""

import numpy as np
import pytest
from scipy import optimize, stats

from analysis.statistics.planning.group_sequential import (
    crossings,
    efficacy_bounds,
    final_bounds,
    fixed_drift,
    looks_design,
)
from analysis.statistics.planning.looks_cost import looks_cost
from analysis.statistics.planning.planned_looks import (
    FUTILE,
    OPEN,
    SIGNIFICANT,
    Compared,
    bounds_that_could_stop,
    verdicts_of,
)
from analysis.statistics.planning.precision import standard_error_of
from analysis.statistics.planning.proposal import propose
from analysis.statistics.planning.requirements import Requirements
from analysis.statistics.planning.stagewise import adjusted_estimate, tail
from analysis.statistics.planning.study_design import Payment, PlanningError
from analysis.statistics.planning.variance_components import Components
from tests.analysis.simulation import sizes

FIVE = (0.2, 0.4, 0.6, 0.8, 1.0)


def test_a_published_design_with_futility():
    """rpact, course of 2026: asOF, one-sided .025, looks .3 .6 1, futility 0 at first, power .8.

    Printed: inflation 1.0718, mean sample size .8826 at the planned effect and .695 at none.
    """
    looks = (0.3, 0.6, 1.0)
    bounds = efficacy_bounds(looks)
    regions = [((0.0, bounds[0]),), ((-9.0, bounds[1]),), ((bounds[2], bounds[2]),)]

    def power(drift):
        return crossings(looks, regions, drift).above.sum() - 0.8

    drift = optimize.brentq(power, 2, 4)
    fixed = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    inflation = (drift / fixed) ** 2

    def mean_size(effect):
        first, second, _ = crossings(looks, regions, effect * drift).ends
        return inflation * (0.3 * first + 0.6 * second + 1 - first - second)

    assert inflation == pytest.approx(1.0718, abs=5e-5)
    assert mean_size(1) == pytest.approx(0.8826, abs=5e-5)
    assert mean_size(0) == pytest.approx(0.695, abs=5e-5)


def test_five_looks_cost_little_and_save_much():
    """Mean raters relative to no looks, power .8: the table of docs/stopping.md."""
    plain, futile = looks_design(FIVE), looks_design(FIVE, futility=True)
    assert plain.bounds == pytest.approx((4.8769, 3.3569, 2.6803, 2.2898, 2.0310), abs=2e-4)
    inflation = (plain.drift / fixed_drift(0.95, 0.8)) ** 2  # of the largest number of raters
    assert futile.drift == plain.drift
    assert inflation == pytest.approx(1.0247, abs=1e-4)
    assert plain.power_at(0) == pytest.approx(0.05, abs=1e-8)
    assert plain.power_at(1) == pytest.approx(0.8, abs=1e-8)
    means = [inflation * plain.expected_share(effect) for effect in (0, 1, 1.5, 2)]
    assert means == pytest.approx([1.018, 0.824, 0.631, 0.501], abs=1e-3)
    means = [inflation * futile.expected_share(effect) for effect in (0, 1, 1.5, 2)]
    assert means == pytest.approx([0.792, 0.795, 0.628, 0.501], abs=1e-3)
    assert futile.power_at(0) < 0.05
    assert 0.785 < futile.power_at(1) < 0.8


@sizes(100_000, 1_000_000)
def test_integration_agrees_with_simulated_paths(runs):
    design, n = looks_design(FIVE, futility=True), runs
    rng = np.random.default_rng(20)
    steps = np.diff((0, *FIVE))
    for effect in (0.0, 1.0):
        sums = np.cumsum(rng.normal(effect * design.drift * steps, steps**0.5, (n, 5)), axis=1)
        z = np.abs(sums) / np.sqrt(FIVE)
        ends = (z >= design.bounds) | (z < design.futility)
        ends[:, -1] = True
        mean = np.array(FIVE)[ends.argmax(axis=1)]
        error = mean.std() / n**0.5
        assert design.expected_share(effect) == pytest.approx(mean.mean(), abs=4 * error)


def test_the_end_spends_what_is_left():
    assert final_bounds(FIVE) == pytest.approx(efficacy_bounds(FIVE), abs=1e-6)
    early, late = final_bounds((0.2, 0.4, 0.7)), final_bounds((0.2, 0.4, 1.1))
    assert early[:2] == efficacy_bounds((0.2, 0.4))
    assert early[-1] < efficacy_bounds((0.2, 0.4, 0.7))[-1]
    for bounds, looks in ((early, (0.2, 0.4, 0.7)), (late, (0.2, 0.4, 1.1))):
        found = crossings(looks, [((-b, b),) for b in bounds], 0.0)
        assert (found.above + found.below).sum() == pytest.approx(0.05, abs=1e-8)
    assert final_bounds((0.7,)) == pytest.approx([stats.norm.ppf(0.975)])


def test_without_earlier_looks_nothing_is_adjusted():
    half = stats.t.ppf(0.975, 12) * 0.2
    p = 2 * stats.t.sf(2.5, 12)
    made = adjusted_estimate([0.4], [], 1.0, (1.0 - half, 1.1 + half), p, null=0.5)
    assert (made.value, made.low, made.high) == pytest.approx((1.0, 1.0 - half, 1.1 + half))
    assert made.p == pytest.approx(p)


@sizes(300, 10_000)
def test_the_adjusted_estimate_is_median_unbiased_and_covers(runs):
    """Five looks, truths from none to one and a half times the planned."""
    design, n = looks_design(FIVE), runs
    rng, times = np.random.default_rng(7), np.array(FIVE)
    margin = 4 * (0.05 * 0.95 / n) ** 0.5
    for effect in (0.0, 0.7, 1.5):
        truth = effect * design.drift
        sums = np.cumsum(rng.normal(truth * 0.2, 0.2**0.5, (n, 5)), axis=1)
        z = sums / times**0.5
        crossed = np.abs(z) >= design.bounds
        crossed[:, -1] = True
        last = crossed.argmax(axis=1)
        tails = np.array(
            [
                tail(truth * times[k] ** 0.5, times[: k + 1] / times[k], design.bounds[:k], z[i, k])
                for i, k in enumerate(last)
            ]
        )
        held = ((tails >= 0.025) & (tails <= 0.975)).mean()
        assert held == pytest.approx(0.95, abs=margin)
        assert (tails < 0.5).mean() == pytest.approx(0.5, abs=4 * 0.5 / n**0.5)


@pytest.mark.slow
@sizes(200, 4000)
def test_systems_that_stop_alone_keep_the_error_and_the_coverage(runs):
    """Raters and items crossed, exclusions after the look, raters in session when a system stops.

    The differences of systems that stop earlier than others are covered and median-unbiased, too.
    """
    from benchmarks.simulate_stopping import KINDS, simulate

    kind = next(each for each in KINDS if each.late and each.effects == (2.0, 0.0, 0.0))
    row = simulate(kind, runs)
    margin = 3 * (0.05 * 0.95 / runs) ** 0.5
    assert row["false"] <= 0.05 + margin
    assert 0.94 - margin < row["held"] < 0.97 + margin
    assert row["below"] == pytest.approx(0.5, abs=4 * 0.5 / runs**0.5)
    assert row["ratings"] < row["raters"] < 1


def test_interval_and_p_agree_with_the_tail():
    bounds = efficacy_bounds((0.2, 0.4))
    half = 1.96 * 0.1
    interval = (0.3 - half, 0.3 + half)
    made = adjusted_estimate([0.2, 0.4, 0.6], bounds, 0.3, interval, 2 * stats.norm.sf(3.0))
    assert made.low < made.value < made.plain == 0.3
    se = half / stats.norm.ppf(0.975)
    for end, wanted in ((made.low, 0.025), (made.value, 0.5), (made.high, 0.975)):
        drift = 3.0 + (end - 0.3) / se
        assert tail(drift, [1 / 3, 2 / 3, 1], bounds, 3.0) == pytest.approx(wanted, abs=1e-6)
    assert made.p == pytest.approx(2 * tail(0.0, [1 / 3, 2 / 3, 1], bounds, 3.0))


def compared(name, z):
    value = 0.1 * z
    return Compared(
        name, "ref", value, value - 0.196, value + 0.196, float(2 * stats.norm.sf(abs(z)))
    )


def test_a_significant_comparison_gives_its_error_to_the_others():
    both, one = efficacy_bounds((0.4,), 0.975)[0], efficacy_bounds((0.4,), 0.95)[0]
    between = (both + one) / 2
    alone = verdicts_of([compared("a", 1.0), compared("b", between)], [0.4], [1], futility=False)
    assert [each.verdict for each in alone] == [OPEN, OPEN]
    found = verdicts_of([compared("a", 9.0), compared("b", between)], [0.4], [1], futility=False)
    assert [each.verdict for each in found] == [SIGNIFICANT, SIGNIFICANT]
    assert [each.bound for each in found] == pytest.approx([both, one])
    kept = verdicts_of([compared("a", 0.1)], [0.4, 0.6], [1, 3], before={("a", "ref"): 1})
    assert (kept[0].verdict, kept[0].look, kept[0].bound) == (SIGNIFICANT, 1, None)


def test_futile_is_what_would_hardly_be_found():
    looks = [0.2, 0.4, 0.6, 0.8]
    near, far = verdicts_of([compared("a", 0.1), compared("b", 1.6)], looks, [1, 2, 3, 4])
    assert (near.verdict, far.verdict) == (FUTILE, OPEN)
    large = verdicts_of([compared("a", 1.6)], looks, [1, 2, 3, 4], difference=2.0)
    small = verdicts_of([compared("a", 0.1)], looks, [1, 2, 3, 4], difference=0.05)
    assert (large[0].verdict, small[0].verdict) == (FUTILE, OPEN)
    last = verdicts_of([compared("a", 0.1)], [*looks, 1.0], [1, 2, 3, 4, 5], last=True)
    assert last[0].verdict == OPEN


def test_an_estimate_is_adjusted_for_looks_that_it_alone_could_have_ended():
    both_open = {"a": (OPEN, 3.0), "b": (OPEN, 3.0)}
    a_alone = {"a": (OPEN, 2.5), "b": (SIGNIFICANT, None)}
    assert bounds_that_could_stop([both_open, a_alone, a_alone], "a") == [(1, 2.5), (2, 2.5)]
    assert bounds_that_could_stop([both_open, a_alone], "b") == []
    assert bounds_that_could_stop([{"a": (OPEN, 4.0)}], "a") == [(0, 4.0)]
    ended = {"a": (FUTILE, 2.5), "b": (SIGNIFICANT, None)}
    assert bounds_that_could_stop([ended, {}], "a") == []


def test_an_estimate_is_adjusted_for_looks_that_would_have_ended_its_system():
    looks = [{"a": (OPEN, 3.0), "b": (OPEN, 3.0)}, {"a": (OPEN, 2.5), "b": (FUTILE, None)}]
    own = {"a": frozenset({"A", "ref"}), "b": frozenset({"B", "ref"})}
    assert bounds_that_could_stop(looks, "a", own) == [(0, 3.0), (1, 2.5)]
    shared = {"a": frozenset({"ref"}), "b": frozenset({"B", "ref"})}
    assert bounds_that_could_stop(looks, "a", shared) == [(1, 2.5)]


def test_what_is_futile_and_receives_no_more_raters_stays_futile():
    far, near = compared("a", 9.0), compared("b", 0.1)
    stopped, other = verdicts_of([far, near], [0.4, 0.6], [1, 2], futile_before={far.pair})
    assert (stopped.verdict, stopped.bound) == (FUTILE, None)
    alone, _ = verdicts_of([near, far], [0.4, 0.6], [1, 2])
    assert alone.bound < other.bound  # what is futile keeps its share of the error


@pytest.mark.parametrize("looks", [(), (0.5, 0.5), (0.0, 1.0), (0.5, 0.9)])
def test_designs_that_are_none(looks):
    with pytest.raises(PlanningError):
        looks_design(looks)


def test_a_plain_test_has_the_drift_of_the_textbook():
    assert fixed_drift(0.95, 0.8) == pytest.approx(2.8016, abs=1e-3)


def test_a_plan_says_what_looks_cost_and_save():
    """Without effects of items, information is the share of the raters: as the design has it."""
    components = Components(0.5, 0.3, 0.0, 0.0, 0.8)
    payment = Payment(12, 9, 180, fee=0.33, currency="GBP")
    need = Requirements(
        "power", 0.2, components, payment, items=40, conditions=2, clips_per_rater=40
    )
    proposal = propose(need)
    rows = {(row.rule, row.effect): row for row in looks_cost(proposal)}
    raters, drift = (
        proposal.plan.design.raters_in_all,
        0.2 / standard_error_of("difference", proposal.plan.design, components),
    )
    without, planned = rows["none", 1.0], rows["planned_looks", 1.0]
    z = stats.norm.ppf(0.975)
    assert without.power == pytest.approx(stats.norm.sf(z - drift) + stats.norm.cdf(-z - drift))
    assert without.expected_raters == planned.largest_raters == raters
    assert without.power - 0.03 < planned.power < without.power
    assert planned.expected_raters < 0.85 * raters
    assert planned.expected_total / planned.largest_total == pytest.approx(
        planned.expected_raters / raters
    )
    nothing = rows["planned_looks", 0.0]
    assert nothing.expected_raters < planned.expected_raters * 1.1
    assert nothing.power < 0.05
    assert rows["planned_looks", 1.5].expected_raters < planned.expected_raters
