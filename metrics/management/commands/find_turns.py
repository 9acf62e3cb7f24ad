"""manage.py find_turns FOLDER: writes who speaks when into stimuli.csv, from two channels."""

from __future__ import annotations

import csv
import io
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening.common.speaker_turns import turns_text
from listening.common.whole_files import write_whole

TABLE, COLUMN = "stimuli.csv", "turns"


class Command(BaseCommand):
    help = (
        "Find who speaks when in conversations with one speaker in each channel, and write it into "
        "the column turns of stimuli.csv. Rows that have turns stay as they are."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="study folder with stimuli.csv")
        parser.add_argument(
            "--speakers", nargs=2, default=["A", "B"], help="names of left and right speaker"
        )
        parser.add_argument(
            "--pause-s", type=float, default=0.2, help="shorter silences do not end a turn"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from metrics.signal.turns import turns_of_channels

        path: Path = options["folder"] / TABLE
        if not path.is_file():
            raise CommandError(f"{path} is not there. Name a study folder.")
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), list(reader.fieldnames or [])
        if COLUMN not in columns:
            columns.append(COLUMN)
        changed = 0
        for number, row in enumerate(rows, start=2):
            if row.get(COLUMN):
                continue
            sound = options["folder"] / (row.get("file") or "")
            try:
                turns = turns_of_channels(sound, options["speakers"], options["pause_s"])
            except (OSError, ValueError) as error:
                raise CommandError(f"{TABLE}, row {number}: {error}.") from None
            row[COLUMN] = turns_text(turns)
            changed += bool(turns)
            self.stdout.write(f"{row.get('file')}: {row[COLUMN] or 'no speech'}")
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_whole(path, text.getvalue().encode())
        self.stdout.write(
            f"{changed} rows of {TABLE} have new turns. Check them before you import."
        )
