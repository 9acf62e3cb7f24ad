"""manage.py analyse RATINGS.csv: estimates with intervals from a CSV file, without a database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analysis.management.bundle import add_bundle_options, write_bundle
from analysis.management.options import add_options, chosen_options, pairs


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
        parser.add_argument(
            "--column",
            action="append",
            metavar="OURS=THEIRS",
            help="The file's name for a column, like --column condition=system.",
        )
        parser.add_argument(
            "--set",
            action="append",
            metavar="COLUMN=VALUE",
            help="One value for a whole column, like --set estimand=hls --set method=att.",
        )
        add_options(parser)
        add_bundle_options(parser)

    def handle(self, *args: Any, **given: Any) -> None:
        from analysis.ratings import RatingsError, from_csv
        from analysis.report.build import report_of
        from analysis.scores import matched, scores_from_file

        options = chosen_options(given)
        columns, constants = pairs(given["column"], "--column"), pairs(given["set"], "--set")
        try:
            table = from_csv(given["ratings"], columns, constants)
            scores = None
            if given["scores"]:
                named = {*table["stimulus"], *table["versus_stimulus"]}
                scores = matched(scores_from_file(given["scores"]), named)
            report = report_of(table, scores, options)
        except (RatingsError, KeyError) as error:
            raise CommandError(str(error).strip("'")) from None
        if given["out"] is None:
            for line in summary(report):
                self.stdout.write(line)
            return
        source = Path(given["ratings"])
        if source.resolve() == (given["out"] / "ratings.csv").resolve() and not given["zip"]:
            given["no_ratings"] = True  # the file that was read stays as it is
        for path in write_bundle(given, source.name.split(".")[0], report, table, scores):
            self.stdout.write(str(path))


def summary(report: Mapping[str, Any]) -> Iterator[str]:
    """A report in lines of text: the overall estimates with both kinds of interval."""
    from analysis.report.pivot import lines_of
    from analysis.report.tables import bounds, number
    from analysis.scales import family_title

    data = report["data"]
    yield f"{data['ratings_kept']} of {data['ratings']} ratings kept"
    for rule in report["exclusions"]:
        if rule["ratings"]:
            yield f"  left out: {rule['ratings']} {rule['what']}"
    answer: Mapping[str, Any] = next(
        (part for part in report["parts"] if part["key"] == "answer"), {}
    )
    for warning in [*report["warnings"], *answer.get("warnings", [])]:
        yield f"  note: {warning}"
    for sentence in answer.get("sentences", []):
        yield f"  {sentence}"
    title = ""
    for line in lines_of(report["estimates"]):
        row = line.row
        if row["weighting"] != "ratings":
            continue
        named = f"{family_title(row)} ({row['breakdown'].rstrip(':')})"
        if named != title:
            title = named
            yield f"\n{title}, {row['level'] * 100:g} % intervals"
        known = ("voice", "dimension", "language", "split", "paragraph", "system")
        place = " / ".join([row["condition"], *(str(row[k]) for k in known if row.get(k))])
        counts = f"n={row['n_ratings']}, {row['n_raters']} raters, {row['n_items']} items"
        told = f"{number(row['value'])} {bounds(line.main)}  naive {bounds(line.naive)}"
        yield f"  {place:<32} {told}  {counts}"
