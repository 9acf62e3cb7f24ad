"""Copies a study as a draft: on its own, or as the next version."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from listening import studies
from listening.management.commands.import_study import owner_named
from listening.management.study_command import StudyCommand
from listening.models import Study


class Command(StudyCommand):
    help = "Copy a study as a draft, without raters and answers. --as-version keeps the lineage."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--key", default="", help="Key of the copy. Default: a new one.")
        parser.add_argument(
            "--owner",
            default="",
            help="User name of the owner of the copy. Default: the study's owner.",
        )
        parser.add_argument(
            "--as-version",
            action="store_true",
            help="Make the copy the next version of the study.",
        )
        parser.add_argument(
            "--let-in",
            action="store_true",
            help="With --as-version: let raters of an earlier version take part again.",
        )

    def handle_study(self, study: Study, options: dict[str, Any]) -> None:
        if options["let_in"] and not options["as_version"]:
            raise CommandError("--let-in is for versions: add --as-version.")
        owner = owner_named(options["owner"]) if options["owner"] else study.owner
        copy = studies.copy_study(
            study,
            owner,
            key=options["key"],
            as_version=options["as_version"],
            keep_out=not options["let_in"],
        )
        self.stdout.write(f"Made “{copy.key}”, version {copy.version}, a draft. Its codes are new.")
