"""Strengths of systems fitted while raters answer, by which the next pairs are drawn."""

from __future__ import annotations

from celery import shared_task
from django.db import transaction

from listening.models import PairFit, Task
from listening.selectors.pair_answers import pair_answers, pairs_of_round, tasks_to_fit

KEPT_S = 30  # a job that no worker took by then is sent again


@shared_task(name="analysis.jobs.fit_pairs")
def fit_due_pairs(task: int) -> bool:
    """Fit a task's strengths, unless another job has done so."""
    due = task in tasks_to_fit()
    if due:
        fit_pairs(task)
    return due


def ask_for_fit(sender: object, task_id: int, **kwargs: object) -> None:
    """A task has new answers: a worker is to fit its strengths."""
    fit_due_pairs.apply_async((task_id,), expires=KEPT_S)


def fit_pairs(task: int) -> PairFit:
    """Fit a task's strengths, and store by how much each pair's next answer would tell more.

    Where two fit at once, one waits for the other: the later one has all answers.
    """
    import numpy as np

    from analysis.statistics.pairs.pair_information import pair_information

    with transaction.atomic():
        Task.objects.select_for_update(no_key=True).get(pk=task)
        answers = pair_answers(task)
        names = sorted({name for pair in answers for name in pair})
        place = {name: n for n, name in enumerate(names)}
        wins, ties, drawn = (np.zeros((len(names), len(names)), dtype=int) for _ in range(3))
        for (one, other), each in answers.items():
            a, b = place[one], place[other]
            wins[a, b], wins[b, a], ties[a, b] = each.wins, each.losses, each.ties
            drawn[a, b] = each.drawn
        found = pair_information(wins, ties, drawn)
        strengths = dict(zip(names, found.strengths.tolist(), strict=True))
        before = PairFit.objects.filter(task=task).first()
        number = before.number + 1 if before else 1
        counts = {pair: each.drawn for pair, each in answers.items()}
        may_meet = pairs_of_round(task, strengths, counts, number)
        pairs = [
            [
                *(one, other, counts[one, other]),
                float(found.spread[place[one], place[other]]),
                float(found.variance[place[one], place[other]]),
                (one, other) in may_meet,
            ]
            for one, other in answers
        ]
        return PairFit.objects.update_or_create(
            task_id=task,
            defaults={
                "number": number,
                "answers": sum(each.wins + each.losses + each.ties for each in answers.values()),
                "drawn": sum(counts.values()),
                "strengths": strengths,
                "pairs": pairs,
            },
        )[0]
