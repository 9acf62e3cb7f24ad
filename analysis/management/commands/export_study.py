"""manage.py export_study STUDY: a study's ratings, sessions, scores and report as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.management.bundle_options import (
    add_bundle_options,
    note_export,
    write_bundle,
    written_lines,
)
from analysis.management.command_options import add_options, chosen_options, error_words
from analysis.management.summary import summary


class Command(BaseCommand):
    help = (
        "Export the paper files of a study: plot, tables, methods and ratings. With "
        "--everything, also sessions, metric scores, and every figure, table and estimate."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument(
            "--out", type=Path, required=True, help="Output folder; created if missing."
        )
        parser.add_argument(
            "--combine-with",
            action="append",
            default=[],
            metavar="STUDY",
            help=(
                "Key of an earlier version to analyse together with this one, if a comparison of "
                "the two allows it; see --margin."
            ),
        )
        add_options(parser)
        add_bundle_options(parser)

    def handle(self, *args: Any, **arguments: Any) -> None:
        from analysis.ratings.problems import RatingsError
        from analysis.ratings.study_scores import study_scores
        from analysis.report.writers.report_card import card_files
        from analysis.web.combining import NotCombined
        from analysis.web.study_tables import (
            study_covariates,
            study_hypotheses,
            study_report,
            study_rules,
            study_spared,
        )
        from listening.selectors import definition_files, method_facts, no_study

        key = arguments["study"]
        if words := no_study(key):
            raise CommandError(words)
        declared = (study_hypotheses(key), study_covariates(key))
        options = chosen_options(arguments, study_rules(key), study_spared(key), *declared)
        options = replace(options, versions=tuple(arguments["combine_with"]))
        try:
            table, report = study_report(key, options)
        except (NotCombined, RatingsError, KeyError) as error:
            raise CommandError(error_words(error)) from None
        for line in () if arguments["quiet"] else summary(report):
            self.stdout.write(line)
        scores = study_scores(key)
        wanted = arguments["everything"] and not arguments["no_ratings"]
        facts = method_facts(key)
        extra = card_files(report, facts) if arguments["everything"] else {}
        extra |= definition_files(key) if arguments["everything"] else {}
        extra |= _of_raters(key, table) if wanted else {}
        covariates = facts.get("covariates")
        paths = write_bundle(arguments, key, report, table, scores, extra, covariates)
        note_export(key, arguments["out"])
        for line in written_lines(paths, arguments):
            self.stdout.write(line)


def _of_raters(study: str, table: Any) -> dict[str, str]:
    """Ratings as JSON; sessions with all around the trials, a row each; answers to questions."""
    from analysis.ratings.cells import json_lines
    from analysis.ratings.study_scores import questionnaires_csv, sessions_csv
    from analysis.ratings.table import to_rows

    return {
        "ratings.json": "".join(json_lines(to_rows(table))),
        "sessions.csv": "".join(sessions_csv(study)),
        "questionnaires.csv": "".join(questionnaires_csv(study)),
    }
