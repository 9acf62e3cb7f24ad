"""Networks that predict opinion scores, and what they share: batches of equal length, chunks."""

from metrics.networks.predictors.predictor import Predictor, predictor_type

__all__ = ["Predictor", "predictor_type"]
