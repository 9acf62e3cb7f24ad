"""Forget who took part in a study: its ratings stay; ids, marks of browsers and words go."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening import studies
from listening.management.commands.open_study import study_named
from listening.studies import erasure
from listening.studies.erasure import rule_of, why_not_erased


class Command(BaseCommand):
    help = "Erase what identifies the raters of a study. Its ratings stay. This cannot be undone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="Print what would be erased, and erase nothing.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        try:
            erased = erasure.erase(study, dry_run=options["dry_run"])
        except studies.StudyError as error:
            raise CommandError(str(error)) from None
        for words, count in erased.rows():
            self.stdout.write(f"{count:>9,} {words}")
        if options["dry_run"]:
            self.stdout.write(f"Nothing was erased. The study’s rule: {rule_of(study)}.")
            self.stdout.write(why_not_erased(study) or "Nothing stands against it.")
        else:
            self.stdout.write(f"Erased. The ratings of “{study.key}” stay; the log says this.")
