"""Every check keeps the contract: secret plans, equal sounds, exact marks, honest odds."""

import re
import time
from collections import Counter
from itertools import permutations, product
from random import Random

import numpy as np
import pytest

from listening.checks import Check, CheckSettings, CheckTrial, check_named
from listening.checks.check import evenly_drawn

KEYS = sorted(Check.registry)
ASKED = [key for key in KEYS if check_named(key).trials]
CHOICES = [key for key in KEYS if check_named(key).kind == "choices"]


def seeds(count: int) -> list[str]:
    return [f"session {k} attempt 1" for k in range(count)]


def right_answers(check: Check, settings: CheckSettings, seed: str) -> list[str]:
    return [trial.truth for trial in check.plan(settings, seed)]


def another(trial: CheckTrial) -> str:
    """An answer that is allowed and wrong."""
    allowed = [option.value for option in trial.options] or ["012", "123"]
    return next(value for value in allowed if value != trial.truth)


def guess(check: Check, settings: CheckSettings, rng: Random) -> list[str]:
    if check.kind == "digits":
        return ["".join(rng.sample("0123456789", 3)) for _ in range(settings.trials)]
    return rng.choices(check.truths, k=settings.trials)


@pytest.mark.parametrize("key", KEYS)
def test_every_check_has_words_and_a_kind_that_the_page_draws(key):
    check = check_named(key)
    settings = check.settings({})
    assert settings.title
    assert settings.text.endswith(".")
    assert check.advice.endswith(".")
    assert check.kind in ("volume", "choices", "digits")
    assert (check.kind == "volume") == (check.trials == 0)
    assert check.on_fail in ("screen_out", "continue")
    assert 0 <= check.pass_at_least <= check.trials


@pytest.mark.parametrize("key", CHOICES)
def test_the_truths_are_among_the_options_and_each_option_has_a_key_of_its_own(key):
    check = check_named(key)
    values = [option.value for option in check.options]
    assert set(check.truths) <= set(values)
    assert len(set(values)) == len(values)
    assert len({option.hotkey for option in check.options}) == len(values)
    assert all(option.text for option in check.options)


