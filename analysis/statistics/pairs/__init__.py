"""Comparisons of pairs of clips: means, order, Bradley-Terry, Davidson, Thurstone, triads."""

from analysis.statistics.pairs.ability_fit import Ability, AbilityFit, Term
from analysis.statistics.pairs.circular_triads import (
    Triads,
    circular_triads,
    most_circular,
    triads_summary,
)
from analysis.statistics.pairs.comparison_graph import (
    Connection,
    Disconnected,
    Separated,
    connection,
    parts,
    wins_of,
)
from analysis.statistics.pairs.graded_pairs import cumulative, least_squares
from analysis.statistics.pairs.means_of_pairs import (
    PairMean,
    order_effect,
    pair_means,
    within_pairs,
)
from analysis.statistics.pairs.pair_interval import Measured, mean_of, share_right, shares_right
from analysis.statistics.pairs.pair_ratings import PairRatings, from_table, pair_ratings
from analysis.statistics.pairs.win_models import bradley_terry, davidson

__all__ = [
    "Ability",
    "AbilityFit",
    "Connection",
    "Disconnected",
    "Measured",
    "PairMean",
    "PairRatings",
    "Separated",
    "Term",
    "Triads",
    "bradley_terry",
    "circular_triads",
    "connection",
    "cumulative",
    "davidson",
    "from_table",
    "least_squares",
    "mean_of",
    "most_circular",
    "order_effect",
    "pair_means",
    "pair_ratings",
    "parts",
    "share_right",
    "shares_right",
    "triads_summary",
    "wins_of",
    "within_pairs",
]
