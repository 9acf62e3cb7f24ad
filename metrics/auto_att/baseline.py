"""The baseline beside Auto-ATT: ridge regression on frozen features, in closed form."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from listening.common.command_name import command
from metrics.auto_att.dataset import TRAIN, TRAP, DatasetError, LabelledClip, training_facts
from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Metric, ParameterError, Score, make_metric, undefined

RATE_HZ = 16_000
DEFAULT = ("resemblyzer", "srmr_norm", "dnsmos", "distillmos")


class Features:
    """Named features of waves: keys of speaker embeddings and of metrics at 16 kHz."""

    def __init__(self, keys: Sequence[str]) -> None:
        from metrics.networks.embeddings import embedding_type

        self.keys = tuple(keys)
        self.embeddings: dict[str, Any] = {}
        self.metrics: dict[str, Metric] = {}
        for key in self.keys:
            if key in Metric.registry:
                self.metrics[key] = make_metric(key)
                if self.metrics[key].sample_rate_hz != RATE_HZ:
                    raise ParameterError(f"{key} listens at another rate than {RATE_HZ} Hz")
            else:
                self.embeddings[key] = embedding_type(key)()
        self.weights: dict[str, str] = {}

    def load(self, device: str = "cpu") -> None:
        """Load every model; raises weights.Unavailable for the first that is missing."""
        for each in (*self.embeddings.values(), *self.metrics.values()):
            each.load(device)
            self.weights |= each.weights

    def table(self, waves: Sequence[torch.Tensor]) -> tuple[Floats, list[str]]:
        """The features of waves, (samples,) at 16 kHz: (clips, features), and the name of each.

        A name is "group:name". A feature that a clip does not have is NaN.
        """
        columns: list[Floats] = []
        names: list[str] = []
        for key in self.keys:
            if key in self.metrics:
                own, outputs = metric_columns(self.metrics[key], waves)
            else:
                own = embedding_columns(self.embeddings[key], waves)
                outputs = [f"{place:03d}" for place in range(own.shape[1])]
            columns.append(own)
            names += [f"{key}:{output}" for output in outputs]
        return np.concatenate(columns, axis=1), names


def metric_columns(metric: Metric, waves: Sequence[torch.Tensor]) -> tuple[Floats, list[str]]:
    """Every output of a metric, (clips, outputs); NaN where it has no value."""
    outputs = [output.key for output in metric.outputs()]
    rows = [metric.by_output(score) for score in metric.measure(waves)]
    table = [[row[key].value for key in outputs] for row in rows]
    return np.array(table, dtype=np.float64).reshape(len(waves), len(outputs)), outputs


def embedding_columns(embedding: Any, waves: Sequence[torch.Tensor]) -> Floats:
    """The embedding of each whole clip, (clips, dimensions); NaN for one that is too short."""
    shortest = embedding.shortest_s * embedding.rate_hz
    heard = [place for place, wave in enumerate(waves) if len(wave) >= shortest]
    if not heard:
        return np.full((len(waves), 1), np.nan)
    vectors = embedding.embed([waves[place] for place in heard]).cpu().numpy()
    columns = np.full((len(waves), vectors.shape[1]), np.nan)
    columns[heard] = vectors
    return columns


Floats = NDArray[np.float64]
FILE = "baseline.json"
PENALTIES = tuple(float(p) for p in np.logspace(-4, 2, 25))  # per clip
FEWEST = 4  # clips


@dataclass(frozen=True)
class Ridge:
    """A linear prediction in [0, 1] of features; groups of features weigh the same."""

    names: list[str]  # "group:name" of each feature
    mean: Floats
    scale: Floats
    coefficients: Floats
    intercept: float
    penalty: float  # chosen from PENALTIES
    trained_on: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)

    def predict(self, table: Floats) -> Floats:
        """Scores in [0, 1] of features (clips, features); a missing one counts as the mean."""
        raw = scale_features(table, self.mean, self.scale) @ self.coefficients + self.intercept
        return np.clip(raw, 0.0, 1.0)


def scale_features(table: Floats, mean: Floats, scale: Floats) -> Floats:
    """Features less their mean over their scale; NaN becomes 0."""
    return np.nan_to_num((table - mean) / scale, nan=0.0)


def standards(table: Floats, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Mean and scale of each feature: its deviation times the root of its group's size.

    So 256 numbers of an embedding weigh as much together as the one number of a metric. A feature
    without a value, or with one value only, is switched off (infinite scale).
    """
    known = ~np.isnan(table)
    count = known.sum(axis=0)
    mean = np.where(known, table, 0.0).sum(axis=0) / np.maximum(count, 1)
    squares = np.where(known, (table - mean) ** 2, 0.0).sum(axis=0)
    deviation = np.sqrt(squares / np.maximum(count, 1))
    groups = [name.partition(":")[0] for name in names]
    sizes = np.array([groups.count(group) for group in groups], dtype=np.float64)
    off = deviation <= 1e-12 * np.maximum(1.0, np.abs(mean))
    return mean, np.where(off, np.inf, deviation * np.sqrt(sizes))


