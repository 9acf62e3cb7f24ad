"""What the page learns of a trial's parts says nothing about which condition is which."""

from __future__ import annotations

from random import Random

import pytest

from listening.methods import Method, PlannedTrial, method_named
from listening.sessions import lifecycle
from listening.web.rater.page_facts import page_roles
from listening.web.rater.state import session_state
from tests import factories

RATED, VERSUS = 11, 22


@pytest.mark.parametrize("key", sorted(Method.registry))
def test_shown_roles_are_the_same_in_both_orders_and_for_every_draw(key: str) -> None:
    method = method_named(key)
    trial = PlannedTrial(1, "", (RATED, 33, VERSUS), VERSUS)
    seen = {
        tuple(
            zip(
                [p.name for p in parts],
                page_roles(parts),
                strict=True,
            )
        )
        for versus_first in (False, True)
        for seed in range(50)
        for parts in [method.parts(trial, versus_first=versus_first, rng=Random(seed))]
    }
    assert len(seen) == 1


@pytest.mark.parametrize("key", ["cmos", "preference", "ccr", "ab", "abx", "dcr"])
def test_exactly_one_part_of_a_pair_is_shown_as_rated(key: str) -> None:
    trial = PlannedTrial(1, "", (RATED,), VERSUS)
    for versus_first in (False, True):
        parts = method_named(key).parts(trial, versus_first=versus_first, rng=Random(1))
        assert page_roles(parts).count("rated") == 1


@pytest.mark.django_db
@pytest.mark.medium
def test_the_state_of_a_comparison_does_not_tell_the_rated_clip() -> None:
    study = factories.make_study(conditions=2, items=6, task={"method": "cmos", "block_size": 6})
    session = factories.arrive(study)
    firsts = set(session.trials.values_list("versus_first", flat=True))
    assert firsts == {True, False}
    while (trial := factories.current(session)) is not None:
        shown = session_state(session, own=True)["trials"][0]
        assert [part["role"] for part in shown["parts"]] == ["versus", "rated"]
        lifecycle.record_answer(session, factories.an_answer(trial, "1"))
