"""How well predictions agree with people: F1 on the trap clips, Kendall distance of voices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metrics.auto_att.dataset import TRAP, Dataset, LabelledClip
from metrics.auto_att.predict import Prediction

NORMAL_975 = 1.959963984540054  # quantile of the normal distribution
Pair = tuple[LabelledClip, Prediction]


@dataclass(frozen=True)
class TrapResult:
    """Trap clips called Human when their score is at least the threshold; Human is the positive."""

    threshold: float
    human: int  # clips of each kind that count
    flawed: int
    precision: float | None
    recall: float | None
    f1: float | None
    f1_always_human: float | None  # what calling every clip Human would reach
    left_out: dict[str, int]
    reason: str = ""


@dataclass(frozen=True)
class Ranking:
    """Voices ranked by people and by the predictions, within one dimension or over all."""

    voices_are: str  # "new": not trained on; "all"
    dimension: str  # empty: all dimensions together
    seen: bool | None  # whether training heard the dimension; None for all together
    voices: int
    clips: int
    distance: float | None  # normalised Kendall distance: 0 same order, 1 reversed
    p: float | None  # two-sided, of no association (Kendall's tau)
    reason: str = ""


@dataclass(frozen=True)
class ClipResult:
    """Clips that training did not hear: the prediction against the mean of the labels."""

    clips: int
    mean_absolute_error: float | None
    spearman: float | None
    spearman_low: float | None = None  # at 95 %, as if clips were drawn at random
    spearman_high: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """Everything that was compared; ``left_out`` counts rated clips by reason."""

    traps: TrapResult
    rankings: tuple[Ranking, ...]
    clips: ClipResult
    left_out: dict[str, int]


def evaluate(
    dataset: Dataset, predictions: Sequence[Prediction], threshold: float = 0.5
) -> Evaluation:
    """Predictions against people, on clips that the predictor was not trained on.

    As Wang et al. (2025), section 4.2: F1 on the trap clips at a threshold, and the Kendall
    distance of the ranking of voices, overall and per dimension.
    """
    known = {each.clip: each for each in predictions}
    traps = [clip for clip in dataset.clips if clip.split == TRAP]
    rated = [clip for clip in dataset.clips if clip.split != TRAP]
    pairs, left_out = usable(rated, known)
    return Evaluation(trap_result(traps, known, threshold), rankings(pairs), fit(pairs), left_out)


def usable(
    clips: Sequence[LabelledClip], known: Mapping[str, Prediction]
) -> tuple[list[Pair], dict[str, int]]:
    """Clips with a prediction that did not hear them, and how many others there are by reason."""
    left_out: Counter[str] = Counter()
    pairs = []
    for clip in clips:
        prediction = known.get(clip.clip)
        if prediction is None:
            left_out["no prediction"] += 1
        elif prediction.heard_clip:
            left_out["the same audio was trained on"] += 1
        elif prediction.score is None:
            left_out[prediction.reason or "no value"] += 1
        else:
            pairs.append((clip, prediction))
    return pairs, dict(left_out)


def trap_result(
    traps: Sequence[LabelledClip], known: Mapping[str, Prediction], threshold: float
) -> TrapResult:
    """Precision, recall and F1 of calling human clips Human among human and flawed ones."""
    pairs, left_out = usable(traps, known)
    called = [
        (clip.trap == "human", (prediction.score or 0.0) >= threshold) for clip, prediction in pairs
    ]
    human = sum(truth for truth, _ in called)
    flawed = len(called) - human
    if not human or not flawed:
        absent = "human" if not human else "flawed"
        reason = f"no {absent} trap clip that can be used"
        return TrapResult(threshold, human, flawed, None, None, None, None, left_out, reason)
    hits = sum(truth and predicted_human for truth, predicted_human in called)
    alarms = sum(predicted_human and not truth for truth, predicted_human in called)
    return TrapResult(
        threshold,
        human,
        flawed,
        precision=hits / (hits + alarms) if hits + alarms else None,
        recall=hits / human,
        f1=2 * hits / (human + hits + alarms),
        f1_always_human=2 * human / (2 * human + flawed),
        left_out=left_out,
    )


def rankings(pairs: Sequence[Pair]) -> tuple[Ranking, ...]:
    """Rankings of the voices new to training and of all, over all dimensions and in each."""
    results = []
    dimensions = sorted({clip.dimension for clip, _ in pairs})
    for voices_are in ("new", "all"):
        chosen = [pair for pair in pairs if voices_are == "all" or not pair[1].heard_voice]
        results.append(ranking(chosen, voices_are, "", None))
        for dimension in dimensions if len(dimensions) > 1 else ():
            inside = [pair for pair in chosen if pair[0].dimension == dimension]
            seen = any(each.heard_dimension for clip, each in pairs if clip.dimension == dimension)
            results.append(ranking(inside, voices_are, dimension, seen))
    return tuple(results)


def ranking(pairs: Sequence[Pair], voices_are: str, dimension: str, seen: bool | None) -> Ranking:
    """One ranking: the means of each voice over its clips, of people and of the predictions."""
    by_voice: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        by_voice.setdefault(pair[0].speaker, []).append(pair)
    human = [_mean([clip.score or 0.0 for clip, _ in own]) for own in by_voice.values()]
    predicted = [_mean([each.score or 0.0 for _, each in own]) for own in by_voice.values()]
    distance, p, reason = None, None, ""
    if len(human) < 2:
        reason = f"{len(human)} voice{'s' * (len(human) != 1)}: two are needed for an order"
    else:
        distance = kendall_distance(human, predicted)
        p = kendall_p(human, predicted)
        reason = "" if p is not None else "every voice has the same score"
    return Ranking(voices_are, dimension, seen, len(human), len(pairs), distance, p, reason)


def kendall_distance(first: Sequence[float], second: Sequence[float]) -> float:
    """Share of pairs that two rankings order differently, in [0, 1]; two values at least.

    Kendall's distance over n(n - 1)/2 (Abdi 2007). A pair tied in one ranking only counts half,
    tied in both not at all (Fagin et al. 2004, penalty 1/2).
    """
    n = len(first)
    wrong = 0.0
    for i in range(n):
        for j in range(i):
            a, b = _sign(first[i] - first[j]), _sign(second[i] - second[j])
            wrong += abs(a - b) / 2
    return wrong / (n * (n - 1) / 2)


def kendall_p(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Two-sided p of no association (Kendall's tau-b, exact for few voices without ties)."""
    from scipy import stats

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    p = float(stats.kendalltau(first, second).pvalue)
    return p if math.isfinite(p) else None


def fit(pairs: Sequence[Pair]) -> ClipResult:
    """Mean absolute error and Spearman's correlation over clips."""
    from scipy import stats

    people = [clip.score or 0.0 for clip, _ in pairs]
    predicted = [each.score or 0.0 for _, each in pairs]
    if not pairs:
        return ClipResult(0, None, None)
    error = _mean([abs(a - b) for a, b in zip(people, predicted, strict=True)])
    if len(set(people)) < 2 or len(set(predicted)) < 2:
        return ClipResult(len(pairs), error, None)
    spearman = float(stats.spearmanr(people, predicted).statistic)
    return ClipResult(len(pairs), error, spearman, *spearman_interval(spearman, len(pairs)))


def spearman_interval(r: float, n: int) -> tuple[float | None, float | None]:
    """The 95 % interval of Spearman's correlation of ``n`` clips (Bonett and Wright 2000)."""
    if n < 4 or abs(r) >= 1:
        return None, None
    half = NORMAL_975 * math.sqrt((1 + r * r / 2) / (n - 3))
    return math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