@pytest.mark.parametrize("key", KEYS)
def test_the_seed_alone_fixes_plan_and_sound(key):
    settings = check_named(key).settings({})
    assert check_named(key).plan(settings, "s") == check_named(key).plan(settings, "s")
    assert len(check_named(key).plan(settings, "s")) == settings.trials
    first, again = (check_named(key).signal(settings, "s", 0) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize("key", ASKED)
def test_two_sessions_and_two_attempts_get_different_truths_and_sounds(key):
    check = check_named(key)
    settings = check.settings({})
    plans = {tuple(right_answers(check, settings, seed)) for seed in seeds(40)}
    # four pairs of two have 14 orders; six of three have 450; triplets hardly ever meet twice
    assert len(plans) >= 10
    assert not np.array_equal(check.signal(settings, "a", 0), check.signal(settings, "b", 0))


@pytest.mark.parametrize("key", KEYS)
def test_sounds_are_small_quick_within_full_scale_and_start_and_end_softly(key):
    check = check_named(key)
    settings = check.settings({})
    check.signal(settings, "warm", 0)
    took_s = []
    for place in range(max(1, settings.trials)):
        begun = time.perf_counter()
        wave = check.signal(settings, "s", place)
        took_s.append(time.perf_counter() - begun)
        assert wave.dtype == np.float32
        assert wave.ndim == 1 or wave.shape[1] == 2
        assert 0.05 < np.abs(wave).max() < 0.7
        assert 2 * wave.size < 150_000  # bytes: a second and a half at 100 KB/s
        if check.kind != "volume":
            assert np.abs(wave[[0, -1]]).max() < 1e-4
    assert min(took_s) < 0.05


@pytest.mark.parametrize("key", ASKED)
def test_the_length_of_a_sound_tells_nothing(key):
    check = check_named(key)
    settings = check.settings({})
    shapes = {
        check.signal(settings, seed, place).shape
        for seed in seeds(5)
        for place in range(settings.trials)
    }
    assert len(shapes) == 1


@pytest.mark.slow
@pytest.mark.parametrize("key", CHOICES)
def test_the_level_of_a_sound_tells_nothing(key):
    """Differences between truths stay within what chance makes of equal levels."""
    check = check_named(key)
    settings = check.settings({})
    levels: dict[str, list[float]] = {truth: [] for truth in check.truths}
    for seed in seeds(60):
        for place, trial in enumerate(check.plan(settings, seed)):
            wave = check.signal(settings, seed, place).astype(float)
            levels[trial.truth].append(10 * np.log10(np.mean(wave**2)))
    means = [np.mean(found) for found in levels.values()]
    errors = [np.std(found) / len(found) ** 0.5 for found in levels.values()]
    assert max(means) - min(means) < 1e-3 + 4 * max(errors)
    assert max(means) - min(means) < 0.3


@pytest.mark.parametrize("key", ASKED)
def test_the_mark_is_exact(key):
    check = check_named(key)
    settings = check.settings({})
    plan = check.plan(settings, "s")
    for right in range(settings.trials + 1):
        answers = [t.truth if k < right else another(t) for k, t in enumerate(plan)]
        outcome = check.judge(settings, "s", answers)
        assert (outcome.right, outcome.total) == (right, settings.trials)
        assert outcome.passed == (right >= settings.pass_at_least)
        assert outcome.as_dict()["answers"] == answers
        assert outcome.as_dict()["truths"] == [trial.truth for trial in plan]


@pytest.mark.parametrize("key", ASKED)
def test_answers_that_lack_or_are_none_are_refused_in_words_for_raters(key):
    check = check_named(key)
    settings = check.settings({})
    answers = right_answers(check, settings, "s")
    for wrong in ([], answers[:-1], [*answers, answers[0]]):
        with pytest.raises(ValueError, match=r"^Please play every sound .*\.$"):
            check.judge(settings, "s", wrong)
    for nothing in ("", "fourth", "12", "1234", "１２", "'; drop"):
        with pytest.raises(ValueError, match=r"^Please .*\.$"):
            check.judge(settings, "s", [nothing, *answers[1:]])


def test_the_volume_check_is_passed_by_confirming_and_by_nothing_else():
    check = check_named("volume")
    assert check.judge(check.settings({}), "s", ["comfortable"]).passed
    for answers in ([], ["loud"], ["comfortable", "comfortable"]):
        with pytest.raises(ValueError, match="set the volume first"):
            check.judge(check.settings({}), "s", answers)


@pytest.mark.parametrize("key", ASKED)
def test_what_is_said_after_a_failure_betrays_no_answer_and_can_be_turned_off(key):
    check = check_named(key)
    told, silent = check.settings({"feedback": True}), check.settings({"feedback": False})
    assert check.feedback_sentence(told) == check.advice
    assert check.feedback_sentence(silent) == "That was not enough. Please try once more."
    said = check.feedback_sentence(told).lower()
    assert not re.search(r"\d|\bfirst\b|\bsecond\b|\bthird\b|in the middle", said)


@pytest.mark.medium
def test_orders_are_even_and_no_button_and_no_counting_helps():
    """450 orders of six are even; who knows the rule but hears nothing passes 1 of them."""
    rng = Random(1)
    drawn = Counter(tuple(evenly_drawn(["a", "b", "c"], 6, rng)) for _ in range(45_000))
    assert len(drawn) == 450
    assert all(1 <= order.count(value) <= 3 for order in drawn for value in "abc")
    expected = 45_000 / 450
    chi2 = sum((count - expected) ** 2 / expected for count in drawn.values())
    assert chi2 < 449 + 5 * (2 * 449) ** 0.5


@pytest.mark.parametrize("key", CHOICES)
def test_every_truth_is_as_frequent_at_every_place(key):
    check = check_named(key)
    settings = check.settings({})
    count = 1500
    plans = [right_answers(check, settings, seed) for seed in seeds(count)]
    share = 1 / len(check.truths)
    for place, truth in product(range(settings.trials), check.truths):
        seen = sum(plan[place] == truth for plan in plans) / count
        assert seen == pytest.approx(share, abs=4.5 * (share * (1 - share) / count) ** 0.5)


@pytest.mark.medium
def test_triplets_draw_every_digit_everywhere_and_none_twice():
    check = check_named("digits_in_noise")
    settings = check.settings({})
    triplets = [t for seed in seeds(800) for t in right_answers(check, settings, seed)]
    assert all(len(set(triplet)) == 3 for triplet in triplets)
    for place, digit in product(range(3), "0123456789"):
        seen = sum(t[place] == digit for t in triplets) / len(triplets)
        assert seen == pytest.approx(0.1, abs=4.5 * (0.09 / len(triplets)) ** 0.5)
    plans = [right_answers(check, settings, seed) for seed in seeds(800)]
    assert all(len(set(plan)) == len(plan) for plan in plans)
    assert len(list(permutations(range(10), 3))) == round(1 / check.chance())


@pytest.mark.slow
@pytest.mark.parametrize("key", ASKED)
@pytest.mark.parametrize("attempts", [1, 2])
def test_raters_who_guess_pass_as_often_as_the_odds_say(key, attempts):
    check, rng = check_named(key), Random(7)
    given = {"attempts": attempts}
    given |= {"trials": 1} if check.kind == "digits" else {"trials": 4, "pass_at_least": 2}
    settings = check.settings(given)
    count = 2000
    passed = sum(
        any(
            check.judge(settings, f"{n} {attempt}", guess(check, settings, rng)).passed
            for attempt in range(attempts)
        )
        for n in range(count)
    )
    odds = check.odds(settings)
    assert passed / count == pytest.approx(odds, abs=4 * (odds * (1 - odds) / count) ** 0.5)


@pytest.mark.parametrize(
    ("key", "given", "once"),
    [
        ("huggins", {}, 1 / 729),
        ("huggins", {"pass_at_least": 4}, 0.100),
        ("antiphase", {}, 0.0178),
        ("stereo", {}, 1 / 81),
        ("environment", {}, 11 / 16),
    ],
)
def test_the_odds_are_those_of_the_published_marks(key, given, once):
    check = check_named(key)
    settings = check.settings(given)
    assert check.odds_once(settings) == pytest.approx(once, abs=5e-4)
    assert check.odds(settings) == pytest.approx(1 - (1 - once) ** settings.attempts, abs=1e-3)


def test_the_volume_check_and_its_odds_select_nobody():
    check = check_named("volume")
    assert check.odds(check.settings({})) == 1.0


def test_an_unknown_check_names_those_there_are():
    with pytest.raises(KeyError, match="volume"):
        check_named("loudness")
