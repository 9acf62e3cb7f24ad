"""Estimates with intervals from ratings and scores: a library for scripts, and a room of the site.

``from analysis import from_csv, screen, MeanScore, mixed_model …``: docs/python.md shows how. Names
are loaded when they are first used, so that the web process loads none of what stands behind them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.agreement import coded as coded
    from analysis.agreement import icc_mixed as icc_mixed
    from analysis.agreement import intraclass_correlations as intraclass_correlations
    from analysis.agreement import kendall_w as kendall_w
    from analysis.agreement import krippendorff_alpha as krippendorff_alpha
    from analysis.agreement import versus_rest as versus_rest
    from analysis.base import Contrast as Contrast
    from analysis.base import Estimate as Estimate
    from analysis.breakdowns import cells as cells
    from analysis.breakdowns import families as families
    from analysis.clips import clip_scores as clip_scores
    from analysis.comparisons import cliffs_delta as cliffs_delta
    from analysis.comparisons import cohen_d as cohen_d
    from analysis.comparisons import pair_tests as pair_tests
    from analysis.comparisons import tiers_of as tiers_of
    from analysis.estimators.mean_score import MeanScore as MeanScore
    from analysis.mixed.table import mixed_model as mixed_model
    from analysis.options import Breakdown as Breakdown
    from analysis.options import Options as Options
    from analysis.pairs import bradley_terry as bradley_terry
    from analysis.pairs import davidson as davidson
    from analysis.pairs import from_table as pairs_of
    from analysis.pairs import pair_means as pair_means
    from analysis.planning import Design as Design
    from analysis.planning import components_from_pilot as components_from_pilot
    from analysis.planning import plan_for_difference as plan_for_difference
    from analysis.planning import plan_for_half_width as plan_for_half_width
    from analysis.planning import preset as preset
    from analysis.ratings import RatingsError as RatingsError
    from analysis.ratings import RatingsWarning as RatingsWarning
    from analysis.ratings import from_csv as from_csv
    from analysis.ratings import from_rows as from_rows
    from analysis.ratings import rated as rated
    from analysis.ratings import read_csv as read_csv
    from analysis.ratings import table_hash as table_hash
    from analysis.ratings import to_csv as to_csv
    from analysis.report.build import report_of as report_of
    from analysis.report.writers import write_report as write_report
    from analysis.scores import scores_from_file as scores_from_file
    from analysis.screening import default_rules as default_rules
    from analysis.screening import rule_from as rule_from
    from analysis.screening import screen as screen

_HOMES = {
    "analysis.agreement": (
        *("coded", "icc_mixed", "intraclass_correlations", "kendall_w", "krippendorff_alpha"),
        "versus_rest",
    ),
    "analysis.base": ("Contrast", "Estimate"),
    "analysis.breakdowns": ("cells", "families"),
    "analysis.clips": ("clip_scores",),
    "analysis.comparisons": ("cliffs_delta", "cohen_d", "pair_tests", "tiers_of"),
    "analysis.estimators.mean_score": ("MeanScore",),
    "analysis.mixed.table": ("mixed_model",),
    "analysis.options": ("Breakdown", "Options"),
    "analysis.pairs": ("bradley_terry", "davidson", "pair_means"),
    "analysis.planning": (
        *("Design", "components_from_pilot", "plan_for_difference", "plan_for_half_width"),
        "preset",
    ),
    "analysis.ratings": (
        *("RatingsError", "RatingsWarning", "from_csv", "from_rows", "rated", "read_csv"),
        *("table_hash", "to_csv"),
    ),
    "analysis.report.build": ("report_of",),
    "analysis.report.writers": ("write_report",),
    "analysis.scores": ("scores_from_file",),
    "analysis.screening": ("default_rules", "rule_from", "screen"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["pairs_of", *_HOME]


def __getattr__(name: str) -> Any:
    if name == "pairs_of":
        return importlib.import_module("analysis.pairs").from_table
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'analysis' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
