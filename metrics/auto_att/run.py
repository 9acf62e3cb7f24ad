"""Whole steps of Auto-ATT on files: predict by any predictor, train and cross-check a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from metrics.auto_att import baseline, checkpoints, model, predict
from metrics.auto_att.dataset import Dataset, DatasetError, LabelledClip
from metrics.auto_att.predict import Prediction
from metrics.core import decoding, weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import ParameterError, Score


def predict_clips(
    clips: Sequence[LabelledClip],
    checkpoint: str,
    name: str,
    device: str,
    template: str = "chat",
    raw: bool = False,
) -> list[Prediction]:
    """Predictions of clips by an adapter, by a baseline (baseline.json), or by the plain model.

    ``checkpoint`` empty: the model called ``name`` as it was published, the paper's comparison,
    asked by ``template`` and freed of its leaning (see `zero_shot`) unless ``raw``.
    """
    if checkpoint and (
        Path(checkpoint).suffix == ".json" or (Path(checkpoint) / baseline.FILE).is_file()
    ):
        ridge = baseline.read(checkpoint)
        known = loaded_features(baseline.feature_keys(ridge), device)
        return predict.predictions(
            clips,
            lambda waves: baseline.score_waves(ridge, known, [w.to(device) for w in waves]),
            baseline.RATE_HZ,
            ridge.trained_on,
        )
    trained_on, adapter, plan = {}, None, model.ModelPlan(name=name, template=template)
    if checkpoint:
        adapter = checkpoints.resolve_adapter(checkpoint)
        stored_plan = checkpoints.read_plan(adapter)
        trained_on, plan = stored_plan["trained_on"], checkpoints.model_plan(stored_plan, name)
    listener = model.load(plan, device, adapter)
    if adapter is None and not raw:
        model.calibrate(listener)
    return predict.predictions(
        clips, lambda waves: predict.score_waves(listener, waves), listener.rate_hz, trained_on
    )


def train_baseline(
    labelled: Dataset, keys: Sequence[str], device: str, leave_out: Sequence[str] = ()
) -> tuple[baseline.Ridge, dict[str, list[Prediction]]]:
    """The baseline of a dataset, and predictions of every clip by baselines without its group.

    ``keys``: embeddings and metrics; none: those of `features.DEFAULT` that can be loaded here.
    ``leave_out``: "voice", "item", both or none (see `baseline.left_out_in_turn`).
    """
    known = loaded_features(keys, device)
    clips = list(labelled.clips)
    table, names = feature_table(clips, known, device)
    places = baseline.training_clips(clips)
    ridge = baseline.train([clips[i] for i in places], table[places], names)
    ridge.notes["features_sha256"] = known.weights
    return ridge, {by: predict_left_out(clips, table, names, by) for by in leave_out}


def predict_left_out(
    clips: Sequence[LabelledClip], table: baseline.Floats, names: Sequence[str], by: str
) -> list[Prediction]:
    """Predictions of clips, each by a baseline without its voice, or without its item."""
    return [
        predict.prediction(clip, Score(score, details={"without_own": by}), trained_on)
        for clip, score, trained_on in baseline.left_out_in_turn(clips, table, names, by)
    ]


def loaded_features(keys: Sequence[str], device: str) -> baseline.Features:
    """The features named, loaded; without names, the default ones that are available here."""
    chosen = list(keys) or [key for key in baseline.DEFAULT if available(key, device)]
    if not chosen:
        raise DatasetError(f"none of the features {', '.join(baseline.DEFAULT)} is available here")
    loaded = baseline.Features(chosen)
    loaded.load(device)
    return loaded


def available(key: str, device: str) -> bool:
    """Whether a feature can be loaded here."""
    try:
        baseline.Features([key]).load(device)
    except (weights.Unavailable, ParameterError):
        return False
    return True


def feature_table(
    clips: Sequence[LabelledClip], known: baseline.Features, device: str
) -> tuple[baseline.Floats, list[str]]:
    """Features of clips, (clips, features), a few files in memory at once, and their names."""
    parts: list[baseline.Floats] = []
    names: list[str] = []
    for start in range(0, len(clips), predict.BATCH):
        waves = [
            torch.from_numpy(decoding.load_wave(clip.path, baseline.RATE_HZ)).to(device)
            for clip in clips[start : start + predict.BATCH]
        ]
        part, names = known.table(waves)
        parts.append(part)
    return np.concatenate(parts), names
