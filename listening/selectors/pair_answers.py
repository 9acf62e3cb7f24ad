"""Answers about pairs of systems, of tasks in which each claim draws its pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from listening.common.statements import rows_of
from listening.design.pair_drawing import drawing_rule, swiss_round
from listening.methods import method_named
from listening.methods.paired import SWISS, Pair
from listening.models import Criterion, PairFit, Study, Task

LEAST_NEW, NEW_SHARE = 5, 0.05  # answers since the last fit, of those that it had
ANSWERED = "SELECT count(*) FROM listening_rating WHERE criterion_id = %(criterion)s AND counts"
ANSWERS = """
SELECT x.condition_id, v.condition_id AS versus_id,
    count(*) FILTER (WHERE r.score > %(neutral)s) AS wins,
    count(*) FILTER (WHERE r.score < %(neutral)s) AS losses,
    count(*) FILTER (WHERE r.score = %(neutral)s) AS ties
FROM listening_rating r
JOIN listening_slot s ON s.id = r.slot_id
JOIN listening_stimulus x ON x.id = s.stimulus_id
JOIN listening_stimulus v ON v.id = s.versus_id
WHERE r.criterion_id = %(criterion)s AND r.counts GROUP BY 1, 2
"""


@dataclass(frozen=True)
class PairAnswers:
    """One pair: answers that preferred its first system, its second, neither; and those drawn."""

    wins: int
    losses: int
    ties: int
    drawn: int


def tasks_to_fit() -> Iterator[int]:
    """Tasks of open studies whose strengths are to be fitted anew."""
    open_ones = Task.objects.filter(study__state=Study.State.OPEN, pair_counts__isnull=False)
    for task in open_ones.distinct().order_by("pk"):
        if _is_due(task):
            yield task.pk


def _is_due(task: Task) -> bool:
    fit = PairFit.objects.filter(task=task).first()
    had = fit.answers if fit else 0
    (row,) = rows_of(ANSWERED, criterion=_criterion(task).pk)
    return bool(row.count - had >= max(LEAST_NEW, NEW_SHARE * had))


def pairs_of_round(
    task: int, strengths: Mapping[str, float], drawn: Mapping[Pair, int], number: int
) -> set[Pair]:
    """The pairs that may meet until the next fit: of a Swiss tournament's round, or all."""
    if drawing_rule(Task.objects.get(pk=task)) != SWISS:
        return set(drawn)
    return set(swiss_round(strengths, drawn, Random(f"swiss {task} {number}")))


def pair_answers(task: int) -> dict[Pair, PairAnswers]:
    """What the counting ratings of a task's first criterion say of each pair that it may draw."""
    row = Task.objects.get(pk=task)
    criterion, estimand = _criterion(row), method_named(row.method).estimand
    found = {
        (each.condition_id, each.versus_id): each
        for each in rows_of(ANSWERS, criterion=criterion.pk, neutral=estimand.neutral or 0.0)
    }
    answers = {}
    for pair in row.pair_counts.select_related("condition", "versus").order_by("pk"):
        own = found.get((pair.condition_id, pair.versus_id))
        answers[pair.condition.key, pair.versus.key] = PairAnswers(
            wins=own.wins if own else 0,
            losses=own.losses if own else 0,
            ties=own.ties if own else 0,
            drawn=pair.drawn,
        )
    return answers


def _criterion(task: Task) -> Criterion:
    return task.criteria.order_by("order")[0]
