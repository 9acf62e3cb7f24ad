"""The analysis that nobody needs to ask for: of first ratings, of many more, of a closed study."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db import connection, transaction

from analysis.models import AnalysisRun
from analysis.statistics.options import Options
from analysis.statistics.screening.single_ratings import Review
from analysis.web.jobs import asked_run
from analysis.web.study_tables import (
    study_covariates,
    study_hypotheses,
    study_rules,
    study_spared,
)

GROWN = 1.1  # as many ratings as before, from which an open study is analysed again
LOCK = 0x6561726E  # of PostgreSQL's advisory locks: this module's own


def analyse_when_due(study_id: int, study_key: str) -> AnalysisRun | None:
    """The default analysis queued, where one is due; however many open the page at once, one.

    It is due when there are ratings and no analysis yet; or when the newest one had the default
    options too, and since then the ratings became a tenth more, or the study came to its end. What
    failed, was cancelled or is stale says so on the page, and somebody decides.
    """
    if not _due(study_id, study_key):
        return None
    with transaction.atomic():
        _alone(study_id)
        if not _due(study_id, study_key):
            return None
        return asked_run(study_id, study_key, default_options(study_key))


def analyse_closed(study_id: int, study_key: str, **_signal: Any) -> None:
    """Receives `listening.common.signals.closed`: the default analysis of all that was rated."""
    from listening.selectors import ratings_state

    if ratings_state(study_key)["ratings"]:
        _alone(study_id)
        asked_run(study_id, study_key, default_options(study_key))


def default_options(study_key: str) -> Options:
    """What is analysed unless somebody asks for more: the study's own rules, all else as usual."""
    return Options(
        rules=study_rules(study_key),
        spared=study_spared(study_key),
        hypotheses=study_hypotheses(study_key),
        covariates=study_covariates(study_key),
    )


def _usual(study_key: str) -> list[dict[str, Any]]:
    """The default options, and those of before a review was in use."""
    now = default_options(study_key)
    before = replace(now, rules=tuple(rule for rule in now.rules if rule.key != Review.key))
    return [now.parameters(), before.parameters()]


def _due(study_id: int, study_key: str) -> bool:
    from listening.selectors import ratings_state, still_open

    runs = AnalysisRun.objects.filter(study_id=study_id).defer("result", "brief")
    newest = runs.first()
    if newest is None:
        return ratings_state(study_key)["ratings"] > 0
    if newest.state != AnalysisRun.State.DONE:
        return False
    now = ratings_state(study_key)
    if now["mark"] == newest.ratings_mark or not now["ratings"]:
        return False
    if newest.parameters not in _usual(study_key):
        return False
    return now["ratings"] >= GROWN * (newest.ratings or 0) or not still_open(study_key)


def _alone(study_id: int) -> None:
    """Until the transaction ends nobody else decides for this study."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK, study_id])
