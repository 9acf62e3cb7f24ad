"""Puts a study out of the list, or back into it; nothing else changes."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening import studies
from listening.management.commands.open_study import study_named


class Command(BaseCommand):
    help = "Archive a study: hide it from the list. Nothing else changes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument("--undo", action="store_true", help="Show the study in the list again.")

    def handle(self, *args: Any, **options: Any) -> None:
        study, back = study_named(options["study"]), options["undo"]
        try:
            studies.archive_study(study, archived=not back)
        except studies.StudyError as error:
            raise CommandError(str(error)) from None
        where = "is in the list" if back else "is archived: list_studies --archived shows it"
        self.stdout.write(f"“{study.key}” {where}.")
