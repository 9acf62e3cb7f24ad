"""The odds of guessing: counted by hand, and by raters who guess."""

from random import Random

import pytest

from listening.checks.check import at_least, in_attempts
from listening.design.odds import trap_odds
from listening.design.traps import TrapKind, TrapPlan, judge_block, passing_labels
from listening.methods import method_named
from listening.methods.method import Scale, Step, number_scale

ATT = TrapPlan((TrapKind("flawed", 1, ("Machine",), 1), TrapKind("human", 2, ("Human",), 1)))
THREE = method_named("att").scale({})
FIVE = number_scale(1, 5, 1, {})


def test_at_least_so_many_right_is_counted_like_dice():
    assert at_least(1, 1, 1 / 6) == pytest.approx(1 / 6)
    assert at_least(1, 2, 1 / 2) == pytest.approx(3 / 4)
    assert at_least(4, 6, 1 / 3) == pytest.approx(0.100, abs=5e-4)
    assert at_least(5, 6, 1 / 3) == pytest.approx(0.018, abs=5e-4)
    assert at_least(6, 6, 1 / 3) == pytest.approx(0.0014, abs=5e-5)
    assert at_least(0, 6, 0.0) == 1.0
    assert at_least(7, 6, 1.0) == 0.0


def test_a_chance_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"1\.5"):
        at_least(1, 2, 1.5)


def test_one_of_several_attempts():
    assert in_attempts(0.1, 2) == pytest.approx(0.19)


def test_the_att_rule_passes_18_5_percent_of_guesses_and_37_5_between_two_labels():
    odds = trap_odds(ATT, THREE)
    assert odds.guessing == pytest.approx(5 / 27)
    assert round(odds.guessing, 3) == 0.185
    assert odds.knowing == 0.375
    assert odds.same == 0.0  # who always says Human fails the flawed clip


def test_several_blocks_must_be_passed_by_each_guess_anew():
    once = trap_odds(ATT, THREE).guessing
    assert at_least(3, 3, once) == pytest.approx((5 / 27) ** 3)


@pytest.mark.slow
@pytest.mark.parametrize("sets", [1, 2, 3])
def test_raters_who_guess_pass_blocks_as_often_as_the_odds_say(sets):
    rng, count = Random(sets), 20_000
    for labels, name in ((THREE.labels, "guessing"), (("Human", "Machine"), "knowing")):
        passed = 0
        for _ in range(count):
            answered = [
                (kind.kind, rng.choice(labels) in kind.expected)
                for kind in ATT.kinds
                for _ in range(kind.count * sets)
            ]
            passed += judge_block(ATT, answered).valid
        odds = getattr(trap_odds(ATT, THREE, sets=sets), name)
        error = (odds * (1 - odds) / count) ** 0.5
        assert passed / count == pytest.approx(odds, abs=4 * error)


def test_a_gold_clip_within_a_tolerance_is_easier_to_guess():
    exact = TrapPlan((TrapKind("gold", 1, ("5",), 1),))
    near = TrapPlan((TrapKind("gold", 1, ("5",), 1, tolerance=1),))
    middle = TrapPlan((TrapKind("gold", 1, ("3",), 1, tolerance=1),))
    assert trap_odds(exact, FIVE).guessing == pytest.approx(1 / 5)
    assert trap_odds(near, FIVE).guessing == pytest.approx(2 / 5)
    assert trap_odds(middle, FIVE).guessing == pytest.approx(3 / 5)


def test_half_steps_and_sliders_are_counted_label_by_label():
    half = number_scale(1, 5, 0.5, {})
    slider = Scale((), "slider", (0.0, 100.0, 1.0))
    gold = TrapPlan((TrapKind("gold", 1, ("5",), 1, tolerance=1),))
    high = TrapPlan((TrapKind("gold", 1, ("100",), 1, tolerance=10),))
    assert trap_odds(gold, half).guessing == pytest.approx(3 / 9)
    assert trap_odds(high, slider).guessing == pytest.approx(11 / 101)
    assert len(passing_labels(slider, ("100",), 10)) == 11


def test_traps_that_all_expect_one_answer_are_passed_by_always_giving_it():
    gold = TrapPlan((TrapKind("gold", 2, ("5",), 2), TrapKind("real", 1, ("4", "5"), 1)))
    odds = trap_odds(gold, FIVE)
    assert odds.same == 1.0
    assert odds.guessing == pytest.approx(1 / 25 * 2 / 5)
    assert odds.knowing == pytest.approx(1 / 4 * 1)


def test_each_kind_is_judged_on_its_own_criterion():
    scales = {"naturalness": FIVE, "present": Scale((Step("yes", 1), Step("no", 0)))}
    plan = TrapPlan(
        (
            TrapKind("clear", 1, ("5",), 1),
            TrapKind("silent", 1, ("no",), 1, criterion="present"),
        )
    )
    odds = trap_odds(plan, scales)
    assert odds.guessing == pytest.approx(1 / 5 * 1 / 2)
    assert odds.same == 1.0  # always 5, and always no


def test_several_choices_and_text_are_hard_to_guess():
    steps = tuple(Step(label, k) for k, label in enumerate("abc"))
    several = TrapPlan((TrapKind("gold", 1, ("a|b",), 1),))
    assert trap_odds(several, Scale(steps, "many")).guessing == pytest.approx(1 / 7)
    typed = TrapPlan((TrapKind("word", 1, ("lantern",), 1),))
    odds = trap_odds(typed, Scale((), "text", longest=50))
    assert (odds.guessing, odds.knowing, odds.same) == (0.0, 0.0, 0.0)


def test_without_traps_everyone_passes():
    odds = trap_odds(TrapPlan(), FIVE)
    assert (odds.guessing, odds.knowing, odds.same) == (1.0, 1.0, 1.0)


def test_traps_may_expect_labels_of_their_own():
    plan = TrapPlan((TrapKind("spoken", 2, (), 2),))
    odds = trap_odds(plan, FIVE, own={"spoken": [["1"], ["4"], ["2", "3"]]})
    assert odds.guessing == pytest.approx((4 / 3 / 5) ** 2)
    assert odds.knowing == pytest.approx((4 / 3 / 4) ** 2)
    assert odds.same == 0.0
    assert trap_odds(plan, FIVE, own={"spoken": [["4"], ["4", "5"]]}).same == 1.0


def test_a_trap_that_expects_nothing_is_refused():
    with pytest.raises(ValueError, match="“spoken” has a stimulus that expects no label"):
        trap_odds(TrapPlan((TrapKind("spoken", 1, (), 1),)), FIVE)
