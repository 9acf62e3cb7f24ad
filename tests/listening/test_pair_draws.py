"""Pairs that are dealt ahead, or drawn with each claim from the answers so far."""

from collections import Counter
from random import Random

import pytest
from scipy.stats import spearmanr

from analysis.ratings.table import from_study
from analysis.web.pair_fits import fit_pairs
from listening.models import Block, PairCount
from listening.selectors.pair_answers import tasks_to_fit
from listening.sessions import lifecycle
from tests.factories import arrive, current, make_study

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
        lifecycle.record_answer(session, an_answer_with(trial, label))


def an_answer_with(trial, label):
    from tests.factories import an_answer

    return an_answer(trial, label)


def finish(study, rule: str) -> None:
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
    finish(study, rule)
    table = from_study(study.key)
    assert len(table) == ITEMS * PER_ITEM
    assert table["counts"].all()
    assert set(Counter(table["item"]).values()) == {PER_ITEM}
    of_pair = table.groupby(["condition", "versus_condition"], observed=True)
    first = of_pair["presented_first"].agg(lambda first: (first == "rated").sum())
    assert ((first - (of_pair.size() - first)).abs() <= 1).all()
    assert table["pair_probability"].between(0.2 / PAIRS - 1e-12, 1).all()
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
