"""The progress of a study: every condition of a screen, and pairs by their two conditions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from listening.selectors import study_progress
from listening.sessions import lifecycle
from listening.sessions.task_rules import Refused
from tests import factories


@pytest.mark.django_db
def test_a_screen_counts_for_each_condition_on_it() -> None:
    study = factories.make_study(conditions=3, items=4, task={"method": "rank", "block_size": 4})
    session = factories.arrive(study)
    trial = factories.current(session)
    assert trial is not None
    labels = {f"0.{k}": f"{k + 1}" for k in range(3)}
    lifecycle.record_answer(session, replace(factories.an_answer(trial, "-"), labels=labels))
    (task,) = study_progress(study.key)["tasks"]
    rows = {row["condition"]: (row["planned"], row["rated"]) for row in task["conditions"]}
    assert rows == {"cond-0": (8, 1), "cond-1": (8, 1), "cond-2": (8, 1)}


@pytest.mark.django_db
def test_pairs_are_counted_by_their_two_conditions() -> None:
    study = factories.make_study(conditions=2, items=4, task={"method": "ab", "block_size": 4})
    (task,) = study_progress(study.key)["tasks"]
    assert [row["condition"] for row in task["conditions"]] == ["cond-0 ~ cond-1"]


@pytest.mark.django_db
def test_screens_of_some_conditions_are_planned_stored_and_counted() -> None:
    """Six conditions by four: three screens for each item, each condition on two of them."""
    task = {"method": "best_worst", "block_size": 4}
    study = factories.make_study(conditions=6, items=4, task=task)
    session = factories.arrive(study)
    trial = factories.current(session)
    assert trial is not None
    labels = {f"0.{k}": ("best", "neither", "worst", "neither")[k] for k in range(4)}
    lifecycle.record_answer(session, replace(factories.an_answer(trial, "-"), labels=labels))
    assert sorted(trial.ratings.values_list("score", flat=True)) == [-1.0, 0.0, 0.0, 1.0]
    (progress,) = study_progress(study.key)["tasks"]
    rows = {row["condition"]: (row["planned"], row["rated"]) for row in progress["conditions"]}
    assert {planned for planned, _ in rows.values()} == {2 * 4 * 2}
    assert sum(rated for _, rated in rows.values()) == 4
    other = factories.current(session)
    assert other is not None
    twice = {f"0.{k}": "best" if k < 2 else "worst" for k in range(4)}
    with pytest.raises(Refused, match="as the best and another one as the worst"):
        lifecycle.record_answer(session, replace(factories.an_answer(other, "-"), labels=twice))
