"""What the first page says of a session's length is what the session has."""

from types import SimpleNamespace
from typing import Any

import pytest

from listening.views.page_facts import door_facts

PLAN = {
    "placement": "outside",
    "per": 5,
    "kinds": [{"kind": "gold", "count": 1, "pass_at_least": 1, "expected": ["1"]}],
}


def a_task(**fields: Any) -> SimpleNamespace:
    whole = {"block_size": 5, "blocks_per_session": 1, "repeats": 0, "training": []}
    return SimpleNamespace(**{**whole, "traps": {}, "justification": {}, **fields})


def a_study(**fields: Any) -> SimpleNamespace:
    whole = {"texts": {}, "task_plan": "all", "checks": [], "questionnaires": []}
    return SimpleNamespace(**{**whole, **fields})


def asked(screen_out: list[str]) -> dict[str, Any]:
    return {"key": "you", "questions": [{"key": "listening_device", "screen_out": screen_out}]}


@pytest.mark.parametrize(
    ("fields", "needed"),
    [
        ({}, False),
        ({"checks": [{"key": "volume"}, {"key": "environment", "on_fail": "screen_out"}]}, False),
        ({"checks": [{"key": "volume"}, {"key": "huggins"}]}, True),
        ({"checks": [{"key": "stereo", "on_fail": "screen_out"}]}, True),
        ({"checks": [{"key": "antiphase", "on_fail": "continue"}]}, False),
        ({"questionnaires": [asked([])]}, False),
        ({"questionnaires": [asked(["loudspeaker"])]}, True),
    ],
)
def test_headphones_are_needed_where_their_lack_screens_out(
    fields: dict[str, Any], needed: bool
) -> None:
    assert door_facts(a_study(**fields), [a_task()], 4.0)["headphones_needed"] is needed


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
    study = a_study()
    assert door_facts(study, [a_task(**fields)], 4.0)["trials"] == trials
    assert door_facts(study, [a_task(**fields), a_task()], 4.0)["trials"] == trials + 5
    study.task_plan = "one"
    assert door_facts(study, [a_task(**fields), a_task()], 4.0)["trials"] == max(trials, 5)
