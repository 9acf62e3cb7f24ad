"""A study of the site as an analysis takes it: its ratings, its metric scores, its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.report.report_schema import Report
from analysis.statistics.options import Options
from analysis.statistics.screening import Rule
from analysis.statistics.screening import study_rules as rules_of

if TYPE_CHECKING:
    import pandas as pd


def study_rules(study_key: str) -> tuple[Rule, ...]:
    """The rules of a study unless others are asked for, its own trap plans among them."""
    from listening.selectors import trap_plans

    return rules_of(trap_plans(study_key))


def study_report(study_key: str, options: Options) -> tuple[pd.DataFrame, Report]:
    """A study's ratings table and its report, with the metric scores that are stored."""
    from analysis.report.build import report_of

    table, scores = study_tables(study_key)
    return table, report_of(table, scores, options)


def study_tables(study_key: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A study's ratings, and the metric scores that are stored."""
    from analysis.ratings.metric_scores import scores_from_rows
    from analysis.ratings.study_scores import study_scores
    from analysis.ratings.table import from_study

    return from_study(study_key), scores_from_rows(study_scores(study_key))
