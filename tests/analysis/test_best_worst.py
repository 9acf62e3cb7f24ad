"""Strengths of best-worst scaling: statsmodels' and SciPy's, counts, pairs, coverage."""

import json
from itertools import permutations

import numpy as np
import pytest
from scipy import optimize

from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.best_worst import (
    BestWorstChoices,
    max_diff,
    sequential_best_worst,
)
from analysis.statistics.pairs.win_models import bradley_terry
from tests.analysis.pairs_of import met
from tests.analysis.reference import DATA
from tests.analysis.simulation import bounds

MODELS = {"maxdiff": max_diff, "sequential": sequential_best_worst}


def choices(sets, best, worst, k):
    shown = np.zeros((len(sets), k), dtype=bool)
    for row, systems in enumerate(sets):
        shown[row, systems] = True
    n = np.arange(len(sets))
    names = tuple(f"s{code}" for code in range(k))
    return BestWorstChoices(names, shown, np.array(best), np.array(worst), n % 6, n % 5)


def reference():
    return json.loads((DATA / "choice_models.ref.json").read_text())["best_worst"]


def stored():
    known = reference()
    return choices(known["shown"], known["best"], known["worst"], known["systems"])


@pytest.mark.parametrize("name", MODELS)
def test_strengths_are_those_of_statsmodels_conditional_logit(name):
    """Screens of 3 to 5 of six systems; R's clogit maximises the same likelihood."""
    expected, fit = reference()[name], MODELS[name](stored())
    assert fit.ability == pytest.approx(expected["strengths"], abs=1e-6)
    assert fit.log_likelihood == pytest.approx(expected["llf"], abs=1e-6)
    first = fit.contrasts([(code, 0) for code in range(1, 6)], kind="model")
    assert [each.se for each in first] == pytest.approx(expected["se"], abs=1e-6)


def negative_log_likelihood(theta, sets, best, worst):
    """Maxdiff's, screen by screen as Marley and Louviere (2005) write it."""
    total = 0.0
    for systems, b, w in zip(sets, best, worst, strict=True):
        all_pairs = [theta[i] - theta[j] for i, j in permutations(systems, 2)]
        total += np.log(np.sum(np.exp(all_pairs))) - (theta[b] - theta[w])
    return total


def test_maxdiff_is_the_maximum_that_scipy_finds():
    known = reference()
    data = known["shown"][:60], known["best"][:60], known["worst"][:60]
    found = optimize.minimize(
        lambda at: negative_log_likelihood(np.append(0.0, at), *data), np.zeros(5), tol=1e-12
    )
    strengths = np.append(0.0, found.x)
    fit = max_diff(choices(*data, 6))
    assert fit.ability == pytest.approx(strengths - strengths.mean(), abs=1e-4)
    assert fit.log_likelihood == pytest.approx(-found.fun, abs=1e-8)


def test_screens_of_two_are_pairs():
    """The sequential model is Bradley and Terry's; maxdiff's log odds are twice the difference."""
    sets, best = [[0, 1]] * 10, [0] * 7 + [1] * 3
    pairs = met(*[("s0", "s1", 1.0)] * 7, *[("s0", "s1", -1.0)] * 3)
    two = choices(sets, best, [1 - b for b in best], 2)
    for reduced in (False, True):
        same = bradley_terry(pairs, bias_reduced=reduced)
        fit = sequential_best_worst(two, bias_reduced=reduced)
        assert fit.ability == pytest.approx(same.ability)
        assert fit.by_rater == pytest.approx(same.by_rater)
        assert 2 * max_diff(two, bias_reduced=reduced).ability == pytest.approx(same.ability)


def test_in_a_balanced_design_maxdiff_orders_systems_by_best_minus_worst():
    rng = np.random.default_rng(3)
    sets = [[(start + step) % 7 for step in (0, 1, 2, 4)] for start in range(7)] * 12
    picks = [rng.permutation(systems) for systems in sets]
    best, worst = [p[0] for p in picks], [p[1] for p in picks]
    counts = np.bincount(best, minlength=7) - np.bincount(worst, minlength=7)
    fit = max_diff(choices(sets, best, worst, 7))
    of_counts = {}
    for count, strength in zip(counts.tolist(), fit.ability.tolist(), strict=True):
        assert of_counts.setdefault(count, strength) == pytest.approx(strength, abs=0.05)
    strengths = [of_counts[count] for count in sorted(of_counts)]
    assert strengths == sorted(strengths)


def test_a_system_that_always_leads_is_finite_where_the_bias_is_reduced():
    always = choices([[0, 1, 2]] * 8, [0] * 8, [1, 2] * 4, 3)
    for model in MODELS.values():
        with pytest.raises(Undefined, match="no finite estimates"):
            model(always)
        assert 0.5 < model(always, bias_reduced=True).ability[0] < 5
    with pytest.raises(Undefined, match="no screens"):
        max_diff(always.among(["s0"]))


def test_systems_that_are_left_out_take_their_screens_along():
    some = stored().among(["s0", "s1", "s2"])
    assert some.shown.shape == (len(some.best), 3)
    assert some.shown[np.arange(len(some.best)), some.best].all()
    assert 0 < len(some.best) < 240


SUBSETS = [[(start + step) % 7 for step in (0, 1, 2, 4)] for start in range(7)]


def simulated(rng, raters=24, items=14):
    """Seven systems of which two are equal; raters and clips have likes of their own."""
    value = np.array([0.8, 0.5, 0.1, 0.1, -0.2, -0.5, -0.8])
    luck, lean = rng.normal(0, 0.4, (7, items)), rng.normal(0, 0.4, (raters, 7))
    rows = []
    for rater in range(raters):
        for item in range(items):
            systems = SUBSETS[(rater + item) % 7]
            heard = (value + luck[:, item] + lean[rater])[systems] + rng.gumbel(0, 0.9, 4)
            order = np.argsort(heard)
            rows.append((systems, systems[order[-1]], systems[order[0]], rater, item))
    sets, best, worst, rater, item = zip(*rows, strict=True)
    made = choices(list(sets), best, worst, 7)
    return BestWorstChoices(
        made.names, made.shown, made.best, made.worst, np.array(rater), np.array(item)
    )


@pytest.mark.parametrize("runs", [pytest.param(1000, marks=pytest.mark.soak), 30])
@pytest.mark.medium
def test_clustered_intervals_of_strengths_cover_and_those_of_independent_choices_do_not(runs):
    rng = np.random.default_rng(2005)
    hits = {(name, kind): 0 for name in MODELS for kind in ("clustered", "model")}
    for _ in range(runs):
        made = simulated(rng)
        for name, model in MODELS.items():
            fit = model(made, bias_reduced=True)
            for kind in ("clustered", "model"):
                (one,) = fit.contrasts([(2, 3)], kind=kind)
                hits[name, kind] += one.low <= 0 <= one.high
    shares = {key: count / runs for key, count in hits.items()}
    low, high = bounds(0.94, 0.97, of=1000, runs=runs)
    for name in MODELS:
        assert low < shares[name, "clustered"] < high, shares
        assert shares[name, "model"] < (0.90 if runs == 1000 else high), shares
