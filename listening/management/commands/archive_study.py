"""Puts a study out of the list, or back into it; nothing else changes."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from listening import studies
from listening.management.study_command import StudyCommand
from listening.models import Study


class Command(StudyCommand):
    help = "Archive a study: hide it from the list. Nothing else changes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--undo", action="store_true", help="Show the study in the list again.")

    def handle_study(self, study: Study, options: dict[str, Any]) -> None:
        back = options["undo"]
        studies.archive_study(study, archived=not back)
        where = "is in the list" if back else "is archived: list_studies --archived shows it"
        self.stdout.write(f"“{study.key}” {where}.")
