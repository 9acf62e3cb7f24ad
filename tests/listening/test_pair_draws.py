"""Pairs that are dealt ahead, or drawn with each claim from the answers so far."""

from collections import Counter
from math import inf
from random import Random

import numpy as np
import pytest
from scipy.stats import spearmanr

from analysis.ratings.table import from_study
from analysis.statistics.pairs.pair_information import pair_information
from analysis.statistics.pairs.pair_ratings import pairs_of
from analysis.statistics.pairs.win_models import bradley_terry
from analysis.web.pair_fits import fit_pairs
from listening.design.pair_drawing import (
    PairDrawing,
    PairFacts,
    swiss_round,
)
from listening.methods import method_named
from listening.models import Block, PairCount, Rating, Slot, Trial
from listening.selectors.pair_answers import tasks_to_fit
from listening.sessions import lifecycle
from tests.analysis.part_of import part_of, rows_of_table
from tests.factories import an_answer, arrive, current, make_study
from tests.listening.test_allocation import Crowd

SYSTEMS, ITEMS, PER_ITEM = 6, 8, 12
PAIRS = SYSTEMS * (SYSTEMS - 1) // 2


def a_task(rule: str, **fields) -> dict:
    return {
        "method": "ab",
        "key": "which",
        "block_size": 4,
        "ratings_per_stimulus": PER_ITEM,
        "options": {"pairs": rule},
        **fields,
    }


def quality(stimulus) -> int:
    return int(stimulus.condition.key.removeprefix("cond-"))


def answer_truly(session) -> None:
    """The system with the higher number is better, and how clearly it is decides how often."""
    rng = Random(session.code)
    while (trial := current(session)) is not None:
        gap = quality(trial.stimulus) - quality(trial.versus)
        prefers = rng.random() < 1 / (1 + 2.0**-gap)
        label = "A" if prefers != trial.versus_first else "B"
        lifecycle.record_answer(session, an_answer(trial, label))


def finish(study) -> None:
    for _ in range(SYSTEMS * ITEMS * PER_ITEM):
        if not Block.objects.filter(task__study=study).exclude(state=Block.State.DONE).exists():
            return
        answer_truly(arrive(study))
        for task in tasks_to_fit():
            fit_pairs(task)
    raise AssertionError("the study does not come to an end")


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("rule", ["random", "swiss", "adaptive"])
def test_a_study_ends_with_n_answers_both_orders_balanced_and_the_true_order(rule):
    study = make_study(conditions=SYSTEMS, items=ITEMS, task=a_task(rule))
    finish(study)
    table = from_study(study.key)
    assert len(table) == ITEMS * PER_ITEM
    assert table["counts"].all()
    assert set(Counter(table["item"]).values()) == {PER_ITEM}
    of_pair = table.groupby(["condition", "versus_condition"], observed=True)
    first = of_pair["presented_first"].agg(lambda first: (first == "rated").sum())
    assert ((first - (of_pair.size() - first)).abs() <= 1).all()
    assert table["pair_probability"].between(0.2 / PAIRS - 1e-12, 1).all()
    strengths = {
        row["name"]: row["value"] for row in rows_of_table(part_of("pairs", table), "strengths")
    }
    reduced = rule != "random"
    fitted = bradley_terry(pairs_of(table), order=True, bias_reduced=reduced)
    assert strengths == pytest.approx(dict(zip(fitted.names, fitted.ability, strict=True)))
    if rule == "random":
        assert of_pair.size().max() - of_pair.size().min() <= 1
        assert table["pair_probability"].eq(1 / PAIRS).all()
        return
    assert PairCount.objects.filter(task__study=study).count() == PAIRS
    counts = PairCount.objects.values_list("condition__key", "versus__key", "drawn")
    assert {(a, b): n for a, b, n in counts if n} == of_pair.size().to_dict()
    fit = fit_pairs(study.tasks.get().pk)
    names = sorted(fit.strengths)
    assert spearmanr([fit.strengths[name] for name in names], range(SYSTEMS)).statistic > 0.7


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.django_db(transaction=True)
def test_many_raters_at_once_leave_exactly_n_of_each_item_and_both_orders_balanced():
    study = make_study(conditions=SYSTEMS, items=ITEMS, task=a_task("adaptive"))
    task = study.tasks.get()
    crowd = Crowd(study, seed=5)
    crowd.run(40, threads=12)
    fit_pairs(task.pk)
    for _ in range(20):
        if not Block.objects.exclude(state=Block.State.DONE).exists():
            break
        crowd.run(10, threads=8)
    assert crowd.errors == []
    counting = Rating.objects.filter(counts=True, slot__task=task)
    assert Counter(counting.values_list("stimulus__item", flat=True)).keys() == set(
        study.items.values_list("pk", flat=True)
    )
    assert set(Counter(counting.values_list("stimulus__item", flat=True)).values()) == {PER_ITEM}
    columns = "stimulus__condition", "versus__condition", "versus_first"
    orders = Counter(Slot.objects.filter(task=task).values_list(*columns))
    drawn = {(c.condition_id, c.versus_id): c.drawn for c in PairCount.objects.filter(task=task)}
    for pair, n in drawn.items():
        assert abs(orders[*pair, True] - orders[*pair, False]) <= 1
        assert orders[*pair, True] + orders[*pair, False] == n
    trials = Trial.objects.filter(state="answered", slot__isnull=False)
    assert all(t.pair_probability == t.slot.pair_probability for t in trials.select_related("slot"))


