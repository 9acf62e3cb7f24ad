"""An attempt at a check is counted once, however often its answers arrive."""

import pytest

from listening.sessions.stages import record_check
from tests.factories import arrive, make_study

pytestmark = pytest.mark.django_db

HUGGINS = {"key": "huggins", "trials": 1, "pass_at_least": 1, "attempts": 3}


def outcome_after(*attempts: int | None) -> dict[str, object]:
    """What is kept after answers that say (or do not say) which attempt they are."""
    session = arrive(make_study(checks=[HUGGINS]))
    for attempt in attempts:
        told = {} if attempt is None else {"attempt": attempt}
        session = record_check(session, "huggins", {"answers": ["first"], **told})
        if session.checks["huggins"]["passed"]:  # by chance: one in three
            return outcome_after(*attempts)
    kept: dict[str, object] = session.checks["huggins"]
    return kept


@pytest.mark.medium
def test_answers_that_come_again_use_up_no_attempt() -> None:
    assert outcome_after(1, 1, 1, 1)["attempts"] == 1
    assert outcome_after(1, 2, 1, 2)["attempts"] == 2


@pytest.mark.medium
def test_each_new_attempt_counts_and_the_last_one_ends_the_check() -> None:
    assert not outcome_after(1, 2)["done"]
    kept = outcome_after(1, 2, 3)
    assert kept["attempts"] == 3
    assert kept["done"]


def test_answers_without_a_number_are_the_next_attempt() -> None:
    assert outcome_after(None, None)["attempts"] == 2
