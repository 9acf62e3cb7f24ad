"""Writes the study folder of the files of Microsoft's P.808 toolkit."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening.design.draft_toml import KINDS, begun
from listening.design.othertools import CannotTake, P808Files, p808_study
from listening.design.othertools.conversion import slug
from listening.design.othertools.p808 import METHODS
from listening.design.presets import presets
from listening.management.commands.new_study import demo_folder
from listening.management.other_tools import count, file_text, write_and_report

KIND = {"acr": "p808", "dcr": "dcr", "ccr": "ccr", "p835": "p835"}
RATERS = 10
TABLES = {  # as the toolkit's master script calls them
    "--training_clips": "CSV file with the column training_clips.",
    "--gold_clips": "CSV file with the columns gold_clips, gold_clips_ans.",
    "--trapping_clips": "CSV file with the columns trapping_clips, trapping_ans.",
}


class Command(BaseCommand):
    help = "Write a study folder from files of the P.808 toolkit (docs/other-tools.md)."
    requires_system_checks: list[str] = []  # no database is needed

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--method", choices=sorted(METHODS), required=True)
        clips = "CSV file with the column rating_clips, and references for dcr and ccr."
        parser.add_argument("--clips", type=Path, required=True, metavar="CSV", help=clips)
        for name, columns in TABLES.items():
            parser.add_argument(name, type=Path, metavar="CSV", help=columns)
        parser.add_argument("--cfg", type=Path, help="Configuration file of the master script.")
        parser.add_argument("--audio", type=Path, required=True, help="Folder of the clips.")
        parser.add_argument("--out", type=Path, required=True, help="New folder for the study.")
        parser.add_argument(
            "--project", default="", help="Study key. Default: the name of the folder."
        )
        parser.add_argument(
            "--raters", type=count, default=RATERS, help=f"Number of raters per clip ({RATERS})."
        )
        parser.add_argument(
            "--condition-pattern",
            default="",
            help="Regular expression whose groups give the condition in a file name.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        audio, out = options["audio"], options["out"]
        if not audio.is_dir():
            raise CommandError(f"There is no folder “{audio}”.")
        key = slug(options["project"] or out.resolve().name)
        preset = presets(demo_folder())["p808"].toml
        top = begun(preset, KINDS[KIND[options["method"]]], key)
        top["study"].pop("loudness_lufs")  # the toolkit changes no level
        notes: list[str] = []
        try:
            files = P808Files(
                method=options["method"],
                clips=file_text(options["clips"], notes),
                training=self._text(options["training_clips"], notes),
                gold=self._text(options["gold_clips"], notes),
                trapping=self._text(options["trapping_clips"], notes),
                cfg=self._text(options["cfg"], notes),
                pattern=options["condition_pattern"],
            )
            taken = p808_study(files, audio, top, raters=options["raters"])
            taken.guessed += notes
            write_and_report(self, taken, out)
        except CannotTake as error:
            raise CommandError(f"Nothing was written. {error}") from None

    def _text(self, path: Path | None, notes: list[str]) -> str:
        return file_text(path, notes) if path else ""
