"""Leaderboards made again when something they are made of has changed, by a job."""

from __future__ import annotations

import hashlib
import json
import pickle
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.core.cache import cache
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from redis.exceptions import RedisError

from analysis.models import Leaderboard, LeaderboardEntry
from analysis.ratings.cells import LEFT_OUT_BY
from analysis.ratings.published import STAY
from analysis.report.content import Content, content_from
from analysis.statistics.screening.rule_text import rule_text
from analysis.web.board_versions import (
    forget_versions,
    is_new_version,
    keep_version,
    withheld_studies,
)
from analysis.web.cache import code_mark, marks
from analysis.web.job_states import problem_of
from analysis.web.study_tables import study_rules, study_spared
from listening.common.ages import age_s
from listening.models.requested_jobs import ask, requested_job

if TYPE_CHECKING:
    from analysis.report.leaderboard.answers_file import AnswersFile
    from analysis.report.leaderboard.gathering import StudyInput


KEPT_S = 7 * 86_400
_RATINGS = ["task", "criterion", "stimulus", "versus_stimulus", "presented_first", "rater"]
_RATINGS += ["score", "estimand", "trap", "rated_at", "session", "block", "position"]
_RATINGS += ["pair_probability"]
_SCORES = ["stimulus", "metric", "version", "value", "higher_is_better", "title"]


def study_mark(key: str) -> str:
    """Changes with ratings, metric scores, rules of screening, whom they spare, and the code."""
    rules = [rule_text(rule) for rule in study_rules(key)]
    text = json.dumps([code_mark(), marks(key), rules, study_spared(key)])
    return hashlib.sha256(text.encode()).hexdigest()


def study_input(key: str) -> StudyInput:
    """A study as a leaderboard takes it, by the study's own rules of screening."""
    from listening.selectors import board_facts

    mark = study_mark(key)
    study = _cached_input(key, mark)
    if study is None:
        study = _read(key)
        _keep(key, mark, study)
    return replace(study, facts=board_facts(key))


def forget_input(key: str) -> None:
    """Read again when a leaderboard is made: a rater in it is gone, or the study."""
    with suppress(RedisError):
        cache.delete(_name(key))


def _read(key: str) -> StudyInput:
    from analysis.ratings.metric_scores import scores_from_rows
    from analysis.ratings.study_scores import study_scores
    from analysis.ratings.table import from_study, rated
    from analysis.report.leaderboard.gathering import StudyInput
    from analysis.statistics.screening.screened import screen
    from listening.selectors import board_facts, scripted_raters

    rules = study_rules(key)
    screened = screen(from_study(key), rules, study_spared(key))
    ratings = screened.kept(rules)
    excluded = screened.excluded()
    scripted = scripted_raters(key) & set(ratings["rater"])
    scores = scores_from_rows(study_scores(key))
    used = [name for name in _SCORES if name in scores]
    stays = excluded["session_status"].astype(str).map(STAY).fillna("")
    return StudyInput(
        facts=board_facts(key),
        ratings=rated(ratings)[_RATINGS],
        scores=scores[used],
        scripted=frozenset(scripted),
        exclusions=screened.counts(),
        excluded=excluded[stays == ""][[*_RATINGS, LEFT_OUT_BY]],
        withheld=Counter(stays[stays != ""].tolist()),
    )


def _cached_input(key: str, mark: str) -> StudyInput | None:
    with suppress(RedisError):
        held = cache.get(_name(key))
        if held and held[0] == mark:  # which is of the code, too: this program can read it
            study: StudyInput = pickle.loads(zlib.decompress(held[1]))
            return study
    return None


def _keep(key: str, mark: str, study: StudyInput) -> None:
    """Kept, unless the study changed while it was read: somebody may have withdrawn."""
    packed = zlib.compress(pickle.dumps(study, pickle.HIGHEST_PROTOCOL), level=1)
    with suppress(RedisError):
        cache.set(_name(key), (mark, packed), timeout=KEPT_S)
        if study_mark(key) != mark:
            forget_input(key)


def _name(key: str) -> str:
    return f"leaderboards/input/{key}"


State = Leaderboard.State
WAITED_S = 15 * 60  # a job that has not come back by then is asked for again


def board_mark(board: Leaderboard) -> str:
    """A mark of all that a leaderboard is made of: its studies in their order and its settings."""
    parts: list[Any] = [board.reference, board.anchors, str(board.first_day)]
    parts += ((key, study_mark(key)) for key in board.keys)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def make_when_due(board: Leaderboard) -> None:
    """Asks for the leaderboard where what it is made of changed; twice does no harm."""
    mark = board_mark(board)
    if board.state in (State.DONE, State.FAILED) and board.mark == mark:
        return
    asked_at = board.asked_at if board.state == State.WAITING else None
    if asked_at is not None and age_s(asked_at) < WAITED_S:
        return
    board.state, board.asked_at = State.WAITING, timezone.now()
    with transaction.atomic():
        board.save(update_fields=["state", "asked_at"])
        ask(make_leaderboard, board.pk)


