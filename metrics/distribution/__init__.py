"""Distances of sets of clips, one file each; their base's registry finds them."""

from metrics.distribution.set_metric import SetMetric, Vectors, distances

__all__ = ["SetMetric", "Vectors", "distances"]
