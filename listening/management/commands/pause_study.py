"""Lets nobody new into a study; who is listening may finish."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening import studies
from listening.management.commands.open_study import study_named
from listening.selectors.progress import forget_progress


class Command(BaseCommand):
    help = "Pause a study: stop new raters from starting. Raters in progress can finish."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Study key.")

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        try:
            studies.pause_study(study)
        except studies.StudyError as error:
            raise CommandError(str(error)) from None
        forget_progress(study.key)
        self.stdout.write(
            f"Paused “{study.key}”: new raters cannot start; raters who have started may finish."
        )
