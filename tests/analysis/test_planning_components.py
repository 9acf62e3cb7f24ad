"""Variance components: by analysis of variance, from R's models, and recovered from simulation."""

import numpy as np
import pytest

from analysis.statistics.agreement.agreement_result import coded
from analysis.statistics.agreement.icc import crossed_reml
from analysis.statistics.planning.simulated_check import simulate_ratings
from analysis.statistics.planning.study_design import Design, PlanningError
from analysis.statistics.planning.variance_components import (
    Components,
    components_from_model,
    components_from_pilot,
    preset,
)
from tests.analysis.reference import expected, heard_on_headphones, table_of

TERMS = ("rater", "rater_condition", "item", "stimulus", "residual")


def codes(*columns):
    return [np.unique(np.asarray(c, dtype=str), return_inverse=True)[1] for c in columns]


def test_of_a_complete_design_the_moments_are_those_of_the_analysis_of_variance():
    """Raters by items, one condition: MS of raters, items and rest, worked out apart."""
    rng = np.random.default_rng(5)
    y = rng.normal(0, 0.5, 12)[:, None] + rng.normal(0, 0.8, 30)[None, :]
    y = y + rng.normal(0, 1, (12, 30))
    rater, item = (a.reshape(-1) for a in np.indices(y.shape))
    found = components_from_pilot(y.reshape(-1), np.zeros(360, dtype=int), rater, item)
    grand, rows, columns = y.mean(), y.mean(axis=1), y.mean(axis=0)
    rest = ((y - rows[:, None] - columns[None, :] + grand) ** 2).sum() / (11 * 29)
    of_rater = (30 * ((rows - grand) ** 2).sum() / 11 - rest) / 30
    of_item = (12 * ((columns - grand) ** 2).sum() / 29 - rest) / 12
    assert found.residual**2 == pytest.approx(rest)
    assert found.rater**2 == pytest.approx(of_rater)
    assert found.item**2 == pytest.approx(of_item)
    assert "rater_condition cannot be told from rater" in found.note
    assert "stimulus cannot be told from item" in found.note


@pytest.mark.medium
def test_on_complete_clips_by_raters_the_moments_are_remls():
    table = table_of("align_s1")
    clip, rater = codes(table["stimulus"], table["rater"])
    found = components_from_pilot(table["score"], np.zeros(len(table), dtype=int), rater, clip)
    reml = crossed_reml(coded(table["stimulus"], table["rater"], table["score"]))
    assert found.item**2 == pytest.approx(reml.unit, rel=1e-5)
    assert found.rater**2 == pytest.approx(reml.rater, rel=1e-5)
    assert found.residual**2 == pytest.approx(reml.residual, rel=1e-5)


@pytest.mark.parametrize("name", ["mos_s1", "mos_s2"])
@pytest.mark.medium
def test_of_an_unbalanced_study_the_moments_come_near_lme4s_reml(name):
    """Another estimator of the same SDs: near, not equal."""
    table = heard_on_headphones(name)
    table = table[table["task"] == "isolation"]
    made = components_from_pilot(
        table["score"], *codes(table["condition"], table["rater"], table["item"])
    )
    reml = components_from_model(expected(name)["lmm_isolation"]["sd"])
    for term in TERMS:
        assert getattr(made, term) == pytest.approx(getattr(reml, term), abs=0.04), term


def test_names_of_r_models_are_understood():
    found = components_from_model({"rater": 0.4, "Rater:System": 0.2, "text": 0.1, "Residual": 0.6})
    assert found == Components(0.4, 0.2, 0.1, 0.0, 0.6, "fitted model")


@pytest.mark.slow
def test_known_components_are_recovered_without_bias():
    rng = np.random.default_rng(11)
    truth = preset("long_form")
    design = Design(40, 30, 5, 6, "random")
    drawn = np.empty((60, 5))
    for run in range(60):
        y, condition, rater, item = simulate_ratings(design, truth, np.linspace(2, 4, 6), rng)
        made = components_from_pilot(y, condition, rater, item)
        drawn[run] = [getattr(made, term) ** 2 for term in TERMS]
    known = np.array([getattr(truth, term) ** 2 for term in TERMS])
    error = drawn.std(axis=0, ddof=1) / 60**0.5
    assert np.abs(drawn.mean(axis=0) - known).max() < 0.05
    assert (np.abs(drawn.mean(axis=0) - known) < 4 * error).all()


@pytest.mark.medium
def test_a_negative_variance_becomes_0_and_is_told():
    rng = np.random.default_rng(0)
    notes = []
    for _ in range(10):
        y, c, r, t = simulate_ratings(Design(8, 8, 4, 3), Components(0, 0, 0, 0, 1), [1, 2, 3], rng)
        made = components_from_pilot(y, c, r, t)
        assert min(getattr(made, term) for term in TERMS) >= 0
        notes.append(made.note)
    assert any("is estimated as 0" in note for note in notes)


def test_one_rating_a_clip_leaves_stimulus_in_the_residual():
    y, c, r, t = simulate_ratings(
        Design(10, 30, 1, 2), preset("long_form"), [1, 2], np.random.default_rng(1)
    )
    made = components_from_pilot(y, c, r, t)
    assert made.stimulus == 0
    assert "stimulus cannot be told from the residual" in made.note
    assert made.residual > 0


def test_a_pilot_too_small_is_refused_in_words():
    with pytest.raises(PlanningError, match="two raters"):
        components_from_pilot([1, 2, 3], [0, 0, 0], [0, 0, 0], [0, 1, 2])
    with pytest.raises(PlanningError, match="one condition, rater and item"):
        components_from_pilot([1, 2], [0], [0, 1], [0, 1])
    equal = components_from_pilot([3] * 8, [0] * 8, [0, 1] * 4, [0, 0, 1, 1, 2, 2, 3, 3])
    assert equal.residual == 0
