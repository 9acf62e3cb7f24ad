"""Moves the database to another server, such as from the embedded one to one of your own."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from config.backups import BackupError
from config.backups.database_move import move, place_of
from config.run.embedded_servers import POSTGRES
from config.run.server_checks import note_moved


class Command(BaseCommand):
    help = "Copy the database to another server and compare every row. Stop Earnest first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "url",
            help=(
                "Target as postgresql://user:password@host:5432/name; - reads it from standard "
                "input, so that the password does not show in the list of processes."
            ),
        )
        parser.add_argument(
            "--replace",
            action="store_true",
            help="Delete the studies and ratings in the target database.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        url = sys.stdin.readline().strip() if options["url"] == "-" else options["url"]
        try:
            contents = move(url, self.stderr.write, replace=options["replace"])
        except (BackupError, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from None
        if POSTGRES in settings.EMBEDDED:
            note_moved(settings.EARNEST_VAR, place_of(url))
        self.stdout.write(
            f"Copied and compared {contents.rows:,} rows in {len(contents.tables)} tables. The "
            "old database, clips and keys did not change.\n"
            "Set this in the environment of Earnest and its commands, then start Earnest:"
        )
        shown = "DATABASE_URL='the URL you entered'" if options["url"] == "-" else None
        self.stdout.write(f"  export {shown or f'DATABASE_URL={_quoted(url)}'}")


def _quoted(url: str) -> str:
    return "'" + url.replace("'", "'\\''") + "'"
