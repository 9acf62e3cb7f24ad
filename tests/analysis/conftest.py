"""A rated study that the tests of one module share; what a test changes is rolled back."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction


@pytest.fixture(scope="module")
def shared_study(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    from tests.analysis.rated_study import rated_study

    with django_db_blocker.unblock():
        block = transaction.atomic()
        block.__enter__()
        try:
            yield rated_study()
        finally:
            transaction.set_rollback(True)
            block.__exit__(None, None, None)


@pytest.fixture(scope="module")
def without_models() -> Iterator[Any]:
    """Reports of this module lack mixed models, most of their cost, which others look at."""
    from analysis.report.parts.models import Models

    own = Models.applies
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Models, "applies", lambda self, given: False)
        yield own


@pytest.fixture
def with_models(without_models: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test of such a module has them all the same."""
    from analysis.report.parts.models import Models

    monkeypatch.setattr(Models, "applies", without_models)


@pytest.fixture
def study(shared_study: Any, db: None) -> Any:
    shared_study.refresh_from_db()
    return shared_study


@pytest.fixture(scope="module")
def answer_alone(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Reports of this module hold the answer, parts asked for by name, and those of its PARTS.

    What each rule changes is estimated for the part that shows it, screening, alone.
    """
    from analysis.report import build
    from analysis.report.part import Part, PartInput
    from analysis.statistics.sensitivity import sensitivity

    every = build.parts_to_make
    always = {"answer", *getattr(request.module, "PARTS", ())}

    def few(inputs: PartInput) -> list[type[Part]]:
        wanted = {*always, *inputs.options.parts}
        return [part for part in every(inputs) if part.key in wanted]

    def shown(screened: Any, options: Any) -> Any:
        return sensitivity(screened, options) if "screening" in {*always, *options.parts} else []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "parts_to_make", few)
        patch.setattr(build, "sensitivity", shown)
        yield every


@pytest.fixture
def every_part(answer_alone: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test of such a module has them all the same."""
    from analysis.statistics.sensitivity import sensitivity

    monkeypatch.setattr("analysis.report.build.parts_to_make", answer_alone)
    monkeypatch.setattr("analysis.report.build.sensitivity", sensitivity)
