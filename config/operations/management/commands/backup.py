"""Write a backup of the whole installation to one file, while it runs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.backups import BackupError
from config.backups.backup import size_of, take
from listening.common.counted import counted


class Command(BaseCommand):
    help = "Back up the database, the audio and the secret key to one file while Earnest runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", help="File to write, like earnest.tar; - writes to standard output."
        )
        parser.add_argument(
            "--without-key",
            action="store_true",
            help=(
                "Exclude the server's secret key and the first login. The backup then cannot be "
                "used to read Prolific ids or create links. A server restored from it gets a new "
                "key and cannot read those ids either."
            ),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        target = options["file"]
        try:
            contents = take(target, self.stderr.write, key=not options["without_key"])
        except BackupError as error:
            raise CommandError(str(error)) from None
        self.stderr.write(
            f"Written{size_of(target)}: "
            f"{counted(contents.count('listening_study'), 'study', 'studies')}, "
            f"{counted(contents.count('listening_rating'), 'rating')}, "
            f"{contents.rows:,} rows, clips and drafts."
        )
        if not options["without_key"]:
            self.stderr.write(
                "It contains raters' answers and the server's secret key. Store it where only you "
                "can read it."
            )
