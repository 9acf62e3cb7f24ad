"""Scripted raters' opinions: known, seeded, and recovered from what they answer."""

from collections import Counter
from math import sqrt
from random import Random
from statistics import NormalDist, fmean, stdev

import pytest

from listening.methods import method_named
from listening.recruitment.evidence import SHARED_WIDTH
from listening.sessions.simulated_raters import (
    Kind,
    KnownClip,
    Opinions,
    Shares,
    Spread,
    Truth,
    planned_kinds,
)
from listening.sessions.simulated_raters import drawn_qualities as drawn
from listening.sessions.simulated_raters.opinions import cuts_of, lazy_reason, reason, typing_facts

HLS = {"Human": 1.0, "Unclear": 0.5, "Machine": 0.0}
MOS = {f"{k / 2:g}": k / 2 for k in range(2, 11)}
CMOS = {str(k): float(k) for k in range(-3, 4)}
TRUTH = Truth(seed=5, qualities={"good": 0.9, "middling": 0.1, "bad": -1.3})


def close_to(scores: list[float], expected: float) -> bool:
    """Within four standard errors of the mean: a correct model fails once in 16 000 runs."""
    return abs(fmean(scores) - expected) < 4 * stdev(scores) / sqrt(len(scores))


@pytest.mark.slow
@pytest.mark.parametrize("scores", [HLS, MOS], ids=["hls", "mos"])
@pytest.mark.parametrize("condition", ["good", "middling", "bad"])
def test_the_mean_of_many_raters_over_many_stimuli_is_the_expected_score(scores, condition):
    given = [
        scores[Opinions(TRUTH, n).label(list(scores), [KnownClip(condition, f"clip-{n}")])]
        for n in range(4000)
    ]
    assert close_to(given, TRUTH.single_score(scores, condition))


@pytest.mark.slow
def test_one_stimulus_has_an_expected_score_of_its_own():
    clips = [KnownClip("good", f"clip-{n}") for n in range(6)]
    own = [TRUTH.single_score(MOS, "good", clip.stimulus) for clip in clips]
    assert max(own) - min(own) > 0.2
    for clip, expected in zip(clips, own, strict=True):
        given = [MOS[Opinions(TRUTH, n).label(list(MOS), [clip])] for n in range(1500)]
        assert close_to(given, expected)


@pytest.mark.medium
def test_comparisons_follow_the_difference_of_the_second_clip_from_the_first():
    given = []
    for n in range(4000):
        pair = [KnownClip("bad", f"b-{n}"), KnownClip("good", f"g-{n}")]
        given.append(CMOS[Opinions(TRUTH, n).label(list(CMOS), pair)])
    expected = TRUTH.difference_score(CMOS, "good", "bad")
    assert expected > 1.8
    assert close_to(given, expected)
    assert expected == pytest.approx(-TRUTH.difference_score(CMOS, "bad", "good"))


def test_a_rater_leans_the_same_way_in_all_answers():
    truth = Truth(5, {"a": 0.0}, Spread(rater=0.8, rater_condition=0, stimulus=0, noise=0.2))
    means = []
    for n in range(60):
        rater = Opinions(truth, n)
        means.append(fmean(float(rater.label(list(MOS), [KnownClip("a", "x")])) for _ in range(30)))
    assert 0.55 < stdev(means) < 1.1


def test_the_same_seed_gives_the_same_opinions_and_another_seed_others():
    def answers(seed: int) -> list[str]:
        rater = Opinions(Truth(seed, TRUTH.qualities), 3)
        clips = [KnownClip(c, f"{c}-{k}") for k in range(8) for c in TRUTH.qualities]
        return [rater.label(list(MOS), [clip]) for clip in clips]

    assert answers(1) == answers(1)
    assert answers(1) != answers(2)


