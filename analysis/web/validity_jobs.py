"""Celery jobs of queue analysis for the page Validity: what rules take, and one rule tried.

What they find is made again in seconds, so it is kept in the cache and in no table.
"""

from __future__ import annotations

import hashlib
import json
import logging
from contextlib import suppress
from typing import Any

from django.core.cache import cache
from django.utils import timezone
from redis.exceptions import RedisError

from analysis.statistics.screening.rule_text import rule_text
from analysis.web.first_runs import default_options
from config.missing_packages import failure
from listening.models.requested_jobs import ask, requested_job

log = logging.getLogger(__name__)
KEPT_S = 86_400
WAITED_S = 600
RUNNING, DONE, FAILED, AWAY = "running", "done", "failed", "away"
NOW, TRIED = "now", "tried"
State = dict[str, Any]


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
    _keep(_name(study, kind), _ended_state(FAILED, mark, problem=why))


# The settings route it to queue analysis.
@requested_job("analysis.jobs.count_rules", _give_up)
def count_rules(study: str, kind: str, change: dict[str, str], mark: str) -> None:
    """Try the rules on the study's ratings, and keep what came of it under the mark."""
    name = _name(study, kind)
    try:
        effects = _rule_effects(study, change)
    except (ValueError, KeyError) as error:
        _keep(name, _ended_state(FAILED, mark, problem=str(error) or type(error).__name__))
    except Exception as error:
        problem = failure(error, "analysis", log, f"The count by rules of {study}")
        _keep(name, _ended_state(FAILED, mark, problem=problem))
    else:
        _keep(name, _ended_state(DONE, mark, effects=effects))


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
    _queue(study, kind, change, mark)
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


def _ended_state(state: str, mark: str, **result: Any) -> State:
    return {"state": state, "mark": mark, "at": timezone.now().isoformat(), **result}


def _keep(name: str, state: State) -> None:
    with suppress(RedisError):
        stored = cache.get(name)
        if stored is None or stored["mark"] == state["mark"]:  # else something else was asked since
            cache.set(name, state, timeout=KEPT_S)


def _queue(study: str, kind: str, change: dict[str, str], mark: str) -> None:
    def unreachable(error: Exception) -> None:
        problem = f"the job queue is not reachable ({error}); start it, then try again"
        _keep(_name(study, kind), _ended_state(FAILED, mark, problem=problem))

    ask(count_rules, study, kind, change, mark, unreachable=unreachable)
