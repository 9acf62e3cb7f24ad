"""Writes a backup of the whole house to one file, while it runs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.backups import BackupError
from config.backups.backup import size_of, take


class Command(BaseCommand):
    help = "Writes a backup of the whole house to one file, while Earnest runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", help="the file to write, like earnest.tar; - is standard output"
        )
        parser.add_argument(
            "--without-key",
            action="store_true",
            help="leave out the key of the server and the first log-in: who has the backup then "
            "cannot read ids of Prolific or make links; a house that is restored from it gets a "
            "new key, and those ids are lost to it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        target = options["file"]
        try:
            found = take(target, self.stderr.write, key=not options["without_key"])
        except BackupError as error:
            raise CommandError(str(error)) from None
        self.stderr.write(
            f"Written{size_of(target)}: {found.count('listening_study'):,} studies, "
            f"{found.count('listening_rating'):,} ratings, {found.rows:,} rows, all clips and "
            "drafts."
        )
        if not options["without_key"]:
            self.stderr.write(
                "It holds what raters wrote and the key of this server: keep it where only you "
                "can read it."
            )