def test_traps_are_passed_nearly_always_by_those_who_listen_and_by_chance_otherwise():
    trap = KnownClip("bad", "flawed-1", frozenset({"Machine"}))
    human = KnownClip("bad", "human-1", frozenset({"Human"}))
    rater = Opinions(TRUTH, 1)
    heard = Counter(rater.label(list(HLS), [human]) for _ in range(1000))
    assert heard["Human"] > 940
    assert Counter(rater.label(list(HLS), [trap]) for _ in range(100))["Machine"] > 90
    careless = Counter(rater.any_label(list(HLS)) for _ in range(3000))
    assert all(900 < careless[label] < 1100 for label in HLS)


@pytest.mark.parametrize(
    ("key", "options"), [("att", {}), ("mos", {}), ("mos", {"step": 0.5}), ("cmos", {})]
)
def test_every_label_of_a_method_can_be_chosen_and_better_clips_score_higher(key, options):
    scale = method_named(key).scale(options)
    cuts = cuts_of(scale.labels)
    assert set(cuts.labels) == set(scale.labels)
    reached = [scale.score(cuts.label_at(u / 100)) for u in range(-400, 401)]
    assert reached == sorted(reached)
    assert set(reached) == {step.score for step in scale.steps}


def test_qualities_put_references_above_and_anchors_below_the_systems():
    roles = {"h": "reference", "low": "anchor", "a": "test", "b": "test", "c": "test"}
    qualities = drawn(roles, seed=1)
    assert set(qualities) == set(roles)
    tests = sorted(qualities[key] for key in "abc")
    assert qualities["low"] < tests[0] < tests[1] < tests[2] < qualities["h"]
    assert len({tuple(drawn(roles, seed=s).values()) for s in range(20)}) > 3


def test_kinds_of_raters_come_in_the_shares_asked_for():
    shares = Shares(careless=0.1, leaver=0.2, returner=0.05, double=0, withdrawer=0.05)
    kinds = Counter(planned_kinds(60, shares, seed=1))
    assert kinds == {"careful": 36, "careless": 6, "leaver": 12, "returner": 3, "withdrawer": 3}
    assert planned_kinds(60, shares, 1) == planned_kinds(60, shares, 1)
    assert planned_kinds(60, shares, 1) != planned_kinds(60, shares, 2)
    with pytest.raises(ValueError, match="at most 1"):
        planned_kinds(10, Shares(careless=0.9, leaver=0.9), 1)
    assert set(planned_kinds(3, Shares(0, 0, 0, 0, 0), 1)) == {Kind.CAREFUL}


def test_reasons_are_long_enough_and_seldom_the_same():
    random = Random(1)
    texts = [reason(random, label, 30) for label in HLS for _ in range(100)]
    assert min(map(len, texts)) >= 30
    assert len(set(texts)) > 200
    longer = [reason(random, label, 80) for label in HLS for _ in range(300)]
    assert len(set(longer)) == len(longer)
    assert max(len(reason(random, label, 1)) for label in HLS for _ in range(500)) < SHARED_WIDTH
    assert min(len(lazy_reason(random, 25)) for _ in range(50)) >= 25


def test_typing_facts_fit_the_text():
    random = Random(1)
    typed = typing_facts(random, "a short breath", pasted=False)
    assert typed["keystrokes"] >= len("a short breath")
    assert typed["typing_ms"] > 500
    pasted = typing_facts(random, "a short breath", pasted=True)
    assert pasted["pasted_chars"] == len("a short breath")


@pytest.mark.medium
@pytest.mark.parametrize("condition", ["good", "middling", "bad"])
def test_a_word_is_recognized_as_often_as_its_clip_is_good_enough_and_else_guessed(condition):
    """P(right) = Φ(quality / spread) + (1 - Φ) / k, over raters and clips."""
    words = ("peas", "peak", "peal", "peach")
    given = [
        float(
            Opinions(TRUTH, n).recognized(KnownClip(condition, f"c-{n}", correct="peak"), words)
            == "peak"
        )
        for n in range(4000)
    ]
    known = NormalDist().cdf(TRUTH.qualities[condition] / TRUTH.spread.single())
    assert close_to(given, known + (1 - known) / len(words))
