"""Deletes a study for good, once its key is typed; else says what would go."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from listening import studies
from listening.common.command_name import command
from listening.management.study_command import StudyCommand
from listening.models import Study
from listening.selectors.progress import forget_progress


class Command(StudyCommand):
    help = "List what would be deleted with a study; with --confirm KEY, delete it for good."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--confirm", default="", metavar="KEY", help="Study key once more, to confirm."
        )

    def handle_study(self, study: Study, options: dict[str, Any]) -> None:
        if not options["confirm"]:
            self._list(studies.contents_of(study))
            why_not = studies.why_not(study)
            again = f"To delete it: {command(f'delete_study {study.key} --confirm {study.key}')}"
            self.stdout.write(f"Nothing was deleted. {why_not or again}")
            return
        went = studies.delete_study(study, options["confirm"])
        forget_progress(study.key)
        self._list(went)
        self.stdout.write(f"Deleted “{study.key}”. That it was deleted stays in the log.")

    def _list(self, contents: studies.Contents) -> None:
        for words, count in contents.rows():
            self.stdout.write(f"{count:>9,} {words}")
