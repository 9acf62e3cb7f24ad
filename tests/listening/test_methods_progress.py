"""The progress of a study: every condition of a screen, and pairs by their two conditions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from listening.selectors import study_progress
from listening.sessions import lifecycle
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
