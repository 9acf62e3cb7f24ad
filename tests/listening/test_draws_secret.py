"""Who knows the codes on the page and our source still cannot work out what was drawn."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from django.db import transaction

from listening.methods import PlannedTrial, method_named
from listening.models import Session, Study
from listening.sessions.task_rules import parts_of
from listening.web.rater.state import session_state
from tests import factories

pytestmark = pytest.mark.django_db


class _UndoneError(Exception):
    pass


def test_the_truth_of_abx_does_not_follow_from_the_ids_on_the_page() -> None:
    study = factories.make_study(conditions=2, items=40, task={"method": "abx", "block_size": 40})
    session = factories.arrive(study)
    abx = method_named("abx")
    guessed = []
    for trial in session.trials.all():
        told = abx.parts(
            PlannedTrial(1, "", (trial.stimulus_id,), trial.versus_id),
            versus_first=trial.versus_first,
            rng=Random(trial.code),
        )
        guessed.append(told == parts_of(abx, trial))
    assert (
        session_state(session, own=True)["trials"][0]["id"] == session.trials.get(position=1).code
    )
    assert len(guessed) == 40
    assert 0 < sum(guessed) < 40


def test_the_letters_of_a_screen_depend_on_the_servers_key(settings: Any) -> None:
    study = factories.make_study(conditions=4, items=8, task={"method": "rank", "block_size": 8})
    session = factories.arrive(study)
    rank, trials = method_named("rank"), list(session.trials.all())

    def letters() -> list[list[int]]:
        return [[part.stimulus for part in parts_of(rank, trial)] for trial in trials]

    first = letters()
    assert first == letters()
    settings.SECRET_KEY = "another key " * 5
    assert first != letters()


@pytest.mark.slow
def test_the_places_of_traps_depend_on_the_servers_key(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = {"kind": "gold", "count": 3, "expected": ["5"], "pass_at_least": 1}
    plan = {"placement": "outside", "per": 10, "kinds": [kind]}
    study = factories.make_study(
        items=30, traps={"gold": 6}, task={"block_size": 10, "traps": plan}
    )
    codes = [f"code-{n}" for n in range(6)]

    def places() -> list[list[str]]:
        return [_kinds_in_order(study, code, monkeypatch) for code in codes]

    first = places()
    assert first == places()
    settings.SECRET_KEY = "another key " * 5
    assert first != places()


def _kinds_in_order(study: Study, code: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where traps stand in a session of this code, which is then as if it had never been."""
    monkeypatch.setattr(Session._meta.get_field("code"), "_get_default", lambda: code)
    kinds: list[str] = []
    try:
        with transaction.atomic():
            session = factories.arrive(study)
            assert session.code == code
            kinds = list(session.trials.order_by("position").values_list("trap", flat=True))
            raise _UndoneError
    except _UndoneError:
        return kinds
