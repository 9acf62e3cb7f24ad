"""A plan in full: what is asked, what comes out, its money, its words and its check."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.report.pipeline import plain_of
from analysis.report.planning.form_fields import own_components, requirements_from, starting_values
from analysis.report.planning.plan_content import content_of, plain
from analysis.report.planning.planning_narrative import amount, assumptions, number
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.planning.pilot import chosen_pilot, pilots
from analysis.statistics.planning.plan_search import plan_for_difference
from analysis.statistics.planning.precision import half_width, power_of, standard_error
from analysis.statistics.planning.proposal import check, propose
from analysis.statistics.planning.requirements import Requirements
from analysis.statistics.planning.simulated_check import simulate_ratings
from analysis.statistics.planning.study_design import Design, Payment, PlanningError
from analysis.statistics.planning.variance_components import (
    TERMS,
    Components,
    components_from_model,
    preset,
)
from tests.analysis.reference import expected, heard_on_headphones, rows_of, table_of
from tests.analysis.simulation import sizes

LONG = preset("long_form")
PAYMENT = Payment(12, 9, 180, fee=0.3, tax=0.2, lost=0.1, currency="GBP")
MOS = Requirements("half_width", 0.2, LONG, PAYMENT, items=60, conditions=4, clips_per_rater=40)
POWER = replace(MOS, goal="power", size=0.2)


def test_the_plan_is_the_smallest_that_reaches_the_half_width():
    plan = propose(MOS).plan
    each = {"of": "difference", "level": 0.95 ** (1 / 6)}  # all six pairs at once
    assert half_width(plan.design, LONG, **each) <= 0.2
    one_less = MOS.design(plan.design.ratings_per_stimulus - 1)
    assert half_width(one_less, LONG, **each) > 0.2
    assert MOS.enough(plan.design)
    assert not MOS.enough(one_less)


def test_the_plan_is_the_smallest_with_the_power():
    design = propose(POWER).plan.design
    assert (
        POWER.reached(design) >= 0.8 > POWER.reached(POWER.design(design.ratings_per_stimulus - 1))
    )
    one = replace(POWER, comparisons=1)
    assert propose(one).plan.design.ratings < design.ratings
    assert POWER.strict_level == pytest.approx(0.95 ** (1 / 6))


@pytest.mark.slow
def test_the_planned_half_width_is_that_of_the_report():
    """Five conditions: 0.245 was planned, and 0.375 printed."""
    need = replace(MOS, conditions=5, items=20, clips_per_rater=50, ratings_per_stimulus=10)
    design, rng, printed = need.plan().design, np.random.default_rng(8), []
    for _ in range(6):
        y, condition, rater, item = simulate_ratings(design, LONG, [3.0] * 5, rng)
        scores = {
            (f"s{c}", f"r{r}", f"i{i}"): float(np.clip(score, 1, 5))
            for score, c, r, i in zip(y, condition, rater, item, strict=True)
        }
        rows = MeanScore(intervals=("two_way",), weightings=("ratings",)).contrasts(rows_of(scores))
        printed += [(row.high_all - row.low_all) / 2 for row in rows if row.family]
    assert len(printed) == 6 * 10
    assert need.plan().reached == pytest.approx(np.mean(printed), rel=0.08)


def test_money_and_time_by_hand():
    cost = propose(
        replace(MOS, ratings_per_stimulus=2)
    ).cost  # 480 ratings: 12 raters, 40 clips each
    assert cost.sessions == 14  # 12 / 0.9
    assert cost.session_minutes == pytest.approx((180 + 40 * 12) / 60)
    assert cost.pay == pytest.approx(14 * 11 / 60 * 9)
    assert cost.fees == pytest.approx(cost.pay * 0.3 * 1.2)
    words = " ".join(content_of(propose(replace(MOS, ratings_per_stimulus=2))).sentences)
    assert "14 sessions cost 31.42 GBP" in words
    assert "less than the ± 0.2 wanted" in words


def test_more_items_are_proposed_where_they_save_much():
    dear = replace(MOS, size=0.145, items=45)
    proposal = propose(dear)
    better = proposal.better
    assert better is not None
    assert better.total < 0.67 * proposal.cost.total
    assert any(
        f"with {better.items} instead of 45 items" in s for s in content_of(proposal).sentences
    )
    assert propose(replace(MOS, ratings_per_stimulus=3)).items == ()
    again = propose(replace(dear, items=better.items)).plan
    assert again.design.raters_in_all == better.raters


def test_what_no_number_of_raters_reaches_is_told_with_the_items_that_would():
    with pytest.raises(PlanningError, match="items are the least"):
        propose(replace(MOS, size=0.01))


@pytest.mark.slow
def test_power_of_one_mean_is_for_comparisons():
    pair = replace(POWER, conditions=1, of="mean", size=0.3)
    design = propose(pair).plan.design
    assert pair.reached(design) >= 0.8
    assert power_of(design, LONG, 0.3, of="mean") == pytest.approx(pair.reached(design))
    found = plan_for_difference(0.3, LONG, items=60, conditions=1, clips_per_rater=40, of="mean")
    assert found.design == design
    checked = check(propose(pair), runs=200)
    assert checked.of == "mean"
    assert checked.power == pytest.approx(pair.reached(design), abs=0.08)
    assert checked.sd_of_difference == pytest.approx(standard_error(design, LONG), rel=0.12)


@pytest.mark.slow
@sizes(200, 400)
def test_the_check_agrees_with_the_formula_and_stands_beside_it(runs):
    proposal = propose(POWER)
    checked = check(proposal, runs=runs)
    wider = (400 / runs) ** 0.5
    assert checked.power == pytest.approx(proposal.plan.reached, abs=0.08 * wider)
    assert checked.coverage_high > 0.93
    everything = plain_of(plain(proposal, checked))
    again = json.loads(json.dumps(everything, allow_nan=False))
    assert again["plan"]["raters"] == proposal.plan.design.raters_in_all
    assert again["plan"]["sd_rater"] == 0.42
    assert again["check"]["runs"] == runs
    tables = {table.key: table for table in content_of(proposal, checked).tables}
    assert tables["check"].rows[0]["simulated"] == f"{checked.power * 100:.1f}\u00a0%"
    assert "check" not in {table.key for table in content_of(proposal).tables}


def test_curves_rise_with_raters_and_with_the_difference():
    (figure,) = content_of(propose(POWER)).figures
    assert figure.drawing == "lines"
    lines = {}
    for row in figure.rows:
        lines.setdefault(row["group"], []).append(row["y"])
    assert len(lines) == 4
    assert all((np.diff(line) >= -1e-12).all() for line in lines.values())
    last = [line[-1] for line in lines.values()]
    assert last == sorted(last)
    (widths,) = content_of(propose(MOS)).figures
    assert {row["group"] for row in widths.rows} == {
        "one condition’s mean",
        "difference of two",
    }


@pytest.mark.medium
def test_a_pilots_uncertainty_is_counted_in():
    known = Components(0.4, 0.2, 0.2, 0.2, 0.6, "pilot", {"rater": 9, "residual": 100})
    proposal = propose(replace(POWER, components=known))
    assert proposal.assured is not None
    assert any("knows its components only roughly" in s for s in content_of(proposal).sentences)
    assert propose(POWER).assured is None


def test_warnings_say_where_a_plan_is_weak():
    few = replace(MOS, items=8, size=0.5, clips_per_rater=32)
    told = " ".join(content_of(propose(few)).warnings)
    assert "raters are few" in told
    assert "items are few" in told
    long = replace(MOS, payment=replace(PAYMENT, seconds_per_trial=120.0))
    assert "tires raters" in " ".join(content_of(propose(long)).warnings)
    assert any("tested once, at the end" in words for words in assumptions(propose(MOS)))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"size": ""}, "size is missing"),
        ({"size": "-1"}, "from 1e-06"),
        ({"size": "nan"}, "from 1e-06"),
        ({"size": "many"}, "no number"),
        ({"items": "2.5"}, "a whole number"),
        ({"goal": "fame"}, "Choose the goal"),
        ({"assignment": "x"}, "assignment"),
        ({"conditions": "1"}, "two conditions"),
        ({"clips_per_rater": "2"}, "cannot hold"),
        ({"items": "100000", "conditions": "1000"}, "too large"),
    ],
)
def test_a_wrong_field_is_named(given, told):
    with pytest.raises(PlanningError, match=told):
        requirements_from(starting_values(size=0.3) | given, LONG).plan()


def test_a_form_becomes_a_question():
    need = requirements_from(
        starting_values(size=0.15, fee=33) | {"size": "0,25", "lost": "20"}, LONG
    )
    assert need.size == 0.25
    assert need.payment.fee == pytest.approx(0.33)
    assert need.payment.lost == pytest.approx(0.2)
    assert need.ratings_per_stimulus is None
    own = own_components({"sd_rater": "0.4", "sd_residual": "0.7"})
    assert (own.rater, own.item, own.residual) == (0.4, 0.0, 0.7)
    with pytest.raises(PlanningError, match="rest"):
        own_components({"sd_rater": "0.4"})


def test_numbers_and_money_read_well():
    assert [number(x) for x in (0.1234, 12.34, 1234.5)] == ["0.123", "12.3", "1\u202f234"]
    assert amount(0, "GBP") == "0 GBP"
    assert amount(0.0461, "GBP") == "0.046 GBP"
    assert amount(12.3, "") == "12.30"


@pytest.mark.medium
def test_a_pilots_components_come_near_those_of_r():
    table = heard_on_headphones("mos_s1")
    found = chosen_pilot(pilots(table), task="isolation")
    assert (found.estimand, found.compared) == ("mos", False)
    reml = components_from_model(expected("mos_s1")["lmm_isolation"]["sd"])
    for term in (*TERMS, "residual"):
        assert getattr(found.components, term) == pytest.approx(getattr(reml, term), abs=0.04)
    assert found.ratings == (table["task"] == "isolation").sum()
    with pytest.raises(PlanningError, match="task isolation"):
        chosen_pilot(pilots(table), task="nothing")


def test_pairs_are_the_conditions_of_a_pilot_that_compared():
    (found,) = pilots(table_of("cmos_s1"))
    assert found.compared
    pairs = table_of("cmos_s1")[["condition", "versus_condition"]].drop_duplicates()
    assert found.conditions == len(pairs)


@pytest.mark.medium
def test_a_pilot_that_is_too_small_is_refused_or_warned_of():
    one = rows_of({("a", "r1", "i1"): 3.0, ("b", "r1", "i1"): 4.0})
    with pytest.raises(PlanningError, match="nothing to plan from"):
        pilots(one)
    rng = np.random.default_rng(1)
    y, condition, rater, item = simulate_ratings(Design(8, 10, 4, 2), LONG, [3, 3.5], rng)
    small = rows_of(
        {(f"c{condition[k]}", f"r{rater[k]}", f"i{item[k]}"): float(y[k]) for k in range(len(y))}
    )
    (found,) = pilots(small)
    assert "8 raters and 10 items are few" in found.warning
    assert found.row()["warning"] == found.warning


@pytest.mark.slow
@sizes(200, 500)
def test_a_plan_that_the_simulation_does_not_confirm_says_what_would_do(runs):
    """Where items and clips do not differ, the clustered interval is wider than the formula's."""
    flat = Components(0.4, 0.07, 0, 0, 0.7, "flat")
    need = replace(POWER, components=flat, size=0.25, items=50, conditions=3, clips_per_rater=12)
    proposal = propose(need)
    checked = check(proposal, runs=runs)
    assert proposal.plan.reached > 0.8 > checked.power_high
    (words,) = [w for w in content_of(proposal, checked).warnings if w.startswith("By simulation")]
    wanted = int(words.split("About ")[1].split(" raters")[0])
    assert wanted > proposal.plan.design.raters_in_all
    per_clip = int(words.split("raters, ")[1].split(" ratings")[0])
    more = propose(replace(need, ratings_per_stimulus=per_clip))
    assert more.plan.design.raters_in_all == wanted
    assert check(more, runs=runs).power > 0.8 - 0.05 * (runs < 500)
    assert not any("By simulation" in w for w in content_of(propose(POWER), checked=None).warnings)


@pytest.mark.slow
def test_the_example_of_the_docs_runs(capsys):
    text = (Path(__file__).resolve().parents[2] / "docs" / "planning.md").read_text("utf-8")
    code = text.split("```python")[1].split("```")[0]
    exec(compile(code, "docs/planning.md", "exec"), {})
    raters, total, power = (float(word) for word in capsys.readouterr().out.split())
    assert raters > 20
    assert total > 0
    assert power == pytest.approx(0.8, abs=0.1)