def fit_ridge(table: Floats, true: Floats, names: Sequence[str], penalty: float) -> Ridge:
    """Ridge regression of true scores (clips,) on features (clips, features).

    Minimises |y - Xw - b|^2 / n + penalty |w|^2 by the singular values of X (Hoerl and Kennard
    1970); the intercept is not penalised.
    """
    return next(fitted_for_each(table, true, names, [penalty]))


def fitted_for_each(
    table: Floats, true: Floats, names: Sequence[str], penalties: Sequence[float]
) -> Iterator[Ridge]:
    """`fit_ridge` for several penalties, from one decomposition."""
    mean, scale = standards(table, names)
    x = scale_features(table, mean, scale)
    centre = x.mean(axis=0)
    u, s, vt = np.linalg.svd(x - centre, full_matrices=False)
    level = float(true.mean())
    along = u.T @ (true - level)
    for penalty in penalties:
        coefficients = vt.T @ (_shrunk(s, penalty * len(true)) * along)
        intercept = level - float(centre @ coefficients)
        yield Ridge(list(names), mean, scale, coefficients, intercept, penalty)


def _shrunk(singular: Floats, penalty: float) -> Floats:
    """s / (s^2 + penalty); 0 for the directions that the table does not span."""
    spanned = singular > 1e-10 * max(float(singular.max(initial=0.0)), 1e-300)
    safe = np.where(spanned, singular, 1.0)
    return np.where(spanned, safe / (safe**2 + penalty), 0.0)


def chosen_penalty(
    table: Floats, true: Floats, names: Sequence[str], groups: Sequence[Hashable]
) -> tuple[float, dict[str, float]]:
    """The penalty with the least squared error on groups (voices) left out in turn, and all errors.

    With a single group, clips are left out one by one. Ties go to the larger penalty.
    """
    folds = list(groups) if len(set(groups)) > 1 else list(range(len(true)))
    errors = dict.fromkeys(PENALTIES, 0.0)
    for fold in dict.fromkeys(folds):
        out = np.array([each == fold for each in folds])
        for model in fitted_for_each(table[~out], true[~out], names, PENALTIES):
            errors[model.penalty] += float(((model.predict(table[out]) - true[out]) ** 2).sum())
    best = min(PENALTIES, key=lambda penalty: (errors[penalty], -penalty))
    return best, {f"{p:g}": error / len(true) for p, error in errors.items()}


