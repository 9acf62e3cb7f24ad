"""What the first page says of a session's length is what the session has."""

from types import SimpleNamespace
from typing import Any

import pytest

from listening.views.facts import door_facts

PLAN = {
    "placement": "outside",
    "per": 5,
    "kinds": [{"kind": "gold", "count": 1, "pass_at_least": 1, "expected": ["1"]}],
}


def a_task(**fields: Any) -> SimpleNamespace:
    whole = {"block_size": 5, "blocks_per_session": 1, "repeats": 0, "training": []}
    return SimpleNamespace(**{**whole, "traps": {}, "justification": {}, **fields})


@pytest.mark.parametrize(
    ("fields", "trials"),
    [
        ({}, 5),
        ({"traps": PLAN}, 6),
        ({"repeats": 2}, 7),
        ({"training": [{"stimulus": "t1"}]}, 6),
        ({"traps": PLAN, "repeats": 2, "training": [{"stimulus": "t1"}]}, 9),
    ],
)
def test_traps_repeats_and_practice_are_screens_too(fields: dict[str, Any], trials: int) -> None:
    study = SimpleNamespace(texts={}, task_plan="all")
    assert door_facts(study, [a_task(**fields)], 4.0)["trials"] == trials
    assert door_facts(study, [a_task(**fields), a_task()], 4.0)["trials"] == trials + 5
    study.task_plan = "one"
    assert door_facts(study, [a_task(**fields), a_task()], 4.0)["trials"] == max(trials, 5)
