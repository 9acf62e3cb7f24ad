"""manage.py import_scores STUDY FILE: scores that were computed elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from listening.common.counted import counted
from metrics.scoring.imported_scores import ImportedScoreError, import_scores, remove_scores


class Command(BaseCommand):
    help = (
        "Import metric scores of a study's clips from a CSV or JSON lines file. Needs a column "
        "stimulus, sha256, file, path or key, and either metric and value (optionally version, "
        "higher_is_better, unit) or one column per metric. Reads tables of NISQA, DNSMOS and "
        "VERSA as they are, and files utt2METRIC of ESPnet. Stores all rows or none."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument("file", nargs="?", metavar="FILE")
        parser.add_argument("--prefix", default="", help="Prefix for the names of the metrics.")
        parser.add_argument("--remove", metavar="METRIC", help="Delete this imported metric.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["remove"]:
            count = remove_scores(options["study"], options["remove"])
            self.stdout.write(f"{counted(count, 'imported score')} of {options['remove']} deleted")
            return
        if not options["file"]:
            raise CommandError("name a file of scores, or --remove METRIC")
        notes: list[str] = []
        path, prefix = Path(options["file"]), options["prefix"]
        try:
            counts = import_scores(options["study"], path, prefix, notes=notes)
        except ImportedScoreError as error:
            raise CommandError(str(error)) from error
        for note in notes:
            self.stderr.write(f"note: {note}")
        for metric, count in counts.items():
            self.stdout.write(f"{metric}: {counted(count, 'score')} imported")
