"""Imports and opens the demo study where there is no study yet."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand
from django.db import connection, transaction

from listening import studies
from listening.common.command_name import command
from listening.management.commands.import_study import imported, opened
from listening.models import Study

LOCK = 7_304_211  # any number; the same for everybody who might make the demo at once


class Command(BaseCommand):
    help = "Import and open the demo study, unless there is a study already."

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        if Study.objects.exists():
            self.stdout.write("There is a study already; the demo was not imported.")
            return
        owner, created = get_user_model().objects.get_or_create(
            username="researcher", defaults={"is_staff": True}
        )
        if created:
            owner.set_unusable_password()
            owner.save()
            instruction = command("changepassword researcher")
            self.stdout.write(f"Made the user researcher: {instruction}")
        study = studies.create_study(settings.BASE_DIR / "demo", owner)
        self.stdout.write(imported(study))
        self.stdout.write(opened(study))
