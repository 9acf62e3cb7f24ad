"""Invites the people of a list into a study, and writes their personal links for a mail merge."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from listening.design.othertools import CannotTake
from listening.design.sources import source_named
from listening.management.other_tools import file_text
from listening.management.study_command import StudyCommand
from listening.models import Study
from listening.models.study_log import COMMAND_LINE, note
from listening.studies import invitations


class Command(StudyCommand):
    help = "Invite people to a study and write a CSV file with a personal link for each."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("source", help="Key of a recruitment source of the kind panel.")
        parser.add_argument(
            "people",
            type=Path,
            nargs="?",
            metavar="PEOPLE.csv",
            help="People to add, as UTF-8 or UTF-16: id, email and name, or addresses alone.",
        )
        parser.add_argument(
            "--links",
            type=Path,
            required=True,
            metavar="LINKS.csv",
            help="File to write: id, name, email, link and state of everybody invited so far.",
        )

    def handle_study(self, study: Study, options: dict[str, Any]) -> None:
        source = source_named(study.sources, options["source"])
        if source is None or not source.provider.invitations:
            raise CommandError(
                f"“{study.key}” has no source “{options['source']}” of the kind panel. Add it "
                "under [[sources]] in study.toml."
            )
        if options["people"]:
            try:
                added = invitations.invite(study, source, file_text(options["people"]))
            except CannotTake as error:
                raise CommandError(str(error)) from None
            except invitations.NotInvited as error:
                raise CommandError(f"{options['people']}: {error}") from None
            note(study, "invited", COMMAND_LINE, way_in=source.key, said=added.summary)
            self.stdout.write(added.summary)
            if added.warning:
                self.stdout.write(added.warning)
        links = invitations.as_csv(study, source.key)
        try:
            with os.fdopen(os.open(options["links"], WRITE, 0o600), "w", encoding="utf-8") as out:
                out.write(links)
        except OSError as error:
            raise CommandError(f"{options['links']}: {error}") from None
        counts = invitations.counts_of(study, source.key)
        self.stdout.write(
            f"Wrote {counts['all']} links to {options['links']}: {counts['begun']} started, "
            f"{counts['finished']} finished. Keep the file private."
        )


WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
