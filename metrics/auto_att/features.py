"""Frozen features of clips for the baseline: a voice embedding, and metrics of the suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metrics.core.metric import Metric, ParameterError, make_metric

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]
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
