"""How many raters and ratings a study needs, what they cost, and when it may stop."""

from analysis.statistics.planning.confidence_sequences import (
    ConfidenceSequence as ConfidenceSequence,
)
from analysis.statistics.planning.confidence_sequences import (
    asymptotic_sequence as asymptotic_sequence,
)
from analysis.statistics.planning.confidence_sequences import bounded_sequence as bounded_sequence
from analysis.statistics.planning.confidence_sequences import (
    obrien_fleming_bounds as obrien_fleming_bounds,
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
from analysis.statistics.planning.study_design import Payment as Payment
from analysis.statistics.planning.variance_components import preset as preset
