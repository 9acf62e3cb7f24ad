"""Writes the study folder of a webMUSHRA configuration, and names what is not taken over."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from listening.common.plain_toml import read_toml
from listening.design.othertools import CannotTake, read_config, webmushra_study
from listening.design.presets import presets
from listening.management.commands.new_study import demo_folder
from listening.management.other_tools import count, file_text, write_and_report

RATERS = 20  # BS.1534 calls 20 enough in most cases


class Command(BaseCommand):
    help = "Write a study folder from a webMUSHRA configuration (docs/other-tools.md)."
    requires_system_checks: list[str] = []  # no database is needed

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("config", type=Path, metavar="CONFIG.yaml")
        parser.add_argument("--out", type=Path, required=True, help="New folder for the study.")
        parser.add_argument(
            "--root",
            type=Path,
            help="Folder of webMUSHRA to which paths are relative (above configs/).",
        )
        parser.add_argument(
            "--raters", type=count, default=RATERS, help=f"Number of raters per clip ({RATERS})."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        config = options["config"]
        root = options["root"] or _root_of(config)
        preset = read_toml(presets(demo_folder())["mushra"].toml)
        consent = preset["study"]["texts"]["consent"]
        try:
            read, loose = read_config(file_text(config))
            taken = webmushra_study(read, root, consent=consent, raters=options["raters"])
            if loose:
                taken.guessed.append(
                    f"{loose} {'text holds' if loose == 1 else 'texts hold'} “: ” without quotes, "
                    "which is no YAML; read to the end of the line, as webMUSHRA does"
                )
            write_and_report(self, taken, options["out"])
        except CannotTake as error:
            raise CommandError(f"Nothing was written. {config}: {error}") from None


def _root_of(config: Path) -> Path:
    """Paths go by webMUSHRA's own folder; configurations lie in its folder configs."""
    folder = config.resolve().parent
    return folder.parent if folder.name == "configs" else folder
