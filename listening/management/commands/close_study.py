"""Ends a study for good; its ratings stay."""

from __future__ import annotations

from typing import Any

from listening import studies
from listening.management.study_command import StudyCommand
from listening.models import Study
from listening.selectors.progress import forget_progress


class Command(StudyCommand):
    help = "Close a study for good. Its ratings stay."

    def handle_study(self, study: Study, options: dict[str, Any]) -> None:
        studies.close_study(study)
        forget_progress(study.key)
        self.stdout.write(f"Closed “{study.key}” for good. Its ratings stay.")
