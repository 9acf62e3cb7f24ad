"""Lets nobody new into a study; who is listening may finish."""

from __future__ import annotations

from typing import Any

from listening import studies
from listening.management.study_command import StudyCommand
from listening.models import Study
from listening.selectors.progress import forget_progress


class Command(StudyCommand):
    help = "Pause a study: stop new raters from starting. Raters in progress can finish."

    def handle_study(self, study: Study, options: dict[str, Any]) -> None:
        studies.pause_study(study)
        forget_progress(study.key)
        self.stdout.write(
            f"Paused “{study.key}”: new raters cannot start; raters who have started may finish."
        )
