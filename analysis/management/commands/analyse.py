"""manage.py analyse RATINGS.csv: estimates with intervals from a CSV file, without a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.management.bundle_options import add_bundle_options, write_bundle
from analysis.management.command_options import (
    add_input_options,
    add_options,
    chosen_options,
    input_of,
)
from analysis.report.report_schema import Report
from analysis.statistics.options import Options
from analysis.statistics.screening import default_rules

if TYPE_CHECKING:
    import pandas as pd

    from analysis.ratings.table import Reading


class Command(BaseCommand):
    """Analyse ratings from a CSV file."""

    help = "Estimate MOS, CMOS or HLS from a CSV of ratings; prints them, or writes files to --out."
    requires_system_checks = []
    requires_migrations_checks = False
    needs_database = False  # manage.py starts no server for it

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ratings", help="A CSV of ratings (UTF-8), as export_study writes it.")
        parser.add_argument(
            "--scores",
            metavar="FILE",
            help="Metric scores: a CSV (stimulus,metric,version,value), or the JSON lines of "
            "score_files --jsonl.",
        )
        parser.add_argument(
            "--out", type=Path, help="A folder for the bundle: report, tables, figures."
        )
        add_input_options(parser)
        add_options(parser)
        add_bundle_options(parser)

    def handle(self, *args: Any, **given: Any) -> None:
        from analysis.ratings.header import column_mapping
        from analysis.ratings.problems import RatingsError
        from analysis.statistics.options import OptionsError

        options, wanted = chosen_options(given), input_of(given)
        try:
            column_mapping(given["ratings"], **wanted)  # before anything heavy is imported
            reading, scores, options = self._read(given, wanted, options)
            report = _report(reading, scores, options)
        except (RatingsError, OptionsError, KeyError) as error:
            raise CommandError(str(error).strip("'")) from None
        table = reading.table
        if given["out"] is None:
            for line in summary(report):
                self.stdout.write(line)
            return
        source = Path(given["ratings"])
        if source.resolve() == (given["out"] / "ratings.csv").resolve() and not given["zip"]:
            given["no_ratings"] = True  # the file that was read stays as it is
        for path in write_bundle(given, source.name.split(".")[0], report, table, scores):
            self.stdout.write(str(path))

    def _read(
        self, given: Mapping[str, Any], wanted: Mapping[str, Any], options: Options
    ) -> tuple[Reading, pd.DataFrame | None, Options]:
        """The ratings, the metric scores if there are some, and the options with their rules."""
        from analysis.ratings.metric_scores import matched, scores_from_file
        from analysis.ratings.table import read_csv

        reading = read_csv(given["ratings"], **wanted)
        for note in reading.notes:
            self.stderr.write(f"note: {note}")
        table, scores = reading.table, None
        if given["scores"]:
            named = {*table["stimulus"], *table["versus_stimulus"]}
            scores = matched(scores_from_file(given["scores"]), named)
        if not given["rule"] and not given["no_screening"]:
            options = replace(options, rules=default_rules(table))
        return reading, scores, options


def _report(reading: Reading, scores: pd.DataFrame | None, options: Options) -> Report:
    from analysis.report.build import report_of

    return report_of(
        reading.table,
        scores,
        options,
        notes=reading.notes,
        columns_not_used=reading.columns_not_used,
    )


def summary(report: Report) -> Iterator[str]:
    """A report in lines of text: the overall estimates with both kinds of interval."""
    from analysis.formatting import legend_of_marks, number
    from analysis.ratings.estimands import estimand_of
    from analysis.ratings.scales import ends_of, family_title
    from analysis.report.html.html_tables import bounds
    from analysis.report.pivot import lines_of

    data = report["data"]
    yield f"{data['ratings_kept']} of {data['ratings']} ratings kept"
    for rule in report["exclusions"]:
        if rule["ratings"]:
            yield f"  left out: {rule['ratings']} {rule['what']}"
    answers = [part for part in report["parts"] if part["key"] == "answer" and not part["problem"]]
    notes = report["input"]["notes"]  # on stderr, while the file was read
    for warning in [*report["warnings"], *(text for part in answers for text in part["warnings"])]:
        if warning not in notes:
            yield f"  note: {warning}"
    for part in answers:
        yield from (f"  {sentence}" for sentence in part["sentences"])
    yield from (f"  {sentence}" for sentence in _of_clips(report))
    title, marked = "", ""
    for line in lines_of(report["estimates"]):
        row = line.row
        if row["weighting"] != "ratings":
            continue
        named = f"{family_title(row)} ({row['breakdown'].rstrip(':')})"
        if named != title:
            title = named
            yield f"\n{title}, {row['level'] * 100:g} % intervals"
        known = ("voice", "dimension", "language", "split", "paragraph", "system")
        place = " / ".join([row["condition"], *(str(row.get(k)) for k in known if row.get(k))])
        counts = f"n={row['n_ratings']}, {row['n_raters']} raters, {row['n_items']} items"
        digits = estimand_of(row["estimand"]).decimals
        ends = ends_of(report, row)
        estimate = f"{number(row['value'], False, digits)} {bounds(line.main, ends, digits)}"
        estimate += f"  naive {bounds(line.naive, ends, digits)}"
        yield f"  {place:<32} {estimate}  {counts}"
        marked += estimate
    yield from (f"  {each}" for each in legend_of_marks(marked))


def _of_clips(report: Report) -> Iterator[str]:
    """What was asked for by ``--by stimulus`` or ``--by item``, in words."""
    for part in report["parts"]:
        if part["key"] == "clip_scores":
            yield from [part["problem"]] if part["problem"] else part["sentences"]
            if not part["problem"]:
                yield f"--out DIR writes the scores of each into {', '.join(part['files'])}."
