"""Takes the second factors of an account away, for somebody who lost them all."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = (
        "Remove the authenticator app, security keys and recovery codes of an account. First "
        "make sure that its owner asks."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="User name.")

    def handle(self, *args: Any, **options: Any) -> None:
        user = get_user_model().objects.filter(username=options["name"]).first()
        if user is None:
            raise CommandError(f"There is no account “{options['name']}”.")
        rows = Authenticator.objects.filter(user=user)
        kinds = [row.get_type_display() for row in rows]
        rows.delete()
        if not kinds:
            raise CommandError(f"The account {user.get_username()} has no second factor.")
        self.stdout.write(f"Taken away: {', '.join(kinds)}. The password alone logs in now.")
