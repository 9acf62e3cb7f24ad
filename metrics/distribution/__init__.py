"""How a set of clips is spread between recordings and noise: features, one file each, a score."""

from metrics.distribution.feature import FACTORS, Feature, feature_type

__all__ = ["FACTORS", "Feature", "feature_type"]
