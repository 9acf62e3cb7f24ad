"""Comparisons of pairs of clips: means, order, Bradley-Terry, Davidson, Thurstone, triads."""

from analysis.pairs.fit import Ability, AbilityFit, Term
from analysis.pairs.graph import Connection, Disconnected, Separated, connection, parts, wins_of
from analysis.pairs.means import PairMean, order_effect, pair_means, within_pairs
from analysis.pairs.measured import Measured, mean_of, share_right, shares_right
from analysis.pairs.ordinal import cumulative, least_squares
from analysis.pairs.ratings import PairRatings, from_table, pair_ratings
from analysis.pairs.triads import Triads, circular_triads, most_circular, triads_summary
from analysis.pairs.wins import bradley_terry, davidson

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