def content_of(board: Leaderboard) -> Content | None:
    """What was last made, if anything is there."""
    return content_from(json.loads(board.result)) if board.result else None


def _give_up(problem: str, pk: int) -> None:
    Leaderboard.objects.filter(pk=pk).update(state=State.FAILED, error=problem, mark="")


# The settings route it to queue analysis.
@requested_job("analysis.jobs.make_leaderboard", _give_up, "reload this page")
def make_leaderboard(pk: int) -> None:
    """The leaderboard of the ratings and scores as they stand now."""
    boards = Leaderboard.objects.filter(pk=pk)
    board = boards.first()
    if board is None:
        return
    mark = board_mark(board)
    ended = {"mark": mark, "made_at": timezone.now()}
    try:
        content = leaderboard_content(board)
        due = is_new_version(board, content)
        answers = public_answers(board) if due else None
    except Exception as error:
        problem = problem_of(error, f"Leaderboard {pk}")
        boards.update(state=State.FAILED, error=problem, **ended)
    else:
        text = json.dumps(content.plain(), ensure_ascii=False)
        with transaction.atomic():
            row = boards.select_for_update().first()
            if row is None:
                return
            if board_mark(row) != mark:  # a rater withdrew, or a study was taken off meanwhile
                boards.update(state=State.EMPTY)
                return
            boards.update(state=State.DONE, error="", result=text, **ended)
            if due:
                boards.filter(version_note=board.version_note).update(version_note="")
                keep_version(board, content, answers)


def ask_for_version(board: Leaderboard, note: str) -> None:
    """Have the leaderboard made of the answers so far and kept as a version, whatever changed."""
    board.state, board.asked_at, board.version_note = State.WAITING, timezone.now(), note
    with transaction.atomic():
        board.save(update_fields=["state", "asked_at", "version_note"])
        ask(make_leaderboard, board.pk)


def public_answers(board: Leaderboard) -> AnswersFile | None:
    """The answers of its studies as a file, as far as they may be published."""
    from analysis.report.leaderboard.answers_file import answers_file

    withheld, with_audio = withheld_studies(board.keys)

    def pseudonym(kind: str, name: str) -> str:
        """A code that is the same on this leaderboard, and on no other."""
        said = salted_hmac(f"leaderboard {board.pk} {kind}", name, algorithm="sha256").hexdigest()
        return f"{kind}-{said[:12]}"

    if len(withheld) == len(board.keys):
        return None
    return answers_file(_inputs(board), withheld, with_audio, pseudonym)


def leaderboard_content(board: Leaderboard) -> Content:
    """The leaderboard as it is now, by each study's own rules of screening."""
    from analysis.report.leaderboard.anchor_drift import Anchors
    from analysis.report.leaderboard.board import leaderboard

    days = board.versions.values_list("taken_at", flat=True)
    anchors = Anchors(board.anchors, [day.date().isoformat() for day in days])
    return leaderboard(_inputs(board), board.reference, anchors=anchors)


def _inputs(board: Leaderboard) -> list[StudyInput]:
    """Its studies, with older answers set apart where it says so."""
    from analysis.report.leaderboard.gathering import set_apart

    inputs = [study_input(key) for key in board.keys]
    if board.first_day is None:
        return inputs
    return [set_apart(each, board.first_day.isoformat()) for each in inputs]


def forget_boards(study_key: str) -> None:
    """What was made with a study's ratings is deleted: some of them, or the study, are gone."""
    forget_input(study_key)
    forget_versions(study_key)
    _empty(list(Leaderboard.objects.filter(entries__study__key=study_key).values_list("pk")))


def forget_board_of(instance: LeaderboardEntry, **_signal: Any) -> None:
    """Receives `pre_delete` of a study's place on a leaderboard, however the study goes."""
    _empty([(instance.board_id,)])


def _empty(boards: list[tuple[int]]) -> None:
    affected = Leaderboard.objects.filter(pk__in=[pk for (pk,) in boards])
    affected.update(state=State.EMPTY, result="", mark="", error="")


def queue_again() -> int:
    """Leaderboards that waited when a backup was taken."""
    waiting = list(
        Leaderboard.objects.filter(state=Leaderboard.State.WAITING).values_list("pk", flat=True)
    )
    for pk in waiting:
        ask(make_leaderboard, pk)
    return len(waiting)
