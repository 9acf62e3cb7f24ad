"""What the first page says of what a rater needs is what the session asks for."""

from types import SimpleNamespace
from typing import Any

import pytest

from listening.design.duration import SessionLength
from listening.views.page_facts import door_facts


def a_study(**fields: Any) -> SimpleNamespace:
    whole: dict[str, Any] = {"texts": {}, "checks": [], "questionnaires": []}
    whole |= {"erase_after_days": None, "erase_on": None, "erase_reasons": False}
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
    assert door_facts(a_study(**fields), SessionLength(5))["headphones_needed"] is needed
