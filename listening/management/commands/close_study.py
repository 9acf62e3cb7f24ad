"""Ends a study for good; its ratings stay."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening import studies
from listening.management.commands.open_study import study_named
from listening.selectors.progress import forget_progress


class Command(BaseCommand):
    help = "Close a study for good. Its ratings stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Study key.")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        try:
            studies.close_study(study)
        except studies.StudyError as error:
            raise CommandError(str(error)) from None
        forget_progress(study.key)
        self.stdout.write(f"Closed “{study.key}” for good. Its ratings stay.")
