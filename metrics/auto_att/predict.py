"""Predicted human-likeness of clips, with what the predictor had heard in training; JSONL."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from metrics.auto_att.dataset import DatasetError, LabelledClip
from metrics.auto_att.model import LABELS, SHORTEST_S, Listener, expected_scores
from metrics.core import decoding
from metrics.core.lazy_torch import torch
from metrics.core.metric import Score
from metrics.networks.predictors import chunks

BATCH = 4  # clips at once
Scored = Callable[["Sequence[torch.Tensor]"], Sequence[Score]]  # waves at 16 kHz -> scores


@dataclass(frozen=True)
class Prediction:
    """What a predictor says of one clip."""

    clip: str
    sha256: str
    score: float | None  # in [0, 1]; None with a reason
    reason: str = ""
    heard_clip: bool = False  # this audio was trained on
    heard_voice: bool = False  # this voice was trained on
    heard_dimension: bool = False
    details: dict[str, Any] = field(default_factory=dict)


def score_waves(listener: Listener, waves: Sequence[torch.Tensor]) -> list[Score]:
    """One score per wave, (samples,) at the listener's rate, a few at once.

    The details hold the three probabilities; ``heard_s`` where a clip is longer than the model
    hears. Silence and clips under 0.1 s have no value.
    """
    unfit = [chunks.unfit(wave, SHORTEST_S, listener.rate_hz) for wave in waves]
    usable = [i for i, score in enumerate(unfit) if score is None]
    scores: dict[int, Score] = {}
    for start in range(0, len(usable), BATCH):
        places = usable[start : start + BATCH]
        for i, score in zip(places, _batch(listener, [waves[i] for i in places]), strict=True):
            scores[i] = score
    return [score or scores[i] for i, score in enumerate(unfit)]


def _batch(listener: Listener, waves: Sequence[torch.Tensor]) -> list[Score]:
    with torch.inference_mode():
        probabilities = listener.probabilities(waves).cpu()
    scores = expected_scores(probabilities).tolist()
    results = []
    for wave, score, row in zip(waves, scores, probabilities.tolist(), strict=True):
        details: dict[str, Any] = {f"p_{k.lower()}": p for k, p in zip(LABELS, row, strict=True)}
        if len(wave) > listener.longest:
            details["heard_s"] = listener.longest / listener.rate_hz
        results.append(Score(score, details=details))
    return results


def predictions(
    clips: Sequence[LabelledClip],
    score: Scored,
    rate_hz: int,
    trained_on: dict[str, Any] | None = None,
) -> list[Prediction]:
    """Predictions of clips in their order; a file that cannot be read has a reason.

    ``score`` gives the scores of waves at ``rate_hz``; ``trained_on`` (of a checkpoint) names
    hashes, voices and dimensions that its training heard.
    """
    predictions = []
    for start in range(0, len(clips), BATCH):
        part = clips[start : start + BATCH]
        waves, reasons = [], {}
        for clip in part:
            try:
                waves.append(torch.from_numpy(decoding.load_wave(clip.path, rate_hz)))
            except decoding.AudioError as error:
                reasons[clip.clip] = str(error)
        results = iter(score(waves) if waves else ())
        for clip in part:
            broken = reasons.get(clip.clip)
            clip_score = Score(None, broken) if broken else next(results)
            predictions.append(prediction(clip, clip_score, trained_on or {}))
    return predictions


def prediction(clip: LabelledClip, score: Score, trained_on: dict[str, Any]) -> Prediction:
    """A clip's score beside what training heard of it."""
    voices = {tuple(voice) for voice in trained_on.get("voices", ())}
    return Prediction(
        clip=clip.clip,
        sha256=clip.sha256,
        score=score.value,
        reason=score.reason,
        heard_clip=clip.sha256 in trained_on.get("sha256", ()),
        heard_voice=clip.speaker in voices,
        heard_dimension=clip.dimension in trained_on.get("dimensions", ()),
        details=dict(score.details),
    )


def write(predictions: Sequence[Prediction], path: Path | str) -> None:
    """One prediction a line, as JSON."""
    lines = [json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in predictions]
    Path(path).write_text("".join(lines), encoding="utf-8")


def read(path: Path | str) -> list[Prediction]:
    """Predictions of a file; needed in every line: clip and score (or null with a reason)."""
    predictions = []
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror})") from error
    for number, line in enumerate(lines, start=1):
        try:
            predictions.append(Prediction(**{"sha256": "", **json.loads(line)}))
        except (TypeError, ValueError) as error:
            raise DatasetError(f"{path}, line {number}: {error}") from error
    return predictions
