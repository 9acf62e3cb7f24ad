"""manage.py export_scores STUDY: its stored scores as CSV or JSON lines."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from listening.common.counted import counted
from listening.common.whole_files import write_whole
from listening.selectors import no_study
from metrics.core.input_warnings import TITLES
from metrics.scoring.clip_warnings import ANY, NoSuchWarning, study_filter
from metrics.web import score_tables


class Command(BaseCommand):
    help = (
        "Export a study's stored scores, one row per stimulus and output, to a file or the screen."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument(
            "--out",
            metavar="FILE",
            help="Output file, .csv or .jsonl. Default: CSV on the screen.",
        )
        codes = ", ".join((ANY, *TITLES))
        parser.add_argument(
            "--only", default="", metavar="CODES", help=f"Only clips with such a warning: {codes}."
        )
        parser.add_argument(
            "--without", default="", metavar="CODES", help="Leave out clips with such a warning."
        )
        parser.add_argument(
            "--jsonl", action="store_true", help="Print JSON lines with the details."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            clip_filter = study_filter(options["study"], [options["only"]], [options["without"]])
        except NoSuchWarning as error:
            raise CommandError(f"--{error}") from None
        number = itertools.count()
        rows = (
            row
            for row, _ in zip(
                score_tables.export_rows(options["study"], clip_filter), number, strict=False
            )
        )
        out = options["out"]
        jsonl = options["jsonl"] or str(out or "").endswith(".jsonl")
        text = score_tables.as_jsonl(rows) if jsonl else score_tables.as_csv(rows)
        count = next(number)  # of rows that were written
        if not count:
            if words := no_study(options["study"]):
                raise CommandError(words)
            if clip_filter:
                raise CommandError(
                    f"no clip of {options['study']!r} with a score: {clip_filter.words}"
                )
            raise CommandError(f"study {options['study']!r} has no stored scores; score it first")
        if not out:
            self.stdout.write(text, ending="")
            return
        write_whole(Path(out), text.encode())
        self.stdout.write(f"{counted(count, 'score')} written to {out}")
