"""Celery jobs of queue analysis for the planning page: a pilot's components, a plan's check.

What they find is made again in seconds, so it is kept in the cache and in no table; without a
cache the page says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.core.cache import cache
from redis.exceptions import RedisError

from analysis.web.job_states import DONE, FAILED, RUNNING, State, keep_state, problem_of
from listening.models.requested_jobs import ask, requested_job

KEPT_S = 7 * 86_400
WAITED_S = 900  # a job that has not come back by then is asked for again


def pilot_state(study: str) -> State | None:
    """The components of a study's ratings as last estimated: state, at, pilots, problem."""
    return _cached_state(_pilot_name(study))


def start_pilot(study: str) -> None:
    """Estimate the components of a study's ratings so far, in a job; twice does no harm."""
    name = _pilot_name(study)
    keep_state(name, RUNNING, WAITED_S, before=_last_done(name))
    ask(estimate_pilot, name, study)


def forget_estimates(study: str) -> None:
    """Estimated again when somebody asks: a rater in them is gone."""
    with suppress(RedisError):
        cache.delete(_pilot_name(study))


def check_state(question: Mapping[str, Any]) -> State | None:
    """The check by simulation of a plan, asked for when it is not there; None without a cache."""
    name = f"planning/check/{_digest(question)}"
    try:
        state: State | None = cache.get(name)
        if state is None and cache.add(name, {"state": RUNNING}, timeout=WAITED_S):
            ask(check_plan, name, dict(question))
    except RedisError:
        return None
    return state or {"state": RUNNING}


def _give_up(why: str, name: str, _given: Any) -> None:
    keep_state(name, FAILED, 60, problem=why)


# The settings route it to queue analysis.
@requested_job("analysis.jobs.estimate_pilot", _give_up)
def estimate_pilot(name: str, study: str) -> None:
    """The components of each task and criterion of the study, without what its rules leave out."""
    try:  # a light installation may lack what these import
        from analysis.ratings.table import from_study
        from analysis.statistics.planning.pilot import pilots
        from analysis.statistics.screening.screened import screen
        from analysis.web.study_tables import study_rules, study_spared

        withdrawn = _withdrawn(study)
        rules = study_rules(study)
        ratings = screen(from_study(study), rules, study_spared(study)).kept(rules)
        rows = [pilot.row() | {"degrees": pilot.components.degrees} for pilot in pilots(ratings)]
    except Exception as error:
        keep_state(name, FAILED, KEPT_S, problem=problem_of(error, f"The pilot of {study}"))
    else:
        if _withdrawn(study) != withdrawn:  # what was read is deleted by now
            return estimate_pilot(name, study)
        keep_state(name, DONE, KEPT_S, pilots=rows)


@requested_job("analysis.jobs.check_plan", _give_up)
def check_plan(name: str, question: dict[str, Any]) -> None:
    """Simulate the plan of a question (values of the form, and the components' SDs)."""
    try:  # as above
        from analysis.report.planning.form_fields import requirements_from
        from analysis.statistics.planning.proposal import check, propose
        from analysis.statistics.planning.variance_components import Components

        requirements = requirements_from(question["form"], Components(**question["components"]))
        checked = check(propose(requirements))
    except Exception as error:
        keep_state(name, FAILED, KEPT_S, problem=problem_of(error, "The check of a plan"))
    else:
        keep_state(name, DONE, KEPT_S, check=checked.row())


def _withdrawn(study: str) -> int:
    from listening.selectors import study_progress

    return study_progress(study)["sessions"]["withdrawn"]


def _pilot_name(study: str) -> str:
    return f"planning/pilot/{study}"


def _digest(question: Mapping[str, Any]) -> str:
    text = json.dumps(question, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _last_done(name: str) -> State | None:
    """What was found before, so that a page has something to show while a job runs."""
    state = _cached_state(name) or {}
    done: State | None = state if state.get("state") == DONE else state.get("before")
    return done


def _cached_state(name: str) -> State | None:
    with suppress(RedisError):
        state: State | None = cache.get(name)
        return state
    return None