def train(clips: Sequence[LabelledClip], table: Floats, names: Sequence[str]) -> Ridge:
    """The baseline of labelled clips: target is the mean of the labels, penalty by voices left out.

    ``table``: (clips, features). Raises DatasetError for fewer than four clips.
    """
    if len(clips) < FEWEST:
        raise DatasetError(f"{len(clips)} clips to train on; {FEWEST} are needed")
    true = np.array([clip.target("soft") for clip in clips])
    penalty, errors = chosen_penalty(table, true, names, [clip.speaker for clip in clips])
    model = fit_ridge(table, true, names, penalty)
    model.trained_on.update(training_facts(clips))
    model.notes["cross_validated_mse"] = errors
    return model


def left_out_in_turn(
    clips: Sequence[LabelledClip], table: Floats, names: Sequence[str], by: str
) -> list[tuple[LabelledClip, float, dict[str, Any]]]:
    """Every clip predicted by a baseline that heard neither it nor its voice (or item).

    For small studies, where one held-out voice says little. ``by``: "voice" or "item". Clips of
    every split but traps are trained on; traps are predicted by the baseline without their group
    and without their audio. Gives clip, score and what that baseline was trained on.
    """
    if by not in ("voice", "item"):
        raise DatasetError(f"leave out by voice or item, not by {by!r}")
    groups = [clip.speaker if by == "voice" else clip.item for clip in clips]
    predictions = []
    for group in dict.fromkeys(groups):
        out = [i for i, each in enumerate(groups) if each == group]
        hidden = {clips[i].sha256 for i in out}
        inside = [
            i
            for i, clip in enumerate(clips)
            if clip.split != TRAP and groups[i] != group and clip.sha256 not in hidden
        ]
        model = train([clips[i] for i in inside], table[inside], names)
        for i, score in zip(out, model.predict(table[out]), strict=True):
            predictions.append((clips[i], float(score), model.trained_on))
    return predictions


def training_clips(clips: Sequence[LabelledClip]) -> list[int]:
    """The places of the clips that are trained on."""
    return [i for i, clip in enumerate(clips) if clip.split == TRAIN]


def write(model: Ridge, folder: Path | str) -> Path:
    """Write baseline.json."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    off = np.isinf(model.scale)
    plain = {
        "names": model.names,
        "mean": model.mean.tolist(),
        "scale": [None if o else float(s) for s, o in zip(model.scale, off, strict=True)],
        "coefficients": model.coefficients.tolist(),
        "intercept": model.intercept,
        "penalty": model.penalty,
        "trained_on": model.trained_on,
        "notes": model.notes,
    }
    (place / FILE).write_text(json.dumps(plain, indent=1, ensure_ascii=False), encoding="utf-8")
    return place / FILE


def read(folder: Path | str) -> Ridge:
    """The baseline of a folder (or of its file); Unavailable when there is none."""
    path = Path(folder) / FILE if Path(folder).is_dir() else Path(folder)
    if not path.is_file():
        raise weights.Unavailable(
            f"no weights: {path} is not there; make it with `{command('auto_att baseline')}`"
        )
    plain = json.loads(path.read_text(encoding="utf-8"))
    plain["scale"] = [np.inf if scale is None else scale for scale in plain["scale"]]
    for name in ("mean", "scale", "coefficients"):
        plain[name] = np.array(plain[name], dtype=np.float64)
    return Ridge(**plain)


def feature_keys(model: Ridge) -> list[str]:
    """The groups of features that a baseline needs, in their order."""
    return list(dict.fromkeys(name.partition(":")[0] for name in model.names))


def score_waves(model: Ridge, features: Features, waves: Sequence[torch.Tensor]) -> list[Score]:
    """The score of each wave, (samples,) at 16 kHz; none where no feature can be computed.

    Features that a clip lacks count as the training's mean and are counted in the details.
    """
    if not waves:
        return []
    table, names = features.table(waves)
    if names != model.names:
        raise DatasetError("the features here have other names than those it was trained on")
    missing = np.isnan(table)
    results = []
    for value, row in zip(model.predict(table).tolist(), missing, strict=True):
        if row.all():
            results.append(undefined("too short or silent for every feature"))
        else:
            results.append(Score(value, details={"missing_features": int(row.sum())}))
    return results
