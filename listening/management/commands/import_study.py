"""Imports a study from a folder or a .zip, or lists everything that is wrong with it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.db.models import Count

from listening import studies
from listening.audio.store import forget
from listening.common.addresses import public_route
from listening.common.command_name import command
from listening.common.counted import counted
from listening.design.studyfile import Problem, mistakes
from listening.models import Study

NOT_OPENED = "The study was not opened."


class Command(BaseCommand):
    help = "Import a study from a folder or a .zip file (docs/study-folder.md describes both)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "source", type=Path, help="Folder with study.toml, or a .zip file of one."
        )
        parser.add_argument(
            "--owner", default="", help="User name of the researcher who owns the study."
        )
        parser.add_argument("--open", action="store_true", help="Open the study to raters at once.")
        parser.add_argument(
            "--replace", action="store_true", help="Replace a draft with this key; its link stays."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        owner = owner_named(options["owner"])
        messages: list[str] = []
        try:
            # Both steps or none: one that is killed between them can be run again as it was.
            with transaction.atomic():
                study = studies.create_study(
                    options["source"], owner, replace=options["replace"], tell=self.stdout.write
                )
                findings = studies.check_study(study)
                if options["open"]:
                    messages.append(_opened_or_why_not(study, findings))
        except studies.StudyProblems as error:
            self._list(error.problems)
            raise SystemExit(1) from None
        except studies.StudyError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(imported(study))
        if level := loudness_of(study):
            self.stdout.write(level)
        if study.owner_id != owner.pk:
            name = study.owner.get_username()
            self.stdout.write(f"It still belongs to {name}: replacing a draft changes no owner.")
        if derived := studies.what_was_derived(studies.study_as_file(study)):
            self.stdout.write(f"Settings: {derived}")
        for finding in findings:
            self.stdout.write(f"{finding.level.capitalize()}: {finding}")
        for words in messages:
            if words.startswith(NOT_OPENED):
                raise CommandError(words)
            self.stdout.write(words)

    def _list(self, problems: tuple[Problem, ...]) -> None:
        grouped = mistakes(problems)
        count = counted(len(grouped), "problem")
        places = f" in {len(problems):,} places" if len(problems) > len(grouped) else ""
        self.stderr.write(f"Nothing was imported: {count}{places}.")
        for file, group in groupby(grouped, key=lambda mistake: mistake.first.file):
            self.stderr.write(file)
            for mistake in group:
                self.stderr.write(f"  {mistake}")


def _opened_or_why_not(study: Study, findings: Sequence[studies.Finding]) -> str:
    """Opens the study that was just imported; one that cannot be opened stays as a draft."""
    names = [name for pair in study.stimuli.values_list("original", "served") for name in pair]
    try:
        with transaction.atomic():
            return opened(study, findings)
    except CommandError as error:
        return str(error)
    except BaseException:
        forget(filter(None, names))  # the study is gone with the transaction
        raise


def owner_named(name: str) -> AbstractUser:
    """The user of this name; without a name, `researcher` or the only user there is."""
    users = get_user_model().objects.all()
    if name:
        user = users.filter(username=name).first()
        if user is None:
            known = ", ".join(users.order_by("username").values_list("username", flat=True)[:10])
            raise CommandError(
                f"There is no account “{name}”; there are: {known or 'none'}. Make it, for "
                f"their own studies only: {command(f'make_account {name}')}"
            )
        return user
    user = users.filter(username="researcher").first()
    if user is None and users.count() == 1:
        user = users.get()
    if user is None:
        raise CommandError("Say whose study it is: --owner NAME")
    return user


def imported(study: Study) -> str:
    counts = ", ".join(
        counted(number, one, many)
        for number, one, many in (
            (study.tasks.count(), "task", "tasks"),
            (study.conditions.filter(derived=False).count(), "condition", "conditions"),
            (study.items.filter(derived=False).count(), "item", "items"),
            (study.stimuli.filter(derived=False).count(), "stimulus", "stimuli"),
        )
    )
    return f"Imported “{study.key}”: {counts}."


def loudness_of(study: Study) -> str:
    """To which loudness clips were brought, and by how much; empty where levels stay."""
    if study.loudness_lufs is None:
        return ""
    gains = list(study.stimuli.filter(derived=False).values_list("gain_db", flat=True))
    change = f"{min(gains, default=0.0):+.1f} to {max(gains, default=0.0):+.1f} dB"
    return (
        f"Loudness at both ears: {study.loudness_lufs:g} LUFS (gains of {change}). A mono clip is "
        "measured as it is played, on both ears."
    )


def opened(
    study: Study, findings: Sequence[studies.Finding] | None = None, *, anyway: bool = False
) -> str:
    """Opens the study, of which the checks `found` so much, and says where raters start."""
    try:
        planned = studies.open_study(study, anyway=anyway, findings=findings)
    except studies.StudyError as error:
        raise CommandError(f"{NOT_OPENED} {error}") from None
    address = public_route("landing", study.link)
    message = f"Open, with {planned:,} presentations planned. Raters start at {address}"
    return message + sessions_needed(study)


def sessions_needed(study: Study) -> str:
    """How many sessions each task takes, where a rater gets all tasks and they differ in that."""
    tasks = study.tasks.annotate(sets=Count("blocks")).order_by("order")
    needed = {task.key: -(-task.sets // task.blocks_per_session) for task in tasks}
    if study.task_plan != Study.TaskPlan.ALL or len(set(needed.values())) < 2:
        return ""
    each = ", ".join(f"“{key}” {number:,}" for key, number in needed.items())
    return f"\nSessions needed: {each}. When a task has enough, later raters get the others only."
