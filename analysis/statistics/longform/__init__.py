"""Long-form speech: what a condition's name asks for, and sentences against their paragraph."""

from analysis.statistics.longform.condition_names import Form, form_of
from analysis.statistics.longform.context_effects import ContextEffect, context_effects
from analysis.statistics.longform.long_form_table import Material, materials
from analysis.statistics.longform.paragraph_correlations import (
    CORRELATES,
    Correlate,
    ParagraphScores,
    Regression,
    Slope,
    by_position,
    least_squares,
    paragraph_scores,
    pearson,
    pooled_correlates,
    within_correlates,
)

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
