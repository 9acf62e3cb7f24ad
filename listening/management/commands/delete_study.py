"""Deletes a study for good, once its key is typed; else says what would go."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening import studies
from listening.common.command_name import command
from listening.management.commands.open_study import study_named
from listening.selectors.progress import forget_progress


class Command(BaseCommand):
    help = "List what would be deleted with a study; with --confirm KEY, delete it for good."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument(
            "--confirm", default="", metavar="KEY", help="Study key once more, to confirm."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        if not options["confirm"]:
            self._list(studies.contents_of(study))
            why_not = studies.why_not(study)
            again = f"To delete it: {command(f'delete_study {study.key} --confirm {study.key}')}"
            self.stdout.write(f"Nothing was deleted. {why_not or again}")
            return
        try:
            went = studies.delete_study(study, options["confirm"])
        except studies.StudyError as error:
            raise CommandError(str(error)) from None
        forget_progress(study.key)
        self._list(went)
        self.stdout.write(f"Deleted “{study.key}”. That it was deleted stays in the log.")

    def _list(self, contents: studies.Contents) -> None:
        for words, count in contents.rows():
            self.stdout.write(f"{count:>9,} {words}")
