"""How many raters and ratings a study needs, what they cost, and when it may stop."""

from analysis.statistics.planning.confidence_sequences import (
    ConfidenceSequence,
    Look,
    asymptotic_sequence,
    bounded_sequence,
    obrien_fleming_bounds,
    obrien_fleming_spending,
    rater_differences,
    rater_means,
    repeated_intervals,
    stopped_at,
    subgaussian_sequence,
)
from analysis.statistics.planning.plan_search import Plan, plan_for_difference, plan_for_half_width
from analysis.statistics.planning.precision import (
    Assurance,
    assurance,
    half_width,
    minimal_difference,
    power,
    power_curve,
    standard_error,
    standard_error_of_difference,
)
from analysis.statistics.planning.simulated_check import (
    SimulatedCheck,
    simulate_ratings,
    simulated_check,
)
from analysis.statistics.planning.study_design import Cost, Design, Payment, PlanningError, cost_of
from analysis.statistics.planning.variance_components import (
    PRESETS,
    Components,
    components_from_model,
    components_from_pilot,
    preset,
)

__all__ = [
    "PRESETS",
    "Assurance",
    "Components",
    "ConfidenceSequence",
    "Cost",
    "Design",
    "Look",
    "Payment",
    "Plan",
    "PlanningError",
    "SimulatedCheck",
    "assurance",
    "asymptotic_sequence",
    "bounded_sequence",
    "components_from_model",
    "components_from_pilot",
    "cost_of",
    "half_width",
    "minimal_difference",
    "obrien_fleming_bounds",
    "obrien_fleming_spending",
    "plan_for_difference",
    "plan_for_half_width",
    "power",
    "power_curve",
    "preset",
    "rater_differences",
    "rater_means",
    "repeated_intervals",
    "simulate_ratings",
    "simulated_check",
    "standard_error",
    "standard_error_of_difference",
    "stopped_at",
    "subgaussian_sequence",
]