def a_drawing(gain, drawn, *, share=0.2, most=inf, most_met=inf) -> PairDrawing:
    facts = PairFacts([0] * len(gain), gain, [True] * len(gain))
    return PairDrawing("adaptive", facts, drawn, share, most=most, met=Counter(), most_met=most_met)


def test_information_draws_close_and_unknown_pairs_and_a_share_is_uniform():
    close, apart, known = 0.25, 0.05, 0.025
    drawing = a_drawing([close, apart, known], [0, 0, 0], share=0.3)
    chances = drawing.probabilities(range(3))
    assert sum(chances) == pytest.approx(1)
    assert chances[0] == pytest.approx(0.1 + 0.7 * 1 / (1 + 0.2**2 + 0.1**2))
    assert min(chances) > 0.1
    assert PairFacts.before_answers(1).information([4]) == [pytest.approx(0.25 / (1 + 4 * 0.25))]
    for _ in range(3):
        drawing.draw(range(3), Random(1))
    assert drawing.information == pytest.approx(drawing.facts.information(drawing.drawn))


def test_a_pair_leaves_the_draw_at_its_most_and_a_rater_meets_it_no_more_than_others():
    drawing = a_drawing([0.25] * 3, [9, 0, 0], most=9, most_met=1)
    drawn = [drawing.draw(range(3), Random(seed)) for seed in range(3)]
    assert {pair for pair, _ in drawn[:2]} == {1, 2}
    assert [probability for _, probability in drawn[:2]] == [pytest.approx(0.5), pytest.approx(1)]
    assert drawn[2][0] in {1, 2}


def test_a_swiss_round_pairs_neighbours_that_met_least_and_each_system_once():
    strengths = {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.0}
    assert swiss_round(strengths, {}, Random(1)) == [("a", "b"), ("c", "d")]
    met = {("a", "b"): 1}
    assert swiss_round(strengths, met, Random(1)) == [("a", "c"), ("b", "d")]
    odd = swiss_round({**strengths, "e": -1.0}, {}, Random(1))
    assert len({name for pair in odd for name in pair}) == 4


def test_the_information_of_pairs_is_the_growth_of_the_determinant():
    """By how much one more answer multiplies the determinant of the information matrix."""
    rng = np.random.default_rng(1)
    wins = np.triu(rng.integers(1, 9, (4, 4)), 1) + np.tril(rng.integers(1, 9, (4, 4)), -1)
    drawn = np.triu(wins + wins.T, 1)
    found = pair_information(wins, np.zeros((4, 4)), drawn)
    p = 1 / (1 + np.exp(found.strengths[None, :] - found.strengths[:, None]))
    laplacian = np.diag(((drawn + drawn.T) * p * (1 - p)).sum(axis=1)) - (drawn + drawn.T) * p * (
        1 - p
    )
    ridge = (np.eye(4) - 1 / 4) / 3.0**2

    def determinant(matrix):
        return np.prod(np.linalg.eigvalsh(matrix + ridge)[1:])

    more = np.zeros((4, 4))
    more[0, 0] = more[2, 2] = p[0, 2] * p[2, 0]
    more[0, 2] = more[2, 0] = -p[0, 2] * p[2, 0]
    growth = determinant(laplacian + more) / determinant(laplacian)
    assert found.spread[0, 2] * found.variance[0, 2] == pytest.approx(growth - 1, rel=1e-6)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("ab", {"pairs": "best"}, "pairs is “all”, “random”, “swiss”, “adaptive” or a list"),
        ("abx", {"pairs": "adaptive"}, "prefer one of two systems"),
        ("cmos", {"pairs": "swiss", "versus": "a"}, "versus cannot be set"),
        ("preference", {"pairs": "adaptive", "uniform_share": 0}, "above 0 and up to 1"),
    ],
)
def test_options_that_draw_no_pairs_say_why(method, options, words):
    with pytest.raises(ValueError, match=words):
        method_named(method).drawing_rule(options)
