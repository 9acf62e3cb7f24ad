"""Says how one study stands: link, ratings of each task, sessions, pace, what was paid."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from listening.common.addresses import public_route
from listening.management.commands.list_studies import facts, line
from listening.management.study_command import StudyCommand
from listening.models import Study
from listening.selectors import study_progress
from listening.selectors.study_overview import overviews
from listening.web.researcher.raters_table import called


class Command(StudyCommand):
    help = "Print the state of a study: link, ratings per task, sessions, pace and payments."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle_study(self, study: Study, options: dict[str, Any]) -> None:
        (row,) = overviews([study])
        progress = study_progress(row.study.key)
        link = public_route("landing", row.study.link)
        if options["json"]:
            self.stdout.write(json.dumps(facts(row) | {"link": link, "progress": progress}))
            return
        self.stdout.write(line(row))
        self.stdout.write(f"Link for raters: {link}")
        for task in progress["tasks"]:
            self.stdout.write(
                f"Task “{task['title']}”: {task['rated']:,} of {task['planned']:,} ratings"
            )
        counts = progress["sessions"].items()
        sessions = ", ".join(f"{n:,} {called(status)}" for status, n in counts if n)
        self.stdout.write(f"Sessions: {sessions or 'none yet'}")
