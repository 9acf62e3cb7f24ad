"""Writes a study folder from a preset, ready to be imported and then made one's own."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from pathlib import Path
from shlex import quote
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from listening.common.command_name import command
from listening.common.interface_languages import INTERFACE_LANGUAGES
from listening.common.languages import has_interface, name_of
from listening.design.presets import Preset, PresetError, presets, write_preset
from listening.design.studyfile import did_you_mean

LANGUAGE_LINE = re.compile(r'^language = "([^"]+)"', re.MULTILINE)


class Command(BaseCommand):
    help = "Write a commented study folder that runs at once (docs/presets.md)."
    requires_system_checks: list[str] = []  # no database is needed

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("preset", nargs="?", help="Name of the preset; --list shows all.")
        parser.add_argument("folder", nargs="?", type=Path, help="New folder for the study.")
        parser.add_argument("--language", default="", help="Language of raters' pages, such as de.")
        parser.add_argument("--list", action="store_true", help="List the presets.")

    def handle(self, *args: Any, **options: Any) -> None:
        known = presets(demo_folder())
        if options["list"]:
            width = max(map(len, known), default=0)
            for name, preset in known.items():
                self.stdout.write(f"{name:{width}}  {preset.purpose}")
            return
        name, folder = options["preset"], options["folder"]
        if not name or not folder:
            example = command("new_study mushra my-study")
            raise CommandError(f"Say which preset and where: {example}")
        if name not in known:
            remedy = did_you_mean(name, known) or f"See {command('new_study --list')}"
            raise CommandError(f"There is no preset “{name}”. {remedy}")
        language = options["language"]
        if language and not has_interface(language):
            offered = ", ".join(each.tag for each in INTERFACE_LANGUAGES)
            raise CommandError(f"Earnest has no texts in “{language}”. Choose one of: {offered}.")
        self._write(known[name], folder, language)

    def _write(self, preset: Preset, folder: Path, language: str) -> None:
        try:
            sounds = write_preset(preset, demo_folder(), folder)
        except PresetError as error:
            raise CommandError(str(error)) from None
        if language and set_language(folder / "study.toml", language) != language:
            self.stderr.write(
                f"The preset's own texts and clips are not in {name_of(language)}. Translate "
                "titles, instructions and questions in study.toml, and use your own clips."
            )
        imported = command(f"import_study {quote(str(folder))}")
        self.stdout.write(
            f"Wrote {folder}: study.toml, stimuli.csv and {sounds} sound files.\n"
            "Try it as it is, with the demo's audio:\n"
            f"  {imported} --open\n"
            "Then make it yours: open study.toml in an editor (every line is explained), put\n"
            "your audio into audio/, list it in stimuli.csv; then, while nobody has rated:\n"
            f"  {imported} --replace --open"
        )


def set_language(file: Path, language: str) -> str:
    """Put the language into [study]; return the one that stood there."""
    text = file.read_text("utf-8")
    found = LANGUAGE_LINE.search(text)
    assert found, f"{file} names no language"
    file.write_text(LANGUAGE_LINE.sub(f'language = "{language}"', text, count=1), "utf-8")
    return found[1]


def demo_folder() -> Path:
    return Path(settings.BASE_DIR) / "demo"
