"""Ratings after a place in the order of storing, each given exactly once.

Ratings are numbered when they are stored, and seen when their transaction has ended: a smaller
number may be seen after a larger one. So a reader that remembers the largest number it has seen
would lose ratings. Here the writers that are at it when that number is read are waited for; those
that begin later get larger numbers (ADR 31).
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic, sleep

from django.db import connection
from django.db.models import QuerySet

from listening.models import Rating, Study
from listening.selectors.rating_table import ratings_of, study_criteria

PATIENCE_S = 5.0
LOOK_AGAIN_S = 0.005
# A lock of this kind is taken before a rating is numbered, and given back when all others see it.
WRITERS = """
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND relation = 'listening_rating'::regclass AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND mode = 'RowExclusiveLock' AND pid IS DISTINCT FROM pg_backend_pid()
"""


class NotSettled(Exception):
    """Ratings are being written by somebody who takes long."""


@dataclass(frozen=True)
class Settled:
    """The ratings after `after`, up to `upto`, of which none is missing."""

    ratings: QuerySet[Rating]
    after: int
    upto: int
    more: bool  # whether there are others after them already

    @property
    def is_empty(self) -> bool:
        return self.upto == self.after


def settled_ratings(study: Study, after: int, most: int) -> Settled:
    """About `most` of them, in the order of storing. NotSettled after a long wait."""
    waiting = ratings_of(study).filter(pk__gt=after).order_by("pk")
    found = list(waiting.values_list("pk", flat=True)[:most])
    if not found:
        return Settled(Rating.objects.none(), after, after, False)
    wait_for_writers()
    criteria = [each.pk for each in study_criteria(study)]
    chosen = Rating.objects.filter(criterion__in=criteria, pk__gt=after, pk__lte=found[-1])
    return Settled(chosen, after, found[-1], len(found) == most)


def wait_for_writers(patience_s: float = PATIENCE_S) -> None:
    """Until all transactions have ended that may have numbered a rating before now."""
    before = writers()
    until = monotonic() + patience_s
    while before:
        if monotonic() > until:
            raise NotSettled(
                "Ratings are being stored or deleted by something that takes long. Ask again; the "
                "same cursor goes on where you are."
            )
        sleep(LOOK_AGAIN_S)
        before &= writers()


def writers() -> set[str]:
    """The transactions that are writing ratings now."""
    with connection.cursor() as cursor:
        cursor.execute(WRITERS)
        return {row[0] for row in cursor.fetchall()}
