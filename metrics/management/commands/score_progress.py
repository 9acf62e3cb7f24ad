"""manage.py score_progress STUDY: how far its newest run of metrics is, and how long it takes."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from listening.selectors import no_study
from metrics.models import ScoringRun
from metrics.scoring import runs

EVERY_S = 5.0


class Command(BaseCommand):
    help = (
        "Print the progress of a study's newest run of metrics, its workers, and the remaining "
        "time. Ends with status 1 if the run failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument(
            "--follow",
            action="store_true",
            help=f"Print again every {EVERY_S:g} seconds until the run has ended.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        while True:
            run = ScoringRun.objects.filter(study__key=options["study"]).first()
            if run is None:
                raise CommandError(
                    no_study(options["study"])
                    or f"study {options['study']!r}: none of its runs was left to the workers; "
                    "score_study --queue leaves one to them"
                )
            progress = runs.progress(run)
            self.stdout.write(progress_line(progress))
            if not (options["follow"] and run.state == ScoringRun.State.WORKING):
                break
            time.sleep(EVERY_S)
        for error in progress["errors"]:
            self.stderr.write(error)
        if run.state == ScoringRun.State.FAILED:
            raise CommandError("the run broke; the page of metrics continues it")


def progress_line(progress: dict[str, Any]) -> str:
    """A run's progress as a line."""
    parts = [
        f"run {progress['run']} ({progress['state']}): "
        f"{progress['done']} of {progress['total']} scores",
        f"{progress['percent']} %",
        f"{progress['shards_done']} of {progress['shards']} parts",
        f"{progress['workers']} {'worker' if progress['workers'] == 1 else 'workers'}",
        f"{progress['failed']} failed" if progress["failed"] else "",
        f"{progress['stuck']} {'part' if progress['stuck'] == 1 else 'parts'} without their worker"
        if progress["stuck"]
        else "",
        progress["doing"],
        progress["left"],
    ]
    return ", ".join(part for part in parts if part)
