"""Plackett and Luce's strengths: an independent implementation's, pairs, ties, bias reduction."""

import json

import numpy as np
import pytest

from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.plackett_luce import Rankings, _Stages, plackett_luce
from analysis.statistics.pairs.win_models import bradley_terry
from tests.analysis.pairs_of import met
from tests.analysis.reference import DATA


def ranked(places):
    places = np.array(places, dtype=np.float64)
    n, k = places.shape
    names = tuple(f"s{code}" for code in range(k))
    return Rankings(names, places, np.arange(n) % 6, np.arange(n) % 5)


def test_strengths_of_full_rankings_are_those_of_choix():
    reference = json.loads((DATA / "rankings.ref.json").read_text())
    places = np.argsort(np.array(reference["orders"]), axis=1) + 1
    fit = plackett_luce(ranked(places))
    assert fit.ability == pytest.approx(reference["strengths"], abs=1e-6)
    low, high = zip(*((each.low, each.high) for each in fit.abilities()), strict=True)
    assert (np.array(low) < fit.ability).all()
    assert (np.array(high) > fit.ability).all()


def test_rankings_of_two_are_bradley_terrys():
    wins = [(1, 2)] * 7 + [(2, 1)] * 3
    pairs = met(*[("s0", "s1", 1.0)] * 7, *[("s0", "s1", -1.0)] * 3)
    for reduced in (False, True):
        fit = plackett_luce(ranked(wins), bias_reduced=reduced)
        same = bradley_terry(pairs, bias_reduced=reduced)
        assert fit.ability == pytest.approx(same.ability)
        assert fit.by_rater == pytest.approx(same.by_rater)


def test_ties_and_systems_that_were_not_ranked_count_as_what_they_are():
    tied = plackett_luce(ranked([(1, 1, 2), (2, 2, 1), (1, 2, 3), (2, 1, 3)]))
    assert tied.ability[0] == pytest.approx(tied.ability[1])
    some = ranked([(1, 2, np.nan), (2, 1, np.nan), (np.nan, 1, 2), (np.nan, 2, 1)])
    assert plackett_luce(some).ability == pytest.approx([0, 0, 0], abs=1e-9)
    assert some.among(["s0", "s1"]).place.shape == (2, 2)
    assert plackett_luce(ranked([(1, 1), (1, 1)])).ability == pytest.approx([0, 0])
    with pytest.raises(Undefined, match="two systems"):
        plackett_luce(ranked([(1, np.nan), (np.nan, 1)]))


def test_a_system_that_always_leads_is_finite_where_the_bias_is_reduced():
    rankings = ranked([(1, 2, 3), (1, 3, 2)] * 4)
    with pytest.raises(Undefined, match="no finite estimates"):
        plackett_luce(rankings)
    fit = plackett_luce(rankings, bias_reduced=True)
    assert 1 < fit.ability[0] < 5
    model = _Stages(ranked([(1, 2, 3), (2, 3, 1), (1, 1, 2)]), True)
    at = np.array([0.3, -0.4])
    steps = 1e-6 * np.eye(2)
    slopes = [(model.objective(at + e)[0] - model.objective(at - e)[0]) / 2e-6 for e in steps]
    assert model.objective(at)[1] == pytest.approx(np.array(slopes), rel=1e-5)
