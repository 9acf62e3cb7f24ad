"""Standard errors, power, plans and cost of a design: by formula, by hand, by what must follow."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.planning.plan_search import plan_for_difference, plan_for_half_width
from analysis.statistics.planning.precision import (
    assurance,
    degrees_of,
    half_width,
    minimal_difference,
    power,
    power_curve,
    saved_by_metric,
    standard_error,
    standard_error_of_difference,
)
from analysis.statistics.planning.study_design import Design, Payment, PlanningError, cost_of
from analysis.statistics.planning.variance_components import (
    PRESETS,
    Components,
    components_from_model,
    preset,
)

LONG = preset("long_form")
STUDY = Design(raters=100, items=60, ratings_per_stimulus=8, conditions=12)


def test_the_att_papers_precision():
    """857 raters, 4,000 labels a system: .0091 by formula; what .0098 as fitted can see is .027."""
    att = Design(raters=857, items=1000, ratings_per_stimulus=4, conditions=5)
    assert standard_error_of_difference(att, preset("att")) == pytest.approx(0.0091, abs=5e-5)
    assert minimal_difference(0.0098) == pytest.approx(0.027, abs=5e-4)


def test_a_hundred_raters_sixty_texts_eight_ratings_a_clip():
    se = standard_error_of_difference(STUDY, LONG)
    assert se == pytest.approx(0.063, abs=5e-4)
    assert minimal_difference(se) == pytest.approx(0.18, abs=5e-3)
    assert minimal_difference(1.0) == pytest.approx(2.8, abs=2e-3)


def test_standard_errors_by_hand():
    # rater .3, rater x condition .4, item .5, stimulus .6, residual 1; R 10, T 20, n 20 x 2 = 40
    parts = Components(0.3, 0.4, 0.5, 0.6, 1.0)
    design = Design(10, 20, 2, 3)
    mean = (0.09 + 0.16) / 10 + (0.25 + 0.36) / 20 + 1 / 40
    assert standard_error(design, parts) == pytest.approx(mean**0.5)
    pair = 2 * (0.16 / 10 + 0.36 / 20 + 1 / 40)
    assert standard_error_of_difference(design, parts) == pytest.approx(pair**0.5)
    apart = Design(10, 20, 2, 3, "between")
    both = pair + 2 * 0.09 / 10
    assert standard_error_of_difference(apart, parts) == pytest.approx(both**0.5)
    pooled = Design(10, 20, 2, 3, "random")
    both = pair + 2 * 0.09 / 40
    assert standard_error_of_difference(pooled, parts) == pytest.approx(both**0.5)
    uneven = Design(10, 20, 2, 3, uneven=0.5)
    mean += 0.25 * 0.25 / 10
    assert standard_error(uneven, parts) == pytest.approx(mean**0.5)


def test_a_rater_who_rates_nothing_of_a_condition_does_not_count_for_it():
    parts = Components(0.5, 0, 0, 0, 0)
    few_ratings = Design(raters=50, items=5, ratings_per_stimulus=2, conditions=2)
    assert standard_error(few_ratings, parts) == pytest.approx(0.5 / 10**0.5)


def test_half_widths_use_the_degrees_of_the_default_interval():
    t = stats.t.ppf(0.975, degrees_of(STUDY, LONG, "mean"))
    assert half_width(STUDY, LONG) == pytest.approx(t * standard_error(STUDY, LONG))
    assert 59 <= degrees_of(STUDY, LONG, "difference") <= 118
    assert degrees_of(Design(3, 3, 2, 5), LONG, "difference") <= 4
    wide = half_width(STUDY, LONG, of="difference", level=0.99)
    assert wide > half_width(STUDY, LONG, of="difference")
    with pytest.raises(PlanningError, match="two raters and two items"):
        half_width(Design(5, 1, 2, 2), LONG)
    with pytest.raises(PlanningError, match="mean or difference"):
        half_width(STUDY, LONG, of="ratio")


@pytest.mark.medium
def test_power_agrees_with_textbook_numbers():
    assert power(2.8016, 1) == pytest.approx(0.8, abs=1e-4)
    assert power(0, 1) == pytest.approx(0.05)
    assert power(0, 1, degrees=7) == pytest.approx(0.05)
    # Cohen (1988): paired t test, n = 34, d = .5: power .81
    assert power(0.5, 34**-0.5, degrees=33) == pytest.approx(0.81, abs=5e-3)
    assert power(-0.5, 34**-0.5, degrees=33) == pytest.approx(power(0.5, 34**-0.5, degrees=33))
    for shift in np.arange(0, 60, 0.5):  # where scipy's tail is NaN now and then
        for degrees in (1, 2, 9, 59, 500):
            assert 0.05 - 1e-9 <= power(shift, 1, degrees=degrees) <= 1
    for wrong in (0, -1, math.nan):
        with pytest.raises(PlanningError, match="standard error"):
            power(1, wrong)


def test_power_curves_rise_with_the_difference_and_the_design():
    small = Design(50, 60, 4, 12)
    curve = power_curve([small, STUDY], LONG, [0.0, 0.1, 0.2, 0.4])
    assert curve.shape == (2, 4)
    assert curve[:, 0] == pytest.approx(0.05)
    assert (np.diff(curve, axis=1) > 0).all()
    assert (curve[1, 1:] > curve[0, 1:]).all()


@pytest.mark.parametrize("assignment", ["within", "random", "between"])
def test_a_plan_reaches_what_was_wanted_and_one_rating_less_does_not(assignment):
    wanted = {"items": 80, "conditions": 6, "clips_per_rater": 60, "assignment": assignment}
    plan = plan_for_half_width(0.15, LONG, of="difference", **wanted)
    assert plan.reached <= 0.15
    assert plan.design.ratings_per_rater <= 60
    less = plan.design.ratings_per_stimulus - 1
    loads = 80 * (1 if assignment == "between" else 6)
    worse = Design(max(2, less, -(-loads * less // 60)), 80, less, 6, assignment)
    assert half_width(worse, LONG, of="difference") > 0.15


def test_a_plan_for_a_difference_reaches_its_power():
    wanted = {"items": 60, "conditions": 4, "clips_per_rater": 40}
    plan = plan_for_difference(0.25, LONG, **wanted)
    assert 0.8 <= plan.reached < 0.9
    strict = plan_for_difference(0.25, LONG, comparisons=6, **wanted)
    assert strict.design.ratings > plan.design.ratings
    assert strict.row()["note"] == "6 comparisons share the error (Šidák)"
    assert plan.row()["raters"] == plan.design.raters


def test_when_items_are_what_is_missing_the_plan_says_how_many():
    wanted = {"conditions": 12, "clips_per_rater": 60}
    with pytest.raises(PlanningError, match="about 116 items are the least"):
        plan_for_half_width(0.05, LONG, items=60, **wanted)
    assert plan_for_half_width(0.05, LONG, items=120, **wanted).reached <= 0.05
    with pytest.raises(PlanningError, match="items"):
        plan_for_difference(0.02, LONG, items=60, **wanted)
    with pytest.raises(PlanningError, match="above 0"):
        plan_for_half_width(0, LONG, items=60, **wanted)
    with pytest.raises(PlanningError, match="every one of 12"):
        plan_for_half_width(0.2, LONG, items=60, conditions=12, clips_per_rater=6)


def test_hours_pay_and_fees_by_hand():
    # 20 raters x (40 + 5) trials x 10 s + 150 s = 600 s; a fifth lost: 25 sessions
    design = Design(raters=20, items=40, ratings_per_stimulus=5, conditions=4)
    payment = Payment(10, 12, session_seconds=150, trials_beside=5, fee=0.25, tax=0.2, lost=0.2)
    cost = cost_of(design, payment)
    assert (cost.sessions, cost.session_minutes) == (25, pytest.approx(10))
    assert cost.hours == pytest.approx(25 / 6)
    assert cost.pay == pytest.approx(50)
    assert cost.fees == pytest.approx(50 * 0.25 * 1.2)
    assert cost.total == pytest.approx(65)
    assert cost.per_rating == pytest.approx(65 / 800)
    apart = Design(raters=20, items=40, ratings_per_stimulus=5, conditions=4, assignment="between")
    assert cost_of(apart, payment).sessions == 100
    with pytest.raises(PlanningError, match="lost"):
        Payment(10, 12, lost=1)


@pytest.mark.slow
def test_assurance_is_the_power_when_nothing_is_uncertain():
    sure = assurance(STUDY, LONG, 0.18)
    assert sure.value == pytest.approx(sure.power_at_guess)
    assert sure.monte_carlo_se < 1e-12
    unsure = assurance(STUDY, LONG, 0.18, difference_sd=0.1, degrees={"residual": 20}, draws=500)
    assert unsure.value < sure.value
    assert unsure.low < unsure.value < unsure.high
    vague = assurance(STUDY, LONG, 0.05, difference_sd=0.1, draws=500)
    assert vague.value > vague.power_at_guess  # a small guess may turn out bigger


@pytest.mark.slow
def test_assurance_over_a_normal_prior_agrees_with_its_integral():
    se = standard_error_of_difference(STUDY, LONG)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    integral = sum(
        w * power(0.18 + 0.05 * z, se, degrees=59) for z, w in zip(nodes, weights, strict=True)
    ) / math.sqrt(2 * math.pi)
    found = assurance(STUDY, LONG, 0.18, difference_sd=0.05, draws=1000)
    assert found.value == pytest.approx(integral, abs=4 * found.monte_carlo_se)


def test_wrong_designs_and_components_are_told_in_words():
    with pytest.raises(PlanningError, match="items is 0"):
        Design(5, 0, 1, 2)
    with pytest.raises(PlanningError, match="9 ratings per stimulus need as many raters"):
        Design(5, 10, 9, 2)
    with pytest.raises(PlanningError, match="none of"):
        Design(5, 10, 2, 2, "somehow")
    with pytest.raises(PlanningError, match="uneven"):
        Design(5, 10, 2, 2, uneven=-1)
    with pytest.raises(PlanningError, match="SD of residual"):
        Components(0, 0, 0, 0, -1)
    with pytest.raises(PlanningError, match="SD of item"):
        Components(0, 0, math.nan, 0, 1)
    with pytest.raises(PlanningError, match="no component voice"):
        components_from_model({"voice": 0.3, "Residual": 1})
    with pytest.raises(PlanningError, match="no residual"):
        components_from_model({"rater": 0.3})
    with pytest.raises(PlanningError, match="known are att"):
        preset("other")
    with pytest.raises(PlanningError, match="an SD of 0 or more"):
        assurance(STUDY, LONG, 0.1, difference_sd=-1)
    with pytest.raises(PlanningError, match="power 1"):
        minimal_difference(0.1, power=1)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_names_its_source_and_plans(name):
    parts = preset(name)
    assert parts.source
    assert 0 < standard_error_of_difference(STUDY, parts) < 0.5
    halved = parts.scaled(0.5)
    assert standard_error(STUDY, halved) == pytest.approx(0.5 * standard_error(STUDY, parts))


def test_the_nvv_preset_gives_that_papers_naive_half_width():
    """About one rating of each of 450 clips: 1.96 SD / sqrt(450) = .08, as printed for English."""
    parts = preset("nvv")
    sd = np.linalg.norm(
        [parts.rater, parts.rater_condition, parts.item, parts.stimulus, parts.residual]
    )
    assert 1.96 * sd / 450**0.5 == pytest.approx(0.08, abs=5e-4)


def test_a_metric_saves_the_clips_share_of_the_variance_that_it_explains():
    """24 clips, 6 ratings each, 24 raters; by the formula of double sampling."""
    components = Components(0.45, 0.25, 0.20, 0.25, 0.70)
    design = Design(24, 24, 6, 2)
    clips = (0.2**2 + 0.25**2) / 24
    whole = (0.45**2 + 0.25**2) / 24 + clips + 0.7**2 / 144
    adjusted = 1 - (1 - 0.9**2) * 23 / 22
    saved = saved_by_metric(design, components, 0.9)
    assert saved == pytest.approx(clips / whole * adjusted)
    assert 0.14 < saved < 0.25
    assert saved_by_metric(design, components, 0.1) == 0
    assert saved_by_metric(Design(24, 9, 6, 2), components, 0.9) == 0
    assert saved_by_metric(design, components, 0.9, of="difference") > saved
