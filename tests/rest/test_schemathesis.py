"""The API keeps what its schema promises, whatever is sent: Schemathesis attacks every operation.

`EARNEST_CASES=200 .venv/bin/pytest -n0 tests/rest/test_schemathesis.py` sends more.
"""

import os
from collections import Counter

import pytest
from django.core import signals
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

from listening.notifications import channels
from rest.schema import schema
from rest.tokens import TokenThrottle
from tests.factories import answer_all, arrive, make_study
from tests.own_cache import empty_cache
from tests.rest.asking import token_of

pytestmark = pytest.mark.django_db
CASES = int(os.environ.get("EARNEST_CASES", "1"))  # of right and of wrong requests, per operation
KNOWN = {"key": "voices", "name": "report.json", "run": 1, "id": 1, "code": "unknown"}
ELSEWHERE = (
    # who may ask what, without a token and with others', is test_rest_access.py's
    *("ignored_auth", "object_level_authorization"),
    # no schema says which study folder, webhook, option or metric there can be: 422 says what
    "positive_data_acceptance",
)


@pytest.fixture
def voices(monkeypatch):
    """A study with ratings; nothing is looked up outside."""
    empty_cache()
    monkeypatch.setattr(TokenThrottle, "rate", "1000000/min")
    monkeypatch.setattr(channels, "checked_address", lambda kind, url: url)
    study = make_study(key="voices", items=3)
    answer_all(arrive(study), stop_after=3)
    both = (signals.request_started, signals.request_finished)
    for signal in both:
        signal.disconnect(close_old_connections)
    yield study
    for signal in both:
        signal.connect(close_old_connections)


@pytest.mark.slow
def test_every_operation_keeps_what_the_schema_promises(voices):
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from schemathesis import GenerationMode
    from schemathesis.checks import CHECKS

    token, sent = token_of(), Counter()
    api = schemathesis.openapi.from_dict(schema())
    api.app = get_wsgi_application()
    left_out = [check for check in CHECKS.get_all() if check.__name__ in ELSEWHERE]
    assert len(left_out) == len(ELSEWHERE)
    few = settings(
        max_examples=CASES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    def attack(case):
        if case.path_parameters and sum(sent.values()) % 4:  # the rest is of nothing that there is
            named = case.path_parameters.items()
            case.path_parameters = {name: KNOWN.get(name, value) for name, value in named}
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {token}"}
        answer = case.call()
        sent[answer.status_code // 100] += 1
        case.validate_response(answer, excluded_checks=left_out)

    wrong = []
    for found in api.get_all_operations():
        operation = found.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            cases = operation.as_strategy(generation_mode=mode)
            try:
                seed(1)(few(given(case=cases)(attack)))()
            except BaseExceptionGroup as group:
                wrong += [f"{operation.label}: {each}" for each in group.exceptions]
    print(f"{sum(sent.values())} requests: {dict(sent)}")
    assert not wrong, "\n\n".join(wrong)
    assert sent[2] > 10
    assert sent[4] > 10
