"""Makes an ordinary account, which sees its own studies, and the link that sets its password."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from listening.accounts.links import link_instructions, password_link


class Command(BaseCommand):
    help = "Create an ordinary account and print the link for setting its password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="User name.")
        parser.add_argument(
            "--email", default="", help="Email address, for resetting the password."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = get_user_model()(username=options["name"], email=options["email"])
        user.set_unusable_password()
        try:
            user.full_clean()
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        user.save()
        self.stdout.write(f"Made the account {user.get_username()}, for its own studies only.")
        self.stdout.write(link_instructions(password_link(user)))
