"""Writes a study as a folder that import_study takes: study.toml, stimuli.csv, audio."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from listening import studies
from listening.common.counted import counted
from listening.management.study_command import StudyCommand
from listening.models import Study


class Command(StudyCommand):
    help = "Export a study and its original audio as a folder that import_study reads."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("folder", type=Path, help="New or empty folder.")

    def handle_study(self, study: Study, options: dict[str, Any]) -> None:
        folder = options["folder"]
        try:
            count = studies.export_study(study, folder)
        except (studies.StudyError, OSError) as error:
            raise CommandError(f"The study was not exported. {error}") from None
        self.stdout.write(
            f"Wrote study.toml, stimuli.csv and {counted(count, 'sound file')} to {folder}."
        )
