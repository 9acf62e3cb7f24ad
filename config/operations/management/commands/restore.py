"""Restore a backup into an empty installation, or into one that may be deleted."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.backups import BackupError
from config.backups.archive import Reader
from config.backups.restore import describe, restore
from listening.common.counted import counted


class Command(BaseCommand):
    help = (
        "Restore a backup into an empty installation. Every byte is checked before anything "
        "changes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="File written by backup.")
        parser.add_argument("--check", action="store_true", help="Check the backup only.")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="Delete the studies and ratings in this installation.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stderr.write("Checking the backup ...")
            with Reader(options["file"]) as reader:
                self.stdout.write(describe(reader))
                if options["check"]:
                    self.stdout.write("The backup is complete. Nothing was restored.")
                    return
                deleted = restore(reader, self.stderr.write, replace=options["replace"])
        except BackupError as error:
            raise CommandError(str(error)) from None
        if deleted:
            clips = counted(deleted, "clip")
            self.stdout.write(f"Deleted {clips} of the previous installation.")
        self.stdout.write(
            "Restored and compared with the backup row by row. You can start Earnest now."
        )
