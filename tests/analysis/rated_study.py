"""A small study with real sessions and ratings in the database, for the doors of the room."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from listening.models import Item, Stimulus, Study, Trial
from listening.sessions import lifecycle
from metrics.core.metric import make_metric
from metrics.models import MetricScore
from tests import factories

METRIC = "srmr"
LABELS = ("Human", "Unclear", "Machine")


def rated_study(key: str = "rated", raters: int = 3, seed: int = 1, **fields: Any) -> Study:
    """An open Audio Turing Test of three conditions; one rater in three fails the traps."""
    study = factories.make_study(
        key=key,
        conditions=3,
        items=10,
        traps={"flawed": 2, "human": 4},
        task={
            "method": "att",
            "key": "turing",
            "block_size": 10,
            "ratings_per_stimulus": 2,
            "blocks_per_rater": 1,
            "traps": factories.ATT_TRAPS,
        },
        **fields,
    )
    for number, item in enumerate(Item.objects.filter(study=study, key__startswith="item")):
        item.dimension = "poetry" if number % 2 else "emotion"
        item.save()
    rng = random.Random(seed)
    for number in range(raters):
        rate(study, lambda _: rng.choice(LABELS), careless=number % 3 == 2)
    return study


def score_stimuli(study: Study, seed: int = 1) -> None:
    """Stored metric scores of every stimulus of the study."""
    rng = random.Random(seed)
    metric = make_metric(METRIC)
    for stimulus in Stimulus.objects.filter(study=study):
        MetricScore.objects.create(
            sha256=stimulus.sha256,
            metric=metric.key,
            version=metric.version,
            parameters=metric.parameters_dict(),
            value=rng.gauss(5, 1),
            computed_at=timezone.now(),
        )


def rate(study: Study, label_of: Callable[[Trial], str], careless: bool = False) -> None:
    """One rater's session to its end; a careless one fails every trap."""
    session = factories.arrive(study)
    while (trial := factories.current(session)) is not None:
        label = label_of(trial)
        if trial.trap:
            label = trial.expected[0]
            if careless:
                label = "Human" if label == "Machine" else "Machine"
        answer = factories.an_answer(trial, label, justification={"text": '=it, "sounds"\nso 汉'})
        lifecycle.record_answer(session, answer)
