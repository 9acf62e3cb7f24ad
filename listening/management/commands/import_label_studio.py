"""Takes annotations of Label Studio back as verdicts of a review."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening.common.input_limits import TABLE_BYTES
from listening.common.plain_json import JsonError, read_json
from listening.design.othertools import CannotTake
from listening.management.other_tools import file_text, review_named
from listening.review import ReviewError
from listening.review.label_studio import take_back


class Command(BaseCommand):
    help = "Import annotations of Label Studio (JSON) into a review (docs/other-tools.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument("review", help="Number or title of the review.")
        parser.add_argument("export", type=Path, metavar="EXPORT.json")

    def handle(self, *args: Any, **options: Any) -> None:
        job = review_named(options["study"], options["review"])
        try:
            exported = read_json(file_text(options["export"]), most=TABLE_BYTES)
            back = take_back(job, exported, by="import_label_studio")
        except JsonError as error:
            raise CommandError(f"{options['export']}: {error} Export as JSON.") from None
        except (CannotTake, ReviewError) as error:
            raise CommandError(str(error)) from None
        for reviewer, count in back.stored.items():
            new = back.new[reviewer]
            self.stdout.write(f"{reviewer}: {count:,} verdicts are stored, {new:,} of them new.")
        for why, count in back.skipped.items():
            self.stdout.write(f"Not taken over: {count:,} {why}.")
        if not back.stored:
            self.stdout.write("Nothing was stored.")
