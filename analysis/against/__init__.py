"""Metrics against people: correlations, errors, ceilings, preferences, detection of machines."""

from analysis.against.ceiling import Ceiling, condition_ceiling, one_against_others
from analysis.against.correlate import correlations
from analysis.against.detection import Detection, detection
from analysis.against.mapping import Cubic, monotonic_cubic
from analysis.against.preferences import Preferred, preferred_share
from analysis.against.result import Correlated, Wanted
from analysis.against.units import CONDITION, STIMULUS, WITHIN, Units, units_of

__all__ = [
    "CONDITION",
    "STIMULUS",
    "WITHIN",
    "Ceiling",
    "Correlated",
    "Cubic",
    "Detection",
    "Preferred",
    "Units",
    "Wanted",
    "condition_ceiling",
    "correlations",
    "detection",
    "monotonic_cubic",
    "one_against_others",
    "preferred_share",
    "units_of",
]
