"""Long-form speech: what a condition's name asks for, and sentences against their paragraph."""

from analysis.longform.contexts import ContextEffect, context_effects
from analysis.longform.correlates import (
    CORRELATES,
    Correlate,
    ParagraphScores,
    paragraph_scores,
    pearson,
    pooled_correlates,
    within_correlates,
)
from analysis.longform.forms import Form, form_of
from analysis.longform.material import Material, materials
from analysis.longform.regressions import Regression, Slope, by_position, least_squares

__all__ = [
    "CORRELATES",
    "ContextEffect",
    "Correlate",
    "Form",
    "Material",
    "ParagraphScores",
    "Regression",
    "Slope",
    "by_position",
    "context_effects",
    "form_of",
    "least_squares",
    "materials",
    "paragraph_scores",
    "pearson",
    "pooled_correlates",
    "within_correlates",
]
