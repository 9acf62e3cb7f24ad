"""manage.py export_scores STUDY: its stored scores as CSV or JSON lines."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metrics import score_tables


class Command(BaseCommand):
    """Export a study's scores."""

    help = "Write a study's stored scores, a row per stimulus and output, to a file or the screen."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="The study's slug.")
        parser.add_argument("--out", metavar="FILE", help="A .csv or .jsonl file; else CSV here.")
        parser.add_argument("--jsonl", action="store_true", help="JSON lines, with the details.")

    def handle(self, *args: Any, **options: Any) -> None:
        number = itertools.count()
        rows = (
            row for row, _ in zip(score_tables.export_rows(options["study"]), number, strict=False)
        )
        out = options["out"]
        jsonl = options["jsonl"] or str(out or "").endswith(".jsonl")
        text = score_tables.as_jsonl(rows) if jsonl else score_tables.as_csv(rows)
        count = next(number)  # of rows that were written
        if not count:
            raise CommandError(f"study {options['study']!r} has no stored scores; score it first")
        if not out:
            self.stdout.write(text, ending="")
            return
        Path(out).write_text(text, encoding="utf-8")
        self.stdout.write(f"{count} scores written to {out}")
