"""Puts a backup in the place of an empty house, or of one that may go."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.backups import BackupError
from config.backups.archive import Reader
from config.backups.restore import described, restore


class Command(BaseCommand):
    help = "Restores a backup into an empty house. Every byte is checked before anything changes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="what `backup` has written")
        parser.add_argument("--check", action="store_true", help="only look through it")
        parser.add_argument(
            "--replace", action="store_true", help="delete the studies and ratings that are here"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stderr.write("The backup is looked through ...")
            with Reader(options["file"]) as reader:
                self.stdout.write(described(reader))
                if options["check"]:
                    self.stdout.write("It is whole. Nothing was restored.")
                    return
                gone = restore(reader, self.stderr.write, replace=options["replace"])
        except BackupError as error:
            raise CommandError(str(error)) from None
        if gone:
            self.stdout.write(f"{gone:,} clips of the house that was here were deleted.")
        self.stdout.write("Restored, and compared with the backup row by row. Start Earnest now.")
