"""The base of the commands about one study, which is named by its key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening import studies
from listening.models import Study
from listening.selectors import no_study


class StudyCommand(BaseCommand, ABC):
    """What the rules of studies refuse ends the command with the reason."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Study key.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.handle_study(study_named(options["study"]), options)
        except studies.StudyError as error:
            raise CommandError(str(error)) from None

    @abstractmethod
    def handle_study(self, study: Study, options: dict[str, Any]) -> None:
        """Do what the command is for."""


def study_named(key: str) -> Study:
    try:
        return Study.objects.get(key=key)
    except Study.DoesNotExist:
        raise CommandError(no_study(key)) from None
