"""Density: how thickly the reference lies where a set is."""

from __future__ import annotations

from metrics.distribution import set_metric
from metrics.distribution.set_metric import Array, SetMetric


class Density(SetMetric):
    """In how many balls of reference vectors a vector lies, over the neighbours that span a ball.

    A ball reaches from a reference vector to its fifth neighbour. About 1 where both sets are of
    one distribution; more where ours crowds in the reference's middle, 0 where it lies elsewhere.
    """

    key = "density"
    description = "How thickly the reference lies around our embeddings; 1 for equal distributions"
    source = "Naeem et al. (2020), Reliable fidelity and diversity metrics; 5 neighbours"
    low = 0.0
    few_vectors_warning = staticmethod(set_metric.few_vectors_warning)

    def distance(self, ours: Array, theirs: Array) -> float:
        """Mean over our vectors of the reference's balls around them, divided by 5."""
        inside = set_metric.pairwise_distances(theirs, ours) < set_metric.radii(theirs)[:, None]
        return float(inside.sum(axis=0).mean() / set_metric.NEAREST)
