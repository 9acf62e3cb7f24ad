"""The Celery job of queue analysis that checks a study's clips and texts, and what it found.

It is made again in minutes, so it is kept in the cache and in no table.
"""

from __future__ import annotations

import json
import logging
import zlib
from contextlib import suppress
from typing import Any

from django.core.cache import cache
from django.utils import timezone
from redis.exceptions import RedisError

from analysis.corpus.study_corpus import corpus_mark
from config.missing_packages import failure
from listening.models.requested_jobs import ask, requested_job

log = logging.getLogger(__name__)
KEPT_S = 30 * 86_400
WAITED_S = 7200  # a job that has not come back by then is asked for again
TOLD_EVERY = 50  # files
NONE, RUNNING, DONE, FAILED, AWAY = "none", "running", "done", "failed", "away"
State = dict[str, Any]


def check_state(study: str) -> State:
    """What is known of the study's check: its state, mark, progress or report.

    ``changed`` says that clips, texts or tags are others by now.
    """
    try:
        state: State | None = cache.get(_name(study))
    except RedisError:
        return {"state": AWAY}
    if state is None:
        return {"state": NONE}
    if "packed" in state:
        state = {**state, "report": json.loads(zlib.decompress(state["packed"]))}
    return {**state, "changed": state["mark"] != corpus_mark(study)}


def start_check(study: str) -> None:
    """Check the study in a job; one that runs already for the same clips goes on."""
    mark = corpus_mark(study)
    with suppress(RedisError):
        state = cache.get(_name(study))
        if state and state["state"] == RUNNING and state["mark"] == mark:
            return
        cache.set(_name(study), {"state": RUNNING, "mark": mark}, timeout=WAITED_S)
    _queue(study, mark)


def check_file(study: str, name: str) -> str | None:
    """A CSV file of the last check; None where there is none."""
    with suppress(RedisError):
        packed: bytes | None = cache.get(_name(study, name))
        return zlib.decompress(packed).decode() if packed else None
    return None


def forget_check(study: str) -> None:
    """The study is deleted, and its texts with it."""
    from analysis.corpus.corpus_report import FILES

    with suppress(RedisError):
        cache.delete_many([_name(study), *(_name(study, name) for name in FILES)])


def _give_up(why: str, study: str, mark: str) -> None:
    _keep(study, FAILED, mark, problem=why)


# The settings route it to queue analysis.
@requested_job("analysis.jobs.check_corpus", _give_up)
def check_study_corpus(study: str, mark: str) -> None:
    """Check the clips and texts of a study, and keep the report under the mark."""
    try:  # a light installation may lack what these import
        from analysis.corpus.corpus_report import check_corpus
        from analysis.corpus.study_corpus import study_corpus
        from listening.selectors import bring_audio

        def tell(read: int, every: int) -> None:
            if read % TOLD_EVERY == 0:
                _keep(study, RUNNING, mark, WAITED_S, read=read, every=every)

        report = check_corpus(study_corpus(study), progress=tell, fetch=bring_audio)
    except Exception as error:
        problem = failure(error, "analysis", log, f"The check of the corpus of {study}")
        _keep(study, FAILED, mark, problem=problem)
        return
    with suppress(RedisError):
        for name, content in report.files.items():
            cache.set(_name(study, name), zlib.compress(content.encode()), timeout=KEPT_S)
    plain = {**report.plain(), "files": {}}
    _keep(study, DONE, mark, packed=zlib.compress(json.dumps(plain).encode()))


def _name(study: str, file: str = "report") -> str:
    return f"corpus/{study}/{file}"


def _keep(study: str, state: str, mark: str, timeout: int = KEPT_S, **result: Any) -> None:
    at = timezone.now().isoformat()
    with suppress(RedisError):
        stored = cache.get(_name(study))
        if stored is None or stored["mark"] == mark:  # else another one was asked for since
            fresh = {"state": state, "mark": mark, "at": at, **result}
            cache.set(_name(study), fresh, timeout=timeout)


def _queue(study: str, mark: str) -> None:
    def unreachable(error: Exception) -> None:
        problem = f"the job queue is not reachable ({error}); start it, then try again"
        _keep(study, FAILED, mark, problem=problem)

    ask(check_study_corpus, study, mark, unreachable=unreachable)
