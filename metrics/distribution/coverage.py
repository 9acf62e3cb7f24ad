"""Coverage: how much of the reference a set reaches."""

from __future__ import annotations

from metrics.distribution import set_metric
from metrics.distribution.set_metric import Array, SetMetric


class Coverage(SetMetric):
    """Share of reference vectors that have one of ours nearer than their fifth neighbour."""

    key = "coverage"
    description = "Share of the reference's embeddings that ours reach; higher is more varied"
    source = "Naeem et al. (2020), Reliable fidelity and diversity metrics; 5 neighbours"
    low = 0.0
    high = 1.0
    few_vectors_warning = staticmethod(set_metric.few_vectors_warning)

    def distance(self, ours: Array, theirs: Array) -> float:
        """Between 0 and 1: 1 where every reference vector has one of ours in its ball."""
        nearest = set_metric.pairwise_distances(theirs, ours).min(axis=1)
        return float((nearest < set_metric.radii(theirs)).mean())
