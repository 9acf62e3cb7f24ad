"""Networks that predict opinion scores, and what they share: batches of equal length, chunks."""

import importlib
import pkgutil

from metrics.predictors.predictor import Predictor, predictor_type

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["Predictor", "predictor_type"]
