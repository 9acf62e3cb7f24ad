"""The Celery job of queue analysis that checks clips and texts of a study or draft; its report.

It is made again in minutes, so it is kept in the cache and in no table.
"""

from __future__ import annotations

import json
import logging
import zlib
from contextlib import suppress

from django.core.cache import cache
from redis.exceptions import RedisError

from analysis.corpus.study_corpus import stored_mark
from analysis.web.job_states import AWAY, DONE, FAILED, NONE, RUNNING, State, keep_state
from config.missing_packages import failure
from listening.models.requested_jobs import ask, requested_job

log = logging.getLogger(__name__)
KEPT_S = 30 * 86_400
WAITED_S = 7200  # a job that has not come back by then is asked for again
TOLD_EVERY = 50  # files


def check_state(subject: str) -> State:
    """What is known of the check of a subject: its state, mark, progress or report.

    ``changed`` says that clips, texts or tags are others by now, ``empty`` that there is no clip.
    """
    now = stored_mark(subject)
    if not now:
        return {"state": NONE, "empty": True}
    try:
        state: State | None = cache.get(_name(subject))
    except RedisError:
        return {"state": AWAY}
    if state is None:
        return {"state": NONE}
    if "packed" in state:
        state = {**state, "report": json.loads(zlib.decompress(state["packed"]))}
    return {**state, "changed": state["mark"] != now}


def start_check(subject: str) -> None:
    """Check a study or a draft in a job; one that runs already for the same clips goes on."""
    mark = stored_mark(subject)
    with suppress(RedisError):
        state = cache.get(_name(subject))
        if state and state["state"] == RUNNING and state["mark"] == mark:
            return
        cache.set(_name(subject), {"state": RUNNING, "mark": mark}, timeout=WAITED_S)
    ask(check_stored_corpus, subject, mark)


def check_file(subject: str, name: str) -> str | None:
    """A CSV file of the last check; None where there is none."""
    with suppress(RedisError):
        packed: bytes | None = cache.get(_name(subject, name))
        return zlib.decompress(packed).decode() if packed else None
    return None


def forget_check(subject: str) -> None:
    """The study or draft is deleted, and its texts with it."""
    from analysis.corpus.corpus_report import FILES

    with suppress(RedisError):
        cache.delete_many([_name(subject), *(_name(subject, name) for name in FILES)])


def _give_up(why: str, subject: str, mark: str) -> None:
    keep_state(_name(subject), FAILED, KEPT_S, mark=mark, problem=why)


# The settings route it to queue analysis.
@requested_job("analysis.jobs.check_corpus", _give_up)
def check_stored_corpus(subject: str, mark: str) -> None:
    """Check the clips and texts of a study or a draft, and keep the report under the mark."""
    try:  # a light installation may lack what these import
        from analysis.corpus.corpus_report import check_corpus
        from analysis.corpus.sources import CorpusError
        from analysis.corpus.study_corpus import stored_corpus
        from listening.selectors import bring_audio

        def tell(read: int, every: int) -> None:
            if read % TOLD_EVERY == 0:
                keep_state(_name(subject), RUNNING, WAITED_S, mark=mark, read=read, every=every)

        try:
            report = check_corpus(stored_corpus(subject), progress=tell, fetch=bring_audio)
        except CorpusError as error:
            _give_up(str(error), subject, mark)
            return
    except Exception as error:
        problem = failure(error, "analysis", log, f"The check of the corpus of {subject}")
        _give_up(problem, subject, mark)
        return
    with suppress(RedisError):
        for name, content in report.files.items():
            cache.set(_name(subject, name), zlib.compress(content.encode()), timeout=KEPT_S)
    plain = {**report.plain(), "files": {}}
    packed = zlib.compress(json.dumps(plain).encode())
    keep_state(_name(subject), DONE, KEPT_S, mark=mark, packed=packed)


def _name(subject: str, file: str = "report") -> str:
    return f"corpus/{subject}/{file}"
