"""Prints a link by which somebody who lost their password sets a new one."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from listening.accounts.links import link_instructions, password_link


class Command(BaseCommand):
    help = "Print a link for setting a new password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="User name.")

    def handle(self, *args: Any, **options: Any) -> None:
        user = get_user_model().objects.filter(username=options["name"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no account “{options['name']}” that may log in.")
        self.stdout.write(link_instructions(password_link(user)))
