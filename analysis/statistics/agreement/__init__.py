"""How far raters agree, with one another and with themselves, and how each uses the scale."""

from analysis.statistics.agreement.agreement_result import (
    Agreement,
    AgreementError,
    CodedRatings,
    coded,
)
from analysis.statistics.agreement.answer_speed import Pace, pace_of_raters
from analysis.statistics.agreement.concordance import Concordance, kendall_w
from analysis.statistics.agreement.icc import IntraclassCorrelation, intraclass_correlations
from analysis.statistics.agreement.icc_mixed import CrossedVariances, crossed_reml, icc_mixed
from analysis.statistics.agreement.icc_moments import crossed_moments, icc_moments
from analysis.statistics.agreement.kappa import kappa, mean_pairwise_kappa, rounded_half_up
from analysis.statistics.agreement.krippendorff import krippendorff_alpha
from analysis.statistics.agreement.noise_ceiling import noise_ceiling
from analysis.statistics.agreement.order_effects import (
    PositionRow,
    by_position,
    carry_over,
    order_effect,
    trend,
)
from analysis.statistics.agreement.rater_bias import RaterBias, SubjectModel, subject_model
from analysis.statistics.agreement.rating_units import (
    Rated,
    coarse_steps,
    rated_units,
    scale_ends,
    steps_of,
)
from analysis.statistics.agreement.scale_use import ScaleUse, scale_use
from analysis.statistics.agreement.self_consistency import (
    SelfConsistency,
    repeat_pairs,
    self_consistency,
)
from analysis.statistics.agreement.sos import SosFit, sos_parameter
from analysis.statistics.agreement.system_mean import icc_of_means
from analysis.statistics.agreement.versus_rest import VersusRest, versus_rest

__all__ = [
    "Agreement",
    "AgreementError",
    "CodedRatings",
    "Concordance",
    "CrossedVariances",
    "IntraclassCorrelation",
    "Pace",
    "PositionRow",
    "Rated",
    "RaterBias",
    "ScaleUse",
    "SelfConsistency",
    "SosFit",
    "SubjectModel",
    "VersusRest",
    "by_position",
    "carry_over",
    "coarse_steps",
    "coded",
    "crossed_moments",
    "crossed_reml",
    "icc_mixed",
    "icc_moments",
    "icc_of_means",
    "intraclass_correlations",
    "kappa",
    "kendall_w",
    "krippendorff_alpha",
    "mean_pairwise_kappa",
    "noise_ceiling",
    "order_effect",
    "pace_of_raters",
    "rated_units",
    "repeat_pairs",
    "rounded_half_up",
    "scale_ends",
    "scale_use",
    "self_consistency",
    "sos_parameter",
    "steps_of",
    "subject_model",
    "trend",
    "versus_rest",
]
