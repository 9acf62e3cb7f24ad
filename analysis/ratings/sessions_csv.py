"""A study's sessions as CSV, a row each with checks and answers; and the answers in rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.ratings.cells import csv_lines

SPREAD = ("checks", "answers")  # of a session's row: their values stand in columns of their own


def sessions_csv(study: str) -> Iterator[str]:
    """CSV text of a study's sessions, line by line; cells are guarded as those of ratings are."""
    from listening.selectors import session_columns, session_rows

    return csv_lines(map(spread_out, session_rows(study)), session_columns(study))


def questionnaires_csv(study: str) -> Iterator[str]:
    """CSV text of all answers to questionnaires, a row for each: with task and block, and when."""
    from listening.selectors import QuestionnaireRow, questionnaire_rows

    return csv_lines(questionnaire_rows(study), tuple(QuestionnaireRow.__annotations__))


def spread_out(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with what `checks` and `answers` hold beside the rest."""
    values = {name: value for name, value in row.items() if name not in SPREAD}
    return {**values, **{k: v for name in SPREAD for k, v in row[name].items()}}
