"""Lets raters into a study; the first time, its blocks are planned."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening import studies
from listening.management.commands.import_study import opened
from listening.models import Study
from listening.selectors import no_study


class Command(BaseCommand):
    help = "Open a study to raters. Problems found by the launch check prevent it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument(
            "--anyway", action="store_true", help="Open the study in spite of problems."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = study_named(options["study"])
        findings = studies.check_study(study) if study.state == Study.State.DRAFT else None
        for finding in findings or ():
            self.stdout.write(f"{finding.level.capitalize()}: {finding}")
        self.stdout.write(opened(study, findings, anyway=options["anyway"]))


def study_named(key: str) -> Study:
    try:
        return Study.objects.get(key=key)
    except Study.DoesNotExist:
        raise CommandError(no_study(key)) from None
