"""Forget who took part in a study: its ratings stay, Prolific's ids and browsers' marks go."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening import erasure
from listening.models import Study


class Command(BaseCommand):
    help = "Erase what names the raters of a study; its ratings stay. There is no way back."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the key of the study")
        parser.add_argument("--dry-run", action="store_true", help="say only what would be erased")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(key=options["study"]).first()
        if study is None:
            known = ", ".join(Study.objects.values_list("key", flat=True)[:20]) or "none"
            raise CommandError(f"There is no study “{options['study']}”; there are: {known}.")
        if study.state != Study.State.CLOSED:
            why = "Close it first: raters who come back are known by these ids."
            raise CommandError(f"“{study.key}” is {study.state}. {why}")
        erased = erasure.erase(study, dry_run=options["dry_run"])
        would = "would be erased" if options["dry_run"] else "erased"
        self.stdout.write(f"{erased}, {would}")
