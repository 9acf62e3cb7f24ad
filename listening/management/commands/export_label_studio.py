"""Writes a review's items as tasks for Label Studio, with sounds and labelling interface."""

from __future__ import annotations

import json
import shutil
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening.audio import local_path
from listening.common.command_name import command
from listening.common.counted import counted
from listening.common.whole_files import write_whole
from listening.management.other_tools import review_named
from listening.review import ReviewError
from listening.review.label_studio import tasks_of

CLIPS_AT = "/data/local-files/?d=clips/"  # Label Studio's local files; d is below its root


class Command(BaseCommand):
    help = "Export a review as tasks for Label Studio (docs/other-tools.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Study key.")
        parser.add_argument("review", help="Number or title of the review.")
        parser.add_argument("--out", type=Path, required=True, help="New folder.")
        at = f"Prefix of clip names in the tasks ({CLIPS_AT})."
        parser.add_argument("--clips-at", default=CLIPS_AT, help=at.replace("%", "%%"))

    def handle(self, *args: Any, **options: Any) -> None:
        out = options["out"]
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise CommandError(f"“{out}” is not empty, and nothing in it was touched.")
        job = review_named(options["study"], options["review"])
        try:
            export = tasks_of(job, options["clips_at"])
        except ReviewError as error:
            raise CommandError(str(error)) from None
        (out / "clips").mkdir(parents=True)
        for name, copy in export.copies.items():
            shutil.copyfile(local_path(copy), out / "clips" / name)
        tasks = json.dumps(export.tasks, ensure_ascii=False, indent=1)
        write_whole(out / "tasks.json", tasks.encode())
        write_whole(out / "labeling.xml", export.config.encode())
        left = job.items.count() - len(export.tasks)
        without = f" {left:,} items that train, or whose clip was replaced, are not in it." * (
            left > 0
        )
        self.stdout.write(
            f"Wrote {out}: {counted(len(export.tasks), 'task')} and "
            f"{counted(len(export.copies), 'sound')}.{without}\n"
            "Labelling interface: labeling.xml. Not taken along: hints, second showings, talks, "
            "and how many judge each item (set it in Label Studio).\n"
            f"Back again: {command(f'import_label_studio {job.study.key} {job.pk} EXPORT.json')}"
        )
