"""Celery jobs of queue analysis for the page Validity: what rules take, and one rule tried.

What they find is made again in seconds, so it is kept in the cache and in no table.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import Any

from django.core.cache import cache
from redis.exceptions import RedisError

from analysis.statistics.screening.rule_text import rule_text
from analysis.web.first_runs import default_options
from analysis.web.job_states import AWAY, DONE, FAILED, RUNNING, State, keep_state, problem_of
from listening.models.requested_jobs import ask, requested_job

KEPT_S = 86_400
WAITED_S = 600
NOW, TRIED = "now", "tried"


def effects_state(study: str) -> State:
    """What the rules in force take of the ratings as they are now; asked for where it is not."""
    return _state(study, NOW, {})


def tried_state(study: str, add: str, end: str) -> State:
    """What would change with the rule ``add`` too, or without the rule ``end``."""
    return _state(study, TRIED, {"add": add, "end": end})


def forget_effects(study: str) -> None:
    """Made again when somebody looks: a rater in them is gone."""
    with suppress(RedisError):
        cache.delete_many([_name(study, kind) for kind in (NOW, TRIED)])


def _give_up(why: str, study: str, kind: str, _asked: dict[str, str], mark: str) -> None:
    keep_state(_name(study, kind), FAILED, KEPT_S, mark=mark, problem=why)


# The settings route it to queue analysis.
@requested_job("analysis.jobs.count_rules", _give_up)
def count_rules(study: str, kind: str, change: dict[str, str], mark: str) -> None:
    """Try the rules on the study's ratings, and keep what came of it under the mark."""
    name = _name(study, kind)
    try:
        effects = _rule_effects(study, change)
    except Exception as error:
        problem = problem_of(error, f"The count by rules of {study}")
        keep_state(name, FAILED, KEPT_S, mark=mark, problem=problem)
    else:
        keep_state(name, DONE, KEPT_S, mark=mark, effects=effects)


def _rule_effects(study: str, change: dict[str, str]) -> dict[str, Any]:
    from analysis.ratings.table import from_study
    from analysis.statistics.rule_effects import rule_effects
    from analysis.statistics.screening.rule_text import as_it_is_here

    options = default_options(study)
    tried = None
    if change:
        end = as_it_is_here(change["end"]) if change["end"] else None
        tried = [rule for rule in options.rules if rule != end]
        tried += [as_it_is_here(change["add"])] if change["add"] else []
    return dict(rule_effects(from_study(study), options, tried))


def _state(study: str, kind: str, change: dict[str, str]) -> State:
    mark = _mark(study, change)
    name = _name(study, kind)
    try:
        state: State | None = cache.get(name)
        if state is not None and state["mark"] == mark:
            return state
        fresh = {"state": RUNNING, "mark": mark, "before": _last_effects(state)}
        cache.set(name, fresh, timeout=WAITED_S)
    except RedisError:
        return {"state": AWAY, "mark": mark}
    ask(count_rules, study, kind, change, mark)
    return fresh


def _last_effects(state: State | None) -> dict[str, Any] | None:
    """What was found before, so that a page has something to show while a job runs."""
    return (state.get("effects") or state.get("before")) if state else None


def _mark(study: str, change: dict[str, str]) -> str:
    """Changes with the ratings, the rules, whom they spare, and what is tried."""
    from listening.selectors import ratings_state

    options = default_options(study)
    rules = [rule_text(rule) for rule in options.rules]
    text = json.dumps([ratings_state(study)["mark"], rules, options.spared, change])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _name(study: str, kind: str) -> str:
    return f"validity/{kind}/{study}"
