"""What raters' reasons say: their words and codes, and which of them go with which label."""

from analysis.statistics.justifications.label_groups import Groups, label_groups
from analysis.statistics.justifications.log_odds import TermLogOdds, term_log_odds
from analysis.statistics.justifications.terms import TermTable, code_table, term_table, terms_of

__all__ = [
    "Groups",
    "TermLogOdds",
    "TermTable",
    "code_table",
    "label_groups",
    "term_log_odds",
    "term_table",
    "terms_of",
]
