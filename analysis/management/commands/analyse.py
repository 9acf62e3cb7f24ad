"""manage.py analyse RATINGS: estimates with intervals from a CSV or Parquet file, no database."""

from __future__ import annotations

from argparse import SUPPRESS
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.management.bundle_options import add_bundle_options, write_bundle, written_lines
from analysis.management.command_options import (
    add_input_options,
    add_options,
    chosen_options,
    error_words,
    input_of,
    reading_options,
)
from analysis.management.summary import summary
from analysis.ratings.cells import LEFT_OUT_BY
from analysis.report.report_schema import Report
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import default_rules

if TYPE_CHECKING:
    import pandas as pd

    from analysis.ratings.table import Reading


USED = (
    f"Ratings are left out as the column {LEFT_OUT_BY} says, which an earlier analysis filled in. "
    "To judge them anew, name rules by --rule, or --no-screening."
)
NOT_USED = f"The column {LEFT_OUT_BY} is not used, since rules were named."


class Command(BaseCommand):
    help = (
        "Estimate MOS, CMOS or HLS from a CSV or Parquet file of ratings. Prints the answer, its "
        "limitations, what was not used, and the estimates. With --out, also writes files."
    )
    requires_system_checks = []
    requires_migrations_checks = False
    needs_database = False  # manage.py starts no server for it

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "ratings", help="CSV or Parquet file of ratings; docs/other-tools.md has the layouts."
        )
        parser.add_argument("others", nargs="*", help=SUPPRESS)  # to refuse them with a remedy
        parser.add_argument(
            "--scores",
            metavar="FILE",
            help=(
                "Metric scores: a CSV or Parquet file (stimulus,metric,version,value; or a column "
                "per metric), JSON lines from score_files, or a table from NISQA, DNSMOS or VERSA."
            ),
        )
        parser.add_argument(
            "--audio",
            metavar="PLACE",
            help=(
                "Study folder, or a CSV file with stimulus and sha256 (such as scores.csv of an "
                "export), to join scores by audio where names differ."
            ),
        )
        parser.add_argument(
            "--out", type=Path, help="Folder for the paper files, or for the files of --everything."
        )
        add_input_options(parser)
        add_options(parser)
        add_bundle_options(parser)

    def handle(self, *args: Any, **arguments: Any) -> None:
        from analysis.ratings.header import column_mapping
        from analysis.ratings.problems import RatingsError
        from analysis.statistics.options import OptionsError

        if arguments["quiet"] and arguments["out"] is None:
            raise CommandError("--quiet prints the paths of files only: name a folder with --out")
        if arguments["others"]:
            raise CommandError(
                "analyse reads one file. Join files with the same columns into one, like "
                "awk 1 results/*.csv > all.csv, and analyse that; repeated header lines are skipped"
            )
        if arguments["audio"] and not arguments["scores"]:
            raise CommandError("--audio joins metric scores by audio: name these with --scores")
        options, wanted = chosen_options(arguments), input_of(arguments)
        try:
            column_mapping(arguments["ratings"], **wanted)  # before anything heavy is imported
            reading, scores, options = self._read(arguments, wanted, options)
            _check_reference(reading.table, options)
            _check_versions(reading.table, options)
            report = _report(reading, scores, options)
            report["provenance"]["again"] += reading_options(arguments)
        except (RatingsError, OptionsError, KeyError) as error:
            raise CommandError(error_words(error)) from None
        for line in () if arguments["quiet"] else summary(report):
            self.stdout.write(line)
        if arguments["out"] is None:
            return
        table, source = reading.table, Path(arguments["ratings"])
        if (
            source.resolve() == (arguments["out"] / "ratings.csv").resolve()
            and not arguments["zip"]
        ):
            arguments["no_ratings"] = True  # the file that was read stays as it is
        name, covariates = source.name.split(".")[0], reading.covariates
        paths = write_bundle(arguments, name, report, table, scores, covariates=covariates)
        for line in written_lines(paths, arguments):
            self.stdout.write(line)

    def _read(
        self, arguments: Mapping[str, Any], wanted: Mapping[str, Any], options: Options
    ) -> tuple[Reading, pd.DataFrame | None, Options]:
        """The ratings, the metric scores if there are some, and the options with their rules."""
        from analysis.ratings.metric_scores import named_scores
        from analysis.ratings.score_joining import audio_hashes, join_scores, unread_files
        from analysis.ratings.table import read_csv

        reading = read_csv(arguments["ratings"], **wanted)
        chose_rules = bool(arguments["rule"] or arguments["no_screening"])
        if LEFT_OUT_BY in reading.table:
            reading = replace(reading, notes=(*reading.notes, NOT_USED if chose_rules else USED))
        for note in reading.notes:
            self.stderr.write(f"note: {note}")
        table, scores = reading.table, None
        if arguments["scores"]:
            named = {*table["stimulus"], *table["versus_stimulus"]}
            hashes = audio_hashes(arguments["audio"], named) if arguments["audio"] else None
            score_table, read = named_scores(arguments["scores"])
            scores, notes = join_scores(score_table, named, hashes)
            for note in (*read, *notes, *unread_files(arguments["scores"])):
                self.stderr.write(f"note: {note}")
        if not chose_rules:
            options = replace(options, rules=default_rules(table))
        return reading, scores, options


def _check_reference(table: pd.DataFrame, options: Options) -> None:
    """CommandError where the reference that was asked for is no condition."""
    if not options.reference:
        return
    from analysis.ratings.problems import nearest

    sides = (table["condition"].unique(), table["versus_condition"].unique())
    names = sorted({name for side in sides for name in side} - {""})
    if options.reference not in names:
        meant = nearest(options.reference, names)
        remedy = f"did you mean {meant}?" if meant else f"there are {', '.join(names[:5])}, …"
        raise CommandError(f"--reference {options.reference}: there is no such condition; {remedy}")


def _check_versions(table: pd.DataFrame, options: Options) -> None:
    """CommandError where a file holds several versions whose ratings are not of one kind."""
    from analysis.report.parts.versions import refusals
    from analysis.statistics.version_effect import versions_in

    if len(versions_in(table)) > 1 and (why_not := refusals(table, options)):
        reasons = "\n".join(why_not)
        raise CommandError(
            f"The versions in this file are not combined.\n{reasons}\nAnalyse each by itself, or "
            "say --ignore-column version if it is no version of the study."
        )


def _report(reading: Reading, scores: pd.DataFrame | None, options: Options) -> Report:
    from analysis.report.build import report_of

    return report_of(
        reading.table,
        scores,
        options,
        notes=reading.notes,
        columns_not_used=reading.columns_not_used,
        order=reading.order,
        covariates=reading.covariates,
    )
