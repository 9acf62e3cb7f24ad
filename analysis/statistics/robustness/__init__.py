"""Whether what a report claims stands under other rules, without one rater or item, otherwise."""

from analysis.statistics.robustness.claims import Claim as Claim
from analysis.statistics.robustness.claims import Comparison as Comparison
from analysis.statistics.robustness.claims import Outcome as Outcome
from analysis.statistics.robustness.claims import Variant as Variant
from analysis.statistics.robustness.claims import comparison_of as comparison_of
from analysis.statistics.robustness.claims import outcome as outcome
from analysis.statistics.robustness.leave_one_out import fewest_to_turn as fewest_to_turn
from analysis.statistics.robustness.leave_one_out import without_each as without_each
