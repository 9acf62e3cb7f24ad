"""How many raters and ratings a study needs, what they cost, and when it may stop."""

from analysis.statistics.planning.study_design import Payment as Payment
from analysis.statistics.planning.variance_components import preset as preset
