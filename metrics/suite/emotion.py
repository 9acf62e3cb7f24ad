"""Whether a clip sounds like the emotion that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core.metric import Score, Take, undefined
from metrics.networks.predictors.classifier import ClassifierMetric, ClassifierParameters
from metrics.networks.predictors.pretrained import pretrained_model

MODEL = pretrained_model("superb/wav2vec2-base-superb-er")


@dataclass(frozen=True)
class EmotionParameters(ClassifierParameters):
    """The model; its labels are the emotions that may be asked for."""

    model: str = MODEL.name


class Emotion(ClassifierMetric):
    """Probability of the label in the column ``emotion``; all probabilities are in the details."""

    key = "emotion"
    version = "1"
    description = "Probability that a classifier gives to the emotion asked for"
    title = "Emotion asked for"
    source = "Yang et al. (2021), SUPERB (IEMOCAP: neu, hap, ang, sad); others by `model`"
    low = 0.0
    high = 1.0
    higher_is_better = True
    needs = ("attributes.emotion",)
    published_model = MODEL
    parameters_type = EmotionParameters
    parameters: EmotionParameters

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One probability per take that says an emotion which the model has."""
        probabilities = self.probabilities([take.wave for take in takes])
        return [
            each if isinstance(each, Score) else emotion_score(take, each)
            for take, each in zip(takes, probabilities, strict=True)
        ]


def emotion_score(take: Take, probabilities: dict[str, float], **more: Any) -> Score:
    """The probability of the emotion asked for; ``more`` goes into the details."""
    wanted = take.material.attribute("emotion").lower()
    heard = max(probabilities, key=lambda label: probabilities[label])
    details = {"heard": heard, "probabilities": probabilities, **more}
    if not wanted:
        return undefined("no emotion was asked for", **details)
    if wanted not in probabilities:
        return undefined(f"the model knows no {wanted!r}: {', '.join(probabilities)}", **details)
    return Score(probabilities[wanted], "", details)
