"""manage.py export_study STUDY: a study's ratings, sessions, scores and report as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.management.options import add_options, chosen_options


class Command(BaseCommand):
    """Export a study's ratings and results."""

    help = (
        "Write a study's ratings, sessions, metric scores, estimates, figures and report into a "
        "folder."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="The study's key.")
        parser.add_argument("--out", type=Path, required=True, help="The folder, made when absent.")
        add_options(parser)

    def handle(self, *args: Any, **given: Any) -> None:
        from analysis.jobs import study_report, study_rules
        from analysis.models import AnalysisRun
        from analysis.ratings import RatingsError
        from metrics.selectors import score_rows

        studies = AnalysisRun._meta.get_field("study").related_model
        key = given["study"]
        if not studies.objects.filter(key=key).exists():  # type: ignore[union-attr]
            raise CommandError(f"there is no study {key}; see the list on the studies page")
        options = chosen_options(given, study_rules(key))
        try:
            table, report = study_report(key, options)
        except (RatingsError, KeyError) as error:
            raise CommandError(str(error).strip("'")) from None
        written = write_export(table, score_rows(key), report, given["out"])
        for path in [*written, write_sessions(key, given["out"])]:
            self.stdout.write(str(path))


def write_sessions(study: str, folder: Path) -> Path:
    """Sessions with their checks, answers to questions and comments, a row each."""
    from analysis.sittings import sessions_csv

    path = folder / "sessions.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(sessions_csv(study))
    return path


def write_export(
    table: Any, scores: Sequence[Mapping[str, Any]], report: Mapping[str, Any], folder: Path
) -> list[Path]:
    """Ratings as CSV and JSON, scores when there are some, and every file of the report."""
    from analysis.cells import json_lines
    from analysis.ratings import to_csv, to_rows
    from analysis.report.writers import scores_csv, write_report

    written = write_report(report, folder)
    to_csv(table, folder / "ratings.csv")
    with (folder / "ratings.json").open("w", encoding="utf-8") as file:
        file.writelines(json_lines(to_rows(table)))
    written += [folder / "ratings.csv", folder / "ratings.json"]
    if scores:
        path = folder / "scores.csv"
        path.write_text(scores_csv(scores), encoding="utf-8", newline="")
        written.append(path)
    return written
