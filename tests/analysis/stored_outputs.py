"""Scores as reports get them: real metrics measure clips, every output stored under its label."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.ratings.metric_scores import scores_from_rows
from metrics.core.metric import Material, Metric, Score, make_metric
from metrics.judges.client import (
    Endpoint,
    Reply,
    configure_endpoint,
    current_endpoint,
    required_endpoint,
)
from metrics.judges.question import Question, sound
from metrics.scoring.selectors import label_of

if TYPE_CHECKING:
    import torch

Clip = Mapping[str, Any]  # stimulus, condition, language, run, material, and what a judge answers
MODEL = "a-judge"


def wave_of(number: int) -> torch.Tensor:
    """A second of sound that no other number has."""
    import torch

    return 0.1 * torch.sin(torch.arange(16_000) * (0.01 + 0.001 * number))


def stored(metric: Metric, clips: Sequence[Clip]) -> pd.DataFrame:
    """The table of scores of these clips by one metric, as a study's scores are read."""
    return table_of_scores(metric, clips, measured(metric, clips))


def measured(metric: Metric, clips: Sequence[Clip]) -> list[Score]:
    """The metric's score of each clip."""
    waves = [wave_of(n) for n in range(len(clips))]
    return metric.measure(waves, [each["material"] for each in clips])


def table_of_scores(metric: Metric, clips: Sequence[Clip], scores: Sequence[Score]) -> pd.DataFrame:
    """Every output of every score under the label that a report reads."""
    known = ("stimulus", "condition", "language", "run", "group")
    rows = []
    for clip, score in zip(clips, scores, strict=True):
        by_output = metric.by_output(score)
        for output in metric.outputs():
            each = by_output[output.key]
            if not each.failed:
                rows.append(
                    {name: clip.get(name, "") for name in known}
                    | {"metric": label_of(metric, output), "version": metric.version}
                    | {"value": each.value, "reason": each.reason}
                    | {"higher_is_better": output.higher_is_better}
                    | {"low": output.low, "high": output.high, "title": output.title}
                )
    return scores_from_rows(rows)


class Double:
    """A judge that gives each sound its scripted answer, without a server."""

    def __init__(self, where: Endpoint, script: Callable[[Question], Any]) -> None:
        self.endpoint, self.script = where, script
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Reply:
        """The answer, checked as the real client checks it."""
        self.asked.append(question)
        answer = self.script(question)
        return Reply(question.check(answer), content=json.dumps(answer), model=MODEL)


def judged(key: str, clips: Sequence[Clip], folder: Path, **parameters: Any) -> pd.DataFrame:
    """The table of scores by a judge of the suite, which hears each clip's ``answer``.

    Labels name the judge, as they do where reports are made and no judge is configured.
    """
    answers = {sound(wave_of(n)).wav: each["answer"] for n, each in enumerate(clips)}
    before = current_endpoint()
    configure_endpoint(Endpoint("http://nowhere.test/v1", MODEL, cache=folder))
    try:
        metric = make_metric(key, parameters)
        double = Double(required_endpoint(MODEL), lambda asked: answers[asked.sounds[0].wav])
        metric.client_made = lambda where: double  # type: ignore[attr-defined]
        metric.load()
        scores = measured(metric, clips)
    finally:
        configure_endpoint(before)
    return table_of_scores(metric, clips, scores)


def verified(text: str, target: str, at: int | None, others: Iterable[str] = ()) -> dict[str, Any]:
    """What a judge answers that hears the target before the unit ``at`` (None: not at all)."""
    words = text.split()
    marked = text if at is None else " ".join([*words[:at], f"<{target}>", *words[at:]])
    told = {"evidence": "x", "present": at is not None, "marked_text": marked}
    return {**told, "others": list(others)}


def tagged(text: str, target: str, at: int, predicted: str = "") -> Material:
    """A clip whose text asks for one vocalisation, and what somebody found in it, if known."""
    attributes = {"nvv_target": f"{target}@{at}"}
    attributes |= {"nvv_predicted": predicted} if predicted else {}
    return Material(text=text, language="en", attributes=attributes)
