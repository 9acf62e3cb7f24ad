"""Studies as leaderboards take them, kept in the cache until something of them changes.

So an answer in one study has its ratings read and screened again, and not those of the others. What
is kept names raters by their codes: it goes with the first of them who withdraws.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.cache import cache
from redis.exceptions import RedisError

from analysis.statistics.screening import rule_text
from analysis.web.cache import code_mark, marks
from analysis.web.study_tables import study_rules, study_spared

if TYPE_CHECKING:
    import pandas as pd

    from analysis.report.leaderboard.gathering import StudyInput

KEPT_S = 7 * 86_400
_RATINGS = ["task", "criterion", "stimulus", "rater", "score", "estimand", "trap"]
_SCORES = ["stimulus", "metric", "version", "value", "higher_is_better", "title"]


@dataclass(frozen=True)
class Screened:
    """A study's ratings after screening and its metric scores, in the columns that are used."""

    ratings: pd.DataFrame
    scores: pd.DataFrame
    scripted: int


def study_mark(key: str) -> str:
    """Changes with ratings, metric scores, rules of screening, whom they spare, and the code."""
    rules = [rule_text(rule) for rule in study_rules(key)]
    text = json.dumps([code_mark(), marks(key), rules, study_spared(key)])
    return hashlib.sha256(text.encode()).hexdigest()


def study_input(key: str) -> StudyInput:
    """A study as a leaderboard takes it, by the study's own rules of screening."""
    from analysis.report.leaderboard.gathering import StudyInput
    from listening.selectors import board_facts

    mark = study_mark(key)
    screened = _kept(key, mark)
    if screened is None:
        screened = _read(key)
        _keep(key, mark, screened)
    return StudyInput(board_facts(key), screened.ratings, screened.scores, screened.scripted)


def forget_input(key: str) -> None:
    """Read again when a leaderboard is made: a rater in it is gone, or the study."""
    with suppress(RedisError):
        cache.delete(_name(key))


def _read(key: str) -> Screened:
    from analysis.ratings.metric_scores import scores_from_rows
    from analysis.ratings.study_scores import study_scores
    from analysis.ratings.table import from_study, rated
    from analysis.statistics.screening import screen
    from listening.selectors import scripted_raters

    rules = study_rules(key)
    kept = screen(from_study(key), rules, study_spared(key)).kept(rules)
    scripted = scripted_raters(key) & set(kept["rater"])
    scores = scores_from_rows(study_scores(key))
    used = [name for name in _SCORES if name in scores]
    return Screened(rated(kept)[_RATINGS], scores[used], len(scripted))


def _kept(key: str, mark: str) -> Screened | None:
    with suppress(RedisError):
        held = cache.get(_name(key))
        if held and held[0] == mark:  # which is of the code, too: this program can read it
            screened: Screened = pickle.loads(zlib.decompress(held[1]))
            return screened
    return None


def _keep(key: str, mark: str, screened: Screened) -> None:
    """Kept, unless the study changed while it was read: somebody may have withdrawn."""
    packed = zlib.compress(pickle.dumps(screened, pickle.HIGHEST_PROTOCOL), level=1)
    with suppress(RedisError):
        cache.set(_name(key), (mark, packed), timeout=KEPT_S)
        if study_mark(key) != mark:
            forget_input(key)


def _name(key: str) -> str:
    return f"leaderboards/input/{key}"
