"""How many raters and ratings a study needs, what they cost, and when it may stop."""

from analysis.statistics.planning.confidence_sequences import (
    ConfidenceSequence as ConfidenceSequence,
)
from analysis.statistics.planning.confidence_sequences import Look as Look
from analysis.statistics.planning.confidence_sequences import (
    asymptotic_sequence as asymptotic_sequence,
)
from analysis.statistics.planning.confidence_sequences import bounded_sequence as bounded_sequence
from analysis.statistics.planning.confidence_sequences import (
    obrien_fleming_bounds as obrien_fleming_bounds,
)
from analysis.statistics.planning.confidence_sequences import (
    obrien_fleming_spending as obrien_fleming_spending,
)
from analysis.statistics.planning.confidence_sequences import rater_differences as rater_differences
from analysis.statistics.planning.confidence_sequences import rater_means as rater_means
from analysis.statistics.planning.confidence_sequences import (
    repeated_intervals as repeated_intervals,
)
from analysis.statistics.planning.confidence_sequences import stopped_at as stopped_at
from analysis.statistics.planning.confidence_sequences import (
    subgaussian_sequence as subgaussian_sequence,
)
from analysis.statistics.planning.plan_search import Plan as Plan
from analysis.statistics.planning.plan_search import plan_for_difference as plan_for_difference
from analysis.statistics.planning.plan_search import plan_for_half_width as plan_for_half_width
from analysis.statistics.planning.precision import Assurance as Assurance
from analysis.statistics.planning.precision import assurance as assurance
from analysis.statistics.planning.precision import half_width as half_width
from analysis.statistics.planning.precision import minimal_difference as minimal_difference
from analysis.statistics.planning.precision import power as power
from analysis.statistics.planning.precision import power_curve as power_curve
from analysis.statistics.planning.precision import standard_error as standard_error
from analysis.statistics.planning.precision import (
    standard_error_of_difference as standard_error_of_difference,
)
from analysis.statistics.planning.simulated_check import SimulatedCheck as SimulatedCheck
from analysis.statistics.planning.simulated_check import simulate_ratings as simulate_ratings
from analysis.statistics.planning.simulated_check import simulated_check as simulated_check
from analysis.statistics.planning.study_design import Cost as Cost
from analysis.statistics.planning.study_design import Design as Design
from analysis.statistics.planning.study_design import Payment as Payment
from analysis.statistics.planning.study_design import PlanningError as PlanningError
from analysis.statistics.planning.study_design import cost_of as cost_of
from analysis.statistics.planning.variance_components import PRESETS as PRESETS
from analysis.statistics.planning.variance_components import Components as Components
from analysis.statistics.planning.variance_components import (
    components_from_model as components_from_model,
)
from analysis.statistics.planning.variance_components import (
    components_from_pilot as components_from_pilot,
)
from analysis.statistics.planning.variance_components import preset as preset
