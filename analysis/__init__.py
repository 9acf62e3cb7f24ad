"""Estimates with intervals from ratings and scores: a library for scripts, and a room of the site.

``from analysis import from_csv, screen, MeanScore, mixed_model …``: docs/python.md shows how. Names
are loaded when they are first used, so that the web process loads none of what stands behind them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.ratings.breakdowns import cells as cells
    from analysis.ratings.breakdowns import families as families
    from analysis.ratings.grouping import Breakdown as Breakdown
    from analysis.ratings.metric_scores import scores_from_file as scores_from_file
    from analysis.ratings.table import RatingsError as RatingsError
    from analysis.ratings.table import RatingsWarning as RatingsWarning
    from analysis.ratings.table import from_csv as from_csv
    from analysis.ratings.table import from_rows as from_rows
    from analysis.ratings.table import rated as rated
    from analysis.ratings.table import read_csv as read_csv
    from analysis.ratings.table import table_hash as table_hash
    from analysis.ratings.table import to_csv as to_csv
    from analysis.report.build import report_of as report_of
    from analysis.report.figures.all_figures import plots as plots
    from analysis.report.figures.paper import paper_files as paper_files
    from analysis.report.writers.bundle import write_report as write_report
    from analysis.statistics.agreement import coded as coded
    from analysis.statistics.agreement import icc_mixed as icc_mixed
    from analysis.statistics.agreement import intraclass_correlations as intraclass_correlations
    from analysis.statistics.agreement import kendall_w as kendall_w
    from analysis.statistics.agreement import krippendorff_alpha as krippendorff_alpha
    from analysis.statistics.agreement import versus_rest as versus_rest
    from analysis.statistics.comparisons.effect_sizes import cliffs_delta as cliffs_delta
    from analysis.statistics.comparisons.effect_sizes import cohen_d as cohen_d
    from analysis.statistics.comparisons.tests_by_name import pair_tests as pair_tests
    from analysis.statistics.comparisons.tiers import tiers_of as tiers_of
    from analysis.statistics.estimator import Contrast as Contrast
    from analysis.statistics.estimator import Estimate as Estimate
    from analysis.statistics.estimators.mean_score import MeanScore as MeanScore
    from analysis.statistics.mixed.table_model import mixed_model as mixed_model
    from analysis.statistics.options import Options as Options
    from analysis.statistics.pairs.means_of_pairs import pair_means as pair_means
    from analysis.statistics.pairs.pair_ratings import from_table as pairs_of
    from analysis.statistics.pairs.win_models import bradley_terry as bradley_terry
    from analysis.statistics.pairs.win_models import davidson as davidson
    from analysis.statistics.planning import Design as Design
    from analysis.statistics.planning import components_from_pilot as components_from_pilot
    from analysis.statistics.planning import plan_for_difference as plan_for_difference
    from analysis.statistics.planning import plan_for_half_width as plan_for_half_width
    from analysis.statistics.planning import preset as preset
    from analysis.statistics.screening import default_rules as default_rules
    from analysis.statistics.screening import rule_from as rule_from
    from analysis.statistics.screening import screen as screen
    from analysis.statistics.single_clips import clip_scores as clip_scores

_HOMES = {
    "analysis.statistics.agreement": (
        *("coded", "icc_mixed", "intraclass_correlations", "kendall_w", "krippendorff_alpha"),
        "versus_rest",
    ),
    "analysis.statistics.estimator": ("Contrast", "Estimate"),
    "analysis.ratings.breakdowns": ("cells", "families"),
    "analysis.statistics.single_clips": ("clip_scores",),
    "analysis.statistics.comparisons.effect_sizes": ("cliffs_delta", "cohen_d"),
    "analysis.statistics.comparisons.tests_by_name": ("pair_tests",),
    "analysis.statistics.comparisons.tiers": ("tiers_of",),
    "analysis.statistics.estimators.mean_score": ("MeanScore",),
    "analysis.statistics.mixed.table_model": ("mixed_model",),
    "analysis.ratings.grouping": ("Breakdown",),
    "analysis.statistics.options": ("Options",),
    "analysis.statistics.pairs.means_of_pairs": ("pair_means",),
    "analysis.statistics.pairs.win_models": ("bradley_terry", "davidson"),
    "analysis.statistics.planning": (
        *("Design", "components_from_pilot", "plan_for_difference", "plan_for_half_width"),
        "preset",
    ),
    "analysis.ratings.table": (
        *("RatingsError", "RatingsWarning", "from_csv", "from_rows", "rated", "read_csv"),
        *("table_hash", "to_csv"),
    ),
    "analysis.report.build": ("report_of",),
    "analysis.report.figures.all_figures": ("plots",),
    "analysis.report.figures.paper": ("paper_files",),
    "analysis.report.writers.bundle": ("write_report",),
    "analysis.ratings.metric_scores": ("scores_from_file",),
    "analysis.statistics.screening": ("default_rules", "rule_from", "screen"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["pairs_of", *_HOME]


def __getattr__(name: str) -> Any:
    if name == "pairs_of":
        return importlib.import_module("analysis.statistics.pairs.pair_ratings").from_table
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'analysis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
