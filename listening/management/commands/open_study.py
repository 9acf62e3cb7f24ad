"""Lets raters into a study; the first time, its blocks are planned."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from listening import studies
from listening.management.commands.import_study import opened
from listening.management.study_command import StudyCommand
from listening.models import Study


class Command(StudyCommand):
    help = "Open a study to raters. Problems found by the launch check prevent it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--anyway", action="store_true", help="Open the study in spite of problems."
        )

    def handle_study(self, study: Study, options: dict[str, Any]) -> None:
        findings = studies.check_study(study) if study.state == Study.State.DRAFT else None
        for finding in findings or ():
            self.stdout.write(f"{finding.level.capitalize()}: {finding}")
        self.stdout.write(opened(study, findings, anyway=options["anyway"]))
