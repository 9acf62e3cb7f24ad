"""Submissions of a study and of its children: Prolific may take a quota sample in parts.

Each part is a study of its own there (a child), whose id stands in its participants' addresses. It
is not documented whether the parent's list holds them; so every child that is known is listed, and
sessions that no list explains are asked for one by one. What a session's address says is not
believed: whose submission it is, Prolific says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from django.core.cache import cache
from django.db.models import Q
from django.utils import timezone
from redis.exceptions import RedisError

from listening.models import Recruitment, Session
from listening.recruitment.prolific import Prolific, Refused, wire

MOST_LOOKED_UP = 20  # single submissions at each look: an address can be made up a thousand times
LOOKED_UP_AGAIN_S = 86400


def children_of(recruitment: Recruitment) -> set[str]:
    """The ids of the child studies that sent somebody."""
    named = recruitment.submissions.exclude(child_study="").order_by()
    return set(named.values_list("child_study", flat=True).distinct())


def named_by(study: str) -> Q:
    """Recruitments that a study's id at Prolific belongs to, its own or a child's."""
    return Q(prolific_study=study) | Q(submissions__child_study=study)


def all_submissions(
    prolific: Prolific, recruitment: Recruitment
) -> Iterator[tuple[wire.Submission, str]]:
    """Each with its child study, "" for none, as far as known."""
    listed: set[str] = set()
    for there in prolific.submissions(recruitment.prolific_study):
        listed.add(there.id)
        yield there, _child(recruitment, there)
    known = children_of(recruitment)
    yield from _submissions_of_children(prolific, known, listed)
    for there in _look_up_submissions(prolific, recruitment, listed):
        child = _child(recruitment, there)
        yield there, child
        if child and child not in known:
            known.add(child)
            yield from _submissions_of_children(prolific, [child], listed)


def _child(recruitment: Recruitment, there: wire.Submission) -> str:
    is_child = there.parent_study == recruitment.prolific_study and there.study
    return there.study if is_child else ""


def _submissions_of_children(
    prolific: Prolific, children: Iterable[str], listed: set[str]
) -> Iterator[tuple[wire.Submission, str]]:
    for child in children:
        try:
            submissions = prolific.submissions(child)
        except Refused:
            continue  # it is not listed by itself: `_look_up_submissions` asks for each
        listed.update(there.id for there in submissions)
        yield from ((there, child) for there in submissions)


def _look_up_submissions(
    prolific: Prolific, recruitment: Recruitment, listed: set[str]
) -> Iterator[wire.Submission]:
    """Those of this study that no list holds, or of which no list says which child they are of."""
    unexplained = _unexplained(recruitment)
    names = dict.fromkeys([*_unlisted(recruitment, listed), *unexplained])
    for name in list(names)[:MOST_LOOKED_UP]:
        try:
            there = prolific.submission(name)
        except Refused:
            there = None  # made up, or another researcher's
        if there and recruitment.prolific_study in (there.study, there.parent_study):
            yield there
        recruitment.submissions.filter(prolific_id=name).update(seen_at=timezone.now())
        if name in unexplained and not (there and _child(recruitment, there)):
            with suppress(RedisError):  # a day later Prolific may say something else
                cache.set(_key(unexplained[name]), True, timeout=LOOKED_UP_AGAIN_S)


def _unlisted(recruitment: Recruitment, listed: set[str]) -> list[str]:
    """Of children without a list: those that are not over, the longest not looked at first."""
    going_on = recruitment.submissions.exclude(child_study="")
    going_on = going_on.exclude(status__in=wire.SUBMISSION_OVER).order_by("seen_at")
    return [row.prolific_id for row in going_on if row.prolific_id not in listed]


def _unexplained(recruitment: Recruitment) -> dict[str, int]:
    """Submission that a session names -> that session, the newest first; not who was asked today.

    It is in no list, or the address says another study than the parent.
    """
    sessions = (
        Session.objects.filter(study=recruitment.study_id)
        .exclude(prolific_session="")
        .exclude(rater__simulated=True, prolific_study="")
        .filter(
            Q(submissions__isnull=True)
            | Q(submissions__child_study="") & ~Q(prolific_study=recruitment.prolific_study)
        )
    )
    named = dict(sessions.order_by("-pk").values_list("prolific_session", "pk"))
    looked_up: set[str] = set()
    with suppress(RedisError):
        looked_up = set(cache.get_many([_key(pk) for pk in named.values()]))
    return {name: pk for name, pk in named.items() if _key(pk) not in looked_up}


def _key(session: int) -> str:
    return f"prolific/asked/{session}"
