"""Metrics against people: correlations, errors, ceilings, preferences, detection of machines."""

from analysis.statistics.metric_agreement.machine_detection import Detection, detection
from analysis.statistics.metric_agreement.metric_ceiling import (
    Ceiling,
    condition_ceiling,
    one_against_others,
)
from analysis.statistics.metric_agreement.metric_correlations import (
    CorrelationOptions,
    Cubic,
    MetricCorrelation,
    correlations,
    monotonic_cubic,
)
from analysis.statistics.metric_agreement.metric_units import (
    CONDITION,
    STIMULUS,
    WITHIN,
    Units,
    units_of,
)
from analysis.statistics.metric_agreement.preference_accuracy import PreferredShare, preferred_share

__all__ = [
    "CONDITION",
    "STIMULUS",
    "WITHIN",
    "Ceiling",
    "CorrelationOptions",
    "Cubic",
    "Detection",
    "MetricCorrelation",
    "PreferredShare",
    "Units",
    "condition_ceiling",
    "correlations",
    "detection",
    "monotonic_cubic",
    "one_against_others",
    "preferred_share",
    "units_of",
]
