"""Forget who took part in a study: its ratings stay; ids, marks of browsers and words go."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from listening.management.study_command import StudyCommand
from listening.models import Study
from listening.studies import erasure
from listening.studies.erasure import rule_of, why_not_erased


class Command(StudyCommand):
    help = "Erase what identifies the raters of a study. Its ratings stay. This cannot be undone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="Print what would be erased, and erase nothing.",
        )

    def handle_study(self, study: Study, options: dict[str, Any]) -> None:
        erased = erasure.erase(study, dry_run=options["dry_run"])
        for words, count in erased.rows():
            self.stdout.write(f"{count:>9,} {words}")
        if options["dry_run"]:
            self.stdout.write(f"Nothing was erased. The study’s rule: {rule_of(study)}.")
            self.stdout.write(why_not_erased(study) or "Nothing stands against it.")
        else:
            self.stdout.write(f"Erased. The ratings of “{study.key}” stay; the log says this.")
