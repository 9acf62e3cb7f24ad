"""How often the intervals of agreement hold the truth, by simulation of new clips and raters."""

import numpy as np
import pytest

from analysis.statistics.agreement.icc import icc_mixed, intraclass_correlations
from analysis.statistics.agreement.kappa import kappa
from analysis.statistics.agreement.krippendorff import krippendorff_alpha
from analysis.statistics.agreement.noise_ceiling import noise_ceiling
from analysis.statistics.agreement.rater_bias import subject_model
from analysis.statistics.agreement.scale_use import sos_parameter
from analysis.statistics.agreement.versus_rest import versus_rest
from analysis.statistics.ceiling_gap import Bounded
from tests.analysis.simulation import bounds, sizes

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]  # no line that quicker tests do not reach

full, fewer = sizes(80, 1000), sizes(40, 400)  # standard errors of 0.024 and 0.007, 0.034 and 0.011
UNITS, RATERS = 60, 8


def crossed(rng, rater_sd=0.0, share=1.0):
    """Clip SD 1, rater SD as given, noise SD 1; each rating there with chance ``share``."""
    unit, rater = np.repeat(np.arange(UNITS), RATERS), np.tile(np.arange(RATERS), UNITS)
    y = rng.normal(0, 1, UNITS)[unit] + rng.normal(0, rater_sd or 1e-9, RATERS)[rater]
    y = y + rng.normal(0, 1, len(unit))
    there = rng.random(len(unit)) < share
    return unit[there], rater[there], y[there]


def coverage(interval, truth, runs, seed=20261122):
    rng = np.random.default_rng(seed)
    held = 0
    for run in range(runs):
        found = interval(rng, run)
        held += found.low is not None and found.low <= truth <= found.high
    return held / runs


def holds(share, low, high, *, of, runs):
    least, most = bounds(low, high, of=of, runs=runs)
    return least <= share <= most


@fewer
def test_krippendorffs_interval_holds(runs):
    """Raters without a level of their own: interval alpha is clip variance over all variance."""
    got = coverage(
        lambda rng, run: krippendorff_alpha(*crossed(rng), replicates=200, seed=run), 0.5, runs
    )
    assert holds(got, 0.90, 0.97, of=400, runs=runs)


@full
@pytest.mark.parametrize(("form", "truth"), [(0, 0.5), (2, 0.5), (5, 8 / 9)])
def test_the_f_intervals_of_the_icc_hold(form, truth, runs):
    got = coverage(lambda rng, _: intraclass_correlations(*crossed(rng))[form], truth, runs)
    assert holds(got, 0.93, 0.97, of=1000, runs=runs)


@full
@pytest.mark.parametrize(("form", "truth"), [(1, 1 / 2.25), (4, 1 / (1 + 1.25 / 8))])
def test_the_absolute_icc_holds_with_raters_of_their_own_level(form, truth, runs):
    got = coverage(lambda rng, _: intraclass_correlations(*crossed(rng, 0.5))[form], truth, runs)
    assert holds(got, 0.92, 0.98, of=1000, runs=runs)


@sizes(10, 120)
def test_the_interval_of_the_mixed_model_holds_where_ratings_are_missing(runs):
    got = coverage(
        lambda rng, _: icc_mixed(*crossed(rng, 0.5, 0.7), raters_per_unit=4)[1], 0.5, runs
    )
    assert holds(got, 0.90, 0.99, of=120, runs=runs)  # 2.5 standard errors below 0.95


@full
def test_the_interval_of_kappa_holds(runs):
    def pair(rng, n):
        quality = rng.normal(3, 1, n)
        return tuple(
            np.clip(np.floor(quality + rng.normal(0, 0.7, n) + 0.5), 1, 5) for _ in range(2)
        )

    truth = kappa(*pair(np.random.default_rng(0), 400_000), replicates=2)[0]

    def interval(rng, run):
        return Bounded(truth, *kappa(*pair(rng, 100), replicates=400, seed=run)[1])

    got = coverage(interval, truth, runs)
    assert holds(got, 0.91, 0.97, of=1000, runs=runs)


@fewer
def test_the_interval_of_the_sos_parameter_holds(runs):
    """1 + Binomial(4, p) has the variance (m - 1)(5 - m) / 4: a = 1/4."""

    def one(rng, run):
        unit = np.repeat(np.arange(UNITS), 60)
        y = 1 + rng.binomial(4, rng.uniform(0.1, 0.9, UNITS)[unit])
        return sos_parameter(unit, np.tile(np.arange(60), UNITS), y, replicates=300, seed=run).a

    assert holds(coverage(one, 0.25, runs), 0.90, 0.98, of=400, runs=runs)


@fewer
def test_the_interval_of_the_ceilings_reliability_holds(runs):
    def one(rng, run):
        return noise_ceiling(*crossed(rng), splits=20, replicates=200, seed=run)[1]

    assert holds(coverage(one, 8 / 9, runs), 0.90, 0.98, of=400, runs=runs)


@full
def test_the_intervals_of_a_rater_against_the_rest_hold(runs):
    """One rater's correlation with the mean of seven others: 1 / sqrt(2 (1 + 1/7))."""
    truth = 1 / (2 * (1 + 1 / 7)) ** 0.5

    def one(rng, _):
        return versus_rest(*crossed(rng), replicates=2, categories=range(-5, 6))[0]

    assert holds(coverage(one, truth, runs), 0.93, 0.97, of=1000, runs=runs)


@fewer
@pytest.mark.parametrize("what", ["bias", "inconsistency"])
def test_the_intervals_of_bias_and_inconsistency_hold(what, runs):
    rng = np.random.default_rng(3)
    noise, bias = np.linspace(0.5, 1.5, RATERS), np.linspace(-0.5, 0.5, RATERS)
    held = []
    for _ in range(runs):
        unit, rater, y = crossed(rng)
        y = rng.normal(0, 1, UNITS)[unit] + bias[rater] + noise[rater] * rng.normal(0, 1, len(y))
        for code, mine in enumerate(subject_model(unit, rater, y, unbiased=True).raters):
            truth = bias[code] if what == "bias" else noise[code]
            low, high = getattr(mine, f"{what}_low"), getattr(mine, f"{what}_high")
            held.append(low <= truth <= high)
    assert holds(np.mean(held), 0.90, 0.98, of=400 * RATERS, runs=runs * RATERS)
